//! What a plain word means, as Kubernetes' own YAML reader has it (YAML 1.1).

use super::{Style, Yaml};

/// The value of a word that is neither quoted nor tagged.
///
/// # Errors
///
/// For numbers that JSON does not have.
pub(super) fn resolve(text: &str) -> Result<Yaml, &'static str> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Yaml::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "y" | "Y" | "on" | "On" | "ON" => Yaml::Bool(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "n" | "N" | "off" | "Off" | "OFF" => {
            Yaml::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf"
        | "-.Inf" | "-.INF" => {
            return Err("a number that JSON does not have; put it in quotes if it is a text");
        }
        _ => match number(text) {
            Some(number) => Yaml::Number(number),
            None => Yaml::Text(text.into(), Style::Plain),
        },
    })
}

/// A number as JSON has it.
fn number(text: &str) -> Option<String> {
    if !text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '.')) {
        return None;
    }
    let plain = text.replace('_', "");
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", plain.strip_prefix('+').unwrap_or(&plain)),
    };
    whole(digits).map(|number| format!("{sign}{number}")).or_else(|| float(&plain))
}

fn whole(digits: &str) -> Option<u64> {
    let based = |digits: &str, base| u64::from_str_radix(digits, base).ok();
    let prefix = digits.get(..2).unwrap_or_default();
    let rest = digits.get(2..).unwrap_or_default();
    // What Rust would take besides digits is a sign.
    if digits.starts_with(['+', '-']) || rest.starts_with(['+', '-']) {
        return None;
    }
    match prefix {
        "0x" | "0X" => based(rest, 16),
        "0o" | "0O" => based(rest, 8),
        "0b" | "0B" => based(rest, 2),
        _ if digits.len() > 1 && digits.starts_with('0') => based(digits, 8),
        _ => based(digits, 10),
    }
}

fn float(plain: &str) -> Option<String> {
    let mantissa = plain.trim_start_matches(['+', '-']);
    let is_decimal = mantissa
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    let value: f64 = if is_decimal { plain.parse().ok()? } else { return None };
    serde_json::Number::from_f64(value).map(|number| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::{Yaml, resolve};

    fn shown(text: &str) -> String {
        match resolve(text) {
            Ok(Yaml::Null) => "null".to_owned(),
            Ok(Yaml::Bool(value)) => value.to_string(),
            Ok(Yaml::Number(number)) => number,
            Ok(Yaml::Text(text, _)) => format!("{text:?}"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn words_mean_what_they_mean_to_kubectl() {
        for (text, expected) in [
            ("~", "null"),
            ("yes", "true"),
            ("Off", "false"),
            ("n", "false"),
            ("nope", "\"nope\""),
            ("12", "12"),
            ("-12", "-12"),
            ("+7", "7"),
            ("1_000", "1000"),
            ("017", "15"),
            ("0o17", "15"),
            ("0x1F", "31"),
            ("0b101", "5"),
            ("089", "89.0"),
            ("1.5", "1.5"),
            (".5", "0.5"),
            ("1e3", "1000.0"),
            ("18446744073709551615", "18446744073709551615"),
            ("1.2.3", "\"1.2.3\""),
            ("v1", "\"v1\""),
            ("2024-01-02", "\"2024-01-02\""),
            ("--1", "\"--1\""),
            ("-", "\"-\""),
            (".", "\".\""),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
        assert!(resolve(".inf").is_err());
    }
}

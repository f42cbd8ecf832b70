//! Why a text is no address, in the words of Go's `netip`.

use crate::cel::functions::quoted::quoted;

/// What is wrong, and what of the text was left then.
struct Wrong<'t> {
    what: &'static str,
    rest: &'t str,
}

fn wrong<'t, T>(what: &'static str, rest: &'t str) -> Result<T, Wrong<'t>> {
    Err(Wrong { what, rest })
}

/// Why it is none; nothing if the only thing wrong with it is the zone that it has.
pub(in crate::cel::functions) fn refused(text: &str) -> Option<String> {
    let read = match text.find(['.', ':', '%']).and_then(|at| text.get(at..)?.chars().next()) {
        Some('.') => four(text),
        Some(':') => six(text),
        Some(_) => wrong("missing IPv6 address", ""),
        None => wrong("unable to parse IP", ""),
    };
    let Wrong { what, rest } = read.err()?;
    let at = if rest.is_empty() { String::new() } else { format!(" (at {})", quoted(rest)) };
    Some(format!("ParseAddr({}): {what}{at}", quoted(text)))
}

/// Goes through a text by its bytes; what is looked for is ASCII.
fn after(text: &str, bytes: usize) -> &str {
    text.get(bytes..).unwrap_or_default()
}

fn four(text: &str) -> Result<(), Wrong<'_>> {
    let (mut value, mut digits, mut fields, mut before) = (0, 0, 0, None);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return wrong("IPv4 field has octet with leading zero", "");
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return wrong("IPv4 field has value >255", "");
                }
            }
            b'.' => {
                if at == 0 || at == text.len() - 1 || before == Some(b'.') {
                    return wrong("IPv4 field must have at least one digit", after(text, at));
                }
                if fields == 3 {
                    return wrong("IPv4 address too long", "");
                }
                fields += 1;
                (value, digits) = (0, 0);
            }
            _ => return wrong("unexpected character", after(text, at)),
        }
        before = Some(byte);
    }
    if fields < 3 { wrong("IPv4 address too short", "") } else { Ok(()) }
}

fn six(text: &str) -> Result<(), Wrong<'_>> {
    let text = match text.split_once('%') {
        Some((_, "")) => return wrong("zone must be a non-empty string", ""),
        Some((text, _)) => text,
        None => text,
    };
    let (mut rest, mut has_ellipsis) = match text.strip_prefix("::") {
        Some("") => return Ok(()),
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let mut bytes = 0;
    while bytes < 16 {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 4 {
            return wrong("each group must have 4 or less digits", rest);
        }
        if digits == 0 {
            return wrong("each colon-separated field must have at least one digit", rest);
        }
        let next = after(rest, digits);
        if next.starts_with('.') {
            if !has_ellipsis && bytes != 12 {
                return wrong("embedded IPv4 address must replace the final 2 fields of the address", rest);
            }
            if bytes + 4 > 16 {
                return wrong("too many hex fields to fit an embedded IPv4 at the end of the address", rest);
            }
            four(rest)?;
            rest = "";
            bytes += 4;
            break;
        }
        bytes += 2;
        rest = next;
        if rest.is_empty() {
            break;
        }
        rest = match rest.strip_prefix(':') {
            None => return wrong("unexpected character, want colon", rest),
            Some("") => return wrong("colon must be followed by more characters", rest),
            Some(more) => more,
        };
        if let Some(more) = rest.strip_prefix(':') {
            if has_ellipsis {
                return wrong("multiple :: in address", rest);
            }
            has_ellipsis = true;
            rest = more;
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        return wrong("trailing garbage after address", rest);
    }
    match (bytes < 16, has_ellipsis) {
        (true, false) => wrong("address string too short", ""),
        (false, true) => wrong("the :: must expand to at least one field of zeros", ""),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::refused;

    #[test]
    fn what_is_wrong_is_told_as_go_tells_it() {
        for (text, expected) in [
            ("", "unable to parse IP"),
            ("%eth0", "missing IPv6 address"),
            ("1.2.3", "IPv4 address too short"),
            ("1.2.3.4.5", "IPv4 address too long"),
            ("1.2.3.256", "IPv4 field has value >255"),
            ("01.2.3.4", "IPv4 field has octet with leading zero"),
            ("1..3.4", "IPv4 field must have at least one digit (at \".3.4\")"),
            ("1.2.3.", "IPv4 field must have at least one digit (at \".\")"),
            ("v1.2", "unexpected character (at \"v1.2\")"),
            ("fe80::1%", "zone must be a non-empty string"),
            ("1:2", "address string too short"),
            ("1:2:", "colon must be followed by more characters (at \":\")"),
            ("1:2x", "unexpected character, want colon (at \"x\")"),
            ("12345::", "each group must have 4 or less digits (at \"12345::\")"),
            ("::g", "each colon-separated field must have at least one digit (at \"g\")"),
            ("1::2::3", "multiple :: in address (at \":3\")"),
            ("1:2:3:4:5:6:7:8:9", "trailing garbage after address (at \"9\")"),
            ("1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"),
            (
                "1:2:3.4.5.6",
                "embedded IPv4 address must replace the final 2 fields of the address (at \"3.4.5.6\")",
            ),
        ] {
            assert_eq!(refused(text), Some(format!("ParseAddr({text:?}): {expected}")));
            assert!(text.parse::<IpAddr>().is_err());
        }
        assert_eq!(refused("fe80::1%eth0"), None);
        assert_eq!(refused("::ffff:1.2.3.4"), None);
    }
}

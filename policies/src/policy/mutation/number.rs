//! Numbers as Go writes and reads them.

use serde_json::{Number, Value};

/// The number as Go's JSON has it: an integer that fits is written with all its digits, anything else as a double.
pub(super) fn go_text(number: &Number) -> String {
    number
        .as_i64()
        .map_or_else(|| double_text(number.as_f64().unwrap_or_default()), |number| number.to_string())
}

/// A double: plain up to twenty digits, then with an exponent of at least one.
pub(super) fn double_text(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{value:e}");
        return if text.contains("e-") { text } else { text.replace('e', "e+") };
    }
    value.to_string()
}

/// What Go reads of a double that it wrote: an integer if it was written as one and fits. Nothing if JSON has no such
/// number.
pub(super) fn reread(value: f64) -> Option<Value> {
    let text = double_text(value);
    if let Ok(number) = text.parse::<i64>() {
        return Some(number.into());
    }
    Number::from_f64(value).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        let table = [
            (0.0, "0"),
            (-0.0, "-0"),
            (3.0, "3"),
            (2.5, "2.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (-1.5e300, "-1.5e+300"),
            (1e-6, "0.000001"),
            (1.5e-7, "1.5e-7"),
        ];
        for (value, text) in table {
            assert_eq!(double_text(value), text);
        }
        assert_eq!(reread(3.0), Some(3.into()));
        assert_eq!(reread(1e20), Some(serde_json::json!(1e20)));
        assert_eq!(reread(f64::NAN), None);
    }
}

//! Values as text, as Go writes them.

use std::fmt::Write as _;

use super::{Timestamp, Value};

impl Value<'_> {
    /// The value in an error message; containers by their type only, since they have no bounded size.
    pub(crate) fn plain(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Uint(value) => value.to_string(),
            Self::Double(value) => double_text(*value),
            Self::String(text) => (**text).to_owned(),
            Self::Duration(value) => duration_text(*value),
            Self::Timestamp(value) => timestamp_text(*value),
            Self::Type(name) => (**name).to_owned(),
            other => other.type_name().to_owned(),
        }
    }
}

/// The shortest decimal that reads back as the same number, with an exponent outside of 1e-4 to 1e5, as `%g` does.
pub(crate) fn double_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let written = format!("{value:e}");
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// Seconds with their fraction, and `s`.
pub(crate) fn duration_text(nanoseconds: i64) -> String {
    // Go divides before it adds, which decides the last digit.
    #[expect(clippy::cast_precision_loss, reason = "written as a double, as Kubernetes does")]
    let seconds = (nanoseconds / 1_000_000_000) as f64 + (nanoseconds % 1_000_000_000) as f64 / 1e9;
    format!("{seconds}s")
}

/// RFC 3339, with as many digits of the fraction as are needed.
pub(crate) fn timestamp_text(time: Timestamp) -> String {
    let local = time.seconds + i64::from(time.offset);
    let (days, second) = (local.div_euclid(86_400), local.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        out,
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}",
        second / 3600,
        second / 60 % 60,
        second % 60
    );
    if time.nanoseconds > 0 {
        let fraction = format!("{:09}", time.nanoseconds);
        let _ = write!(out, ".{}", fraction.trim_end_matches('0'));
    }
    if time.offset == 0 {
        out.push('Z');
    } else {
        let sign = if time.offset < 0 { '-' } else { '+' };
        let minutes = time.offset.unsigned_abs() / 60;
        let _ = write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
    }
    out
}

/// Year, month and day of a number of days since 1970.
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
    // Counted from 1 March of year 0, so that the day a leap year adds comes last.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::{Timestamp, double_text, duration_text, timestamp_text};

    #[test]
    fn doubles_are_written_as_go_writes_them() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (1e5, "100000"),
            (1e6, "1e+06"),
            (123_456_789.0, "1.23456789e+08"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.25e-7, "1.25e-07"),
            (1e100, "1e+100"),
            (f64::INFINITY, "+Inf"),
        ] {
            assert_eq!(double_text(value), text);
        }
    }

    #[test]
    fn times_are_written_as_go_writes_them() {
        for (nanoseconds, text) in
            [(0, "0s"), (1_500_000_000, "1.5s"), (-3_600_000_000_000, "-3600s"), (1, "0.000000001s")]
        {
            assert_eq!(duration_text(nanoseconds), text);
        }
        for (seconds, nanoseconds, offset, text) in [
            (0, 0, 0, "1970-01-01T00:00:00Z"),
            (951_782_400, 120_000_000, 0, "2000-02-29T00:00:00.12Z"),
            (-62_135_596_800, 0, 0, "0001-01-01T00:00:00Z"),
            (253_402_300_799, 999_999_999, 0, "9999-12-31T23:59:59.999999999Z"),
            (0, 0, 3_600, "1970-01-01T01:00:00+01:00"),
            (0, 0, -5_400, "1969-12-31T22:30:00-01:30"),
        ] {
            assert_eq!(timestamp_text(Timestamp { seconds, nanoseconds, offset }), text);
        }
    }
}

//! Durations and points in time, read as Go reads them.

use crate::cel::value::Timestamp;

/// The beginning of year 1.
pub(crate) const MINIMUM_SECOND: i64 = -62_135_596_800;

/// The last second of year 9999.
pub(crate) const MAXIMUM_SECOND: i64 = 253_402_300_799;

/// Numbers with units, such as `1h30m` or `-1.5s`.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let limit = 1_u64 << 63;
    let mut total = 0_u64;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let whole = rest.get(..digits)?;
        rest = rest.get(digits..)?;
        let mut fraction = "";
        if let Some(after) = rest.strip_prefix('.') {
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            fraction = after.get(..digits)?;
            rest = after.get(digits..)?;
        }
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let unit = rest.find(|next: char| next == '.' || next.is_ascii_digit()).unwrap_or(rest.len());
        let scale: u64 = match rest.get(..unit)? {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        rest = rest.get(unit..)?;
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let mut value = whole.checked_mul(scale).filter(|value| *value <= limit)?;
        value = value.checked_add(part_of(fraction, scale)).filter(|value| *value <= limit)?;
        total = total.checked_add(value).filter(|total| *total <= limit)?;
    }
    if negative {
        return Some(i64::try_from(total).map_or(i64::MIN, |total| -total));
    }
    i64::try_from(total).ok()
}

/// The part of a unit that a decimal fraction is, cut off below a nanosecond.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "computed as Go does"
)]
fn part_of(fraction: &str, scale: u64) -> u64 {
    let mut value = 0_u64;
    let mut divisor = 1.0_f64;
    for digit in fraction.bytes() {
        match value.checked_mul(10).and_then(|value| value.checked_add(u64::from(digit - b'0'))) {
            Some(next) if next <= i64::MAX as u64 => value = next,
            _ => break,
        }
        divisor *= 10.0;
    }
    (value as f64 * (scale as f64 / divisor)) as u64
}

/// RFC 3339, as Go's `time.Parse` reads it; the year is not checked.
pub(crate) fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        if digits.bytes().all(|digit| digit.is_ascii_digit()) { digits.parse().ok() } else { None }
    };
    let literal = |at: usize, wanted: &str| text.get(at..at + 1) == Some(wanted);
    let marks = [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":")];
    if !marks.iter().all(|(at, wanted)| literal(*at, wanted)) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !(1..=12).contains(&month)
        || day < 1
        || day > days_in(year, month)
        || hour > 23
        || minute > 59
        || second > 59
    {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut nanoseconds = 0;
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return None;
        }
        let kept: String = fraction.chars().take(digits.min(9)).chain("000000000".chars()).take(9).collect();
        nanoseconds = kept.parse().ok()?;
        rest = fraction.get(digits..)?;
    }
    let offset = offset_of(rest)?;
    let days = days_since_1970(year, month, day);
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - i64::from(offset);
    Some(Timestamp { seconds, nanoseconds, offset })
}

/// `Z` or `+01:30` in seconds.
fn offset_of(text: &str) -> Option<i32> {
    if text == "Z" {
        return Some(0);
    }
    let bytes = text.as_bytes();
    let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = bytes else { return None };
    let pair = |high: &u8, low: &u8| {
        (high.is_ascii_digit() && low.is_ascii_digit())
            .then(|| i32::from(high - b'0') * 10 + i32::from(low - b'0'))
    };
    let (hours, minutes) = (pair(h1, h2)?, pair(m1, m2)?);
    if hours > 24 || minutes > 60 {
        return None;
    }
    let seconds = (hours * 60 + minutes) * 60;
    Some(if *sign == b'-' { -seconds } else { seconds })
}

pub(crate) fn days_in(year: i64, month: i64) -> i64 {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

pub(crate) fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the day a leap year adds comes last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

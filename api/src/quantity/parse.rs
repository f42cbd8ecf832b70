//! From text to an exact [`Amount`], by the rules of Kubernetes:
//! `[sign] digits[.digits] [suffix]`, where the suffix is decimal (`n u m k M G T P E`), binary (`Ki` to `Ei`) or a
//! decimal exponent (`e3`, `E-6`). What is finer than a nano rounds away from zero.
//!
//! Stricter than the Go parser in two places where it reads a missing number as zero (`+`, `Ki`); the CRD's pattern
//! refuses those as well. Where Go silently caps at 2^63-1, this is an error.
//!
//! The time is linear in the length of the text, whatever its digits and exponent say: an exponent only moves the
//! place where the digits are cut, and is never expanded.

use super::{Amount, QuantityError};
use crate::excerpt::excerpt;

/// Decimal places kept.
const NANO: i64 = 9;

/// Any exponent at least this far out has the same effect, and sums of it with a text's length cannot overflow.
const FAR: i64 = 1 << 40;

/// What a suffix multiplies with: two to the `shift` times ten to the `exponent`, one of them zero.
struct Scale {
    shift: u32,
    exponent: i64,
}

pub(super) fn parse(text: &str) -> Result<Amount, QuantityError> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, rest) = split_digits(unsigned);
    let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
    if whole.is_empty() && fraction.is_empty() {
        return Err(QuantityError::NotANumber(excerpt(text)));
    }
    let scale = scale_of(suffix)
        .ok_or_else(|| QuantityError::UnknownSuffix { text: excerpt(text), suffix: excerpt(suffix) })?;
    let magnitude = nanos(whole, fraction, &scale).and_then(|nanos| i128::try_from(nanos).ok());
    let magnitude = magnitude.ok_or_else(|| QuantityError::OutOfRange(excerpt(text)))?;
    Ok(Amount::from_nanos(if negative { -magnitude } else { magnitude }))
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

fn scale_of(suffix: &str) -> Option<Scale> {
    let binary = |shift| Some(Scale { shift, exponent: 0 });
    let decimal = |exponent| Some(Scale { shift: 0, exponent });
    match suffix {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => decimal(exponent_of(suffix)?),
    }
}

fn exponent_of(suffix: &str) -> Option<i64> {
    let signed = suffix.strip_prefix(['e', 'E'])?;
    let digits = signed.strip_prefix(['+', '-']).unwrap_or(signed);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse::<i64>().unwrap_or(FAR).min(FAR);
    Some(if signed.starts_with('-') { -size } else { size })
}

/// The magnitude in nanos, or nothing when it does not fit.
///
/// All digits read as one integer have to be moved by `places`. Those that stay left of the nano give `head`; the
/// others are multiplied from the right, one digit at a time, so that only their carry and "was anything left over"
/// have to be kept: the carry stays below two to the shift, and a digit times that fits a `u64`.
fn nanos(whole: &str, fraction: &str, scale: &Scale) -> Option<u128> {
    let length = whole.len() + fraction.len();
    let places = scale.exponent - i64::try_from(fraction.len()).ok()? + NANO;
    let cut = if places < 0 { usize::try_from(-places).ok()?.min(length) } else { 0 };
    let digits = || whole.bytes().chain(fraction.bytes()).map(|digit| digit - b'0');

    let mut head: u128 = 0;
    for digit in digits().take(length - cut) {
        head = head.checked_mul(10)?.checked_add(u128::from(digit))?;
    }
    if head != 0 && places > 0 {
        head = head.checked_mul(10_u128.checked_pow(u32::try_from(places).ok()?)?)?;
    }

    let mut carry: u64 = 0;
    let mut left_over = false;
    for digit in digits().rev().take(cut) {
        let product = (u64::from(digit) << scale.shift) + carry;
        left_over |= !product.is_multiple_of(10);
        carry = product / 10;
    }

    head.checked_mul(1 << scale.shift)?.checked_add(u128::from(carry))?.checked_add(u128::from(left_over))
}

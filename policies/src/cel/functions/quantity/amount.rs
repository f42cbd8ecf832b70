//! Quantities themselves: read, compared, added and written exactly.

use std::cmp::Ordering;
use std::fmt;

use num_bigint::{BigInt, Sign};

/// Powers of ten beyond which a quantity is refused: Kubernetes would compute all its digits.
const MAXIMUM_EXPONENT: i32 = 4_000;
/// The finest part is a billionth.
const NANO: i32 = -9;

/// A quantity.
#[derive(Clone, Debug)]
pub(crate) struct Quantity {
    amount: Amount,
    style: Style,
    /// The text it was written with, when that is how it is written out too.
    written: Option<Box<str>>,
    /// Kubernetes cannot compare anything with a quantity that was computed, only the other way round.
    pub(crate) computed: bool,
}

/// A number by its decimal digits and the power of ten they are multiplied by.
#[derive(Clone, Debug)]
enum Amount {
    Small { value: i64, scale: i32 },
    Large { digits: BigInt, scale: i32 },
}

/// How a quantity is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Decimal,
    Binary,
    Exponent,
}

fn power_of_ten(exponent: i32) -> BigInt {
    BigInt::from(10_u8).pow(exponent.unsigned_abs())
}

impl Quantity {
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        const FORMAT: &str =
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
        if text.is_empty() {
            return Err(FORMAT);
        }
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let rest = rest.trim_start_matches('0');
        let (whole, rest) = rest.split_at(digits(rest));
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(digits(rest)),
            None => ("", rest),
        };
        let letters = suffix.bytes().take_while(|byte| b"eEinumkKMGTP".contains(byte)).count();
        let exponent = suffix.get(letters..).unwrap_or_default();
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if !exponent.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(FORMAT);
        }
        let (style, exponent) = suffix_of(suffix).ok_or("unable to parse quantity's suffix")?;
        let whole = if whole.is_empty() { "0" } else { whole };
        if let Some(amount) = small(negative, whole, fraction, style, exponent) {
            let kept = is_canonical(whole, fraction, style, exponent).then(|| text.into());
            return Ok(Self { amount, style, written: kept, computed: false });
        }
        let amount = large(negative, whole, fraction, style, exponent)?;
        Ok(Self { amount, style, written: None, computed: false })
    }

    /// A whole number, which was not written as a quantity.
    pub(super) fn whole(value: i64) -> Self {
        let amount = Amount::Small { value, scale: 0 };
        Self { amount, style: Style::Exponent, written: None, computed: false }
    }

    pub(super) fn sign(&self) -> i64 {
        match &self.amount {
            Amount::Small { value, .. } => value.signum(),
            Amount::Large { digits, .. } => match digits.sign() {
                Sign::Minus => -1,
                Sign::NoSign => 0,
                Sign::Plus => 1,
            },
        }
    }

    /// The integer it is written as; one that needs rounding or more than 64 bits is none.
    pub(super) fn integer(&self) -> Option<i64> {
        match self.amount {
            Amount::Small { value, scale } if scale >= 0 => scaled(value, scale),
            _ => None,
        }
    }

    pub(super) fn approximate(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "the nearest double is what is asked for")]
        let (base, scale) = match &self.amount {
            Amount::Small { value, scale } => (*value as f64, *scale),
            Amount::Large { digits, scale } => (digits.to_string().parse().unwrap_or(f64::NAN), *scale),
        };
        if scale == 0 {
            return base;
        }
        base * format!("1e{scale}").parse::<f64>().unwrap_or(f64::NAN)
    }

    fn parts(&self) -> (BigInt, i32) {
        match &self.amount {
            Amount::Small { value, scale } => (BigInt::from(*value), *scale),
            Amount::Large { digits, scale } => (digits.clone(), *scale),
        }
    }

    /// Both with the finer scale of the two.
    fn aligned(&self, other: &Self) -> (BigInt, BigInt, i32) {
        let ((left, left_scale), (right, right_scale)) = (self.parts(), other.parts());
        let scale = left_scale.min(right_scale);
        (left * power_of_ten(left_scale - scale), right * power_of_ten(right_scale - scale), scale)
    }

    pub(crate) fn cmp(&self, other: &Self) -> Ordering {
        let (left, right, _) = self.aligned(other);
        left.cmp(&right)
    }

    pub(super) fn plus(&self, other: &Self, negate: bool) -> Self {
        let amount = self.small_sum(other, negate).unwrap_or_else(|| {
            let (left, right, scale) = self.aligned(other);
            Amount::Large { digits: if negate { left - right } else { left + right }, scale }
        });
        // Nothing plus something is written as the something is.
        let style = if self.sign() == 0 { other.style } else { self.style };
        Self { amount, style, written: None, computed: true }
    }

    fn small_sum(&self, other: &Self, negate: bool) -> Option<Amount> {
        let (
            Amount::Small { value: left, scale: left_scale },
            Amount::Small { value: right, scale: right_scale },
        ) = (&self.amount, &other.amount)
        else {
            return None;
        };
        let right = if negate { right.wrapping_neg() } else { *right };
        if right == 0 {
            return Some(self.amount.clone());
        }
        if *left == 0 {
            return Some(Amount::Small { value: right, scale: *right_scale });
        }
        let scale = *left_scale.min(right_scale);
        let value = scaled(*left, left_scale - scale)?.checked_add(scaled(right, right_scale - scale)?)?;
        Some(Amount::Small { value, scale })
    }
}

fn scaled(value: i64, by: i32) -> Option<i64> {
    value.checked_mul(10_i64.checked_pow(u32::try_from(by).ok()?)?)
}

/// Whether a quantity is written out as it was written, which the reference decides by its last digits.
fn is_canonical(whole: &str, fraction: &str, style: Style, exponent: i32) -> bool {
    let digits = format!("{whole}{fraction}");
    match style {
        Style::Binary => exponent % 10 == 0 && digits.parse::<i64>().is_ok_and(|value| value & 7 != 0),
        Style::Decimal | Style::Exponent => {
            let scale = exponent - i32::try_from(fraction.len()).unwrap_or(1);
            scale % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0')
        }
    }
}

/// The amount in 64 bits, when it has few enough digits.
fn small(negative: bool, whole: &str, fraction: &str, style: Style, exponent: i32) -> Option<Amount> {
    let length = i32::try_from(whole.len() + fraction.len()).ok()?;
    let (mut scale, factor, room) = match style {
        Style::Decimal | Style::Exponent => (exponent, 1, 18 - length),
        Style::Binary if fraction.is_empty() => {
            // A binary suffix has about three digits for each ten of its exponent.
            let length = i32::try_from(whole.len()).ok()?;
            (0, 1_i64 << exponent, 15 - length - exponent * 3 / 10 - 1)
        }
        Style::Binary => return None,
    };
    scale = scale.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    if room < 0 || !(NANO..=MAXIMUM_EXPONENT).contains(&scale) {
        return None;
    }
    let value: i64 = format!("{whole}{fraction}").parse().ok()?;
    let value = value.checked_mul(factor)?;
    let value = if negative { -value } else { value };
    Some(Amount::Small { value, scale })
}

fn large(
    negative: bool,
    whole: &str,
    fraction: &str,
    style: Style,
    exponent: i32,
) -> Result<Amount, &'static str> {
    let mut digits: BigInt =
        format!("{whole}{fraction}").parse().map_err(|_| "unable to parse numeric part of quantity")?;
    let mut scale = i32::try_from(fraction.len()).map_or(i32::MIN, |length| -length);
    match style {
        Style::Decimal | Style::Exponent => {
            scale = scale.checked_add(exponent).ok_or("quantity is too large")?
        }
        Style::Binary => digits <<= exponent.unsigned_abs(),
    }
    if scale > MAXIMUM_EXPONENT {
        return Err("quantity is too large");
    }
    if digits.sign() != Sign::NoSign {
        // Always in billionths, and rounded away from zero: whoever asks for something gets something.
        digits = match scale.checked_sub(NANO) {
            Some(up) if up >= 0 => digits * power_of_ten(up),
            Some(down) if down > -MAXIMUM_EXPONENT => {
                let divisor = power_of_ten(down);
                (digits + &divisor - 1_u8) / divisor
            }
            _ => BigInt::from(1_u8),
        };
        scale = NANO;
    }
    let largest = BigInt::from(i64::MAX) * power_of_ten(NANO);
    if style == Style::Binary && scale == NANO && digits > largest {
        (digits, scale) = (BigInt::from(i64::MAX), 0);
    }
    let digits = if negative { -digits } else { digits };
    Ok(Amount::Large { digits, scale })
}

fn suffix_of(suffix: &str) -> Option<(Style, i32)> {
    Some(match suffix {
        "n" => (Style::Decimal, -9),
        "u" => (Style::Decimal, -6),
        "m" => (Style::Decimal, -3),
        "" => (Style::Decimal, 0),
        "k" => (Style::Decimal, 3),
        "M" => (Style::Decimal, 6),
        "G" => (Style::Decimal, 9),
        "T" => (Style::Decimal, 12),
        "P" => (Style::Decimal, 15),
        "E" => (Style::Decimal, 18),
        "Ki" => (Style::Binary, 10),
        "Mi" => (Style::Binary, 20),
        "Gi" => (Style::Binary, 30),
        "Ti" => (Style::Binary, 40),
        "Pi" => (Style::Binary, 50),
        "Ei" => (Style::Binary, 60),
        _ => {
            let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            (
                Style::Exponent,
                i32::try_from(exponent).unwrap_or(if exponent < 0 { -2_000_000 } else { 2_000_000 }),
            )
        }
    })
}

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(written) = &self.written {
            return formatter.write_str(written);
        }
        let (mut digits, mut scale) = self.parts();
        if digits.sign() == Sign::NoSign {
            return formatter.write_str("0");
        }
        if self.style == Style::Binary
            && let Some((digits, times)) = binary(&digits, scale)
        {
            return write!(
                formatter,
                "{digits}{}",
                ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].get(times).unwrap_or(&"")
            );
        }
        while &digits % 10_u8 == BigInt::ZERO {
            digits /= 10_u8;
            scale += 1;
        }
        while scale % 3 != 0 {
            digits *= 10_u8;
            scale -= 1;
        }
        write!(formatter, "{digits}")?;
        let letters = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
        let letter = usize::try_from(scale / 3 + 3).ok().and_then(|place| letters.get(place));
        match letter {
            Some(letter) if self.style != Style::Exponent => formatter.write_str(letter),
            _ if scale != 0 && self.style == Style::Exponent => write!(formatter, "e{scale}"),
            _ => Ok(()),
        }
    }
}

/// The whole number that digits and scale are, without factors of 1024, and how many of those it had; nothing when
/// it is no whole number or too small to be written so.
fn binary(digits: &BigInt, scale: i32) -> Option<(BigInt, usize)> {
    let mut whole = if scale >= 0 {
        digits * power_of_ten(scale)
    } else {
        let divisor = power_of_ten(scale);
        if digits % &divisor != BigInt::ZERO {
            return None;
        }
        digits / divisor
    };
    if whole.magnitude() < BigInt::from(1024_u16).magnitude() {
        return None;
    }
    let mut times = 0;
    while &whole % 1024_u16 == BigInt::ZERO {
        whole /= 1024_u16;
        times += 1;
    }
    Some((whole, times))
}

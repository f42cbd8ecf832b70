//! The exact number behind a quantity.

use std::fmt;

const NANOS_PER_UNIT: i128 = 1_000_000_000;

/// An exact number of cores or bytes, counted in billionths, from about -1.7e29 to 1.7e29.
///
/// Nothing here rounds, wraps or caps: an operation whose result does not fit gives `None`.
///
/// As text, an amount is a whole number (`4`, `1000`) or, failing that, a whole number of the largest fitting part
/// (`250m`, `1500m`, `1n`). [`Amount::bytes`] gives the text for memory and disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount {
    nanos: i128,
}

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0 };

    /// That many billionths.
    pub const fn from_nanos(nanos: i128) -> Self {
        Self { nanos }
    }

    /// That many whole cores or bytes.
    pub const fn from_units(units: i64) -> Self {
        Self { nanos: units as i128 * NANOS_PER_UNIT }
    }

    /// That many whole cores or bytes; what does not fit is the largest amount.
    pub fn from_whole(units: u128) -> Self {
        let units = i128::try_from(units).unwrap_or(i128::MAX);
        Self { nanos: units.saturating_mul(NANOS_PER_UNIT) }
    }

    /// The amount in billionths.
    pub const fn nanos(self) -> i128 {
        self.nanos
    }

    /// Whether the amount is below zero.
    pub const fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// Whether the amount is nothing. Clients written in Go send `0` for a quantity that was never set.
    pub const fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// The sum, if it fits.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.nanos.checked_add(other.nanos).map(Self::from_nanos)
    }

    /// The difference, if it fits; below zero when `other` is larger.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.nanos.checked_sub(other.nanos).map(Self::from_nanos)
    }

    /// That many times the amount, if it fits.
    pub fn checked_mul(self, count: impl Into<i128>) -> Option<Self> {
        self.nanos.checked_mul(count.into()).map(Self::from_nanos)
    }

    /// The sum of all, if every step of it fits.
    pub fn checked_sum(amounts: impl IntoIterator<Item = Self>) -> Option<Self> {
        amounts.into_iter().try_fold(Self::ZERO, Self::checked_add)
    }

    /// Whole cores or bytes, if the amount has no fraction.
    pub fn to_units_exact(self) -> Option<i128> {
        (self.nanos % NANOS_PER_UNIT == 0).then_some(self.nanos / NANOS_PER_UNIT)
    }

    /// The smallest whole number that is not below the amount.
    pub fn ceil_units(self) -> i128 {
        self.nanos / NANOS_PER_UNIT + i128::from(self.nanos % NANOS_PER_UNIT > 0)
    }

    /// The amount as text for memory and disk.
    pub fn bytes(self) -> Bytes {
        Bytes(self)
    }
}

impl From<i32> for Amount {
    fn from(units: i32) -> Self {
        Self::from_units(units.into())
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PARTS: [(i128, &str); 3] = [(NANOS_PER_UNIT, ""), (1_000_000, "m"), (1_000, "u")];
        for (size, suffix) in PARTS {
            if self.nanos % size == 0 {
                return write!(f, "{}{suffix}", self.nanos / size);
            }
        }
        write!(f, "{}n", self.nanos)
    }
}

/// An [`Amount`] shown as memory or disk: the shortest exact text with at most two decimals, where a binary suffix wins
/// over a decimal one of the same length. `1536Mi` shows as `1.5Gi`, `1300Mi` as itself, `16000000000` as `16G`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(Amount);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const fn binary(power: u32) -> i128 {
            NANOS_PER_UNIT << (10 * power)
        }
        const fn decimal(power: u32) -> i128 {
            NANOS_PER_UNIT * 1000_i128.pow(power)
        }
        const BINARY: [(i128, &str); 6] = [
            (binary(6), "Ei"),
            (binary(5), "Pi"),
            (binary(4), "Ti"),
            (binary(3), "Gi"),
            (binary(2), "Mi"),
            (binary(1), "Ki"),
        ];
        const DECIMAL: [(i128, &str); 6] = [
            (decimal(6), "E"),
            (decimal(5), "P"),
            (decimal(4), "T"),
            (decimal(3), "G"),
            (decimal(2), "M"),
            (decimal(1), "k"),
        ];
        let amount = self.0;
        let in_unit = |(size, suffix): (i128, &str)| with_two_decimals(amount.nanos, size, suffix);
        let shortest = BINARY
            .into_iter()
            .filter_map(in_unit)
            .chain([amount.to_string()])
            .chain(DECIMAL.into_iter().filter_map(in_unit))
            .min_by_key(String::len);
        f.write_str(&shortest.unwrap_or_default())
    }
}

/// `nanos` counted in a unit of `size` nanos, if that is at least one and exact with two decimals.
fn with_two_decimals(nanos: i128, size: i128, suffix: &str) -> Option<String> {
    let sign = if nanos < 0 { "-" } else { "" };
    let (whole, rest) =
        (nanos.unsigned_abs() / size.unsigned_abs(), nanos.unsigned_abs() % size.unsigned_abs());
    let hundredths = rest * 100;
    if whole == 0 || hundredths % size.unsigned_abs() != 0 {
        return None;
    }
    let decimals = match hundredths / size.unsigned_abs() {
        0 => String::new(),
        tenths if tenths % 10 == 0 => format!(".{}", tenths / 10),
        hundredths => format!(".{hundredths:02}"),
    };
    Some(format!("{sign}{whole}{decimals}{suffix}"))
}

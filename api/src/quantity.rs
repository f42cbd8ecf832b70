//! Amounts of cpu, memory and disk: the text a user writes, and the exact number it means.
//!
//! [`Quantity`] is what travels on the wire and keeps the user's own text, so that writing an object back never
//! changes what they wrote. [`Amount`] is what the text means: a fixed-point number that is compared, added and
//! multiplied without rounding. `1024Mi` and `1Gi` are different quantities with the same amount.

mod amount;
mod parse;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::excerpt::excerpt;

pub use self::amount::{Amount, Bytes};

/// The shape the API server checks before anyone parses. It also lets through a fractional exponent (`1e1.5`), which
/// has no meaning; [`Quantity::amount`] refuses it.
pub const PATTERN: &str = concat!(
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))",
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
);

/// An amount of cpu, memory or disk as written: a number with an optional suffix (`500m`, `4`, `16Gi`, `1e3`).
///
/// Equality is equality of the text. Compare [`Quantity::amount`]s to compare what two quantities mean.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quantity(String);

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text does not begin with a number.
    #[error("`{0}` is not a quantity; write a number with an optional suffix, such as `4`, `500m` or `16Gi`")]
    NotANumber(String),
    /// A number is followed by something that is no Kubernetes suffix.
    #[error(
        "`{text}` ends in the unknown suffix `{suffix}`; use n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an \
         exponent such as e3"
    )]
    UnknownSuffix {
        /// The whole quantity.
        text: String,
        /// What follows its number.
        suffix: String,
    },
    /// The number does not fit an [`Amount`].
    #[error("`{0}` is out of range; write a quantity between -1.7e29 and 1.7e29")]
    OutOfRange(String),
}

impl Quantity {
    /// Keeps `text` as it is; whether it is a quantity shows in [`Quantity::amount`].
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text as the user wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The exact number behind the text, or why there is none.
    pub fn amount(&self) -> Result<Amount, QuantityError> {
        self.0.parse()
    }
}

impl FromStr for Amount {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse::parse(text)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Quantity {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<Amount> for Quantity {
    /// The decimal form; for memory and disk, `Quantity::from(amount.bytes())` reads better.
    fn from(amount: Amount) -> Self {
        Self(amount.to_string())
    }
}

impl From<Bytes> for Quantity {
    fn from(bytes: Bytes) -> Self {
        Self(bytes.to_string())
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WireVisitor)
    }
}

struct WireVisitor;

impl Visitor<'_> for WireVisitor {
    type Value = Quantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an amount, such as `4`, `500m` or `16Gi`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
        Ok(Quantity::new(text))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Quantity, E> {
        Ok(Quantity(text))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Quantity, E> {
        Ok(Quantity(number.to_string()))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Quantity, E> {
        Ok(Quantity(number.to_string()))
    }

    fn visit_i128<E: de::Error>(self, number: i128) -> Result<Quantity, E> {
        Ok(Quantity(number.to_string()))
    }

    fn visit_u128<E: de::Error>(self, number: u128) -> Result<Quantity, E> {
        Ok(Quantity(number.to_string()))
    }

    /// The API server takes `4.0` for the integer 4. Past 2^53 a float may already have lost digits on its way here,
    /// and guessing them back would make the number inexact, so such a number has to come as a string.
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Quantity, E> {
        const EXACT_INTEGERS_END: f64 = 9_007_199_254_740_992.0;
        if number.fract() == 0.0 && number.abs() <= EXACT_INTEGERS_END {
            return Ok(Quantity(format!("{:.0}", number + 0.0)));
        }
        Err(E::custom(format_args!(
            "the number `{}` is not exact as JSON; write it as a string",
            excerpt(&number.to_string())
        )))
    }
}

impl JsonSchema for Quantity {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": PATTERN,
            "x-kubernetes-int-or-string": true,
        })
    }
}

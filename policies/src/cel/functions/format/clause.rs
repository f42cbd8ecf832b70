//! What a format says: text, and clauses that each write one value.

use crate::cel::schema::MAXIMUM_REQUEST;
use crate::cel::types::Shape;

/// A clause: what it stands for and how exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clause {
    pub(crate) kind: Kind,
    pub(super) precision: Option<usize>,
}

/// What a clause stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Decimal,
    Fixed,
    Scientific,
    Binary,
    Hexadecimal { upper: bool },
    Octal,
}

/// A part of a format: text as it is, or a clause.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    Plain(&'t str),
    Clause(Clause),
}

/// The pieces of a format, each wrong one with its reason.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = Result<Piece<'_>, String>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let Some(after) = rest.strip_prefix('%') else {
            let end = rest.find('%').unwrap_or(rest.len());
            let (plain, others) = rest.split_at(end);
            rest = others;
            return (!plain.is_empty()).then_some(Ok(Piece::Plain(plain)));
        };
        if let Some(others) = after.strip_prefix('%') {
            rest = others;
            return Some(Ok(Piece::Plain("%")));
        }
        Some(clause(after).map(|(clause, others)| {
            rest = others;
            Piece::Clause(clause)
        }))
    })
}

fn clause(text: &str) -> Result<(Clause, &str), String> {
    let wrong = |reason: &str| format!("could not parse formatting clause: {reason}");
    let (precision, rest) = match text.strip_prefix('.') {
        Some(after) => {
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, rest) = after.split_at(digits);
            if rest.is_empty() {
                return Err(wrong(
                    "error while parsing precision: could not find end of precision specifier",
                ));
            }
            let precision: usize =
                digits.parse().map_err(|_| wrong("error while converting precision to integer"))?;
            (Some(precision), rest)
        }
        None => (None, text),
    };
    let Some(letter) = rest.chars().next() else { return Err("unexpected end of string".to_owned()) };
    let kind = match letter {
        's' => Kind::Text,
        'd' => Kind::Decimal,
        'f' => Kind::Fixed,
        'e' => Kind::Scientific,
        'b' => Kind::Binary,
        'x' => Kind::Hexadecimal { upper: false },
        'X' => Kind::Hexadecimal { upper: true },
        'o' => Kind::Octal,
        other => return Err(wrong(&format!("unrecognized formatting clause \"{other}\""))),
    };
    Ok((Clause { kind, precision }, rest.get(letter.len_utf8()..).unwrap_or_default()))
}

/// Digits of the largest number before the point, its sign, and a comma for each thousand.
const LONGEST_WHOLE: u64 = 309 + 1 + 103;
/// Characters of any other number, a time or the name of a type.
const LONGEST_PLAIN: u64 = 80;
/// Characters that are written for one of a document: `1e300` in a list becomes 309 of them.
const GROWTH: u64 = 64;

impl Clause {
    /// Characters written for a value of this type, which has at most `size` of them itself.
    pub(crate) fn longest(self, shape: &Shape, size: u64) -> u64 {
        let precision = self.precision.map_or(0, |precision| precision as u64);
        match (self.kind, shape) {
            (Kind::Fixed, _) => LONGEST_WHOLE + 256,
            (Kind::Scientific, _) => precision.max(LONGEST_PLAIN),
            (Kind::Decimal | Kind::Binary | Kind::Octal, _) => LONGEST_PLAIN,
            (Kind::Text, Shape::String | Shape::Bytes) => size,
            // Two digits for each of up to four bytes.
            (Kind::Hexadecimal { .. }, _) => size.saturating_mul(8).max(LONGEST_PLAIN),
            (Kind::Text, shape) if shape.is_scalar() => LONGEST_PLAIN,
            (Kind::Text, _) => size.max(MAXIMUM_REQUEST).saturating_mul(GROWTH),
        }
    }
}

impl Kind {
    /// Whether a value of this type may stand here; what is not known may.
    pub(crate) fn takes(self, shape: &Shape) -> bool {
        match shape {
            Shape::Dyn => true,
            Shape::Int | Shape::Uint => !matches!(self, Self::Fixed | Self::Scientific),
            Shape::Double => matches!(self, Self::Text | Self::Fixed | Self::Scientific),
            Shape::String => {
                matches!(self, Self::Text | Self::Fixed | Self::Scientific | Self::Hexadecimal { .. })
            }
            Shape::Bytes => matches!(self, Self::Text | Self::Hexadecimal { .. }),
            Shape::Bool => matches!(self, Self::Text | Self::Binary),
            Shape::List(_)
            | Shape::Map(..)
            | Shape::Timestamp
            | Shape::Duration
            | Shape::Type(_)
            | Shape::Null => self == Self::Text,
            _ => false,
        }
    }

    /// The error of a value of another type.
    pub(crate) fn refusal(self, given: &str) -> String {
        let only = match self {
            Self::Text => {
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, \
                 durations, and timestamps"
            }
            Self::Decimal => "decimal clause can only be used on integers",
            Self::Fixed => "fixed-point clause can only be used on doubles",
            Self::Scientific => "scientific clause can only be used on doubles",
            Self::Binary => "only integers and bools can be formatted as binary",
            Self::Hexadecimal { .. } => "only integers, byte buffers, and strings can be formatted as hex",
            Self::Octal => "octal clause can only be used on integers",
        };
        format!("error during formatting: {only}, was given {given}")
    }
}

//! The uid of an object: what tells it from an earlier one of the same name.

use std::fmt;
use std::str::FromStr;

use super::digest::base32;
use crate::excerpt::excerpt;

/// `metadata.uid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectUid(u128);

/// The text is not what the API server gives as a uid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not the uid of an object; it has 32 hexadecimal digits, as in `1a2b3c4d-0000-4000-8000-000000000001`"
)]
pub struct UidError(String);

impl ObjectUid {
    /// The uid as a number.
    pub const fn number(self) -> u128 {
        self.0
    }

    /// The uid of that number.
    pub const fn from_number(number: u128) -> Self {
        Self(number)
    }

    /// The first eight digits, for names that people read.
    pub fn short(self) -> String {
        format!("{:08x}", self.0 >> 96)
    }

    /// The name of the cluster's schema in the data store, and of the user that owns it.
    ///
    /// It is unique per object, not per name: a data store keeps remains of a deleted schema, which a namesake must not
    /// inherit, and Steward's own default is shared by `a-b/c` and `a/b-c`, so that deleting one cluster would wipe the
    /// other. With 29 characters of `[a-z2-7_]`, the first a letter, it is an identifier that needs no quoting and a user
    /// name for etcd, MySQL (32 characters at most) and PostgreSQL (63).
    pub fn data_store_schema(self) -> String {
        // 26 characters of five bits hold all 128.
        format!("tc_{}", base32(self.0, 26))
    }
}

impl FromStr for ObjectUid {
    type Err = UidError;

    fn from_str(text: &str) -> Result<Self, UidError> {
        let error = || UidError(excerpt(text));
        let digits: String = text.chars().filter(|character| *character != '-').take(33).collect();
        if digits.len() != 32 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(error());
        }
        u128::from_str_radix(&digits, 16).map(Self).map_err(|_| error())
    }
}

impl fmt::Display for ObjectUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0;
        let (a, b, c) = (number >> 96, (number >> 80) & 0xffff, (number >> 64) & 0xffff);
        let (d, e) = ((number >> 48) & 0xffff, number & 0xffff_ffff_ffff);
        write!(f, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
    }
}

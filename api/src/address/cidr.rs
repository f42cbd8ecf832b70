//! An aligned block of addresses.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

use super::{AddressError, AddressFamily, parse_address};
use crate::excerpt::excerpt;

/// A network in its one spelling: an address with nothing set behind the prefix, and the length of the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cidr(IpNet);

impl Cidr {
    /// The network of this prefix length that `address` lies in, or `None` when the prefix is longer than an address.
    pub fn around(address: IpAddr, prefix_length: u8) -> Option<Self> {
        Some(Self(IpNet::new(address, prefix_length).ok()?.trunc()))
    }

    /// The first address.
    pub fn first(self) -> IpAddr {
        self.0.network()
    }

    /// The last address.
    pub fn last(self) -> IpAddr {
        self.0.broadcast()
    }

    /// How many leading bits all its addresses share.
    pub fn prefix_length(self) -> u8 {
        self.0.prefix_len()
    }

    /// The family of its addresses.
    pub fn family(self) -> AddressFamily {
        AddressFamily::of(self.0.addr())
    }

    /// Whether the address lies in it.
    pub fn contains(self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }

    /// Whether all of `other` lies in it.
    pub fn contains_cidr(self, other: Self) -> bool {
        self.0.contains(&other.0)
    }

    /// Whether the two share an address.
    pub fn overlaps(self, other: Self) -> bool {
        self.contains_cidr(other) || other.contains_cidr(self)
    }
}

impl FromStr for Cidr {
    type Err = AddressError;

    /// Strict: the host bits must be zero. The error for those carries the network meant.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let not_a_cidr = || AddressError::NotACidr(excerpt(text));
        let (address, length) = text.split_once('/').ok_or_else(not_a_cidr)?;
        let digits =
            length.bytes().all(|byte| byte.is_ascii_digit()) && (length == "0" || !length.starts_with('0'));
        let length: u32 = if digits { length.parse().ok() } else { None }.ok_or_else(not_a_cidr)?;
        let address = parse_address(address).map_err(|error| match error {
            AddressError::Mapped { plain, .. } => {
                let plain =
                    length.checked_sub(96).map_or(plain.clone(), |length| format!("{plain}/{length}"));
                AddressError::Mapped { text: excerpt(text), plain }
            }
            _ => not_a_cidr(),
        })?;
        let family = AddressFamily::of(address);
        let canonical = u8::try_from(length).ok().and_then(|length| Self::around(address, length));
        let Some(canonical) = canonical else {
            return Err(AddressError::PrefixTooLong { text: excerpt(text), length, family });
        };
        if canonical.first() != address {
            return Err(AddressError::HostBits { text: excerpt(text), canonical });
        }
        Ok(canonical)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

//! Networks and ranges of addresses, IPv4 and IPv6.
//!
//! A [`Cidr`] is an aligned block as written in a spec, an [`AddressRange`] any run of consecutive addresses, and a
//! [`RangeSet`] what remains of a pool when pieces are taken out. All are valid by construction, and none mixes families.
//!
//! An IPv4 address written as IPv6 (`::ffff:10.0.0.1`) is refused wherever text is read: it names the same machine as
//! `10.0.0.1`, yet no overlap check between the two would see it. An IPv6 network that happens to cover that corner of the
//! address space, such as `::/0`, is plain IPv6 and contains no IPv4 address.

mod cidr;
mod range;
mod set;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::excerpt::excerpt;

pub use self::cidr::Cidr;
pub use self::range::AddressRange;
pub use self::set::RangeSet;

/// IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AddressFamily {
    /// 32 bits.
    V4,
    /// 128 bits.
    V6,
}

/// Why a text is not an address, a network or a range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not an address of either family.
    #[error("`{0}` is not an IP address; write one such as `10.40.1.10` or `fd00::10`")]
    NotAnAddress(String),
    /// An IPv4 address in IPv6 clothes.
    #[error("`{text}` is an IPv4 address written as IPv6; write `{plain}`")]
    Mapped {
        /// The text.
        text: String,
        /// The IPv4 address or network meant.
        plain: String,
    },
    /// Not an address and a prefix length.
    #[error(
        "`{0}` is not a CIDR; write an address and a prefix length, such as `10.40.0.0/16` or `fd00::/64`"
    )]
    NotACidr(String),
    /// The prefix is longer than an address.
    #[error("`{text}` has the prefix length {length}; an {family} prefix is at most {}", family.bits())]
    PrefixTooLong {
        /// The whole network.
        text: String,
        /// Its prefix length.
        length: u32,
        /// Its family.
        family: AddressFamily,
    },
    /// The address is not the first of its network.
    #[error("`{text}` has bits set behind its prefix; write `{canonical}`")]
    HostBits {
        /// The whole network.
        text: String,
        /// The network meant, for callers that want to go on with it.
        canonical: Cidr,
    },
    /// A range from one family to the other.
    #[error("`{start}` and `{end}` are of different families; write two IPv4 or two IPv6 addresses")]
    MixedFamilies {
        /// The first address.
        start: IpAddr,
        /// The last address.
        end: IpAddr,
    },
    /// A range that ends before it begins.
    #[error("the range starts at `{start}`, which is after its end `{end}`; swap the two")]
    Backwards {
        /// The first address.
        start: IpAddr,
        /// The last address.
        end: IpAddr,
    },
}

impl AddressFamily {
    /// The family of an address.
    pub const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    /// How many bits an address has.
    pub const fn bits(self) -> u32 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }

    /// The address with this number. What lies above the 32 bits of an IPv4 address is cut; no caller has such a number.
    const fn address(self, number: u128) -> IpAddr {
        match self {
            Self::V4 => IpAddr::V4(Ipv4Addr::from_bits(number as u32)),
            Self::V6 => IpAddr::V6(Ipv6Addr::from_bits(number)),
        }
    }
}

impl fmt::Display for AddressFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}

/// Reads one address; see the head of this file for the one kind that is refused.
pub fn parse_address(text: &str) -> Result<IpAddr, AddressError> {
    let address: IpAddr = text.parse().map_err(|_| AddressError::NotAnAddress(excerpt(text)))?;
    if let IpAddr::V6(v6) = address
        && let Some(plain) = v6.to_ipv4_mapped()
    {
        return Err(AddressError::Mapped { text: excerpt(text), plain: plain.to_string() });
    }
    Ok(address)
}

/// The address as a number.
const fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_bits() as u128,
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

//! A run of consecutive addresses.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::{AddressError, AddressFamily, Cidr, number, parse_address};

/// Consecutive addresses of one family, both ends included. Never empty.
///
/// Ordered by family, then start, then end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressRange {
    family: AddressFamily,
    first: u128,
    last: u128,
}

impl AddressRange {
    /// The addresses from `start` to `end`.
    pub fn new(start: IpAddr, end: IpAddr) -> Result<Self, AddressError> {
        let family = AddressFamily::of(start);
        if family != AddressFamily::of(end) {
            return Err(AddressError::MixedFamilies { start, end });
        }
        let (first, last) = (number(start), number(end));
        if first > last {
            return Err(AddressError::Backwards { start, end });
        }
        Ok(Self { family, first, last })
    }

    /// The addresses from one text to another, as a spec gives them.
    pub fn parse_ends(start: &str, end: &str) -> Result<Self, AddressError> {
        Self::new(parse_address(start)?, parse_address(end)?)
    }

    /// The range from `first` to `last`, or nothing if that is backwards.
    pub(super) fn between(family: AddressFamily, first: u128, last: u128) -> Option<Self> {
        (first <= last).then_some(Self { family, first, last })
    }

    /// The first address.
    pub fn start(&self) -> IpAddr {
        self.family.address(self.first)
    }

    /// The last address.
    pub fn end(&self) -> IpAddr {
        self.family.address(self.last)
    }

    /// The family of its addresses.
    pub fn family(&self) -> AddressFamily {
        self.family
    }

    /// How many addresses there are. `None` stands for 2^128, all of IPv6, the one count that does not fit.
    pub fn size(&self) -> Option<u128> {
        self.distance().checked_add(1)
    }

    /// How far the last address is from the first: one less than the size, and always a number.
    pub(super) fn distance(&self) -> u128 {
        self.last - self.first
    }

    /// Whether there are at least `count` addresses.
    pub fn has_at_least(&self, count: u128) -> bool {
        self.size().is_none_or(|size| size >= count)
    }

    /// Whether all of `other`, an address, a network or a range, lies in this one.
    pub fn contains(&self, other: impl Into<Self>) -> bool {
        let other = other.into();
        self.family == other.family && self.first <= other.first && other.last <= self.last
    }

    /// Whether this one and `other`, an address, a network or a range, share an address.
    pub fn overlaps(&self, other: impl Into<Self>) -> bool {
        self.intersect(other).is_some()
    }

    /// The addresses that are in both.
    pub fn intersect(&self, other: impl Into<Self>) -> Option<Self> {
        let other = other.into();
        if self.family != other.family {
            return None;
        }
        Self::between(self.family, self.first.max(other.first), self.last.min(other.last))
    }

    /// What is left of this one without the addresses of `other`: nothing, one piece or two.
    pub fn subtract(&self, other: impl Into<Self>) -> Vec<Self> {
        let Some(shared) = self.intersect(other) else { return vec![*self] };
        let before =
            shared.first.checked_sub(1).and_then(|last| Self::between(self.family, self.first, last));
        let after = shared.last.checked_add(1).and_then(|first| Self::between(self.family, first, self.last));
        before.into_iter().chain(after).collect()
    }

    /// The two as one range, if no address lies between them.
    pub fn join(&self, other: &Self) -> Option<Self> {
        let (low, high) = if self <= other { (self, other) } else { (other, self) };
        let touching = low.family == high.family && high.first <= low.last.saturating_add(1);
        touching.then_some(Self { last: low.last.max(high.last), ..*low })
    }

    /// The first `count` addresses as a range of their own, if there are that many and at least one is asked for.
    pub fn take(&self, count: u128) -> Option<Self> {
        let offset = count.checked_sub(1)?;
        let last = self.first.checked_add(offset)?;
        (last <= self.last).then_some(Self { last, ..*self })
    }

    /// The addresses in order, but no more than `limit`: a typing mistake in an IPv6 range must not fill the memory.
    pub fn addresses(&self, limit: usize) -> impl Iterator<Item = IpAddr> + use<> {
        let family = self.family;
        (self.first..=self.last).take(limit).map(move |number| family.address(number))
    }

    /// The range as a network, if it is one.
    pub fn as_cidr(&self) -> Option<Cidr> {
        let (cidr, covered) = self.largest_cidr_at_start()?;
        (covered == self.last).then_some(cidr)
    }

    /// The fewest networks that together are this range, in order. There are at most two per bit of an address.
    pub fn to_cidrs(&self) -> Vec<Cidr> {
        let mut cidrs = Vec::new();
        let mut rest = Some(*self);
        while let Some((cidr, covered)) = rest.and_then(|rest| rest.largest_cidr_at_start()) {
            cidrs.push(cidr);
            rest = covered.checked_add(1).and_then(|first| Self::between(self.family, first, self.last));
        }
        cidrs
    }

    /// The largest network that begins where the range does and lies in it, with its last number.
    ///
    /// It may have as many host bits as the first number has trailing zeros, and as the range's size has bits below
    /// its highest.
    fn largest_cidr_at_start(&self) -> Option<(Cidr, u128)> {
        let aligned = self.first.trailing_zeros().min(self.family.bits());
        let fitting = self.size().map_or(self.family.bits(), u128::ilog2);
        let host_bits = aligned.min(fitting);
        let prefix_length = u8::try_from(self.family.bits() - host_bits).ok()?;
        let host_mask = 1_u128.checked_shl(host_bits).map_or(u128::MAX, |size| size - 1);
        Some((Cidr::around(self.start(), prefix_length)?, self.first | host_mask))
    }
}

impl From<IpAddr> for AddressRange {
    fn from(address: IpAddr) -> Self {
        Self { family: AddressFamily::of(address), first: number(address), last: number(address) }
    }
}

impl From<Cidr> for AddressRange {
    fn from(cidr: Cidr) -> Self {
        Self { family: cidr.family(), first: number(cidr.first()), last: number(cidr.last()) }
    }
}

impl From<&Self> for AddressRange {
    fn from(range: &Self) -> Self {
        *range
    }
}

impl FromStr for AddressRange {
    type Err = AddressError;

    /// Reads `a-b`, a CIDR, or a single address.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some((start, end)) = text.split_once('-') {
            Self::parse_ends(start.trim(), end.trim())
        } else if text.contains('/') {
            text.parse::<Cidr>().map(Self::from)
        } else {
            parse_address(text).map(Self::from)
        }
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            write!(f, "{}", self.start())
        } else {
            write!(f, "{}-{}", self.start(), self.end())
        }
    }
}

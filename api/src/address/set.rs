//! Several ranges as one set of addresses.

use super::AddressRange;

/// A set of addresses, kept as the fewest ranges: in order, apart from each other, never touching.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RangeSet {
    ranges: Vec<AddressRange>,
}

impl RangeSet {
    /// The ranges, in order.
    pub fn ranges(&self) -> &[AddressRange] {
        &self.ranges
    }

    /// Whether there is no address in it.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// How many addresses there are; `None` when that does not fit.
    pub fn size(&self) -> Option<u128> {
        self.ranges.iter().try_fold(0_u128, |sum, range| sum.checked_add(range.size()?))
    }

    /// The longest run of consecutive addresses, the first of several equally long ones.
    pub fn largest(&self) -> Option<AddressRange> {
        self.ranges.iter().rev().copied().max_by_key(AddressRange::distance)
    }

    /// Whether all of `other`, an address, a network or a range, is in the set.
    pub fn contains(&self, other: impl Into<AddressRange>) -> bool {
        let other = other.into();
        self.ranges.iter().any(|range| range.contains(other))
    }

    /// Whether any address of `other` is in the set.
    pub fn overlaps(&self, other: impl Into<AddressRange>) -> bool {
        let other = other.into();
        self.ranges.iter().any(|range| range.overlaps(other))
    }

    /// The addresses of this set that are not in `taken`, in one pass over both.
    pub fn subtract(&self, taken: &Self) -> Self {
        let mut left = Vec::new();
        let mut taken = taken.ranges.iter().peekable();
        for range in &self.ranges {
            let mut rest = Some(*range);
            while let (Some(current), Some(hole)) = (rest, taken.peek()) {
                if hole.family() == current.family() && hole.overlaps(current) {
                    let mut pieces = current.subtract(*hole);
                    // What lies behind the hole may meet the next one; what lies before it is free of all that follow.
                    rest = pieces.pop_if(|piece| piece.start() > hole.end());
                    left.append(&mut pieces);
                    if rest.is_none() {
                        break;
                    }
                } else if **hole > current {
                    break;
                }
                taken.next();
            }
            left.extend(rest);
        }
        Self { ranges: left }
    }
}

impl FromIterator<AddressRange> for RangeSet {
    /// Joins what overlaps or touches.
    fn from_iter<I: IntoIterator<Item = AddressRange>>(ranges: I) -> Self {
        let mut sorted: Vec<AddressRange> = ranges.into_iter().collect();
        sorted.sort_unstable();
        let mut joined: Vec<AddressRange> = Vec::with_capacity(sorted.len());
        for range in sorted {
            match joined.last_mut().and_then(|last| last.join(&range).map(|joined| (last, joined))) {
                Some((last, both)) => *last = both,
                None => joined.push(range),
            }
        }
        Self { ranges: joined }
    }
}

impl From<AddressRange> for RangeSet {
    fn from(range: AddressRange) -> Self {
        Self { ranges: vec![range] }
    }
}

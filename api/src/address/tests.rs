use std::collections::BTreeSet;
use std::net::IpAddr;

use proptest::prelude::*;

use super::{AddressError, AddressFamily, AddressRange, Cidr, RangeSet, number, parse_address};

fn cidr(text: &str) -> Cidr {
    text.parse().unwrap()
}

fn range(text: &str) -> AddressRange {
    text.parse().unwrap()
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn shown<T: ToString>(items: impl IntoIterator<Item = T>) -> Vec<String> {
    items.into_iter().map(|item| item.to_string()).collect()
}

#[test]
fn networks_of_both_families_are_read_and_shown() {
    for text in ["10.244.0.0/16", "0.0.0.0/0", "255.255.255.255/32", "fd00::/64", "::/0", "::1/128"] {
        assert_eq!(cidr(text).to_string(), text);
    }
    assert_eq!(cidr("10.244.0.0/16").family(), AddressFamily::V4);
    assert_eq!(cidr("fd00::/64").family(), AddressFamily::V6);
    assert_eq!(cidr("10.244.0.0/16").last(), address("10.244.255.255"));
    assert_eq!(cidr("10.244.0.0/16").prefix_length(), 16);
}

#[test]
fn what_is_no_network_is_refused_with_an_example() {
    let table = [
        "",
        "10.0.0.0",
        "10.0.0.0/",
        "/8",
        "10.0.0/8",
        "010.0.0.0/8",
        "10.0.0.0/08",
        "10.0.0.0/+8",
        "10.0.0.0/-1",
        "10.0.0.0/8/8",
        "10.0.0.0/8 ",
        "999.1.1.1/24",
        "10.0.0.0/99999999999",
        "fe80::1%eth0/64",
        "10.0.0.0/٨",
    ];
    for text in table {
        assert_eq!(
            text.parse::<Cidr>().unwrap_err().to_string(),
            format!(
                "`{text}` is not a CIDR; write an address and a prefix length, such as `10.40.0.0/16` or `fd00::/64`"
            ),
        );
    }
}

#[test]
fn each_mistake_in_a_network_is_named() {
    let table = [
        ("10.0.0.0/33", "`10.0.0.0/33` has the prefix length 33; an IPv4 prefix is at most 32"),
        ("fd00::/129", "`fd00::/129` has the prefix length 129; an IPv6 prefix is at most 128"),
        ("10.0.0.0/300", "`10.0.0.0/300` has the prefix length 300; an IPv4 prefix is at most 32"),
        ("10.40.0.9/16", "`10.40.0.9/16` has bits set behind its prefix; write `10.40.0.0/16`"),
        ("fd00::1/64", "`fd00::1/64` has bits set behind its prefix; write `fd00::/64`"),
        (
            "::ffff:10.0.0.0/104",
            "`::ffff:10.0.0.0/104` is an IPv4 address written as IPv6; write `10.0.0.0/8`",
        ),
    ];
    for (text, message) in table {
        assert_eq!(text.parse::<Cidr>().unwrap_err().to_string(), message);
    }
    let Err(AddressError::HostBits { canonical, .. }) = "10.40.0.9/16".parse::<Cidr>() else {
        panic!("accepted")
    };
    assert_eq!(canonical, cidr("10.40.0.0/16"));
}

#[test]
fn networks_know_what_they_contain_and_overlap() {
    let outer = cidr("10.0.0.0/8");
    assert!(outer.contains(address("10.255.255.255")) && !outer.contains(address("11.0.0.0")));
    assert!(outer.contains_cidr(cidr("10.3.0.0/16")) && !cidr("10.3.0.0/16").contains_cidr(outer));
    assert!(outer.overlaps(cidr("10.3.0.0/16")) && cidr("10.3.0.0/16").overlaps(outer));
    assert!(!outer.overlaps(cidr("11.0.0.0/8")));
    assert!(!cidr("::/0").overlaps(outer) && !cidr("::/0").contains(address("10.0.0.1")));
}

#[test]
fn ranges_are_read_from_ends_networks_and_single_addresses() {
    let table = [
        ("10.40.1.0-10.40.1.50", "10.40.1.0-10.40.1.50"),
        ("10.40.1.0 - 10.40.1.50", "10.40.1.0-10.40.1.50"),
        ("10.40.1.0/30", "10.40.1.0-10.40.1.3"),
        ("10.40.1.7", "10.40.1.7"),
        ("10.40.1.7-10.40.1.7", "10.40.1.7"),
        ("fd00::a-fd00::f", "fd00::a-fd00::f"),
        ("fd00::/127", "fd00::-fd00::1"),
    ];
    for (text, expected) in table {
        assert_eq!(range(text).to_string(), expected);
    }
    assert_eq!(
        AddressRange::parse_ends("10.40.1.100", "10.40.1.150").unwrap(),
        range("10.40.1.100-10.40.1.150")
    );
}

#[test]
fn each_mistake_in_a_range_is_named() {
    let table = [
        (
            "10.0.0.9-10.0.0.1",
            "the range starts at `10.0.0.9`, which is after its end `10.0.0.1`; swap the two",
        ),
        (
            "10.0.0.1-fd00::1",
            "`10.0.0.1` and `fd00::1` are of different families; write two IPv4 or two IPv6 addresses",
        ),
        ("10.0.0.1-", "`` is not an IP address; write one such as `10.40.1.10` or `fd00::10`"),
        (
            "10.0.0.1-10.0.0.5-10.0.0.9",
            "`10.0.0.5-10.0.0.9` is not an IP address; write one such as `10.40.1.10` or `fd00::10`",
        ),
        ("ten", "`ten` is not an IP address; write one such as `10.40.1.10` or `fd00::10`"),
        ("::ffff:10.0.0.1", "`::ffff:10.0.0.1` is an IPv4 address written as IPv6; write `10.0.0.1`"),
        ("10.0.0.0/33", "`10.0.0.0/33` has the prefix length 33; an IPv4 prefix is at most 32"),
    ];
    for (text, message) in table {
        assert_eq!(text.parse::<AddressRange>().unwrap_err().to_string(), message);
    }
}

#[test]
fn sizes_are_exact_up_to_all_of_ipv6() {
    assert_eq!(range("10.0.0.1").size(), Some(1));
    assert_eq!(range("0.0.0.0/0").size(), Some(1 << 32));
    assert_eq!(range("::/1").size(), Some(1 << 127));
    assert_eq!(range("::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff").size(), Some(u128::MAX));
    assert_eq!(range("::/0").size(), None);
    assert!(range("::/0").has_at_least(u128::MAX));
    assert!(range("10.0.0.0/30").has_at_least(4) && !range("10.0.0.0/30").has_at_least(5));
    assert_eq!(RangeSet::from(range("::/0")).size(), None);
    assert_eq!(
        [range("::/1"), range("0.0.0.0/0")].into_iter().collect::<RangeSet>().size(),
        Some((1 << 127) + (1 << 32))
    );
}

#[test]
fn the_whole_address_space_can_be_cut_and_split() {
    for text in ["::/0", "0.0.0.0/0", "::/1", "8000::/1"] {
        assert_eq!(shown(range(text).to_cidrs()), [text]);
        assert_eq!(range(text).as_cidr(), Some(cidr(text)));
    }
    assert_eq!(
        shown(range("::/0").subtract(cidr("::/1"))),
        ["8000::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"]
    );
    assert_eq!(shown(range("0.0.0.0/0").subtract(address("0.0.0.0"))), ["0.0.0.1-255.255.255.255"]);
    assert_eq!(shown(range("0.0.0.0/0").subtract(address("255.255.255.255"))), ["0.0.0.0-255.255.255.254"]);
    assert_eq!(range("::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff").to_cidrs().len(), 128);
    assert_eq!(range("::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe").to_cidrs().len(), 254);
}

#[test]
fn a_range_is_split_into_the_fewest_networks() {
    assert_eq!(
        shown(range("10.40.1.0-10.40.1.50").to_cidrs()),
        ["10.40.1.0/27", "10.40.1.32/28", "10.40.1.48/31", "10.40.1.50/32"],
    );
    assert_eq!(range("10.50.1.8-10.50.1.11").as_cidr(), Some(cidr("10.50.1.8/30")));
    assert_eq!(range("10.50.1.9-10.50.1.12").as_cidr(), None);
}

#[test]
fn families_never_meet() {
    let (v4, v6) = (range("0.0.0.0/0"), range("::/0"));
    assert!(!v4.overlaps(v6) && !v6.contains(v4) && v4.join(&v6).is_none());
    assert_eq!(v4.subtract(v6), [v4]);
    let both: RangeSet = [v6, v4].into_iter().collect();
    assert_eq!(both.ranges(), [v4, v6]);
    assert_eq!(both.subtract(&RangeSet::from(v6)).ranges(), [v4]);
    assert_eq!(both.subtract(&RangeSet::from(v4)).ranges(), [v6]);
}

#[test]
fn addresses_are_listed_up_to_a_limit() {
    assert_eq!(
        shown(range("10.0.0.254-10.0.1.1").addresses(100)),
        ["10.0.0.254", "10.0.0.255", "10.0.1.0", "10.0.1.1"]
    );
    assert_eq!(shown(range("::/0").addresses(2)), ["::", "::1"]);
    assert_eq!(
        shown(range("255.255.255.254-255.255.255.255").addresses(9)),
        ["255.255.255.254", "255.255.255.255"]
    );
}

#[test]
fn the_first_addresses_of_a_range_are_a_range() {
    assert_eq!(range("10.0.0.0/24").take(8), Some(range("10.0.0.0-10.0.0.7")));
    assert_eq!(range("10.0.0.0/30").take(4), Some(range("10.0.0.0/30")));
    assert_eq!(range("10.0.0.0/30").take(5), None);
    assert_eq!(range("10.0.0.0/30").take(0), None);
    assert_eq!(range("255.255.255.255").take(u128::MAX), None);
    assert_eq!(range("ffff::/16").take(u128::MAX), None);
}

#[test]
fn the_largest_free_block_is_the_first_of_equals() {
    let set: RangeSet =
        ["10.0.0.0-10.0.0.3", "10.0.0.8-10.0.0.11", "10.0.0.20"].map(range).into_iter().collect();
    assert_eq!(set.largest(), Some(range("10.0.0.0-10.0.0.3")));
    assert_eq!(RangeSet::default().largest(), None);
}

/// Places where arithmetic on addresses tends to go wrong, and one where it should not.
const BASES: [&str; 5] =
    ["10.40.0.192", "0.0.0.0", "255.255.255.192", "::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffc0"];

/// Addresses per base in these tests.
const SPAN: u128 = 64;

fn at(base: &str, offset: u128) -> IpAddr {
    let base = address(base);
    AddressFamily::of(base).address(number(base) + offset)
}

fn any_base() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(BASES.to_vec())
}

fn any_ends() -> impl Strategy<Value = (u128, u128)> {
    (0..SPAN, 0..SPAN).prop_map(|(a, b)| (a.min(b), a.max(b)))
}

fn in_base(base: &str, (first, last): (u128, u128)) -> AddressRange {
    AddressRange::new(at(base, first), at(base, last)).unwrap()
}

fn members<'a>(ranges: impl IntoIterator<Item = &'a AddressRange>) -> BTreeSet<IpAddr> {
    ranges.into_iter().flat_map(|range| range.addresses(1000)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn one_range_agrees_with_its_listed_addresses(base in any_base(), ends in any_ends(), probe in 0..SPAN) {
        let range = in_base(base, ends);
        let listed = members([&range]);
        prop_assert_eq!(listed.len() as u128, range.size().unwrap());
        prop_assert_eq!(range.contains(at(base, probe)), listed.contains(&at(base, probe)));
        prop_assert_eq!(range.to_string().parse::<AddressRange>(), Ok(range));
    }

    #[test]
    fn two_ranges_agree_with_sets(base in any_base(), left in any_ends(), right in any_ends()) {
        let (left, right) = (in_base(base, left), in_base(base, right));
        let (in_left, in_right) = (members([&left]), members([&right]));
        prop_assert_eq!(left.overlaps(right), !in_left.is_disjoint(&in_right));
        prop_assert_eq!(left.contains(right), in_left.is_superset(&in_right));
        let shared: BTreeSet<_> = in_left.intersection(&in_right).copied().collect();
        prop_assert_eq!(members(&left.intersect(right)), shared);
        let pieces = left.subtract(right);
        let rest: BTreeSet<_> = in_left.difference(&in_right).copied().collect();
        prop_assert_eq!(members(&pieces), rest);
        prop_assert!(pieces.len() <= 2);
        let union: BTreeSet<_> = in_left.union(&in_right).copied().collect();
        let gapless = number(*union.last().unwrap()) - number(*union.first().unwrap()) + 1 == union.len() as u128;
        prop_assert_eq!(left.join(&right).map(|joined| members([&joined])), gapless.then_some(union));
    }

    #[test]
    fn networks_of_a_range_are_exact_in_order_and_fewest(base in any_base(), ends in any_ends()) {
        let range = in_base(base, ends);
        let cidrs = range.to_cidrs();
        let as_ranges: Vec<AddressRange> = cidrs.iter().copied().map(AddressRange::from).collect();
        let sizes: u128 = as_ranges.iter().map(|range| range.size().unwrap()).sum();
        prop_assert_eq!(Some(sizes), range.size());
        prop_assert_eq!(members(&as_ranges), members([&range]));
        for pair in cidrs.windows(2) {
            prop_assert!(pair[0].last() < pair[1].first());
            // Two neighbours that are the halves of one network could have been one.
            let double = pair[0].prefix_length().checked_sub(1).and_then(|length| Cidr::around(pair[0].first(), length));
            let halves = double.is_some_and(|double| double.first() == pair[0].first() && double.last() == pair[1].last());
            prop_assert!(!halves);
        }
        for cidr in &cidrs {
            prop_assert_eq!(cidr.to_string().parse::<Cidr>(), Ok(*cidr));
        }
        prop_assert_eq!(range.as_cidr().is_some(), cidrs.len() == 1);
    }

    #[test]
    fn sets_of_ranges_agree_with_sets_of_addresses(
        base in any_base(),
        kept in proptest::collection::vec(any_ends(), 0..8),
        taken in proptest::collection::vec(any_ends(), 0..8),
        probe in any_ends(),
    ) {
        let kept: Vec<_> = kept.into_iter().map(|ends| in_base(base, ends)).collect();
        let taken: Vec<_> = taken.into_iter().map(|ends| in_base(base, ends)).collect();
        let kept_set: RangeSet = kept.iter().copied().collect();
        let taken_set: RangeSet = taken.iter().copied().collect();
        prop_assert_eq!(members(kept_set.ranges()), members(&kept));
        prop_assert_eq!(kept_set.size(), Some(members(&kept).len() as u128));
        for pair in kept_set.ranges().windows(2) {
            prop_assert!(pair[0] < pair[1] && pair[0].join(&pair[1]).is_none());
        }
        let left = kept_set.subtract(&taken_set);
        let expected: BTreeSet<_> = members(&kept).difference(&members(&taken)).copied().collect();
        prop_assert_eq!(members(left.ranges()), expected);
        prop_assert_eq!(&left, &left.ranges().iter().copied().collect::<RangeSet>());
        let probe = in_base(base, probe);
        prop_assert_eq!(kept_set.contains(probe), members(&kept).is_superset(&members([&probe])));
        prop_assert_eq!(kept_set.overlaps(probe), !members(&kept).is_disjoint(&members([&probe])));
        let longest = kept_set.ranges().iter().filter_map(AddressRange::size).max();
        prop_assert_eq!(kept_set.largest().and_then(|range| range.size()), longest);
    }

    #[test]
    fn any_text_is_answered_without_a_panic(text in "[0-9a-f:./-]{0,40}") {
        let _ = (parse_address(&text), text.parse::<Cidr>(), text.parse::<AddressRange>());
    }
}

use serde_json::{Value, json};

use super::check;
use crate::fixtures::*;

#[test]
fn ranges_are_well_formed_apart_and_large_enough() {
    let pool = |start: &str, end: &str| json!({"loadBalancerPool": {"start": start, "end": end}});
    let table: [(Value, &[&str]); 19] = [
        (json!({}), &[]),
        (json!({"podCIDR": "fd00:1::/48", "serviceCIDR": "fd00:2::/112"}), &[]),
        (pool("10.40.1.10", "10.40.1.20"), &[]),
        (pool("10.40.1.10", "10.40.1.10"), &[]),
        (
            json!({"podCIDR": "127.0.0.0/8"}),
            &[
                "spec.networking.podCIDR: `127.0.0.0/8` includes loopback addresses (`127.0.0.0/8`), which nothing on a network \
               can have; choose a private range such as `10.244.0.0/16` or `fd00:1::/48`",
            ],
        ),
        (
            json!({"podCIDR": "fd00:1::/48", "serviceCIDR": "ff02::/112"}),
            &[
                "spec.networking.serviceCIDR: `ff02::/112` includes multicast addresses (`ff00::/8`), which nothing on a \
               network can have; choose a private range such as `10.244.0.0/16` or `fd00:1::/48`",
            ],
        ),
        (
            pool("169.254.1.1", "169.254.1.9"),
            &[
                "spec.networking.loadBalancerPool: `169.254.1.1-169.254.1.9` includes link-local addresses (`169.254.0.0/16`), \
               which nothing on a network can have; choose a private range such as `10.244.0.0/16` or `fd00:1::/48`",
            ],
        ),
        (
            json!({"podCIDR": "10.244.0.0"}),
            &[
                "spec.networking.podCIDR: `10.244.0.0` is not a CIDR; write an address and a prefix length, such as \
               `10.40.0.0/16` or `fd00::/64`",
            ],
        ),
        (
            json!({"podCIDR": "fd00:0001::/48", "serviceCIDR": "fd00:2::/112"}),
            &["spec.networking.podCIDR: `fd00:0001::/48` has a shorter spelling; write `fd00:1::/48`"],
        ),
        (
            json!({"podCIDR": "10.244.0.7/16"}),
            &[
                "spec.networking.podCIDR: `10.244.0.7/16` has bits set behind its prefix; write `10.244.0.0/16`",
            ],
        ),
        (
            json!({"serviceCIDR": "10.244.128.0/20"}),
            &[
                "spec.networking.serviceCIDR: `10.244.128.0/20` overlaps podCIDR `10.244.0.0/16`; choose a range apart from \
               it",
            ],
        ),
        (
            json!({"serviceCIDR": "fd00::/112"}),
            &[
                "spec.networking.serviceCIDR: `fd00::/112` is IPv6, but podCIDR `10.244.0.0/16` is IPv4; use one family \
               for both",
            ],
        ),
        (
            json!({"serviceCIDR": "10.0.0.0/11"}),
            &[
                "spec.networking.serviceCIDR: `10.0.0.0/11` has a prefix of /11, which the API server does not take for \
               Services; use one from /12 to /28",
            ],
        ),
        (
            json!({"serviceCIDR": "10.96.0.0/30"}),
            &[
                "spec.networking.serviceCIDR: `10.96.0.0/30` has a prefix of /30, which the API server does not take for \
               Services; use one from /12 to /28",
            ],
        ),
        (
            json!({"podCIDR": "10.244.0.0/23"}),
            &[
                "spec.networking.podCIDR: `10.244.0.0/23` has room for 2 nodes, each with a /24, but the cluster has 3 \
               workers; use a larger range, or fewer workers",
            ],
        ),
        (
            pool("10.40.1.20", "10.40.1.10"),
            &[
                "spec.networking.loadBalancerPool: the range starts at `10.40.1.20`, which is after its end `10.40.1.10`; \
               swap the two",
            ],
        ),
        (
            pool("10.40.1.20", "fd00::1"),
            &[
                "spec.networking.loadBalancerPool: `10.40.1.20` and `fd00::1` are of different families; write two IPv4 or \
               two IPv6 addresses",
            ],
        ),
        (
            pool("10.96.3.0", "10.96.3.9"),
            &[
                "spec.networking.loadBalancerPool: `10.96.3.0-10.96.3.9` overlaps serviceCIDR `10.96.0.0/12`; choose a range \
               apart from it",
            ],
        ),
        (
            pool("here", "there"),
            &[
                "spec.networking.loadBalancerPool: `here` is not an IP address; write one such as `10.40.1.10` or \
               `fd00::10`",
            ],
        ),
    ];
    for (networking, expected) in table {
        let cluster = cluster(json!({"spec": {"networking": networking}}));
        assert_eq!(on_create(check, &cluster, &facts()), expected, "{networking}");
    }
}

#[test]
fn the_older_name_of_the_pool_is_checked_too() {
    let older =
        cluster(json!({"spec": {"addons": {"loadBalancer": {"addressPool": "10.40.1.9-10.40.1.1"}}}}));
    assert_eq!(
        on_create(check, &older, &facts()),
        [
            "spec.addons.loadBalancer.addressPool: the range starts at `10.40.1.9`, which is after its end `10.40.1.1`; \
          swap the two"
        ]
    );
}

#[test]
fn no_more_addresses_than_a_pool_hands_out() {
    let ipam = provider(json!({"spec": {"network": {"mode": "ipam", "poolRefs": [{"name": "vlan50"}]}}}));
    let halved = pool(json!({"spec": {"cidr": "10.50.0.0/28", "reserved": [{"cidr": "10.50.0.0/29"}]}}));
    let mut facts = facts_with(&[ipam, halved]);
    let wanting = |size: i32| cluster(json!({"spec": {"networking": {"lbPoolSize": size}}}));
    assert_eq!(on_create(check, &wanting(8), &facts), [""; 0]);
    assert_eq!(
        on_create(check, &wanting(9), &facts),
        [
            "spec.networking.lbPoolSize: `9` is more than the provider's pools hand out in one piece; write at most 8, or ask the \
          platform's administrators for a larger pool"
        ]
    );
    facts.lose(crate::facts::FactKind::Pool);
    assert_eq!(
        on_create(check, &wanting(9), &facts),
        [
            "spec.providerConfigRef: the NetworkPool `vlan50` in namespace `butler-system` cannot be read at the moment; try again, and tell the \
          platform's administrators if it stays so"
        ]
    );
}

#[test]
fn the_pools_of_the_provider_are_apart_from_pods_and_services() {
    let ipam = |pools: Value| provider(json!({"spec": {"network": {"mode": "ipam", "poolRefs": pools}}}));
    let with_pool =
        |cidr: &str| facts_with(&[ipam(json!([{"name": "vlan50"}])), pool(json!({"spec": {"cidr": cidr}}))]);
    assert_eq!(on_create(check, &cluster(json!({})), &with_pool("10.50.0.0/22")), [""; 0]);
    assert_eq!(
        on_create(check, &cluster(json!({})), &with_pool("10.244.8.0/22")),
        [
            "spec.networking.podCIDR: `10.244.0.0/16` overlaps NetworkPool `vlan50` with `10.244.8.0/22`; choose a range \
          apart from it"
        ]
    );
    assert_eq!(
        on_create(check, &cluster(json!({})), &facts_with(&[ipam(json!([]))])),
        [
            "spec.providerConfigRef: the ProviderConfig `harvester-a` allocates addresses but names no NetworkPool; ask the \
          platform's administrators to add one to `spec.network.poolRefs`"
        ]
    );
}

use serde_json::{Value, json};

use super::check;
use crate::fixtures::*;
use crate::review::Review;

fn typed(spec: Value) -> butler_api::NetworkPool {
    serde_json::from_value(pool(json!({"spec": spec}))).expect("pool")
}

#[test]
fn each_way_to_be_wrong() {
    let ranges = |ranges: Value| json!({"tenantAllocation": {"ranges": ranges}});
    let table: [(Value, &[&str]); 15] = [
        (json!({}), &[]),
        (json!({"cidr": "fd00::/112"}), &[]),
        (json!({"reserved": [{"cidr": "10.50.0.0/27"}]}), &[]),
        (
            ranges(
                json!([{"start": "10.50.1.0", "end": "10.50.1.9"}, {"start": "10.50.1.10", "end": "10.50.2.0"}]),
            ),
            &[],
        ),
        (
            json!({"reserved": [{"cidr": "10.50.0.0/23"}, {"cidr": "10.50.2.0/23"}]}),
            &[
                "spec.reserved: every address that could be handed out is reserved; reserve less, or hand out other addresses",
            ],
        ),
        (
            json!({
                "reserved": [{"cidr": "10.50.1.0/30"}],
                "tenantAllocation": {"ranges": [{"start": "10.50.1.0", "end": "10.50.1.3"}]}
            }),
            &[
                "spec.reserved: every address that could be handed out is reserved; reserve less, or hand out other addresses",
            ],
        ),
        (
            json!({"cidr": "10.50.0.1/22"}),
            &["spec.cidr: `10.50.0.1/22` has bits set behind its prefix; write `10.50.0.0/22`"],
        ),
        (
            json!({"cidr": "10.0.0.0/8"}),
            &[
                "spec.cidr: `10.0.0.0/8` hands out more than 1048576 addresses in one piece, which nobody can keep track of; \
               use `spec.tenantAllocation.ranges` to hand out less",
            ],
        ),
        (
            json!({"reserved": [{"cidr": "10.60.0.0/27"}]}),
            &[
                "spec.reserved[0].cidr: `10.60.0.0/27` is not inside of the pool `10.50.0.0/22`; reserve a part of it",
            ],
        ),
        (
            ranges(json!([{"start": "10.50.9.0", "end": "10.50.9.9"}])),
            &[
                "spec.tenantAllocation.ranges[0]: `10.50.9.0-10.50.9.9` is not inside of the pool `10.50.0.0/22`; hand out a \
               part of it",
            ],
        ),
        (
            ranges(json!([{"start": "10.50.1.9", "end": "10.50.1.0"}])),
            &[
                "spec.tenantAllocation.ranges[0]: the range starts at `10.50.1.9`, which is after its end `10.50.1.0`; swap \
               the two",
            ],
        ),
        (
            ranges(
                json!([{"start": "10.50.1.0", "end": "10.50.1.9"}, {"start": "10.50.1.9", "end": "10.50.1.20"}]),
            ),
            &[
                "spec.tenantAllocation.ranges[1]: `10.50.1.9-10.50.1.20` does not come after `10.50.1.0-10.50.1.9`; list \
               ranges in ascending order, each address once",
            ],
        ),
        (
            json!({"reserved": [{"cidr": "10.50.1.0/28"}], "tenantAllocation": {"start": "10.50.1.8", "end": "10.50.1.30"}}),
            &[
                "spec.tenantAllocation: the reserved part `10.50.1.0/28` lies half in `10.50.1.8-10.50.1.30`; move one of the \
               two",
            ],
        ),
        (
            json!({"tenantAllocation": {"start": "10.50.1.8"}}),
            &["spec.tenantAllocation.end: is missing beside `start`; write the last address to hand out"],
        ),
        (
            json!({"tenantAllocation": {"start": "10.50.1.8", "ranges": [{"start": "10.50.1.0", "end": "10.50.1.9"}]}}),
            &[
                "spec.tenantAllocation.start: is not read beside `spec.tenantAllocation.ranges`; remove `start` and `end`",
            ],
        ),
    ];
    for (spec, expected) in table {
        assert_eq!(on_create(check, &typed(spec.clone()), &facts()), expected, "{spec}");
    }
}

#[test]
fn pools_are_apart() {
    let facts = facts_with(&[pool(json!({"metadata": {"name": "other"}, "spec": {"cidr": "10.50.2.0/24"}}))]);
    assert_eq!(
        on_create(check, &typed(json!({})), &facts),
        [
            "spec.cidr: `10.50.0.0/22` overlaps `10.50.2.0/24` of the NetworkPool `other`, so that two clusters could get one address; choose a \
          range apart from it"
        ]
    );
}

#[test]
fn addresses_that_are_not_handed_out_already_hold_up_no_other_change() {
    let held = |name: &str, start: &str, end: &str| {
        json!({
            "kind": "IPAllocation", "metadata": {"name": name, "namespace": "butler-system"},
            "spec": {"poolRef": {"name": "vlan50"}, "type": "loadbalancer",
                     "tenantClusterRef": {"name": "orders", "namespace": "payments"}},
            "status": {"phase": "Allocated", "startAddress": start, "endAddress": end}
        })
    };
    let facts = facts_with(&[held("a", "10.50.1.8", "10.50.1.11"), held("b", "10.50.2.8", "10.50.2.11")]);
    let handing_out =
        |start: &str, end: &str| pool(json!({"spec": {"tenantAllocation": {"start": start, "end": end}}}));
    let old = handing_out("10.50.3.0", "10.50.3.9");
    let allows = |new: &Value, old: &Value| {
        let body = review_body("UPDATE", "networkpools", new, old, "ana@example.org");
        crate::judge(&Review::parse(body.as_bytes()).expect("review"), &facts).allows()
    };
    assert!(allows(&handing_out("10.50.3.0", "10.50.3.19"), &old));
    assert!(allows(&handing_out("10.50.2.0", "10.50.3.9"), &old), "one of two is handed out again");
    assert!(!allows(&old, &handing_out("10.50.2.0", "10.50.3.9")));
}

#[test]
fn a_pool_grows_and_keeps_what_is_held() {
    let held = json!({
        "kind": "IPAllocation", "metadata": {"name": "orders-lb", "namespace": "butler-system"},
        "spec": {"poolRef": {"name": "vlan50"}, "type": "loadbalancer",
                 "tenantClusterRef": {"name": "orders", "namespace": "payments"}},
        "status": {"phase": "Allocated", "startAddress": "10.50.1.8", "endAddress": "10.50.1.11"}
    });
    let facts = facts_with(&[pool(json!({})), held]);
    let old = typed(json!({}));
    assert_eq!(on_update(check, &old, &typed(json!({"cidr": "10.50.0.0/21"})), &facts), [""; 0]);
    assert_eq!(
        on_update(check, &old, &typed(json!({"cidr": "10.50.0.0/23"})), &facts),
        [
            "spec.cidr: `10.50.0.0/23` leaves out addresses of `10.50.0.0/22`, and a pool only grows; keep those in, or create another pool"
        ]
    );
    assert_eq!(
        on_update(
            check,
            &old,
            &typed(json!({"tenantAllocation": {"start": "10.50.2.0", "end": "10.50.2.9"}})),
            &facts
        ),
        [
            "spec.tenantAllocation: addresses of `orders-lb` would no longer be handed out although clusters hold them; leave \
          them in, or delete those clusters first"
        ]
    );
    let body = review_body("DELETE", "networkpools", &Value::Null, &pool(json!({})), "ana@example.org");
    let review = Review::parse(body.as_bytes()).expect("review");
    assert_eq!(
        crate::judge(&review, &facts).message(),
        "metadata.name: clusters hold addresses of it (`orders-lb`); delete those clusters first"
    );
    let used = provider(json!({"spec": {"network": {"mode": "ipam", "poolRefs": [{"name": "vlan50"}]}}}));
    assert_eq!(
        crate::judge(&review, &facts_with(&[used])).message(),
        "metadata.name: ProviderConfigs allocate from it (`harvester-a`); remove it from their `spec.network.poolRefs` \
         first"
    );
    assert!(crate::judge(&review, &crate::fixtures::facts()).allows());
}

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::digest::{base32, digest};
use super::{
    AllocationPurpose, ClusterName, NamespaceName, ObjectUid, Subject, dns_label, dns_subdomain,
    longest_cluster_name, rfc1035_label, tenant_access_binding,
};
use crate::role::Role;

const UID: &str = "1a2b3c4d-5e6f-4071-8293-a4b5c6d7e8f9";

fn cluster(text: &str) -> ClusterName {
    text.parse().unwrap()
}

fn namespace(text: &str) -> NamespaceName {
    text.parse().unwrap()
}

fn uid(text: &str) -> ObjectUid {
    text.parse().unwrap()
}

#[test]
fn every_derived_name_is_the_documented_one() {
    let orders = cluster("orders");
    assert_eq!(orders.as_str(), "orders");
    assert_eq!(orders.tenant_namespace(uid(UID)), "orders-1a2b3c4d");
    assert_eq!(orders.workers(), "orders-workers");
    assert_eq!(orders.worker_template(), "orders-worker");
    assert_eq!(orders.talos_bootstrap(), "orders-talos-bootstrap");
    assert_eq!(orders.nutanix_credentials(), "orders-nutanix-creds");
    assert_eq!(orders.admin_kubeconfig(), "orders-admin-kubeconfig");
    assert_eq!(orders.kubeconfig(), "orders-kubeconfig");
}

#[test]
fn a_template_is_named_after_its_content() {
    let orders = cluster("orders");
    assert_eq!(orders.worker_template_for(b"cpu: 4"), orders.worker_template_for(b"cpu: 4"));
    assert_ne!(orders.worker_template_for(b"cpu: 4"), orders.worker_template_for(b"cpu: 8"));
    // Fixed for ever: another text for the same content would replace every worker of every cluster.
    assert_eq!(orders.worker_template_for(b""), "orders-worker-zpzjzzeeei");
}

#[test]
fn allocations_of_different_clusters_never_share_a_name() {
    let table = [
        ("payments", "orders", AllocationPurpose::LoadBalancer, "payments-orders-lb"),
        ("payments", "orders", AllocationPurpose::Nodes, "payments-orders-nodes"),
        ("payments", "orders", AllocationPurpose::LoadBalancerGrowth(2), "payments-orders-lb-2"),
        ("a-b", "c", AllocationPurpose::LoadBalancer, "a-b.c-lb"),
        ("a", "b-c", AllocationPurpose::LoadBalancer, "a.b-c-lb"),
        ("a", "b-lb", AllocationPurpose::LoadBalancerGrowth(1), "a.b-lb-lb-1"),
    ];
    for (team, name, purpose, expected) in table {
        assert_eq!(cluster(name).ip_allocation(&namespace(team), purpose), expected);
    }
    assert_eq!(
        cluster("c").former_ip_allocation(&namespace("a-b"), AllocationPurpose::LoadBalancer),
        cluster("b-c").former_ip_allocation(&namespace("a"), AllocationPurpose::LoadBalancer),
    );
}

#[test]
fn the_tenant_namespace_limits_the_name_of_a_cluster() {
    let tightest = longest_cluster_name();
    assert_eq!(tightest.longest_cluster_name(), 54);
    assert_eq!(
        tightest.derived,
        "the namespace of the cluster, its name with `-` and 8 characters of its uid"
    );
    assert_eq!(cluster(&"a".repeat(54)).tenant_namespace(uid(UID)).len(), 63);
}

#[test]
fn each_mistake_in_a_cluster_name_is_named() {
    let long = "a".repeat(55);
    let table = [
        ("", "the name is empty; write 1 to 54 characters".to_owned()),
        ("1st", "`1st` does not begin with a lower-case letter; put one first".to_owned()),
        ("-a", "`-a` does not begin with a lower-case letter; put one first".to_owned()),
        ("a-", "`a-` does not end with a lower-case letter or digit; put one last".to_owned()),
        ("Orders", "`Orders` contains `O`; use only lower-case letters, digits and `-`".to_owned()),
        ("my.cluster", "`my.cluster` contains `.`; use only lower-case letters, digits and `-`".to_owned()),
        ("straße", "`straße` contains `ß`; use only lower-case letters, digits and `-`".to_owned()),
        ("a\nb", "`a\\nb` contains `\\n`; use only lower-case letters, digits and `-`".to_owned()),
        (
            long.as_str(),
            format!(
                "`{long}` has 55 characters; at most 54 fit, because the namespace of the cluster, its name with `-` and 8 \
                 characters of its uid has at most 63"
            ),
        ),
    ];
    for (text, message) in table {
        assert_eq!(text.parse::<ClusterName>().unwrap_err().to_string(), message);
    }
    let hostile = "a".repeat(1 << 20);
    assert!(hostile.parse::<ClusterName>().unwrap_err().to_string().starts_with("`aaaa"));
    assert!(hostile.parse::<ClusterName>().unwrap_err().to_string().len() < 300);
}

#[test]
fn labels_and_subdomains_follow_their_rfcs() {
    let table = [
        // name, RFC 1123 label, RFC 1035 label, subdomain
        ("a", true, true, true),
        ("1", true, false, true),
        ("a-1", true, true, true),
        ("1-a", true, false, true),
        ("a.b", false, false, true),
        ("a..b", false, false, false),
        (".a", false, false, false),
        ("a.", false, false, false),
        ("a.-b", false, false, false),
        ("a-.b", false, false, false),
        ("a_b", false, false, false),
        ("A", false, false, false),
        ("-", false, false, false),
        ("", false, false, false),
    ];
    for (text, label, rfc1035, subdomain) in table {
        assert_eq!(dns_label(text).is_ok(), label, "{text}");
        assert_eq!(rfc1035_label(text).is_ok(), rfc1035, "{text}");
        assert_eq!(dns_subdomain(text).is_ok(), subdomain, "{text}");
    }
    assert!(dns_label(&"a".repeat(63)).is_ok() && dns_label(&"a".repeat(64)).is_err());
    assert!(dns_subdomain(&"a".repeat(253)).is_ok());
    assert_eq!(
        dns_label(&"a".repeat(64)).unwrap_err().to_string(),
        format!("`{}` has 64 characters; at most 63 fit", "a".repeat(64)),
    );
}

#[test]
fn a_uid_is_read_in_full_and_shown_as_it_was() {
    assert_eq!(uid(UID).to_string(), UID);
    assert_eq!(uid(UID).short(), "1a2b3c4d");
    assert_eq!(uid("0000000a-0000-0000-0000-000000000001").short(), "0000000a");
    for text in
        ["", "1a2b3c4d", "zzzzzzzz-5e6f-4071-8293-a4b5c6d7e8f9", "+a2b3c4d-5e6f-4071-8293-a4b5c6d7e8f9"]
    {
        assert_eq!(
            text.parse::<ObjectUid>().unwrap_err().to_string(),
            format!(
                "`{text}` is not the uid of an object; it has 32 hexadecimal digits, as in \
                 `1a2b3c4d-0000-4000-8000-000000000001`"
            ),
        );
    }
}

#[test]
fn a_schema_fits_every_data_store() {
    for text in ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", UID] {
        let schema = uid(text).data_store_schema();
        assert_eq!(schema.len(), 29, "MySQL users have at most 32 characters");
        assert!(schema.starts_with("tc_"));
        assert!(schema.chars().all(|character| matches!(character, 'a'..='z' | '2'..='7' | '_')));
    }
}

#[test]
fn members_with_similar_names_have_their_own_bindings() {
    assert_eq!(Subject::User("ana").role_binding(), "butler-team-user-ana");
    assert_eq!(Subject::Group("payments-eng").role_binding(), "butler-team-group-payments-eng");
    let names = [
        "a.b@x",
        "a-b@x",
        "A.b@x",
        "a-b-x",
        "日本",
        "",
        &"a".repeat(63),
        &"a".repeat(64),
        &"a".repeat(65),
        "-a",
        "a-",
    ];
    let mut seen = BTreeMap::new();
    for name in names {
        let binding = Subject::User(name).role_binding();
        assert!(dns_subdomain(&binding).is_ok(), "{binding}");
        assert_eq!(seen.insert(binding, name), None);
    }
    assert!(Subject::User("a.b@x").role_binding().starts_with("butler-team-user-a-b-x."));
}

#[test]
fn a_team_has_one_binding_per_role_in_a_tenant_namespace() {
    assert_eq!(tenant_access_binding(&namespace("payments"), Role::Viewer), "butler-team-payments-viewer");
    let longest = tenant_access_binding(&namespace(&"a".repeat(63)), Role::Operator);
    assert!(dns_subdomain(&longest).is_ok());
}

#[test]
fn digests_are_ten_characters_that_a_name_may_contain() {
    assert_eq!(digest(b"").len(), 10);
    assert_eq!(base32(0, 3), "aaa");
    assert_eq!(base32(u128::MAX, 26).len(), 26);
    assert_eq!(base32(33, 2), "bb");
}

fn cluster_name() -> impl Strategy<Value = String> {
    "[a-z]([-a-z0-9]{0,6}[a-z0-9])?"
}

fn namespace_name() -> impl Strategy<Value = String> {
    "[a-z0-9]([-a-z0-9]{0,6}[a-z0-9])?"
}

fn purpose() -> impl Strategy<Value = AllocationPurpose> {
    prop_oneof![
        Just(AllocationPurpose::Nodes),
        Just(AllocationPurpose::LoadBalancer),
        (1..4_u32).prop_map(AllocationPurpose::LoadBalancerGrowth),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn two_allocations_share_a_name_only_if_they_are_the_same(
        text in "[ab]-?[ab]-?[ab]-?[ab]",
        left in 1..6_usize,
        right in 1..6_usize,
        purposes in (purpose(), purpose()),
    ) {
        // Two ways to cut one text in two: the case in which joined names collide.
        let cut = |at: usize| {
            let (team, name) = text.split_at_checked(at)?;
            let team: NamespaceName = team.trim_end_matches('-').parse().ok()?;
            let name: ClusterName = name.trim_start_matches('-').parse().ok()?;
            Some((team, name))
        };
        let (left, right) = (cut(left), cut(right));
        if let (Some(left), Some(right)) = (left, right) {
            let names = (left.1.ip_allocation(&left.0, purposes.0), right.1.ip_allocation(&right.0, purposes.1));
            prop_assert_eq!(names.0 == names.1, left == right && purposes.0 == purposes.1);
        }
    }

    #[test]
    fn every_derived_name_is_acceptable(
        name in "[a-z][-a-z0-9]{0,52}[a-z0-9]",
        team in "[a-z0-9][-a-z0-9]{0,61}[a-z0-9]",
        number in any::<u128>(),
        content in any::<Vec<u8>>(),
    ) {
        let (name, team) = (cluster(&name), namespace(&team));
        let uid = uid(&format!("{number:032x}"));
        prop_assert_eq!(dns_label(&name.tenant_namespace(uid)), Ok(()));
        prop_assert_eq!(rfc1035_label(&name.workers()), Ok(()));
        for derived in [
            name.worker_template(),
            name.worker_template_for(&content),
            name.talos_bootstrap(),
            name.nutanix_credentials(),
            name.admin_kubeconfig(),
            name.kubeconfig(),
            name.ip_allocation(&team, AllocationPurpose::LoadBalancerGrowth(u32::MAX)),
            name.ip_allocation(&team, AllocationPurpose::Nodes),
            name.ip_allocation(&team, AllocationPurpose::LoadBalancer),
        ] {
            prop_assert_eq!(dns_subdomain(&derived), Ok(()), "{}", derived);
        }
    }

    #[test]
    fn different_uids_have_different_schemas(left in any::<u128>(), bit in 0..128_u32) {
        let schema = |number: u128| uid(&format!("{number:032x}")).data_store_schema();
        prop_assert_ne!(schema(left), schema(left ^ (1 << bit)));
    }

    #[test]
    fn random_clusters_in_random_namespaces_are_told_apart(
        left in (namespace_name(), cluster_name()),
        right in (namespace_name(), cluster_name()),
    ) {
        let allocation = |(team, name): &(String, String)| {
            cluster(name).ip_allocation(&namespace(team), AllocationPurpose::LoadBalancer)
        };
        prop_assert_eq!(allocation(&left) == allocation(&right), left == right);
    }

    #[test]
    fn any_subject_gets_an_acceptable_binding(name in ".{0,80}") {
        for binding in [Subject::User(&name).role_binding(), Subject::Group(&name).role_binding()] {
            prop_assert_eq!(dns_subdomain(&binding), Ok(()), "{}", binding);
        }
    }

    #[test]
    fn any_text_is_answered_without_a_panic(text in ".{0,80}") {
        let _ = (text.parse::<ClusterName>(), text.parse::<NamespaceName>(), text.parse::<ObjectUid>(), dns_subdomain(&text));
    }
}

use butler_api::ProviderConfig;
use serde_json::{Value, json};

use super::check;
use crate::fixtures::*;
use crate::review::Review;

fn typed(spec: Value) -> ProviderConfig {
    serde_json::from_value(provider(json!({"spec": spec}))).expect("provider")
}

#[test]
fn each_way_to_be_wrong() {
    let table: [(Value, &[&str]); 13] = [
        (json!({}), &[]),
        (json!({"scope": {"type": "team", "teamRef": {"name": "payments"}}}), &[]),
        (json!({"harvester": {"endpoint": "https://harvester.example.org:6443"}}), &[]),
        (
            json!({"harvester": {"endpoint": "ftp://harvester.example.org"}}),
            &[
                "spec.harvester.endpoint: `ftp://harvester.example.org` is no address; write one that begins with `https://` or \
               `http://`",
            ],
        ),
        (
            json!({"harvester": null}),
            &["spec.harvester: a provider of type `harvester` needs its settings; add the block"],
        ),
        (
            json!({"harvester": {"networkName": ""}}),
            &[
                "spec.harvester.networkName: is empty; write it, because the provider cannot be used without it",
            ],
        ),
        (
            json!({"aws": {"region": "eu-west-1"}}),
            &["spec.aws: is not read, because the provider is `harvester`; remove the block"],
        ),
        (
            json!({"scope": {"type": "team"}}),
            &[
                "spec.scope.teamRef: scope `team` keeps the provider for one team, but none is named; name it, or use \
               `platform`",
            ],
        ),
        (
            json!({"scope": {"type": "team", "teamRef": {"name": "gone"}}}),
            &["spec.scope.teamRef: there is no Team `gone`; create it first, or name another"],
        ),
        (
            json!({"network": {"mode": "ipam"}}),
            &[
                "spec.network.poolRefs: mode `ipam` allocates from NetworkPools, but none is named; name at least one, or use \
               `cloud`",
            ],
        ),
        (
            json!({"network": {"mode": "ipam", "poolRefs": [{"name": "gone"}]}}),
            &[
                "spec.network.poolRefs[0].name: there is no NetworkPool `gone` in namespace `butler-system`; create it first, \
               or name another",
            ],
        ),
        (
            json!({"provider": "aws", "harvester": null, "aws": {"region": "eu-west-1"}, "network": {"mode": "ipam"}}),
            &[
                "spec.network.mode: `ipam` is not possible on `aws`, which hands out addresses itself; use `cloud`",
            ],
        ),
        (
            json!({"credentialsRef": null}),
            &[
                "spec.credentialsRef: only the provider `local` works without credentials; name the Secret that has them",
            ],
        ),
    ];
    for (spec, expected) in table {
        assert_eq!(on_create(check, &typed(spec.clone()), &facts()), expected, "{spec}");
    }
}

#[test]
fn credentials_are_not_borrowed() {
    let placed = |namespace: &str, credentials: Value| -> ProviderConfig {
        let tweak = json!({"metadata": {"namespace": namespace}, "spec": {"credentialsRef": credentials}});
        serde_json::from_value(provider(tweak)).expect("provider")
    };
    let found = |namespace, credentials| on_create(check, &placed(namespace, credentials), &facts());
    assert_eq!(found("payments", json!({})), [""; 0]);
    assert_eq!(found("payments", json!({"namespace": "payments"})), [""; 0]);
    assert_eq!(found("butler-system", json!({"namespace": "vault"})), [""; 0]);
    assert_eq!(
        found("payments", json!({"namespace": "butler-system"})),
        [
            "spec.credentialsRef.namespace: `butler-system` is not the namespace of this ProviderConfig, and only those in \
          `butler-system` use Secrets of other namespaces; name a Secret in `payments`"
        ]
    );
}

#[test]
fn in_use_it_stays_also_for_clusters_that_got_it_by_default() {
    let body =
        review_body("DELETE", "providerconfigs", &Value::Null, &provider(json!({})), "ana@example.org");
    let review = Review::parse(body.as_bytes()).expect("review");
    let denial = "metadata.name: clusters run on it (`payments/orders`); delete them first";
    assert_eq!(crate::judge(&review, &facts()).message(), denial);
    let by_default = [
        config(json!({"spec": {"defaultProviderConfigRef": {"name": "harvester-a"}}})),
        cluster_json(json!({"spec": {"providerConfigRef": null}})),
    ];
    let message = crate::judge(&review, &facts_with(&by_default)).message().to_string();
    assert!(message.contains(denial), "{message}");
    assert!(message.contains("metadata.name: it is the platform's default; name another in"), "{message}");
    let elsewhere = cluster_json(json!({"spec": {"providerConfigRef": {"name": "other"}}}));
    assert!(crate::judge(&review, &facts_with(std::slice::from_ref(&elsewhere))).allows());
    let teams = team(json!({"spec": {"providerConfigRef": {"name": "harvester-a"}}}));
    assert_eq!(
        crate::judge(&review, &facts_with(&[elsewhere, teams])).message(),
        "metadata.name: it is the default of Teams (`payments`); name another in their `spec.providerConfigRef` first"
    );
}

#[test]
fn in_use_it_is_not_given_to_another_team() {
    let kept = |team: &str| typed(json!({"scope": {"type": "team", "teamRef": {"name": team}}}));
    let facts = facts_with(&[team(json!({"metadata": {"name": "shipping"}}))]);
    assert_eq!(on_update(check, &typed(json!({})), &kept("payments"), &facts), [""; 0]);
    assert_eq!(on_update(check, &kept("shipping"), &typed(json!({})), &facts), [""; 0]);
    assert_eq!(
        on_update(check, &typed(json!({})), &kept("shipping"), &facts),
        [
            "spec.scope: clusters that it would no longer be open to run on it (`payments/orders`); delete them first, or leave \
          it open to their teams"
        ]
    );
}

#[test]
fn a_limit_below_what_teams_use_is_worth_a_warning() {
    let named = |name: &str, replicas: u32| {
        cluster_json(json!({"metadata": {"name": name}, "spec": {"workers": {"replicas": replicas}}}))
    };
    let elsewhere = cluster_json(json!({
        "metadata": {"name": "elsewhere"}, "spec": {"providerConfigRef": {"name": "harvester-b"}}
    }));
    let facts = facts_with(&[team(json!({})), named("orders", 2), named("two", 4), elsewhere]);
    let limited = |limits: Value| typed(json!({"limits": limits}));
    let lowered = |old: Value, new: Value| on_update(check, &limited(old), &limited(new), &facts);
    assert_eq!(lowered(json!({}), json!({"maxClustersPerTeam": 2, "maxNodesPerTeam": 6})), [""; 0]);
    assert_eq!(
        lowered(json!({"maxNodesPerTeam": 6}), json!({"maxClustersPerTeam": 1, "maxNodesPerTeam": 5})),
        [
            "warning: spec.limits.maxClustersPerTeam: `1` is below what is used: 2 clusters of the Team `payments`; nothing is taken \
             away, but nothing can be added until less is used",
            "warning: spec.limits.maxNodesPerTeam: `5` is below what is used: 6 nodes by 2 clusters of the Team `payments`; nothing \
             is taken away, but nothing can be added until less is used",
        ]
    );
    assert_eq!(lowered(json!({"maxNodesPerTeam": 4}), json!({"maxNodesPerTeam": 5})), [""; 0], "raised");
}

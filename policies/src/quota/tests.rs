use serde_json::{Value, json};

use super::*;
use crate::fixtures::*;

const UID: &str = "1a2b3c4d-0000-4000-8000-000000000001";

fn stored(revision: &str, tweak: Value) -> Value {
    let mut cluster = cluster_json(tweak);
    cluster["metadata"]["uid"] = json!(UID);
    cluster["metadata"]["resourceVersion"] = json!(revision);
    cluster
}

fn workers(replicas: i32) -> Value {
    json!({"spec": {"workers": {"replicas": replicas}}})
}

fn needed(operation: &str, object: &Value, old: &Value, facts: &Facts) -> Need {
    let body = review_body(operation, "tenantclusters", object, old, "ana@example.org");
    need(&Review::parse(body.as_bytes()).expect("review"), facts)
}

fn claimed(need: Need) -> Claim {
    match need {
        Need::Grant(claim) => *claim,
        need => panic!("{need:?}"),
    }
}

#[test]
fn a_new_cluster_asks_for_all_it_takes() {
    let claim = claimed(needed("CREATE", &stored("", workers(3)), &Value::Null, &facts()));
    assert_eq!((claim.team.as_str(), claim.ask.base, claim.ask.old), ("payments", None, None));
    assert_eq!(
        (claim.ask.new.nodes, claim.ask.new.provider.as_deref()),
        (3, Some("butler-system/harvester-a"))
    );
    assert_eq!(claim.ask.uid.to_string(), UID);
}

#[test]
fn what_raises_nothing_asks_for_nothing() {
    let (small, large) = (stored("7", workers(2)), stored("7", workers(3)));
    assert_eq!(needed("UPDATE", &small, &large, &facts()), Need::Nothing);
    assert_eq!(needed("UPDATE", &large, &large, &facts()), Need::Nothing);
    assert_eq!(needed("DELETE", &Value::Null, &large, &facts()), Need::Nothing);
    let grown = claimed(needed("UPDATE", &large, &small, &facts()));
    assert_eq!(
        (grown.ask.base, grown.ask.old.map(|old| old.nodes), grown.ask.new.nodes),
        (Some(7), Some(2), 3)
    );
}

/// Rules do not look at it, and its machines exist until it is gone.
#[test]
fn what_is_being_deleted_asks_like_anything_else() {
    let leaving = |replicas: i32| {
        let gone = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        merged(stored("7", workers(replicas)), gone)
    };
    let claim = claimed(needed("UPDATE", &leaving(3), &leaving(2), &facts()));
    assert_eq!((claim.ask.base, claim.ask.new.nodes), (Some(7), 3));
    assert_eq!(needed("UPDATE", &leaving(2), &leaving(3), &facts()), Need::Nothing);
    let mut freed = leaving(2);
    freed["metadata"]["finalizers"] = json!([]);
    assert_eq!(needed("UPDATE", &freed, &leaving(2), &facts()), Need::Nothing);
}

/// Which provider a cluster counts for must not depend on what happens to be known to whoever sees it.
#[test]
fn a_cluster_whose_provider_nobody_knows_is_not_counted_for_another() {
    let cluster = |provider: Value| -> TenantCluster {
        let spec = json!({"spec": {"providerConfigRef": provider}});
        serde_json::from_value(stored("7", spec)).expect("cluster")
    };
    let (named, bare) = (cluster(json!({"name": "own"})), cluster(Value::Null));
    let provider = |holding: Option<Holding>| holding.map(|it| it.provider.map(|at| at.to_string()));
    let default = json!({"spec": {"defaultProviderConfigRef": {"name": "harvester-a"}}});
    let facts = || facts_with(&[config(default.clone())]);
    assert_eq!(provider(known_holding(&bare, &facts())), Some(Some("butler-system/harvester-a".to_owned())));
    for kind in [crate::facts::FactKind::Team, crate::facts::FactKind::Config] {
        let mut lost = facts();
        lost.lose(kind);
        assert_eq!(known_holding(&bare, &lost), None, "{kind}");
        let own = provider(known_holding(&named, &lost)).flatten();
        assert!(own.is_some_and(|at| at.ends_with("/own")), "{kind}");
    }
}

#[test]
fn a_cluster_that_joins_a_team_is_new_to_it() {
    let alone = stored("7", json!({"spec": {"teamRef": null}}));
    let claim = claimed(needed("UPDATE", &stored("7", json!({})), &alone, &facts()));
    assert_eq!((claim.ask.base, claim.ask.old), (Some(7), None));
    assert_eq!(needed("UPDATE", &alone, &stored("7", json!({})), &facts()), Need::Nothing);
}

#[test]
fn what_cannot_be_counted_is_denied() {
    let denied = |need: Need| match need {
        Need::Denial(finding) => line(&finding),
        need => panic!("{need:?}"),
    };
    let mut lost = facts();
    lost.lose(crate::facts::FactKind::Team);
    let create = |object: &Value, facts: &Facts| denied(needed("CREATE", object, &Value::Null, facts));
    assert!(
        create(&stored("", json!({})), &lost).contains("the Team `payments` cannot be read at the moment")
    );
    let other = json!({"spec": {"teamRef": {"name": "nobody"}}});
    assert_eq!(
        create(&stored("", other), &facts()),
        "spec.teamRef.name: the team does not exist, so nobody says what it may use; create it first"
    );
    let mut without_uid = stored("", json!({}));
    without_uid["metadata"]["uid"] = json!("");
    assert!(create(&without_uid, &facts()).starts_with("metadata.uid: "));
    let odd = stored("not-a-number", workers(9));
    assert!(
        denied(needed("UPDATE", &odd, &stored("x", workers(1)), &facts()))
            .starts_with("metadata.resourceVersion: ")
    );
}

/// The body that `kubectl scale` leads to.
fn scale(revision: &str, replicas: i32) -> String {
    let scale = |replicas: i32| {
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": replicas},
            "metadata": {"name": "orders", "namespace": "payments", "uid": UID, "resourceVersion": revision}})
    };
    let body = review_body("UPDATE", "tenantclusters", &scale(replicas), &scale(1), "ana@example.org");
    body.replace("\"resource\":{", "\"subResource\":\"scale\",\"resource\":{")
}

#[test]
fn scaling_is_counted_with_the_template_of_exactly_that_revision() {
    let name = stored("7", workers(1))["metadata"]["name"].as_str().expect("name").to_owned();
    let facts = facts_with(&[team(json!({})), provider(json!({})), stored("7", workers(1))]);
    let of = |revision: &str| {
        let body = scale(revision, 4).replace("orders", &name);
        need(&Review::parse(body.as_bytes()).expect("review"), &facts)
    };
    let claim = claimed(of("7"));
    assert_eq!((claim.ask.base, claim.ask.new.nodes), (Some(7), 4));
    assert!(matches!(of("8"), Need::Look(FactKey::Cluster(_))), "the facts lag behind");
    assert_eq!(of("6"), Need::Nothing, "the API server will ask again");
    // Fewer are less of everything, and nobody has to know of what.
    let fewer = scale("8", 4).replace("\"replicas\":1", "\"replicas\":5").replace("orders", &name);
    assert_eq!(need(&Review::parse(fewer.as_bytes()).expect("review"), &facts), Need::Nothing);
}

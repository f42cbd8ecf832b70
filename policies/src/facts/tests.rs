use butler_api::reference::NsRef;
use serde_json::json;

use super::*;
use crate::fixtures::*;

fn at(namespace: &str, name: &str) -> NsRef {
    NsRef { name: name.to_owned(), namespace: namespace.to_owned() }
}

#[test]
fn a_snapshot_does_not_see_what_is_learned_later() {
    let before = facts();
    let mut after = before.clone();
    after.learn(FactKey::Team("payments".into()), Fact::Absent);
    learn(&mut after, &team(json!({"metadata": {"name": "shipping"}})));
    assert!(before.team("payments").found().is_some() && before.team("shipping") == Lookup::Absent);
    assert!(after.team("payments") == Lookup::Absent && after.team("shipping").found().is_some());
}

#[test]
fn reverse_lookups_follow_their_objects() {
    let mut facts = facts();
    let provider = at("butler-system", "harvester-a");
    assert_eq!(facts.clusters_of_team("payments").count(), 1);
    assert_eq!(facts.clusters_of_provider(&provider).count(), 1);
    learn(
        &mut facts,
        &cluster_json(
            json!({"spec": {"teamRef": {"name": "shipping"}, "providerConfigRef": {"name": "other"}}}),
        ),
    );
    assert_eq!(facts.clusters_of_team("payments").count(), 0);
    assert_eq!(facts.clusters_of_team("shipping").count(), 1);
    assert_eq!(facts.clusters_of_provider(&provider).count(), 0);
    facts.learn(FactKey::Cluster(at("payments", "orders")), Fact::Absent);
    assert_eq!(facts.clusters_of_team("shipping").count(), 0);
    assert_eq!(facts.cluster_count(), 0);
}

#[test]
fn a_team_is_found_by_its_namespace() {
    let mut facts = facts();
    assert_eq!(facts.team_of_namespace("payments").found().map(|team| team.namespace()), Some("payments"));
    learn(&mut facts, &team(json!({"status": {"namespace": "payments-2"}})));
    assert_eq!(facts.team_of_namespace("payments"), Lookup::Absent);
    assert!(facts.team_of_namespace("payments-2").found().is_some());
}

#[test]
fn what_cannot_be_read_is_unknown_and_not_absent() {
    let mut facts = facts();
    facts.learn(FactKey::Team("broken".into()), Fact::Unreadable);
    assert_eq!(facts.team("broken"), Lookup::Unknown);
    assert_eq!(facts.team("other"), Lookup::Absent);
    assert!(!facts.knows_all(FactKind::Team) && facts.knows_all(FactKind::Cluster));
    facts.learn(FactKey::Team("broken".into()), Fact::Absent);
    assert!(facts.knows_all(FactKind::Team));
}

#[test]
fn of_a_lost_kind_only_what_is_learned_since_is_known() {
    let mut facts = facts();
    facts.lose(FactKind::Team);
    assert_eq!((facts.team("payments"), facts.team("other")), (Lookup::Unknown, Lookup::Unknown));
    learn(&mut facts, &team(json!({})));
    facts.learn(FactKey::Team("other".into()), Fact::Absent);
    assert!(facts.team("payments").found().is_some() && facts.team("other") == Lookup::Absent);
    assert!(!facts.knows_all(FactKind::Team));
    facts.regain(FactKind::Team);
    assert_eq!(facts.team("third"), Lookup::Absent);
    facts.lose(FactKind::Team);
    assert_eq!(facts.team("payments"), Lookup::Unknown);
}

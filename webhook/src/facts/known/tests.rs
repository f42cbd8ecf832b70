use butler_api::{ButlerConfig, ProviderConfig, Team, TenantCluster, User};
use butler_policies::policy::ParamKind;
use kube::core::DeserializeGuard;
use serde_json::{Value, json};

use super::*;
use crate::facts::kept::{Kept, Watched, document};

const PATIENCE: Duration = Duration::from_secs(30);

fn entry<K: Kept>(object: Value) -> Entry {
    serde_json::from_value::<DeserializeGuard<K>>(object).expect("guarded").into_entry()
}

fn team(name: &str) -> Entry {
    entry::<Team>(json!({"metadata": {"name": name}, "spec": {}}))
}

fn broken_team(name: &str) -> Entry {
    entry::<Team>(json!({"metadata": {"name": name}, "spec": {"access": "everybody"}}))
}

fn user(name: &str, email: &str, role: &str) -> Entry {
    entry::<User>(
        json!({"metadata": {"name": name}, "spec": {"email": email, "platformRole": role, "sshKeys": []}}),
    )
}

fn provider(name: &str, secret: &str) -> Entry {
    entry::<ProviderConfig>(json!({
        "metadata": {"name": name, "namespace": "butler-system"},
        "spec": {"provider": "harvester", "credentialsRef": {"name": secret}}
    }))
}

fn at(name: &str) -> NsRef {
    NsRef { name: name.to_owned(), namespace: "butler-system".to_owned() }
}

fn name(name: &str) -> NsRef {
    NsRef { name: name.to_owned(), namespace: String::new() }
}

/// Lists these objects of a kind.
fn list(known: &mut Known, kind: FactKind, entries: impl IntoIterator<Item = Entry>, now: Instant) {
    assert_eq!(known.hear(&Shelved::Kind(kind), Heard::Listing, now), News::Wait);
    for entry in entries {
        assert_eq!(
            known.hear(&Shelved::Kind(kind), Heard::Listed(entry), now),
            News::Wait,
            "a list is published once"
        );
    }
    assert_eq!(known.hear(&Shelved::Kind(kind), Heard::ListedAll, now), News::Publish);
}

fn is_admin(known: &Known, email: &str) -> Option<bool> {
    let user = known.facts().user(email).found()?;
    Some(user.spec.platform_role() == butler_api::user::PlatformRole::Admin)
}

#[test]
fn nothing_is_known_of_a_kind_before_its_first_list_is_complete() {
    let start = Instant::now();
    let mut known = Known::new(start);
    assert_eq!(known.missing().len(), KINDS.len());
    known.hear(&Shelved::Kind(FactKind::Team), Heard::Listing, start);
    known.hear(&Shelved::Kind(FactKind::Team), Heard::Listed(team("payments")), start);
    known.hear(&Shelved::Kind(FactKind::Team), Heard::Alive, start);
    assert_eq!(known.facts().team("shipping"), Lookup::Unknown);
    known.hear(&Shelved::Kind(FactKind::Team), Heard::ListedAll, start);
    assert_eq!(known.facts().team("shipping"), Lookup::Absent);
    assert!(known.facts().team("payments").found().is_some());
    assert_eq!(known.facts().cluster(&at("orders")), Lookup::Unknown, "other kinds are not listed yet");
    assert!(!known.missing().contains(&FactKind::Team) && known.missing().contains(&FactKind::Cluster));
}

#[test]
fn events_are_published_at_once() {
    let start = Instant::now();
    let mut known = Known::new(start);
    list(&mut known, FactKind::Team, [], start);
    assert_eq!(
        known.hear(&Shelved::Kind(FactKind::Team), Heard::Applied(team("payments")), start),
        News::Publish
    );
    assert!(known.facts().team("payments").found().is_some());
    assert_eq!(
        known.hear(&Shelved::Kind(FactKind::Team), Heard::Deleted(name("payments")), start),
        News::Publish
    );
    assert_eq!(known.facts().team("payments"), Lookup::Absent);
    assert_eq!(known.hear(&Shelved::Kind(FactKind::Team), Heard::Alive, start), News::Wait);
}

#[test]
fn what_a_later_list_does_not_show_is_forgotten() {
    let start = Instant::now();
    let mut known = Known::new(start);
    list(&mut known, FactKind::Team, [team("payments"), team("shipping"), broken_team("odd")], start);
    // A list that broke off forgets nothing, and what it showed does not count for the next.
    known.hear(&Shelved::Kind(FactKind::Team), Heard::Listing, start);
    known.hear(&Shelved::Kind(FactKind::Team), Heard::Listed(team("payments")), start);
    assert!(known.facts().team("shipping").found().is_some());
    list(&mut known, FactKind::Team, [team("shipping")], start);
    assert!(known.facts().team("shipping").found().is_some());
    assert_eq!(known.facts().team("payments"), Lookup::Absent);
    assert_eq!(known.facts().team("odd"), Lookup::Absent);
    assert_eq!(known.overview().get(&FactKind::Team).map(|(objects, _)| *objects), Some(1));
}

#[test]
fn an_object_that_cannot_be_read_makes_only_its_own_key_unknown() {
    let start = Instant::now();
    let mut known = Known::new(start);
    list(&mut known, FactKind::Team, [team("payments"), broken_team("odd")], start);
    assert_eq!(known.facts().team("odd"), Lookup::Unknown);
    assert_eq!(known.facts().team("other"), Lookup::Absent);
    known.hear(&Shelved::Kind(FactKind::Team), Heard::Applied(broken_team("payments")), start);
    assert_eq!(known.facts().team("payments"), Lookup::Unknown, "the past is no answer");
    known.hear(&Shelved::Kind(FactKind::Team), Heard::Applied(team("payments")), start);
    known.hear(&Shelved::Kind(FactKind::Team), Heard::Deleted(name("odd")), start);
    assert!(known.facts().team("payments").found().is_some());
    assert!(known.facts().knows_all(FactKind::Team));
}

#[test]
fn only_the_config_called_butler_counts() {
    let start = Instant::now();
    let config = |name: &str| entry::<ButlerConfig>(json!({"metadata": {"name": name}, "spec": {}}));
    let mut known = Known::new(start);
    list(&mut known, FactKind::Config, [config("other")], start);
    assert_eq!(known.facts().config(), Lookup::Absent);
    known.hear(&Shelved::Kind(FactKind::Config), Heard::Applied(config("butler")), start);
    known.hear(&Shelved::Kind(FactKind::Config), Heard::Deleted(name("other")), start);
    assert!(known.facts().config().found().is_some());
}

#[test]
fn a_new_address_leaves_nobody_behind_under_the_old_one() {
    let start = Instant::now();
    let mut known = Known::new(start);
    list(&mut known, FactKind::User, [user("ana", "Ana@Example.org", "admin")], start);
    assert_eq!(is_admin(&known, "ana@example.org"), Some(true));
    known.hear(
        &Shelved::Kind(FactKind::User),
        Heard::Applied(user("ana", "ana@example.net", "admin")),
        start,
    );
    assert_eq!(known.facts().user("ana@example.org"), Lookup::Absent);
    assert_eq!(is_admin(&known, "ANA@example.net"), Some(true));
    known.hear(&Shelved::Kind(FactKind::User), Heard::Deleted(name("ana")), start);
    assert_eq!(known.facts().user("ana@example.net"), Lookup::Absent);
}

#[test]
fn of_two_users_with_one_address_the_first_by_name_counts() {
    let start = Instant::now();
    let (a, b) = (user("a", "ana@example.org", "viewer"), user("b", "ana@example.org", "admin"));
    for order in [[a.clone(), b.clone()], [b.clone(), a.clone()]] {
        let mut known = Known::new(start);
        list(&mut known, FactKind::User, order, start);
        assert_eq!(is_admin(&known, "ana@example.org"), Some(false));
        known.hear(&Shelved::Kind(FactKind::User), Heard::Deleted(name("a")), start);
        assert_eq!(is_admin(&known, "ana@example.org"), Some(true), "the other is still there");
        known.hear(&Shelved::Kind(FactKind::User), Heard::Deleted(name("b")), start);
        assert_eq!(known.facts().user("ana@example.org"), Lookup::Absent);
    }
}

#[test]
fn a_user_that_cannot_be_read_is_unknown_under_the_address_it_had() {
    let start = Instant::now();
    let broken = || entry::<User>(json!({"metadata": {"name": "ana"}, "spec": {"email": 7}}));
    let mut known = Known::new(start);
    list(&mut known, FactKind::User, [user("ana", "ana@example.org", "admin")], start);
    known.hear(&Shelved::Kind(FactKind::User), Heard::Applied(broken()), start);
    assert_eq!(known.facts().user("ana@example.org"), Lookup::Unknown);
    known.hear(&Shelved::Kind(FactKind::User), Heard::Deleted(name("ana")), start);
    known.hear(&Shelved::Kind(FactKind::User), Heard::Applied(broken()), start);
    assert!(!known.facts().knows_all(FactKind::User), "somebody is there and nobody can say who");
    known.hear(
        &Shelved::Kind(FactKind::User),
        Heard::Applied(user("ana", "ana@example.net", "admin")),
        start,
    );
    assert!(known.facts().knows_all(FactKind::User));
}

#[test]
fn a_silent_kind_is_lost_and_any_sign_of_life_brings_it_back() {
    let start = Instant::now();
    let mut known = Known::new(start);
    for kind in KINDS {
        list(&mut known, kind, [], start);
    }
    let later = start + PATIENCE - Duration::from_secs(1);
    for kind in KINDS.iter().filter(|kind| **kind != FactKind::Team) {
        assert_eq!(known.hear(&Shelved::Kind(*kind), Heard::Alive, later), News::Wait);
    }
    assert!(known.lose_silent(later, PATIENCE).is_empty());
    let too_late = start + PATIENCE;
    assert_eq!(known.lose_silent(too_late, PATIENCE), [Shelved::Kind(FactKind::Team)]);
    assert!(known.lose_silent(too_late, PATIENCE).is_empty(), "said once");
    assert_eq!(known.facts().team("payments"), Lookup::Unknown);
    assert_eq!(known.facts().cluster(&at("orders")), Lookup::Absent);
    assert_eq!(known.hear(&Shelved::Kind(FactKind::Team), Heard::Alive, too_late), News::Publish);
    assert_eq!(known.facts().team("payments"), Lookup::Absent);
}

#[test]
fn a_lost_kind_that_is_listed_again_is_known_only_when_the_list_is_complete() {
    let start = Instant::now();
    let mut known = Known::new(start);
    list(&mut known, FactKind::Team, [team("payments")], start);
    let now = start + PATIENCE;
    assert_eq!(known.lose_silent(now, PATIENCE), [Shelved::Kind(FactKind::Team)]);
    known.hear(&Shelved::Kind(FactKind::Team), Heard::Listing, now);
    assert_eq!(known.hear(&Shelved::Kind(FactKind::Team), Heard::Listed(team("shipping")), now), News::Wait);
    assert_eq!(known.hear(&Shelved::Kind(FactKind::Team), Heard::Alive, now), News::Wait);
    assert_eq!(known.facts().team("other"), Lookup::Unknown);
    known.hear(&Shelved::Kind(FactKind::Team), Heard::ListedAll, now);
    assert_eq!(known.facts().team("other"), Lookup::Absent);
    assert_eq!(known.facts().team("payments"), Lookup::Absent);
}

#[test]
fn asking_for_a_list_is_no_sign_of_life() {
    let start = Instant::now();
    let mut known = Known::new(start);
    list(&mut known, FactKind::Team, [], start);
    known.hear(&Shelved::Kind(FactKind::Team), Heard::Listing, start + PATIENCE);
    assert_eq!(known.lose_silent(start + PATIENCE, PATIENCE), [Shelved::Kind(FactKind::Team)]);
}

#[test]
fn secrets_are_known_as_long_as_a_provider_refers_to_them() {
    let start = Instant::now();
    let mut known = Known::new(start);
    assert_eq!(known.hear_of_secret(at("creds"), Fact::Secret), News::Wait, "nobody refers to it");
    assert_eq!(known.facts().secret(&at("creds")), Lookup::Absent);
    list(&mut known, FactKind::Provider, [provider("harvester-a", "creds")], start);
    assert_eq!(known.hear_of_secret(at("creds"), Fact::Secret), News::Publish);
    assert_eq!(known.hear_of_secret(at("creds"), Fact::Secret), News::Wait, "nothing new");
    assert_eq!(known.facts().secret(&at("creds")), Lookup::Found(()));
    assert_eq!(known.hear_of_secret(at("creds"), Fact::Unreadable), News::Publish);
    assert_eq!(known.hear_of_secret(at("creds"), Fact::Unreadable), News::Wait);
    assert_eq!(known.facts().secret(&at("creds")), Lookup::Unknown);
    assert_eq!(known.hear_of_secret(at("creds"), Fact::Absent), News::Publish);
    assert_eq!(known.hear_of_secret(at("creds"), Fact::Secret), News::Publish);
    known.hear(&Shelved::Kind(FactKind::Provider), Heard::Applied(provider("harvester-a", "other")), start);
    assert_eq!(known.facts().secret(&at("creds")), Lookup::Absent);
    assert_eq!(known.hear_of_secret(at("creds"), Fact::Secret), News::Wait, "too late");
    known.hear_of_secret(at("other"), Fact::Secret);
    list(&mut known, FactKind::Provider, [], start);
    assert!(known.credentials().wanted().is_empty());
    assert_eq!(known.facts().secret(&at("other")), Lookup::Absent);
}

#[test]
fn what_no_rule_reads_is_not_stored() {
    let start = Instant::now();
    let cluster = entry::<TenantCluster>(json!({
        "metadata": {
            "name": "orders", "namespace": "payments", "uid": "7", "finalizers": ["butler.butlerlabs.dev/tenantcluster"],
            "labels": {"butler.butlerlabs.dev/environment": "prod"},
            "annotations": {
                "butler.butlerlabs.dev/owner": "ana@example.org", "kubectl.kubernetes.io/last-applied-configuration": "{}"
            },
            "managedFields": [{"manager": "kubectl", "operation": "Apply"}]
        },
        "spec": {"workers": {"replicas": 3}},
        "status": {
            "phase": "Ready", "conditions": [{"type": "Ready", "status": "True"}],
            "observedState": {"kubernetesVersion": "v1.31.4", "workers": {"desired": 3, "ready": 3, "nodes": ["a", "b"]}}
        }
    }));
    let mut known = Known::new(start);
    list(&mut known, FactKind::Cluster, [cluster], start);
    let place = NsRef { name: "orders".to_owned(), namespace: "payments".to_owned() };
    let stored = known.facts().cluster(&place).found().expect("cluster");
    let expected = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
        "metadata": {
            "name": "orders", "namespace": "payments", "uid": "7",
            "labels": {"butler.butlerlabs.dev/environment": "prod"},
            "annotations": {"butler.butlerlabs.dev/owner": "ana@example.org"}
        },
        "status": {"observedState": {"kubernetesVersion": "v1.31.4"}}
    });
    let mut written = serde_json::to_value(stored).expect("cluster");
    let spec = written.as_object_mut().expect("object").remove("spec").expect("spec");
    assert_eq!(written, expected);
    assert_eq!(spec["workers"]["replicas"], 3);
}

fn wanted(namespace: Option<&str>) -> WantedParams {
    let kind = ParamKind { api_version: "v1".to_owned(), kind: "ConfigMap".to_owned() };
    WantedParams { kind, namespace: namespace.map(str::to_owned) }
}

fn param(namespace: &str) -> Entry {
    let name = NsRef { name: "limits".to_owned(), namespace: namespace.to_owned() };
    let fact = document(&json!({"data": {"most": "5"}})).map_or(Fact::Unreadable, Fact::Param);
    Entry { key: Some(FactKey::Param(wanted(None).kind, name.clone())), name, fact }
}

/// What is known of the param in a namespace: here, not here, or nobody can say.
fn is_there(known: &Known, namespace: &str) -> Option<bool> {
    match known.facts().params.find(&wanted(None).kind, namespace, "limits") {
        Lookup::Found(_) => Some(true),
        Lookup::Absent => Some(false),
        Lookup::Unknown => None,
    }
}

#[test]
fn params_are_known_where_they_are_watched_once_they_are_listed() {
    let start = Instant::now();
    let mut known = Known::new(start);
    let (here, shelf) = (wanted(Some("a")), Shelved::Params(wanted(Some("a"))));
    assert_eq!(known.hear(&shelf, Heard::Listing, start), News::Wait, "nobody wants them yet");
    known.watch_params(here.clone(), ParamScope::Namespaced, start);
    assert_eq!(is_there(&known, "a"), None);
    known.hear(&shelf, Heard::Listing, start);
    known.hear(&shelf, Heard::Listed(param("a")), start);
    assert_eq!(known.hear(&shelf, Heard::ListedAll, start), News::Publish);
    assert_eq!((is_there(&known, "a"), is_there(&known, "b")), (Some(true), None));
    assert!(!known.missing().contains(&FactKind::Param));

    let lost = start + PATIENCE;
    assert!(known.lose_silent(lost, PATIENCE).contains(&shelf));
    assert_eq!(is_there(&known, "a"), None);
    known.hear(&shelf, Heard::Deleted(param("a").name), lost);
    assert_eq!(is_there(&known, "a"), Some(false));
    known.forget_params(&here);
    assert_eq!(is_there(&known, "a"), None);
}

#[test]
fn params_that_others_still_want_stay() {
    let start = Instant::now();
    let mut known = Known::new(start);
    for place in [Some("a"), None] {
        let shelf = Shelved::Params(wanted(place));
        known.watch_params(wanted(place), ParamScope::Namespaced, start);
        known.hear(&shelf, Heard::Listing, start);
        known.hear(&shelf, Heard::Listed(param("a")), start);
        known.hear(&shelf, Heard::ListedAll, start);
    }
    known.forget_params(&wanted(Some("a")));
    assert_eq!((is_there(&known, "a"), is_there(&known, "b")), (Some(true), Some(false)));
}

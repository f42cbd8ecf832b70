use proptest::prelude::*;

use super::*;
use crate::quota::limit::Source;
use crate::quota_ledger::QuotaLedger;

fn at(name: &str) -> NsRef {
    NsRef { name: name.to_owned(), namespace: "payments".to_owned() }
}

fn uid(number: u128) -> ObjectUid {
    ObjectUid::from_number(number)
}

fn nodes(count: u64) -> Holding {
    let (memory, storage) = (u128::from(count) << 34, u128::from(count) << 36);
    Holding { nodes: count, cpu: count * 4, memory, storage, ..Holding::default() }
}

fn in_environment(environment: &str, owner: &str) -> Holding {
    Holding { environment: Some(environment.into()), owner: Some(owner.into()), ..nodes(1) }
}

fn create(name: &str, number: u128, new: Holding) -> Ask {
    Ask { at: at(name), uid: uid(number), base: None, old: None, new }
}

fn update(name: &str, number: u128, base: u64, old: Holding, new: Holding) -> Ask {
    Ask { at: at(name), uid: uid(number), base: Some(base), old: Some(old), new }
}

fn limit(scope: Scope, dimension: Dimension, most: i32) -> Limit {
    let source =
        Source { object: "the Team `payments`".to_owned(), field: "spec".to_owned(), owners: "somebody" };
    Limit { scope, dimension, most: most.into(), source }
}

fn most_nodes(most: i32) -> [Limit; 1] {
    [limit(Scope::Team, Dimension::Nodes, most)]
}

fn seen(number: u128, revision: u64, holding: Holding) -> Sighting {
    Sighting { uid: uid(number), revision, created: 0, holding: Some(holding), is_leaving: false }
}

/// The same of a cluster that is of no team.
fn stranger(number: u128, revision: u64) -> Sighting {
    Sighting { holding: None, ..seen(number, revision, nodes(0)) }
}

fn unlimited(_: &Holding) -> Option<Vec<Limit>> {
    Some(Vec::new())
}

fn listed(revision: u64, clusters: &[(&str, Sighting)]) -> Inventory {
    let clusters = clusters.iter().map(|(name, seen)| (at(name), seen.clone())).collect();
    Inventory { revision, clusters, ..Inventory::default() }
}

fn never(_: &NsRef, _: &Open) -> bool {
    false
}

fn used(ledger: &Ledger) -> u128 {
    ledger.used(&Scope::Team, Dimension::Nodes)
}

fn asked(ledger: &mut Ledger, ask: Ask, limits: &[Limit]) -> Result<(), Refusal> {
    ledger.weigh(&ask, limits)?;
    ledger.reserve(ask, 1);
    Ok(())
}

#[test]
fn what_is_under_way_counts_like_what_is_there() {
    let mut ledger = Ledger::new("payments");
    assert_eq!(asked(&mut ledger, create("a", 1, nodes(3)), &most_nodes(5)), Ok(()));
    let Err(Refusal::Exceeded(exceeded)) = asked(&mut ledger, create("b", 2, nodes(3)), &most_nodes(5))
    else {
        panic!("admitted")
    };
    let [only] = exceeded.as_slice() else { panic!("{exceeded:?}") };
    assert_eq!((only.used, only.clusters, only.pending, only.adds, only.fits()), (3, 1, 1, 3, 2.into()));
    assert_eq!(asked(&mut ledger, create("b", 2, nodes(2)), &most_nodes(5)), Ok(()));
    assert_eq!((used(&ledger), ledger.open()), (5, 2));
}

#[test]
fn a_name_counts_once_however_often_it_is_asked_for() {
    let mut ledger = Ledger::new("payments");
    for number in 1..9 {
        assert_eq!(asked(&mut ledger, create("a", number, nodes(3)), &most_nodes(3)), Ok(()));
        assert_eq!(asked(&mut ledger, create("a", number, nodes(3)), &most_nodes(3)), Ok(()));
    }
    assert_eq!((used(&ledger), ledger.open()), (3, 8));
    for number in 9..33 {
        assert_eq!(asked(&mut ledger, create("a", number, nodes(1)), &[]), Ok(()));
    }
    assert_eq!(asked(&mut ledger, create("a", 99, nodes(1)), &[]), Err(Refusal::TooManyChanges));
}

#[test]
fn all_exceeded_limits_are_told_at_once_and_only_what_is_raised_is_judged() {
    let mut ledger = Ledger::new("payments");
    asked(&mut ledger, create("a", 1, nodes(5)), &[]).unwrap();
    let limits = [
        limit(Scope::Team, Dimension::Clusters, 0),
        limit(Scope::Team, Dimension::Nodes, 2),
        limit(Scope::Cluster, Dimension::Nodes, 3),
        limit(Scope::Team, Dimension::Cpu, 1000),
    ];
    let told = |result: Result<(), Refusal>| match result {
        Ok(()) => Vec::new(),
        Err(Refusal::Exceeded(exceeded)) => {
            exceeded.into_iter().map(|it| (it.limit.scope, it.limit.dimension)).collect()
        }
        Err(other) => panic!("{other:?}"),
    };
    let (team, one) = (Scope::Team, Scope::Cluster);
    let everything = [
        (team.clone(), Dimension::Clusters),
        (team.clone(), Dimension::Nodes),
        (one.clone(), Dimension::Nodes),
    ];
    assert_eq!(told(ledger.weigh(&create("b", 2, nodes(9)), &limits)), everything);
    let more = update("a", 1, 7, nodes(5), nodes(6));
    assert_eq!(told(ledger.weigh(&more, &limits)), [(team, Dimension::Nodes), (one, Dimension::Nodes)]);
    let memory = Holding { memory: 1 << 50, ..nodes(5) };
    assert_eq!(told(ledger.weigh(&update("a", 1, 7, nodes(5), memory), &limits)), []);
}

#[test]
fn a_move_counts_in_both_environments_until_it_is_seen() {
    let mut ledger = Ledger::new("payments");
    let limits = |environment: &str, owner: &str| {
        let (environment, owner): (Arc<str>, Arc<str>) = (environment.into(), owner.into());
        [
            limit(Scope::Environment(environment.clone()), Dimension::Clusters, 1),
            limit(Scope::Member { environment, owner }, Dimension::Clusters, 1),
        ]
    };
    let (dev, prod) = (in_environment("dev", "ana"), in_environment("prod", "ana"));
    asked(&mut ledger, create("a", 1, dev.clone()), &limits("dev", "ana")).unwrap();
    ledger.fold(&at("a"), &seen(1, 5, dev.clone()));
    asked(&mut ledger, update("a", 1, 5, dev.clone(), prod.clone()), &limits("prod", "ana")).unwrap();
    let other = |environment: &str, owner| create("b", 2, in_environment(environment, owner));
    assert!(ledger.weigh(&other("dev", "bob"), &limits("dev", "bob")).is_err());
    assert!(ledger.weigh(&other("prod", "bob"), &limits("prod", "bob")).is_err());
    assert_eq!(ledger.used(&Scope::Team, Dimension::Clusters), 1);
    ledger.fold(&at("a"), &seen(1, 6, prod));
    assert_eq!(ledger.weigh(&other("dev", "bob"), &limits("dev", "bob")), Ok(()));
    assert!(ledger.weigh(&other("prod", "bob"), &limits("prod", "bob")).is_err());
}

#[test]
fn a_sighting_folds_what_it_overtakes_and_nothing_else() {
    let mut ledger = Ledger::new("payments");
    asked(&mut ledger, create("a", 1, nodes(3)), &[]).unwrap();
    ledger.fold(&at("a"), &seen(1, 10, nodes(3)));
    assert_eq!(ledger.open(), 0);
    asked(&mut ledger, update("a", 1, 10, nodes(3), nodes(5)), &[]).unwrap();
    // What is older than the request says nothing about it.
    assert_eq!(ledger.settle(&listed(12, &[("a", seen(1, 10, nodes(3)))]), never), Settled::default());
    assert_eq!((used(&ledger), ledger.open()), (5, 1));
    // Somebody else changed the object, so the request cannot be stored any more: it is asked again.
    ledger.fold(&at("a"), &seen(1, 13, nodes(2)));
    assert_eq!((used(&ledger), ledger.open()), (2, 0));
    // A sighting that comes late changes nothing.
    ledger.fold(&at("a"), &seen(1, 11, nodes(5)));
    assert_eq!(used(&ledger), 2);
}

#[test]
fn a_creation_that_was_never_seen_is_released_by_a_list_after_its_time_only() {
    let mut ledger = Ledger::new("payments");
    asked(&mut ledger, create("a", 1, nodes(3)), &[]).unwrap();
    assert_eq!(ledger.settle(&listed(50, &[]), never), Settled::default());
    let other = listed(60, &[("a", seen(2, 55, nodes(1)))]);
    let settled = ledger.settle(&other, never);
    assert_eq!((settled.slipped, settled.released, used(&ledger)), (1, 0, 3));
    let settled = ledger.settle(&other, |_, open| open.ticket == 1);
    assert_eq!((settled.released, used(&ledger)), (1, 1));
}

#[test]
fn what_is_gone_is_gone_at_once_if_it_was_seen() {
    let mut ledger = Ledger::new("payments");
    asked(&mut ledger, create("a", 1, nodes(3)), &[]).unwrap();
    ledger.fold(&at("a"), &seen(1, 10, nodes(3)));
    asked(&mut ledger, update("a", 1, 10, nodes(3), nodes(5)), &[]).unwrap();
    // A list from before says nothing.
    assert_eq!(ledger.settle(&listed(9, &[]), never), Settled::default());
    let settled = ledger.settle(&listed(11, &[]), never);
    assert_eq!((settled.lowered, settled.released, used(&ledger)), (1, 1, 0));
    assert!(ledger.slots().is_empty());
}

#[test]
fn a_list_of_one_namespace_says_nothing_about_another() {
    let mut ledger = Ledger::of("payments", &listed(5, &[("a", seen(1, 3, nodes(3)))]), unlimited);
    let elsewhere =
        Inventory { revision: 9, namespaces: Some(["edge".to_owned()].into()), ..Inventory::default() };
    assert_eq!(ledger.settle(&elsewhere, never), Settled::default());
    let here = Inventory { namespaces: Some(["payments".to_owned()].into()), ..elsewhere };
    assert_eq!(ledger.settle(&here, never).lowered, 1);
}

#[test]
fn what_got_past_the_gate_counts_and_holds_no_grant_until_it_is_asked_for() {
    let mut ledger = Ledger::new("payments");
    ledger.settle(&listed(5, &[("a", seen(1, 3, nodes(3)))]), never);
    assert_eq!(used(&ledger), 3);
    assert!(!ledger.grants(&at("a"), uid(1), &nodes(3)));
    // Growing is no way around it, not even before the ledger has seen it.
    let mut unseen = Ledger::new("payments");
    for ledger in [&mut ledger, &mut unseen] {
        asked(ledger, update("a", 1, 3, nodes(3), nodes(4)), &[]).unwrap();
        assert!(!ledger.grants(&at("a"), uid(1), &nodes(4)));
        ledger.fold(&at("a"), &seen(1, 6, nodes(4)));
        assert!(!ledger.grants(&at("a"), uid(1), &nodes(4)));
    }
    assert!(matches!(ledger.grant(&at("a"), uid(1), &most_nodes(3)), Err(Refusal::Exceeded(_))));
    assert_eq!(ledger.grant(&at("a"), uid(2), &[]), Err(Refusal::Unknown));
    assert_eq!(ledger.grant(&at("a"), uid(1), &most_nodes(4)), Ok(()));
    assert!(ledger.grants(&at("a"), uid(1), &nodes(4)) && !ledger.grants(&at("a"), uid(1), &nodes(5)));
    assert!(!ledger.grants(&at("a"), uid(2), &nodes(1)));
    // What grows past the gate loses it.
    ledger.fold(&at("a"), &seen(1, 8, nodes(9)));
    assert!(!ledger.grants(&at("a"), uid(1), &nodes(9)));
}

#[test]
fn what_is_being_deleted_takes_what_it_had() {
    let mut ledger = Ledger::of("payments", &listed(5, &[("a", seen(1, 3, nodes(3)))]), unlimited);
    let leaving = |revision: u64, size: u64| Sighting { is_leaving: true, ..seen(1, revision, nodes(size)) };
    assert_eq!(ledger.fold(&at("a"), &leaving(9, 2)).lowered, 0);
    assert_eq!(used(&ledger), 3, "its machines still exist");
    asked(&mut ledger, update("a", 1, 9, nodes(2), nodes(4)), &most_nodes(4)).unwrap();
    ledger.fold(&at("a"), &leaving(10, 4));
    assert_eq!((used(&ledger), ledger.grants(&at("a"), uid(1), &nodes(4))), (4, true));
    // What grows past the gate counts like everything else.
    ledger.fold(&at("a"), &leaving(11, 1000));
    assert_eq!((used(&ledger), ledger.grants(&at("a"), uid(1), &nodes(1000))), (1000, false));
    assert_eq!(ledger.settle(&listed(12, &[]), never).lowered, 1);
    assert_eq!(used(&ledger), 0);
}

/// Nobody looks at the rules while something is being deleted, so its spec may leave the team, or its label the environment.
#[test]
fn what_is_being_deleted_gives_up_no_place() {
    let mut ledger = Ledger::new("payments");
    ledger.reserve(create("a", 1, in_environment("prod", "ana")), 1);
    ledger.fold(&at("a"), &seen(1, 5, in_environment("prod", "ana")));
    let prod = Scope::Environment("prod".into());
    for (revision, holding) in [(6, Some(nodes(1))), (7, None), (8, Some(in_environment("test", "bob")))] {
        let leaving = Sighting { is_leaving: true, holding, ..seen(1, revision, nodes(0)) };
        ledger.fold(&at("a"), &leaving);
        assert_eq!(ledger.used(&Scope::Team, Dimension::Nodes), 1, "{revision}");
        assert_eq!(ledger.used(&prod, Dimension::Clusters), 1, "{revision}");
        assert!(ledger.grants(&at("a"), uid(1), &in_environment("prod", "ana")));
    }
    ledger.settle(&listed(9, &[]), never);
    assert_eq!(ledger.used(&Scope::Team, Dimension::Nodes), 0);
}

#[test]
fn a_cluster_that_joins_counts_from_its_request_on() {
    let mut ledger = Ledger::new("payments");
    let join = Ask { old: None, ..update("a", 1, 7, nodes(0), nodes(3)) };
    asked(&mut ledger, join.clone(), &most_nodes(3)).unwrap();
    // It is there, and still nobody's: the request may be stored yet.
    let pending = listed(9, &[("a", stranger(1, 7))]);
    assert_eq!(ledger.settle(&pending, never), Settled::default());
    ledger.fold(&at("a"), &stranger(1, 7));
    assert_eq!((used(&ledger), ledger.open()), (3, 1));
    assert!(ledger.weigh(&create("b", 2, nodes(1)), &most_nodes(3)).is_err());
    let mut joined = ledger.clone();
    assert_eq!(joined.settle(&listed(10, &[("a", seen(1, 8, nodes(3)))]), never).folded, 1);
    assert!(joined.grants(&at("a"), uid(1), &nodes(3)));
    // Somebody changed it first, or its time is over.
    assert_eq!(ledger.clone().settle(&listed(10, &[("a", stranger(1, 8))]), never).folded, 1);
    assert_eq!(ledger.settle(&pending, |_, _| true).released, 1);
    assert_eq!(used(&ledger), 0);
    // What leaves the team does not count any more.
    assert_eq!(joined.settle(&listed(12, &[("a", stranger(1, 11))]), never).lowered, 1);
    assert!(joined.slots().is_empty());
}

#[test]
fn a_change_that_comes_too_late_is_known_to() {
    let ledger = Ledger::of("payments", &listed(5, &[("a", seen(1, 4, nodes(3)))]), unlimited);
    assert!(ledger.overtakes(&update("a", 1, 3, nodes(1), nodes(9))));
    assert!(!ledger.overtakes(&update("a", 1, 4, nodes(3), nodes(9))));
    assert!(
        !ledger.overtakes(&create("a", 2, nodes(9)))
            && !ledger.overtakes(&update("b", 1, 3, nodes(1), nodes(2)))
    );
}

#[test]
fn a_list_that_took_long_brings_nothing_back() {
    let mut ledger = Ledger::of("payments", &listed(5, &[("a", seen(1, 3, nodes(3)))]), unlimited);
    asked(&mut ledger, create("b", 2, nodes(1)), &[]).unwrap();
    let late = listed(8, &[("a", seen(1, 3, nodes(3))), ("b", seen(9, 6, nodes(1)))]);
    assert_eq!(ledger.settle(&listed(10, &[("b", seen(2, 7, nodes(1)))]), never).lowered, 1);
    assert_eq!((ledger.settle(&late, never), used(&ledger)), (Settled::default(), 1));
    let mut object = object(&ledger, 2);
    assert_eq!(object.spec.listed, 10);
    object.spec.listed = 0;
    assert_ne!(Ledger::read(&object), Ok(ledger));
}

#[test]
fn one_that_cannot_be_read_is_there_and_keeps_nobody_else() {
    let mut ledger = Ledger::new("payments");
    ledger.settle(&listed(4, &[("a", seen(1, 3, nodes(3)))]), never);
    asked(&mut ledger, create("b", 2, nodes(1)), &[]).unwrap();
    asked(&mut ledger, create("c", 3, nodes(1)), &[]).unwrap();
    let names = ["a", "b"].map(at);
    let inventory = Inventory { revision: 9, unreadable: names.into(), ..Inventory::default() };
    assert_eq!(ledger.settle(&inventory, |_, _| true).released, 1);
    assert_eq!((used(&ledger), ledger.open()), (4, 1));
}

/// Whoever deletes a ledger gets nothing by it that is beyond the limits.
#[test]
fn what_is_found_without_a_ledger_is_granted_as_far_as_it_fits_the_oldest_first() {
    let aged = |number, created, size| Sighting { created, ..seen(number, 3, nodes(size)) };
    let inventory = listed(
        5,
        &[("a", aged(1, 30, 2)), ("b", aged(2, 10, 2)), ("c", aged(3, 20, 9)), ("d", stranger(4, 3))],
    );
    let limits = |_: &Holding| Some(most_nodes(4).to_vec());
    let mut ledger = Ledger::of("payments", &inventory, limits);
    assert_eq!(used(&ledger), 13);
    let granted = |ledger: &Ledger| {
        let held = ledger.slots().iter().filter(|(_, slot)| slot.held.as_ref().is_some_and(|it| it.granted));
        held.map(|(at, _)| at.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(granted(&ledger), ["a", "b"]);
    assert_eq!(granted(&Ledger::of("payments", &inventory, |_| None)), [""; 0]);
    assert!(matches!(ledger.grant(&at("c"), uid(3), &most_nodes(12)), Err(Refusal::Exceeded(_))));
    assert_eq!(ledger.grant(&at("c"), uid(3), &most_nodes(13)), Ok(()));
    assert_eq!(Ledger::read(&object(&ledger, 3)), Ok(ledger));
}

/// Two that got past the gate are not in each other's way when only one of them fits.
#[test]
fn only_what_is_granted_stands_against_a_grant() {
    let mut ledger = Ledger::new("payments");
    ledger.settle(&listed(5, &[("a", seen(1, 3, nodes(3))), ("b", seen(2, 4, nodes(3)))]), never);
    assert_eq!(ledger.grant(&at("a"), uid(1), &most_nodes(5)), Ok(()));
    assert!(matches!(ledger.grant(&at("b"), uid(2), &most_nodes(5)), Err(Refusal::Exceeded(_))));
}

/// Names that lines refer to take room too: thousands of people with long names do not fit, and that is said in time.
#[test]
fn a_ledger_is_full_before_the_api_server_refuses_it() {
    let mut ledger = Ledger::new("payments");
    let full = (0..20_000_u32).find_map(|number| {
        let holding = Holding {
            environment: Some("prod".into()),
            owner: Some(format!("{number:05}\"{}", "x".repeat(120)).into()),
            ..nodes(1)
        };
        let ask = create(&format!("c{number}"), number.into(), holding);
        let refused = ledger.weigh(&ask, &[]).err();
        if refused.is_none() {
            ledger.reserve(ask, 1);
        }
        refused
    });
    assert_eq!(full, Some(Refusal::Full));
    let bytes = serde_json::to_vec(&ledger.write(1)).unwrap().len();
    assert!(bytes <= ledger.totals.bytes + 200 && bytes < 1_450_000, "{bytes} {}", ledger.totals.bytes);
}

fn object(ledger: &Ledger, writes: i64) -> QuotaLedger {
    let mut object = QuotaLedger::new(ledger.team(), ledger.write(writes));
    object.metadata.generation = Some(writes);
    object
}

#[test]
fn a_ledger_is_stored_as_lines_that_can_be_read() {
    let mut ledger = Ledger::new("payments");
    let provider = Holding { provider: Some("butler-system/local".into()), ..in_environment("dev", "ana") };
    asked(&mut ledger, create("a", 0x1a2b, provider), &[]).unwrap();
    ledger.fold(&at("a"), &seen(0x1a2b, 77, Holding { memory: 5, ..in_environment("dev", "ana") }));
    let elsewhere = NsRef { name: "b".to_owned(), namespace: "edge".to_owned() };
    ledger.reserve(Ask { at: elsewhere, ..update("b", 7, 80, nodes(1), nodes(2)) }, 3);
    let spec = ledger.write(4);
    assert_eq!(spec.held, ["a 00000000000000000001eh 77 1 4 5 64Gi 0 0 -"]);
    assert_eq!(spec.open, ["edge/b 0000000000000000000007 80 3 2 8 32Gi 128Gi - - - past-the-gate"]);
    assert_eq!(Ledger::read(&object(&ledger, 4)), Ok(ledger));
}

#[test]
fn a_ledger_that_somebody_edited_is_none() {
    let mut ledger = Ledger::new("payments");
    asked(&mut ledger, create("a", 1, nodes(3)), &[]).unwrap();
    let good = object(&ledger, 4);
    let error = |change: fn(&mut QuotaLedger)| {
        let mut bad = good.clone();
        change(&mut bad);
        Ledger::read(&bad).unwrap_err().to_string()
    };
    assert_eq!(error(|it| it.metadata.generation = Some(5)), "it was edited: 4 writes are Butler's, of 5");
    assert_eq!(error(|it| it.metadata.name = Some("orders".into())), "it is of another team");
    let lines: [fn(&mut QuotaLedger); 6] = [
        |it| it.spec.open[0].push_str(" more"),
        |it| it.spec.open[0] = it.spec.open[0].replacen("new", "old", 1),
        |it| it.spec.open[0] = it.spec.open[0].replace("Gi", "Ki"),
        |it| it.spec.open[0] = it.spec.open[0].replace(" -", " 0"),
        |it| it.spec.open[0] = String::new(),
        |it| it.spec.open[0] = "a 0 new 1 1 1 1 1 - - -".to_owned(),
    ];
    for change in lines {
        assert_eq!(error(change), "line 0 of `open` cannot be read");
    }
    assert_eq!(
        error(|it| it.spec.held = vec!["a 0000000000000000000001 1 1 1 1 1 - - -".to_owned(); 2]),
        "line 1 of `held` cannot be read"
    );
}

/// Ten thousand clusters with long names, each in an environment and with an owner of its own, fit what an API server stores;
/// the sums are right, and when it is full that is said.
#[test]
fn ten_thousand_clusters_fit() {
    let mut ledger = Ledger::new("payments");
    let holding = |number: u64| Holding {
        provider: Some("butler-system/harvester".into()),
        ..Holding {
            environment: Some("prod".into()),
            owner: Some(format!("u{}", number % 500).into()),
            ..nodes(5000)
        }
    };
    let named = |number: u64| at(&format!("a-rather-long-name-of-a-cluster-{number:05}"));
    for number in 0..10_000 {
        let ask = Ask { at: named(number), ..create("", u128::MAX - u128::from(number), holding(number)) };
        assert_eq!(ledger.weigh(&ask, &[]), Ok(()), "{number}");
        ledger.reserve(ask, 1);
        let sighting = seen(u128::MAX - u128::from(number), 1 << 40, holding(number));
        ledger.fold(&named(number), &sighting);
    }
    assert_eq!(used(&ledger), 50_000_000);
    let bytes = serde_json::to_vec(&ledger.write(1)).unwrap().len();
    assert!(bytes <= ledger.totals.bytes && bytes < 1_400_000, "{bytes} {}", ledger.totals.bytes);
    let full = (10_000..30_000).find_map(|number| {
        let ask = Ask { at: named(number), ..create("", number.into(), holding(number)) };
        let refused = ledger.weigh(&ask, &[]).err();
        ledger.reserve(ask, 1);
        refused
    });
    assert_eq!(full, Some(Refusal::Full));
    assert!(serde_json::to_vec(&ledger.write(1)).unwrap().len() < 1_450_000);
}

#[derive(Clone, Debug)]
enum Step {
    Ask { name: u8, number: u8, base: Option<u64>, old: u64, new: u64 },
    Fold { name: u8, number: u8, revision: u64, size: u64 },
    List { revision: u64, present: Option<(u8, u8, u64, u64)>, over: bool },
}

fn step() -> impl Strategy<Value = Step> {
    let (name, number, revision, size) = (0..3_u8, 0..4_u8, 0..20_u64, 0..5_u64);
    prop_oneof![
        (name.clone(), number.clone(), proptest::option::of(revision.clone()), size.clone(), size.clone())
            .prop_map(|(name, number, base, old, new)| Step::Ask { name, number, base, old, new }),
        (name.clone(), number.clone(), revision.clone(), size.clone())
            .prop_map(|(name, number, revision, size)| Step::Fold { name, number, revision, size }),
        (revision.clone(), proptest::option::of((name, number, revision, size)), any::<bool>())
            .prop_map(|(revision, present, over)| Step::List { revision, present, over }),
    ]
}

proptest! {
    /// Whatever happens, in whatever order: the sums are those of the slots, and what is stored is read back the same.
    #[test]
    fn sums_and_text_follow_whatever_happens(steps in proptest::collection::vec(step(), 0..40)) {
        let mut ledger = Ledger::new("payments");
        let holding = |size: u64| Holding {
            environment: (size % 2 == 1).then(|| format!("e{size}").into()),
            provider: (size > 2).then(|| "butler-system/p".into()),
            memory: u128::from(size) * 7,
            ..nodes(size)
        };
        let name = |number: u8| format!("c{number}");
        for (ticket, step) in steps.into_iter().enumerate() {
            match step {
                Step::Ask { name: of, number, base, old, new } => {
                    let old = base.map(|_| holding(old));
                    let ask = Ask { at: at(&name(of)), uid: uid(number.into()), base, old, new: holding(new) };
                    ledger.reserve(ask, ticket as u64);
                }
                Step::Fold { name: of, number, revision, size } => {
                    ledger.fold(&at(&name(of)), &seen(number.into(), revision, holding(size)));
                }
                Step::List { revision, present, over } => {
                    let present = present.map(|(of, number, revision, size)| {
                        (at(&name(of)), seen(number.into(), revision, holding(size)))
                    });
                    let clusters = present.into_iter().collect();
                    let inventory = Inventory { revision, clusters, ..Inventory::default() };
                    ledger.settle(&inventory, |_, _| over);
                }
            }
            let mut counted = Totals::default();
            ledger.slots.iter().for_each(|(at, slot)| counted.add(at, slot));
            prop_assert_eq!(&counted, &ledger.totals);
            let most: u128 = ledger.slots.values()
                .map(|slot| slot.alternatives().map(|it| u128::from(it.nodes)).max().unwrap_or(0)).sum();
            prop_assert_eq!(used(&ledger), most);
            prop_assert_eq!(Ledger::read(&object(&ledger, 9)), Ok(ledger.clone()));
        }
    }
}

//! Quotas on a real API server: what is told, what is lost and comes back, and what a storm leaves.

mod denier;
mod in_a_storm;
mod platform;
mod storm;
mod usage;

use std::time::Duration;

use butler_api::TenantCluster;
use butler_api::names::ObjectUid;
use butler_api::quota::{Holding, Limits, Refusal};
use butler_api::reference::NsRef;
use butler_program::Grants;
use butler_program::grants::GrantError;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use self::denier::Denier;
use self::platform::{cluster, clusters_of, named, prepare, team};
use crate::harness::{Gate, Setup};
use crate::objects::{eventually, objects_of};

async fn created(gate: &Gate, team: &str, object: &Value) -> Result<(), String> {
    let object = serde_json::from_value(object.clone()).unwrap();
    let created = clusters_of(gate.client(), team).create(&PostParams::default(), &object).await;
    created.map(drop).map_err(|error| match error {
        kube::Error::Api(status) => status.message,
        error => error.to_string(),
    })
}

async fn changed(gate: &Gate, team: &str, name: &str, change: Value) -> Result<(), String> {
    let (api, params) = (clusters_of(gate.client(), team), PatchParams::default());
    let changed = api.patch(name, &params, &Patch::Merge(change)).await;
    changed.map(drop).map_err(|error| error.to_string())
}

/// The ledger of a team, once it is settled.
async fn settled(gate: &Gate, team: &str) -> Value {
    let ledgers = objects_of(gate.client(), "QuotaLedger", "butler-system");
    eventually("the ledger is settled", async || {
        ledgers.get(team).await.is_ok_and(|ledger| ledger.data["spec"].get("open").is_none())
    })
    .await;
    ledgers.get(team).await.unwrap().data["spec"].take()
}

/// A Team and its clusters from one file, a limit that is reached in every way there is, and what people are told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_holds_however_it_is_approached() {
    let gate = Gate::start(Setup { request_timeout: Some(10), ..Setup::default() }).await;
    prepare(&gate).await;
    let limits =
        json!({ "maxClusters": 2, "maxTotalNodes": 5, "maxMemory": "96Gi", "maxNodesPerCluster": 4 });
    let file = format!(
        "{}\n---\n{}",
        team("limited", json!({ "resourceLimits": limits })),
        cluster("limited", "one", 3)
    );
    gate.plane().apply(&file).await.unwrap();

    let denied = created(&gate, "limited", &named("limited", "two", 3)).await.unwrap_err();
    assert!(
        denied.ends_with(
            "spec.workers.replicas: the Team `limited` may have 5 nodes; 3 used by 1 cluster, this adds 3, 2 would fit; the \
             platform's administrators can raise `spec.resourceLimits.maxTotalNodes` of the Team `limited`"
        ),
        "{denied}"
    );
    // Nobody was in a hurry, so nothing is reserved for what was denied.
    assert_eq!(created(&gate, "limited", &named("limited", "two", 2)).await, Ok(()));
    let all = created(&gate, "limited", &named("limited", "three", 5)).await.unwrap_err();
    for part in ["2 clusters", "5 nodes;", "96Gi memory", "a cluster of the Team `limited` may have 4 nodes"]
    {
        assert!(all.contains(part), "{all}");
    }
    // By an edit, and by the subresource that autoscalers use.
    let grow = json!({ "spec": { "workers": { "replicas": 4 } } });
    assert!(changed(&gate, "limited", "one", grow).await.unwrap_err().contains("may have 5 nodes"));
    let scaled = gate
        .plane()
        .kubectl(&["scale", "tenantcluster", "one", "-n", "limited", "--replicas=4"])
        .await
        .unwrap();
    assert!(scaled.stderr.contains("the Team `limited` may have 5 nodes"), "{}", scaled.stderr);
    let fatter = json!({ "spec": { "workers": { "machineTemplate": { "memory": "32Gi" } } } });
    assert!(changed(&gate, "limited", "one", fatter).await.unwrap_err().contains("may have 96Gi memory"));
    // What one gives back, the other may have, at once.
    let shrink = json!({ "spec": { "workers": { "replicas": 2 } } });
    assert_eq!(changed(&gate, "limited", "one", shrink).await, Ok(()));
    let scaled = gate
        .plane()
        .kubectl(&["scale", "tenantcluster", "two", "-n", "limited", "--replicas=3"])
        .await
        .unwrap();
    assert!(scaled.status.success(), "{}", scaled.stderr);
    clusters_of(gate.client(), "limited").delete("one", &DeleteParams::default()).await.unwrap();
    assert_eq!(created(&gate, "limited", &named("limited", "three", 2)).await, Ok(()));

    // A dry run is told the same and takes nothing.
    let (dry_run, object) = (["create", "--dry-run=server", "-f", "-"], cluster("limited", "four", 1));
    let dry = gate.plane().kubectl_with_input(&dry_run, &object).await.unwrap();
    assert!(
        dry.stderr.contains("the Team `limited` may have 2 clusters; 2 used by 2 clusters"),
        "{}",
        dry.stderr
    );

    // A lower limit freezes nothing.
    let lower = json!({ "spec": { "resourceLimits": { "maxTotalNodes": 1, "maxClusters": 0 } } });
    let teams = objects_of(gate.client(), "Team", "");
    teams.patch("limited", &PatchParams::default(), &Patch::Merge(lower)).await.unwrap();
    let label = json!({ "metadata": { "annotations": { "butler.butlerlabs.dev/description": "ours" } } });
    assert_eq!(changed(&gate, "limited", "two", label).await, Ok(()));
    let shrink = json!({ "spec": { "workers": { "replicas": 2 } } });
    assert_eq!(changed(&gate, "limited", "two", shrink).await, Ok(()));

    let ledger = settled(&gate, "limited").await;
    assert_eq!(ledger["held"].as_array().map(Vec::len), Some(2), "{ledger}");
    // What it uses is told by the reconciler; that it has a ledger has to be told before there is one.
    let ledgers = objects_of(gate.client(), "QuotaLedger", "butler-system");
    let uid = ledgers.get("limited").await.unwrap().metadata.uid;
    assert_eq!(teams.get("limited").await.unwrap().data["status"], json!({ "quotaLedger": uid }));
}

/// A ledger that is deleted, or edited, is counted anew; until then nothing grows, and everything else goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ledger_that_is_lost_or_edited_comes_back() {
    let gate = Gate::start(Setup { request_timeout: Some(4), ..Setup::default() }).await;
    prepare(&gate).await;
    let limits = json!({ "resourceLimits": { "maxTotalNodes": 4 } });
    let file = format!("{}\n---\n{}", team("lossy", limits), cluster("lossy", "one", 2));
    gate.plane().apply(&file).await.unwrap();
    settled(&gate, "lossy").await;
    let ledgers = objects_of(gate.client(), "QuotaLedger", "butler-system");
    let edit = json!({ "spec": { "held": [] } });
    for loss in ["deleted", "edited"] {
        match loss {
            "deleted" => drop(ledgers.delete("lossy", &DeleteParams::default()).await.unwrap()),
            _ => drop(ledgers.patch("lossy", &PatchParams::default(), &Patch::Merge(&edit)).await.unwrap()),
        }
        let denied = created(&gate, "lossy", &named("lossy", "two", 1)).await.unwrap_err();
        assert!(denied.contains("its QuotaLedger was deleted or edited"), "{loss}: {denied}");
        let shrink = json!({ "spec": { "workers": { "replicas": 1 } } });
        assert_eq!(changed(&gate, "lossy", "one", shrink).await, Ok(()), "{loss}");
        let grow = json!({ "spec": { "workers": { "replicas": 2 } } });
        eventually("the ledger is back", async || changed(&gate, "lossy", "one", grow.clone()).await.is_ok())
            .await;
        let denied = created(&gate, "lossy", &named("lossy", "two", 3)).await.unwrap_err();
        assert!(denied.contains("2 used by 1 cluster"), "{loss}: {denied}");
        settled(&gate, "lossy").await;
    }
    // What was made while the gate was away counts, and is not granted.
    let registrations: Api<ValidatingWebhookConfiguration> = Api::all(gate.client().clone());
    registrations.delete("butler-webhook", &DeleteParams::default()).await.unwrap();
    eventually("the gate is away", async || {
        created(&gate, "lossy", &named("lossy", "slipped", 9)).await.is_ok()
    })
    .await;
    let held = async || {
        let ledger = ledgers.get("lossy").await.ok()?;
        Some(
            ledger.data["spec"]["held"]
                .as_array()?
                .iter()
                .map(|it| it.as_str().unwrap().to_owned())
                .collect::<Vec<_>>(),
        )
    };
    let is_past = |held: &[String], name: &str| {
        held.iter().any(|line| line.starts_with(&format!("{name} ")) && line.ends_with("past-the-gate"))
    };
    eventually("it is found", async || held().await.is_some_and(|held| is_past(&held, "slipped"))).await;
    // Nor is it by making the ledger forget: what is beyond the limits is not granted, and what is older is.
    let before = ledgers.get("lossy").await.unwrap().metadata.uid;
    ledgers.delete("lossy", &DeleteParams::default()).await.unwrap();
    eventually("the ledger is back", async || {
        let is_new = ledgers.get("lossy").await.is_ok_and(|ledger| ledger.metadata.uid != before);
        is_new && held().await.is_some_and(|held| held.len() == 2)
    })
    .await;
    let held = held().await.unwrap();
    assert!(is_past(&held, "slipped") && !is_past(&held, "one"), "{held:?}");

    // Whoever builds clusters can tell, and ask afterwards.
    let stored = clusters_of(gate.client(), "lossy").get("slipped").await.unwrap();
    let uid = stored.metadata.uid.as_deref().unwrap().parse().unwrap();
    let stored: TenantCluster = serde_json::from_value(serde_json::to_value(stored).unwrap()).unwrap();
    let provider = NsRef { name: "harvester-prod".to_owned(), namespace: "butler-system".to_owned() };
    let holding = Holding::of(&stored, Some(&provider));
    let at = NsRef { name: "slipped".to_owned(), namespace: "lossy".to_owned() };
    let within = |most: i32| {
        let spec = serde_json::from_value(json!({ "resourceLimits": { "maxTotalNodes": most } })).unwrap();
        let limits = Limits { name: "lossy", team: &spec, config: None };
        limits.for_cluster(&holding, None).unwrap()
    };
    let grants = Grants::new(gate.client().clone());
    let unknown = grants.ask("lossy", &at, ObjectUid::from_number(7), &within(20)).await;
    assert!(matches!(unknown, Err(GrantError::Refused(Refusal::Unknown))), "{unknown:?}");
    let beyond = grants.ask("lossy", &at, uid, &within(10)).await;
    assert!(matches!(beyond, Err(GrantError::Refused(Refusal::Exceeded(_)))), "{beyond:?}");
    assert!(!grants.holds("lossy", &at, uid, &holding).await.unwrap());
    grants.ask("lossy", &at, uid, &within(20)).await.unwrap();
    grants.ask("lossy", &at, uid, &within(20)).await.unwrap();
    assert!(grants.holds("lossy", &at, uid, &holding).await.unwrap());
    // The gate goes on with the ledger as it is now.
    clusters_of(gate.client(), "lossy").delete("one", &DeleteParams::default()).await.unwrap();
    eventually("what is gone is gone", async || {
        ledgers
            .get("lossy")
            .await
            .is_ok_and(|it| it.data["spec"]["held"].as_array().is_some_and(|held| held.len() == 1))
    })
    .await;
    assert!(grants.holds("lossy", &at, uid, &holding).await.unwrap());
}

/// A cluster that joins a team is asked for like a new one, and counts while it joins; and so does one that takes more while
/// it is being deleted, which nobody builds and everybody could count.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joining_and_leaving_are_no_ways_around_a_limit() {
    let gate = Gate::start(Setup { request_timeout: Some(10), ..Setup::default() }).await;
    prepare(&gate).await;
    gate.plane().apply(&team("joined", json!({ "resourceLimits": { "maxTotalNodes": 5 } }))).await.unwrap();
    let api = clusters_of(gate.client(), "joined");
    let mut alone = named("joined", "alone", 4);
    alone["spec"].as_object_mut().unwrap().remove("teamRef");
    // The gate lets nothing like that in, so it is from before there was one.
    let (mutating, validating): (Api<MutatingWebhookConfiguration>, Api<ValidatingWebhookConfiguration>) =
        (Api::all(gate.client().clone()), Api::all(gate.client().clone()));
    let (mut mutates, mut validates) =
        (mutating.get("butler-webhook").await.unwrap(), validating.get("butler-webhook").await.unwrap());
    mutating.delete("butler-webhook", &DeleteParams::default()).await.unwrap();
    validating.delete("butler-webhook", &DeleteParams::default()).await.unwrap();
    eventually("there is one without a team", async || {
        let has_team = |made: &DynamicObject| made.data["spec"].get("teamRef").is_some();
        let object = serde_json::from_value(alone.clone()).unwrap();
        match api.create(&PostParams::default(), &object).await {
            Ok(made) if has_team(&made) => {
                api.delete("alone", &DeleteParams::default()).await.unwrap();
                false
            }
            made => made.is_ok(),
        }
    })
    .await;
    mutates.metadata.resource_version = None;
    validates.metadata.resource_version = None;
    mutating.create(&PostParams::default(), &mutates).await.unwrap();
    validating.create(&PostParams::default(), &validates).await.unwrap();
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let tried = async |replicas: i32| {
        let object = serde_json::from_value(named("joined", "other", replicas)).unwrap();
        api.create(&dry, &object).await.map(drop).map_err(|error| error.to_string())
    };
    eventually("the gate is back", async || tried(6).await.is_err()).await;
    // Another webhook holds the join up for longer than the ledger looks away, and then lets it pass.
    let denier = Denier::start(&gate, Duration::from_secs(4), |_| true).await;
    eventually("the other webhook is asked", async || {
        tried(1).await.ok();
        denier.is_asked()
    })
    .await;
    let join = json!({ "spec": { "teamRef": { "name": "joined" } } });
    let (joined, between) = tokio::join!(changed(&gate, "joined", "alone", join), async {
        let ledgers = objects_of(gate.client(), "QuotaLedger", "butler-system");
        eventually("the join is reserved", async || {
            ledgers.get("joined").await.is_ok_and(|it| it.data["spec"]["open"].to_string().contains("alone "))
        })
        .await;
        // A no is given after a list, which shows the cluster without the team.
        tried(2).await
    });
    denier.stop(&gate).await;
    assert_eq!(joined, Ok(()));
    assert!(between.unwrap_err().contains("may have 5 nodes; 4 used by 1 cluster"));

    let keep = json!({ "metadata": { "finalizers": ["example.com/keep"] } });
    assert_eq!(changed(&gate, "joined", "alone", keep).await, Ok(()));
    api.delete("alone", &DeleteParams::default()).await.unwrap();
    let grow = |replicas: i32| json!({ "spec": { "workers": { "replicas": replicas } } });
    let denied = changed(&gate, "joined", "alone", grow(6)).await.unwrap_err();
    assert!(denied.contains("the Team `joined` may have 5 nodes"), "{denied}");
    // It may ask for fewer, which does not take its machines away.
    assert_eq!(changed(&gate, "joined", "alone", grow(1)).await, Ok(()));
    let denied = created(&gate, "joined", &named("joined", "other", 2)).await.unwrap_err();
    assert!(denied.contains("4 used by 1 cluster, this adds 2, 1 would fit"), "{denied}");
    let free = json!({ "metadata": { "finalizers": null } });
    assert_eq!(changed(&gate, "joined", "alone", free).await, Ok(()));
    assert_eq!(created(&gate, "joined", &named("joined", "other", 5)).await, Ok(()));
}

/// Whoever lowers a limit has lowered it: what comes next is judged by it, whether the watches have told of it or not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_counts_from_the_moment_it_is_stored() {
    let gate = Gate::start(Setup { replicas: 2, ..Setup::default() }).await;
    prepare(&gate).await;
    let limits = |most: i32| json!({ "resourceLimits": { "maxTotalNodes": most } });
    let file = format!("{}\n---\n{}", team("lowered", limits(2)), cluster("lowered", "one", 1));
    gate.plane().apply(&file).await.unwrap();
    let teams = objects_of(gate.client(), "Team", "");
    let sized = |replicas: i32| json!({ "spec": { "workers": { "replicas": replicas } } });
    for round in 0..30 {
        for most in [2, 1] {
            let limits = json!({ "spec": limits(most) });
            teams.patch("lowered", &PatchParams::default(), &Patch::Merge(limits)).await.unwrap();
            let grown = changed(&gate, "lowered", "one", sized(2)).await;
            assert_eq!(grown.is_ok(), most == 2, "round {round}: {grown:?}");
            assert_eq!(changed(&gate, "lowered", "one", sized(1)).await, Ok(()), "round {round}");
        }
    }
}

//! Somebody else wants a child otherwise, again and again: it is set back or made anew each time, and ever more calmly.

use butler_api::Team;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;

use crate::world::{World, delete, is_ready, patch, team, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quarrel_becomes_slower_with_every_round() {
    let mut world = World::audited().await;
    world.add_replica(&[]).await;
    let users = json!([{ "name": "bo@example.org" }]);
    world.apply(&team("payments", json!({ "access": { "users": users } }))).await;
    until(&world.all::<Team>(), "payments", "it is ready", is_ready).await;
    let bindings = world.within::<RoleBinding>("payments");
    let binding = bindings.list(&ListParams::default()).await.unwrap().items.remove(0);
    let name = binding.name_any();
    for round in 0..5 {
        let eve =
            json!([{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve@example.org" }]);
        if round % 2 == 0 {
            patch(&bindings, &name, json!({ "subjects": eve })).await;
        } else {
            delete(&bindings, &name).await;
        }
        until(&bindings, &name, "it is ours again", |it| it.subjects == binding.subjects).await;
    }
    let set_back = || -> Vec<Timestamp> {
        let writes = world.writes();
        let on_it = writes.iter().filter(|event| event["objectRef"]["name"] == name.as_str());
        let at = on_it.map(|event| event["requestReceivedTimestamp"].as_str().unwrap().parse().unwrap());
        // The first made it.
        at.skip(1).collect()
    };
    butler_bench::eventually("all of it is in the audit log", async || set_back().len() >= 5).await;
    let at = set_back();
    // By the API server's clock. Each pause is at least half of one that doubles from a second on.
    for (round, pair) in at.windows(2).enumerate() {
        let pause = pair[1].duration_since(pair[0]);
        let least = SignedDuration::from_millis(450 << round);
        assert!(pause >= least, "round {round}: {pause:#} instead of {least:#} and more; {at:?}");
    }
}

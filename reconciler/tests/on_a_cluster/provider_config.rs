//! Providers: created, changed, drifted, deleted.

use butler_api::{NetworkPool, ProviderConfig, TenantCluster};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::world::{World, cluster, delete, message, read, shown, until, until_gone};

fn provider(spec: Value) -> Value {
    json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig",
        "metadata": { "name": "harvester-prod", "namespace": "butler-system" }, "spec": spec })
}

fn harvester(network: Value) -> Value {
    provider(json!({ "provider": "harvester", "credentialsRef": { "name": "creds" },
        "harvester": { "networkName": "default/vlan40" }, "network": network }))
}

fn conditions(provider: &ProviderConfig) -> Vec<String> {
    shown(provider.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default())
}

fn secret(keys: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "creds", "namespace": "butler-system" },
        "stringData": keys })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_lives() {
    let mut world = World::without_replicas(Default::default()).await;
    // Secrets are not watched, so an object is looked at again sooner here than elsewhere.
    world.add_replica(&["--resync-seconds=1"]).await;
    let providers = world.within::<ProviderConfig>("butler-system");
    let secrets = world.within::<Secret>("butler-system");

    // Created with credentials that nobody has said may be read, and then without any, which come later.
    world.apply(&secret(json!({ "kubeconfig": "hunter2" }))).await;
    world.apply(&harvester(json!({}))).await;
    let refused = until(&providers, "harvester-prod", "it says what to do", |it| {
        let status = it.status.clone().unwrap_or_default();
        message(&status.conditions, "CredentialsValid").starts_with(
            "spec.credentialsRef: butler-reconciler may not read the Secret `butler-system/creds`; let it: `kubectl ",
        )
    })
    .await;
    delete(&secrets, "creds").await;
    // What it says, typed.
    let told = message(&refused.status.unwrap().conditions, "CredentialsValid");
    let commands: Vec<&str> = told.split('`').filter_map(|it| it.strip_prefix("kubectl ")).collect();
    assert_eq!(commands.len(), 2, "{told}");
    for command in commands {
        let arguments: Vec<&str> = command.split(' ').collect();
        world.plane.kubectl(&arguments).await.unwrap().success().unwrap();
    }
    let lacking = until(&providers, "harvester-prod", "it lacks credentials", |it| {
        message(&it.status.clone().unwrap_or_default().conditions, "CredentialsValid")
            == "spec.credentialsRef: there is no Secret `butler-system/creds`; create it with `kubeconfig`"
    })
    .await;
    assert_eq!(
        conditions(&lacking),
        [
            "CredentialsValid False CredentialsInvalid",
            "PoolAvailable True NotRequired",
            "Ready False CredentialsInvalid",
        ]
    );
    let status = lacking.status.clone().unwrap();
    assert_eq!((status.ready, status.validated), (Some(false), Some(false)));
    world.apply(&secret(json!({ "password": "hunter2" }))).await;
    until(&providers, "harvester-prod", "it lacks a key", |it| {
        let status = it.status.clone().unwrap_or_default();
        message(&status.conditions, "CredentialsValid")
            .ends_with("has only `password`, but needs `kubeconfig`")
    })
    .await;
    world.apply(&secret(json!({ "kubeconfig": "hunter2" }))).await;
    let ready = until(&providers, "harvester-prod", "it is ready", |it| {
        conditions(it)
            == ["CredentialsValid True Ready", "PoolAvailable True NotRequired", "Ready True Ready"]
    })
    .await;
    assert_eq!(ready.finalizers(), ["butler.butlerlabs.dev/providerconfig"]);
    assert_eq!(world.replicas[0].metric("butler_provider_config_ready").await, 1.0);

    // Changed: addresses come from a pool.
    let pool = json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "NetworkPool",
        "metadata": { "name": "vlan40", "namespace": "butler-system" }, "spec": { "cidr": "10.40.0.0/24" } });
    world.apply(&pool).await;
    let ipam = json!({ "mode": "ipam", "poolRefs": [{ "name": "vlan40" }] });
    world.apply(&harvester(ipam)).await;
    until(&providers, "harvester-prod", "it waits for the pool", |it| {
        conditions(it).contains(&"PoolAvailable Unknown WaitingForDependencies".to_owned())
    })
    .await;
    let pools = world.within::<NetworkPool>("butler-system");
    let counted = |left: i32| json!({ "status": { "availableIPs": left } });
    pools.patch_status("vlan40", &PatchParams::default(), &Patch::Merge(counted(40))).await.unwrap();
    let roomy = until(&providers, "harvester-prod", "it has room", |it| {
        conditions(it).contains(&"PoolAvailable True PoolAvailable".to_owned())
    })
    .await;
    let capacity = roomy.status.unwrap().capacity.unwrap();
    assert_eq!((capacity.available_ips, capacity.estimated_tenants), (Some(40), Some(3)));
    pools.patch_status("vlan40", &PatchParams::default(), &Patch::Merge(counted(0))).await.unwrap();
    until(&providers, "harvester-prod", "it is full", |it| {
        conditions(it).contains(&"Ready False PoolExhausted".to_owned())
    })
    .await;
    pools.patch_status("vlan40", &PatchParams::default(), &Patch::Merge(counted(40))).await.unwrap();

    // Drifted: the installation is applied again, which takes no right away that was given since; the Secret vanishes and
    // comes back; somebody writes nonsense into the status.
    world.plane.apply(&read("manifests/reconciler/rbac.yaml")).await.unwrap();
    delete(&secrets, "creds").await;
    until(&providers, "harvester-prod", "the credentials are gone", |it| {
        message(&it.status.clone().unwrap_or_default().conditions, "CredentialsValid")
            .contains("there is no Secret")
    })
    .await;
    world.apply(&secret(json!({ "kubeconfig": "hunter2" }))).await;
    until(&providers, "harvester-prod", "it is ready again", |it| {
        conditions(it).contains(&"Ready True Ready".to_owned())
    })
    .await;
    let nonsense = json!({ "status": { "ready": false } });
    providers.patch_status("harvester-prod", &PatchParams::default(), &Patch::Merge(nonsense)).await.unwrap();
    until(&providers, "harvester-prod", "the nonsense is gone", |it| {
        it.status.as_ref().unwrap().ready == Some(true)
    })
    .await;

    // Deleted: it waits for the cluster that runs there, also one that only got it by default.
    world.apply(&cluster("default", "orders", json!({}))).await;
    until(&world.within::<TenantCluster>("default"), "orders", "it is there", |_| true).await;
    delete(&providers, "harvester-prod").await;
    let waiting = until(&providers, "harvester-prod", "it waits", |it| {
        conditions(it).contains(&"Ready False DeletionBlocked".to_owned())
    })
    .await;
    assert_eq!(
        message(&waiting.status.unwrap().conditions, "Ready"),
        "the provider is being deleted and clusters still run there (`default/orders`); delete them first"
    );
    delete(&world.within::<TenantCluster>("default"), "orders").await;
    until_gone(&providers, "harvester-prod").await;
    butler_bench::eventually("its metrics are gone", async || {
        let (_, text) = world.replicas[0].get("/metrics").await.unwrap();
        !text.contains("provider=\"harvester-prod\"")
    })
    .await;
    let log = world.replicas[0].log();
    assert!(!log.contains("hunter2"), "{log}");
}

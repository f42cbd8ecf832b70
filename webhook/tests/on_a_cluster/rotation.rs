//! Certificates and authorities are replaced under load, and nobody notices.
//!
//! Every day a few; the promised hundred, five of them of the authority, with `BUTLER_ROTATIONS=100`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::direct::{call, is_yes, trusted};
use crate::harness::{Gate, Replica, Setup};
use crate::load::Load;
use crate::objects::eventually;

const EVERYDAY: usize = 8;
/// Every so many rotations the authority changes too, which takes half a minute: the program waits until every API
/// server trusts the new one.
const AUTHORITY_EVERY: usize = 20;
const SECRET: &str = "butler-webhook-certificates";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rotations_of_certificates_and_authorities_fail_no_call() {
    let rotations = std::env::var("BUTLER_ROTATIONS").map_or(EVERYDAY, |count| count.parse().unwrap());
    let gate = Gate::start(Setup { replicas: 2, ..Setup::default() }).await;
    let load = Load::start(&gate).await;
    let handshakes = Handshakes::start(&gate);
    let mut authorities = 0;
    for rotation in 1..=rotations {
        let before = loaded(&gate).await;
        let changes_authority = rotation % AUTHORITY_EVERY.min(rotations) == 0;
        if changes_authority {
            // Without its key an authority cannot go on: the next is announced, seen, settled, promoted.
            damage(gate.client(), &["ca.key"]).await;
            authorities += 1;
        } else {
            damage(gate.client(), &["tls.crt", "tls.key"]).await;
        }
        eventually("every replica serves with another certificate", async || {
            loaded(&gate).await.iter().zip(&before).all(|(now, before)| now > before)
        })
        .await;
        if changes_authority {
            eventually("the rotation is over", async || is_at_rest(gate.client()).await).await;
            load.settle().await;
        }
    }
    load.settle().await;
    let (calls, (greeted, refused)) = (load.stop().await, handshakes.stop().await);
    println!(
        "{rotations} rotations, {authorities} of the authority: {} admission calls right, {} wrong, {} failed; {greeted} \
         handshakes, {} failed",
        calls.right,
        calls.wrong.len(),
        calls.failed.len(),
        refused.len(),
    );
    assert_eq!((calls.wrong, calls.failed, refused), (Vec::new(), Vec::new(), Vec::new()));
    assert_eq!(authorities, (rotations / AUTHORITY_EVERY).max(1));
    assert!(calls.right > 0 && greeted > 0);
}

/// How many certificates each replica has loaded.
async fn loaded(gate: &Gate) -> Vec<u64> {
    let mut all = Vec::new();
    for replica in gate.replicas() {
        let text = replica.metrics().await;
        let name = "butler_certificate_reloads_total{result=\"loaded\"} ";
        all.push(text.lines().find_map(|line| line.strip_prefix(name)).unwrap().parse().unwrap());
    }
    all
}

fn secrets(client: &Client) -> Api<Secret> {
    Api::namespaced(client.clone(), "butler-system")
}

async fn damage(client: &Client, keys: &[&str]) {
    let gone: serde_json::Map<String, Value> =
        keys.iter().map(|key| ((*key).to_owned(), Value::Null)).collect();
    let patch = Patch::Merge(json!({ "data": gone }));
    secrets(client).patch(SECRET, &PatchParams::default(), &patch).await.unwrap();
}

async fn is_at_rest(client: &Client) -> bool {
    let data = secrets(client).get(SECRET).await.unwrap().data.unwrap_or_default();
    let is_complete = ["tls.crt", "tls.key", "ca.crt", "ca.key"].iter().all(|key| data.contains_key(*key));
    is_complete && !data.contains_key("ca-next.key") && data["ca.crt"].0 == trusted(client).await
}

/// The API server keeps its connections, so few of its calls begin with a handshake. These all do: they trust what the
/// registration says at that moment, and go to every replica in turn.
struct Handshakes {
    greeted: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    task: JoinHandle<Vec<String>>,
}

impl Handshakes {
    fn start(gate: &Gate) -> Self {
        let (greeted, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let ports: Vec<u16> = gate.replicas().iter().map(Replica::port).collect();
        let (client, counter, stop) = (gate.client().clone(), greeted.clone(), is_over.clone());
        let task = tokio::spawn(async move {
            let mut refused = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let bundle = trusted(&client).await;
                for port in &ports {
                    let (answer, result) = call(*port, &bundle, None).await;
                    match is_yes(&answer) {
                        true => drop(counter.fetch_add(1, Ordering::Relaxed)),
                        false => refused.push(format!("{result:?}: {}", String::from_utf8_lossy(&answer))),
                    }
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            refused
        });
        Self { greeted, is_over, task }
    }

    async fn stop(self) -> (u64, Vec<String>) {
        self.is_over.store(true, Ordering::Relaxed);
        let refused = self.task.await.unwrap();
        (self.greeted.load(Ordering::Relaxed), refused)
    }
}

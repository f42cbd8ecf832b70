//! The policy service behind the real aggregator, asked with plain kubectl.

mod access;
mod kubectl;
mod lasting;
mod reviews;

use std::fs;

use butler_bench::pki::Issued;
use serde_json::Value;

use crate::direct::{Identity, send};
use crate::harness::{Gate, Replica, Setup};
use crate::objects::read;

const POLICIES: &str = "/apis/policy.butler.butlerlabs.dev/v1alpha1/policies";
/// Whom the front proxy names if nothing else matters.
const MASTER: &str = "X-Remote-User: admin\r\nX-Remote-Group: system:masters\r\n";

/// A gate with the service and with policies of a directory.
async fn start(replicas: usize) -> Gate {
    Gate::start(Setup { replicas, service: true, policies: true, ..Setup::default() }).await
}

/// Puts a policy into force, with a binding of the same name.
fn write_policy(gate: &Gate, name: &str) {
    let text = read("manifests/samples/policies/three-workers.yaml");
    let text = text.replace("three-workers", name).replace("everywhere", name);
    fs::write(gate.policy_directory().join(format!("{name}.yaml")), text).unwrap();
}

/// What the aggregator shows.
fn front_proxy(gate: &Gate) -> Issued {
    let read = |name: &str| fs::read_to_string(gate.plane().pki().file(name)).unwrap();
    Issued { certificate: read("front-proxy-client.crt"), key: read("front-proxy-client.key") }
}

fn identity(issued: &Issued) -> Option<Identity<'_>> {
    Some((&issued.certificate, &issued.key))
}

/// The status and the body that a caller gets who comes directly to a replica.
async fn ask(
    replica: &Replica,
    bundle: &[u8],
    identity: Option<Identity<'_>>,
    path: &str,
    headers: &str,
) -> (u16, Value) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: service\r\nConnection: close\r\n{headers}\r\n");
    let (answer, _) = send(replica.service_port(), bundle, identity, &request).await;
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    (code, serde_json::from_str(body).unwrap_or_default())
}

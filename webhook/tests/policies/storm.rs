//! Reloads, good and bad, while everybody asks: no call fails, and no answer is of half a set or of two.
//!
//! Every good set has two policies that deny, one that warns and two that mutate, and all of them say the number of
//! their set. Whatever an answer says has to be one number, and of a set that was in force while it was asked for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use butler_policies::policy;
use butler_webhook::endpoint::Endpoint;
use butler_webhook::policy_files;
use k8s_openapi::ByteString;
use serde_json::Value;

use crate::over_tls::{Server, ask};
use crate::world::{MUTATE, Mount, VALIDATE, World, Written, creation, eventually, labelling};

/// Reloads on an ordinary day; `BUTLER_RELOADS` makes it more.
const EVERYDAY: u64 = 60;
const CALLERS: usize = 4;

/// The numbers of the sets that an answer may be of.
#[derive(Default)]
struct Numbers {
    in_force: AtomicU64,
    coming: AtomicU64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reloads_under_load_fail_no_call_and_mix_no_sets() {
    let reloads = std::env::var("BUTLER_RELOADS").map_or(EVERYDAY, |count| count.parse().unwrap());
    let mut mount = Mount::of(&good(0));
    let world = World::loaded(mount.path()).await;
    let server = &world.server;
    let (numbers, is_over) = (Arc::new(Numbers::default()), Arc::new(AtomicBool::new(false)));
    let calling = async {
        let callers = (0..CALLERS).map(|caller| call(server, caller, &numbers, &is_over));
        futures::future::join_all(callers).await.into_iter().sum::<u64>()
    };
    let reloading = async {
        for number in 1..=reloads {
            if number % 2 == 0 {
                numbers.coming.store(number, Ordering::SeqCst);
                mount.swap(&good(number));
                let hash = policy::hash(&policy_files::read(mount.path()).unwrap());
                eventually("the set is in force", || world.policies.hash().as_ref() == Some(&hash)).await;
                numbers.in_force.store(number, Ordering::SeqCst);
            } else {
                let refused = world.refusals();
                mount.swap(&bad(number));
                eventually("the set is refused", || world.refusals() > refused).await;
            }
        }
        is_over.store(true, Ordering::SeqCst);
    };
    let (calls, ()) = futures::join!(calling, reloading);
    let refused = world.refusals();
    println!("{reloads} reloads, {refused} of them refused, {calls} calls: 0 failed, 0 of a mixed set");
    assert_eq!(refused, reloads.div_ceil(2) as f64);
    assert!(calls > reloads, "{calls} calls are no load");
}

/// Asks both stages in turn until it is over, and gives how often.
async fn call(server: &Server, caller: usize, numbers: &Numbers, is_over: &AtomicBool) -> u64 {
    let body = creation(3).to_string();
    let (mut calls, mut connection) = (0, None);
    while !is_over.load(Ordering::SeqCst) {
        let path = if (calls + caller as u64).is_multiple_of(2) { VALIDATE } else { MUTATE };
        let stream = match connection.take() {
            Some(stream) => stream,
            None => server.connect().await,
        };
        let oldest = numbers.in_force.load(Ordering::SeqCst);
        let (status, text, stream) = ask(stream, Endpoint::at(path).unwrap(), body.as_bytes()).await;
        let newest = numbers.coming.load(Ordering::SeqCst);
        connection = stream;
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&text));
        let answer: Value = serde_json::from_slice(&text).unwrap();
        let said = said(&answer["response"]);
        let expected = if path == VALIDATE { 3 } else { 2 };
        assert_eq!(said.len(), expected, "{answer}");
        let different: BTreeSet<&u64> = said.iter().collect();
        assert_eq!(different.len(), 1, "of several sets: {answer}");
        assert!((oldest..=newest).contains(&said[0]), "{} is not of {oldest} to {newest}", said[0]);
        calls += 1;
    }
    calls
}

/// The numbers in an answer, as often as they are said.
fn said(response: &Value) -> Vec<u64> {
    let patch: Option<ByteString> = serde_json::from_value(response["patch"].clone()).ok();
    let patch = patch.map(|patch| String::from_utf8(patch.0).unwrap()).unwrap_or_default();
    let text = format!("{} {} {patch}", response["status"]["message"], response["warnings"]);
    let numbers = text.split("number-").skip(1);
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
    numbers.map(|rest| digits(rest).parse().unwrap()).collect()
}

fn good(number: u64) -> Vec<(&'static str, String)> {
    let validation = format!("{{expression: object.spec.workers.replicas > 3, message: number-{number}}}");
    let denying = |name| Written { name, validation: &validation, ..Written::default() }.text();
    let warning = Written { name: "warns", validation: &validation, actions: "Warn", ..Written::default() };
    let value = format!("number-{number}");
    vec![
        ("a.yaml", denying("denies-a")),
        ("b.yaml", denying("denies-b")),
        ("c.yaml", warning.text()),
        ("d.yaml", labelling("labels-d", "d", &value)),
        ("e.yaml", labelling("labels-e", "e", &value)),
    ]
}

/// A set of which the first files could be loaded, and one cannot.
fn bad(number: u64) -> Vec<(&'static str, String)> {
    let mut files = good(number);
    files[4].1 = match number / 2 % 4 {
        0 => "kind: [".to_owned(),
        1 => files[4].1.replace("Object.metadata{", "Object.metadata["),
        2 => files[0].1.clone(),
        _ => files[4].1.replace("policyName: labels-e", "policyName: nobody"),
    };
    files
}

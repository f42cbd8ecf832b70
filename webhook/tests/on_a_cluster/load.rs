//! Calls through the API server whose answers are known, one after the other, until they are told to end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::harness::Gate;
use crate::objects::{documents, eventually, objects_of, read};

/// What is asked at the same time.
pub(crate) const WORKERS: usize = 6;
/// Between two calls of a worker, so that the machine has time for what is being tried.
const PAUSE: Duration = Duration::from_millis(5);

/// What became of the calls so far.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    /// Answered as they should be.
    pub(crate) right: u64,
    /// Answered otherwise. There is no excuse for one.
    pub(crate) wrong: Vec<String>,
    /// Not answered, because the API server did not reach the gate.
    pub(crate) failed: Vec<String>,
}

/// A call, and the answer that it gets as long as nothing changes.
struct Call {
    api: Api<DynamicObject>,
    object: DynamicObject,
    answer: Result<Value, String>,
}

pub(crate) struct Load {
    outcomes: Arc<Mutex<Outcomes>>,
    begun: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Load {
    /// Prepares a platform, learns the answers while all is quiet, and begins.
    pub(crate) async fn start(gate: &Gate) -> Self {
        prepare(gate).await;
        let calls = Arc::new(calls(gate.client()).await);
        let mut load = Self {
            outcomes: Arc::default(),
            begun: Arc::default(),
            is_over: Arc::default(),
            tasks: Vec::new(),
        };
        let tasks = (0..WORKERS).map(|number| {
            let (calls, outcomes) = (calls.clone(), load.outcomes.clone());
            let (begun, is_over) = (load.begun.clone(), load.is_over.clone());
            tokio::spawn(async move {
                for turn in number.. {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    begun.fetch_add(1, Ordering::Relaxed);
                    let call = &calls[turn % calls.len()];
                    let answer = call.ask().await;
                    outcomes.lock().unwrap().note(call, answer);
                    tokio::time::sleep(PAUSE).await;
                }
            })
        });
        load.tasks = tasks.collect();
        load
    }

    /// What became of the calls since the last time.
    pub(crate) fn take(&self) -> Outcomes {
        std::mem::take(&mut *self.outcomes.lock().unwrap())
    }

    /// Waits until all calls that are on their way have ended, and some more.
    pub(crate) async fn settle(&self) {
        let before = self.begun.load(Ordering::Relaxed);
        let enough = before + 10 * WORKERS as u64;
        eventually("more calls", async || self.begun.load(Ordering::Relaxed) > enough).await;
    }

    pub(crate) async fn stop(mut self) -> Outcomes {
        self.is_over.store(true, Ordering::Relaxed);
        for task in self.tasks.drain(..) {
            task.await.unwrap();
        }
        self.take()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Outcomes {
    fn note(&mut self, call: &Call, answer: Result<Value, String>) {
        match answer {
            answer if answer == call.answer => self.right += 1,
            Err(error) if error.contains("failed calling webhook") => self.failed.push(error),
            answer => self.wrong.push(format!("{answer:?} instead of {:?}", call.answer)),
        }
    }

    pub(crate) fn and(mut self, later: Self) -> Self {
        self.right += later.right;
        self.wrong.extend(later.wrong);
        self.failed.extend(later.failed);
        self
    }
}

impl Call {
    async fn learn(client: &Client, object: Value) -> Self {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let api = objects_of(client, &object.types.as_ref().unwrap().kind, &namespace);
        let mut call = Self { api, object, answer: Err(String::new()) };
        call.answer = call.ask().await;
        call
    }

    /// What would be stored, without what is different every time; or why it is not.
    async fn ask(&self) -> Result<Value, String> {
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        let stored = self.api.create(&dry_run, &self.object).await.map_err(|error| error.to_string())?;
        Ok(json!({"annotations": stored.metadata.annotations, "data": stored.data}))
    }
}

async fn prepare(gate: &Gate) {
    for file in ["namespaces", "provider-config", "butler-config", "teams", "addon-definitions"] {
        let manifest = read(&format!("manifests/samples/platform/{file}.yaml"));
        eventually("the platform is there", async || gate.plane().apply(&manifest).await.is_ok()).await;
    }
}

/// A cluster that is completed and allowed, one that is denied for its own sake, a Team and settings.
async fn calls(client: &Client) -> Vec<Call> {
    let sample = serde_json::to_value(&documents("manifests/samples/tenant-cluster.yaml")[0]).unwrap();
    let mut allowed = sample.clone();
    allowed["metadata"]["name"] = json!("allowed");
    let mut denied = sample;
    denied["metadata"]["name"] = json!("denied");
    denied["spec"]["kubernetesVersion"] = json!("v1.99.0");
    let object = |kind: &str, name: &str| json!({"apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": {}});
    let mut calls = Vec::new();
    for object in [allowed, denied, object("Team", "load"), object("ButlerConfig", "other")] {
        calls.push(Call::learn(client, object).await);
    }
    let filled = calls[0].answer.as_ref().unwrap();
    assert!(filled["annotations"]["butler.butlerlabs.dev/filled-in"].is_string(), "{filled}");
    let refused = calls[1].answer.as_ref().unwrap_err();
    assert!(refused.contains("spec.kubernetesVersion: "), "{refused}");
    assert!(calls[2].answer.is_ok());
    let refused = calls[3].answer.as_ref().unwrap_err();
    assert!(refused.contains("vbutlerconfig.kb.io") && refused.contains("denied the request"), "{refused}");
    calls
}

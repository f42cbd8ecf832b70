//! The only way to write.

use std::fmt;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use butler_program::Failure;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::core::Request;
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::child::{Step, put};
use super::disputes::Mark;
use super::events::{Events, News};
use super::lease::Term;
use super::{Cache, Error, Key, Metrics, Pace, Reachable};

/// Whom we write for, in log lines.
#[derive(Clone, Debug)]
pub(super) struct About {
    pub(super) kind: &'static str,
    pub(super) object: Key,
    pub(super) uid: Option<String>,
    pub(super) generation: i64,
    /// Different for every reconcile of this process.
    pub(super) reconcile: u64,
}

/// A version that no object has: revisions of etcd begin with 1 before anything is stored. An apply that is bound to it
/// makes an object, or is refused because there is one; an unbound one would merge our fields into whatever is there. A
/// plain create would do the same, but count as an update: then we would own every default that the API server fills in,
/// and could not give up by a later apply what we do not want any more.
const NO_VERSION: &str = "1";

/// Something of ours that others had changed, and that was set back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetBack {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Who had changed it.
    pub by: Vec<String>,
}

impl fmt::Display for SetBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = self.by.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
        write!(f, "{} `{}`, which {by} had changed", self.kind, self.name)
    }
}

/// Writes on behalf of one object, for as long as the lease is safely held. Everything else can only read.
pub struct Hand {
    pub(super) client: Client,
    pub(super) term: Term,
    pub(super) events: Events,
    pub(super) metrics: Metrics,
    pub(super) pace: Pace,
    pub(super) manager: &'static str,
    pub(super) about: About,
    pub(super) written: AtomicU32,
    /// What the writes that were done left.
    pub(super) marks: Mutex<Vec<Mark>>,
    pub(super) set_back: Mutex<Vec<SetBack>>,
}

impl Debug for Hand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hand").field("about", &self.about).finish_non_exhaustive()
    }
}

/// Notes, when it is dropped before there was an answer, that nobody knows whether the write arrived.
struct OnItsWay<'a>(Option<&'a Term>);

impl Drop for OnItsWay<'_> {
    fn drop(&mut self) {
        if let Some(term) = self.0 {
            term.unsettle();
        }
    }
}

impl Hand {
    /// Does what a step says, and keeps the cache at what came out of it.
    ///
    /// # Errors
    /// When the lease is not safely held or the API server does not do it.
    pub async fn carry_out<L>(&self, step: &Step<L>, cache: &Cache<L>) -> Result<(), Error>
    where
        L: Reachable + Clone + Debug + DeserializeOwned,
    {
        self.set_right(step, cache).await?;
        self.make(step, cache).await
    }

    /// The first half of a step: what is there, and should not be or not so, goes or is changed.
    ///
    /// # Errors
    /// When the lease is not safely held or the API server does not do it.
    pub async fn set_right<L>(&self, step: &Step<L>, cache: &Cache<L>) -> Result<(), Error>
    where
        L: Reachable + Clone + Debug + DeserializeOwned,
    {
        match step {
            Step::Keep(_) | Step::Make(_) => Ok(()),
            Step::Replace { from: live, .. } | Step::Remove(live) => self.delete(live.meta(), cache).await,
            Step::Change { to, from, others } => {
                self.apply(to, Some(from.meta()), cache).await?;
                if !others.is_empty() {
                    let set_back = SetBack {
                        kind: L::kind(&()).into_owned(),
                        name: Key::of(from.meta()).name,
                        by: others.clone(),
                    };
                    lock(&self.set_back).push(set_back);
                }
                Ok(())
            }
        }
    }

    /// The second half of a step: what is to be there and is not is made.
    ///
    /// # Errors
    /// When the lease is not safely held or the API server does not do it.
    pub async fn make<L>(&self, step: &Step<L>, cache: &Cache<L>) -> Result<(), Error>
    where
        L: Reachable + Clone + Debug + DeserializeOwned,
    {
        match step {
            Step::Make(desired) | Step::Replace { to: desired, .. } => self.apply(desired, None, cache).await,
            Step::Keep(_) | Step::Change { .. } | Step::Remove(_) => Ok(()),
        }
    }

    /// What of ours others had changed, and was set back.
    pub(super) fn set_back(&self) -> Vec<SetBack> {
        lock(&self.set_back).clone()
    }

    /// What the writes that were done left.
    pub(super) fn marks(&self) -> Vec<Mark> {
        lock(&self.marks).clone()
    }

    fn mark(&self, mark: Mark) {
        lock(&self.marks).push(mark);
    }

    pub(super) fn written(&self) -> u32 {
        self.written.load(Ordering::Relaxed)
    }

    /// Over what was seen, whoever has written it: it is ours. What was not seen is only ever made: whatever is there
    /// under that name, since when ever, may be somebody's.
    async fn apply<L>(
        &self,
        desired: &Value,
        seen: Option<&ObjectMeta>,
        cache: &Cache<L>,
    ) -> Result<(), Error>
    where
        L: Reachable + Clone + Debug + DeserializeOwned,
    {
        let name = desired.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let namespace = desired.pointer("/metadata/namespace").and_then(Value::as_str);
        let key = Key { namespace: namespace.map(str::to_owned), name: name.to_owned() };
        let mut params = PatchParams::apply(self.manager);
        let mut body = desired.clone();
        let verb = match (seen, body.get_mut("metadata")) {
            (Some(seen), Some(metadata)) => {
                params = params.force();
                as_seen(metadata, seen);
                "apply"
            }
            (_, metadata) => {
                if let Some(metadata) = metadata {
                    put(metadata, "resourceVersion", json!(NO_VERSION));
                }
                "create"
            }
        };
        let api = L::api(self.client.clone(), &key);
        let patch = Patch::Apply(&body);
        match self.write(verb, L::kind(&()).as_ref(), &key, api.patch(name, &params, &patch)).await {
            Ok(applied) => {
                let of = format!("{} `{key}`", L::kind(&()));
                self.mark(Mark::written(of, self.about.uid.as_deref(), desired));
                cache.learn(applied);
                Ok(())
            }
            Err(error) => Err(self.look(error, &api, &key, cache).await),
        }
    }

    /// After a conflict something is there, or is not, that was not known. Whose it is and what to do, the next plan says,
    /// which must not depend on a watch that may be late. What to tell of it: what failed, or that looking did.
    async fn look<L>(&self, error: Error, api: &Api<L>, key: &Key, cache: &Cache<L>) -> Error
    where
        L: Reachable + Clone + Debug + DeserializeOwned,
    {
        if !error.is_stale() {
            return error;
        }
        // A list, because that is a right that a watch takes anyway.
        let params = ListParams::default().fields(&format!("metadata.name={}", key.name));
        let found = timeout(self.pace.request, api.list(&params)).await;
        let found = found.map_err(|_| Failure::no_answer()).and_then(|found| found.map_err(Failure::from));
        match found {
            Err(failure) => return Error::api("list", format!("{} `{key}`", L::kind(&())), failure),
            Ok(found) if found.items.is_empty() => {
                if let Some(gone) = cache.get(key) {
                    cache.take_out(gone.meta(), |_| {});
                }
            }
            Ok(found) => found.items.into_iter().for_each(|object| cache.learn(object)),
        }
        error
    }

    /// Deletes what was seen, and nothing newer.
    async fn delete<L>(&self, seen: &ObjectMeta, cache: &Cache<L>) -> Result<(), Error>
    where
        L: Reachable + Clone + Debug + DeserializeOwned,
    {
        let key = Key::of(seen);
        let preconditions =
            Preconditions { uid: seen.uid.clone(), resource_version: seen.resource_version.clone() };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() };
        let api = L::api(self.client.clone(), &key);
        match self.write("delete", L::kind(&()).as_ref(), &key, api.delete(&key.name, &params)).await {
            Ok(answer) => {
                self.mark(Mark::removed(format!("{} `{key}`", L::kind(&()))));
                match answer.left() {
                    // On its way out, held by a finalizer.
                    Some(going) => cache.learn(going),
                    None => cache.take_out(seen, |_| {}),
                }
                Ok(())
            }
            Err(Error::Api { failure, .. }) if failure.label == Failure::NOT_SERVED => {
                cache.take_out(seen, |_| {});
                Ok(())
            }
            Err(error) => Err(self.look(error, &api, &key, cache).await),
        }
    }

    /// Puts our finalizer on.
    pub(super) async fn hold<K>(&self, object: &K, finalizer: &str) -> Result<K, Error>
    where
        K: Reachable + Clone + Debug + DeserializeOwned,
    {
        let body = body_of::<K>(object.meta(), &[("finalizers", json!([finalizer]))]);
        let (key, params) = (Key::of(object.meta()), PatchParams::apply(self.manager).force());
        let api = K::api(self.client.clone(), &key);
        let patch = Patch::Apply(&body);
        let held =
            self.write("apply", K::kind(&()).as_ref(), &key, api.patch(&key.name, &params, &patch)).await?;
        self.mark(Mark::written("finalizer".to_owned(), self.about.uid.as_deref(), &json!(finalizer)));
        Ok(held)
    }

    /// Takes our finalizer off, whoever put it on. What is left of the object, if there is anything.
    pub(super) async fn let_go<K>(&self, object: &K, finalizer: &str) -> Result<Option<K>, Error>
    where
        K: Reachable + Clone + Debug + DeserializeOwned,
    {
        let meta = object.meta();
        let rest: Vec<&String> = meta.finalizers.iter().flatten().filter(|it| *it != finalizer).collect();
        let body = json!({ "metadata": {
            "uid": meta.uid, "resourceVersion": meta.resource_version, "finalizers": rest } });
        let (key, params) = (
            Key::of(meta),
            PatchParams { field_manager: Some(self.manager.to_owned()), ..PatchParams::default() },
        );
        let api = K::api(self.client.clone(), &key);
        let patch = Patch::Merge(&body);
        let patched = api.patch(&key.name, &params, &patch);
        match self.write("patch", K::kind(&()).as_ref(), &key, patched).await {
            Err(Error::Api { failure, .. }) if failure.label == Failure::NOT_SERVED => Ok(None),
            // Without a finalizer it is gone with this write.
            done => done
                .map(|left| Some(left).filter(|it| it.meta().finalizers.iter().flatten().next().is_some())),
        }
    }

    /// Writes the status without the fields that are somebody else's, of an object that may be one that cannot be read.
    /// What came of it can be, at least its metadata.
    pub(super) async fn report<K, S, R>(
        &self,
        object: &ObjectMeta,
        status: &S,
        theirs: &[&str],
    ) -> Result<R, Error>
    where
        K: Reachable,
        S: Serialize,
        R: DeserializeOwned,
    {
        let mut body = body_of::<K>(object, &[]);
        let mut status = json!(status);
        if let Some(fields) = status.as_object_mut() {
            fields.retain(|field, _| !theirs.contains(&field.as_str()));
        }
        let mark = Mark::written("status".to_owned(), object.uid.as_deref(), &status);
        put(&mut body, "status", status);
        let (key, params) = (Key::of(object), PatchParams::apply(self.manager).force());
        let request = Request::new(K::url_path(&(), key.namespace.as_deref()));
        let request = request.patch_subresource("status", &key.name, &params, &Patch::Apply(&body));
        let sent = async { self.client.request(request.map_err(kube::Error::BuildRequest)?).await };
        let reported = self.write("status", K::kind(&()).as_ref(), &key, sent).await?;
        self.mark(mark);
        Ok(reported)
    }

    /// Tells people. An event that cannot be written is not worth another attempt.
    pub(super) async fn tell(&self, object: ObjectReference, news: &News) {
        let key = &self.about.object;
        if let Err(error) = self.write("create", "Event", key, self.events.publish(object, news)).await {
            tracing::debug!(object = %key, "{error}");
        }
    }

    /// Every write passes here.
    async fn write<T>(
        &self,
        verb: &'static str,
        kind: &str,
        key: &Key,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, Error> {
        if self.term.remaining().is_none() {
            return Err(Error::NotLeading);
        }
        self.metrics.wrote(kind, verb);
        self.written.fetch_add(1, Ordering::Relaxed);
        let mut on_its_way = OnItsWay(Some(&self.term));
        // A term that is renewed meanwhile is no reason to give up, and one that ends is, however long the request has had.
        let answer = tokio::select! {
            biased;
            answer = timeout(self.pace.request, request) => answer,
            () = self.term.over() => return Err(Error::NotLeading),
        };
        let result = match answer {
            Err(_) => Err(Failure::no_answer()),
            Ok(Err(error)) => {
                // A refusal is an answer. Anything else leaves open whether the write is stored, also a server's word that it
                // could not answer: what it asked of the store may be done all the same.
                if matches!(&error, kube::Error::Api(status) if status.code < 500) {
                    on_its_way.0 = None;
                }
                Err(Failure::from(error))
            }
            Ok(Ok(done)) => {
                on_its_way.0 = None;
                Ok(done)
            }
        };
        let About { kind: of, object, uid: _, generation, reconcile } = &self.about;
        tracing::debug!(
            kind = of, %object, generation, reconcile, verb, child_kind = kind, child = %key, is_done = result.is_ok(), "wrote"
        );
        result.map_err(|failure| Error::api(verb, format!("{kind} `{key}`"), failure))
    }
}

fn lock<T>(list: &Mutex<Vec<T>>) -> MutexGuard<'_, Vec<T>> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The least that an apply needs, bound to the object as it was seen, and more of its metadata.
fn body_of<K: Resource<DynamicType = ()>>(seen: &ObjectMeta, more: &[(&str, Value)]) -> Value {
    let mut metadata = json!({ "name": seen.name });
    if let Some(namespace) = &seen.namespace {
        put(&mut metadata, "namespace", json!(namespace));
    }
    as_seen(&mut metadata, seen);
    for (field, value) in more {
        put(&mut metadata, field, value.clone());
    }
    json!({ "apiVersion": K::api_version(&()), "kind": K::kind(&()), "metadata": metadata })
}

/// Without these an apply would make an object that has gone, and write over what nobody here has seen.
fn as_seen(metadata: &mut Value, seen: &ObjectMeta) {
    put(metadata, "uid", json!(seen.uid));
    put(metadata, "resourceVersion", json!(seen.resource_version));
}

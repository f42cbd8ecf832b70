//! The only way to write.

use std::fmt;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use butler_program::Failure;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::child::{Step, put};
use super::events::{Events, News};
use super::lease::Term;
use super::{Cache, Error, Key, Metrics, Pace};

/// Whom we write for, in log lines.
#[derive(Clone, Debug)]
pub(super) struct About {
    pub(super) kind: &'static str,
    pub(super) object: Key,
    pub(super) generation: i64,
    /// Different for every reconcile of this process.
    pub(super) reconcile: u64,
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
    pub(super) set_back: Mutex<Vec<String>>,
}

impl Debug for Hand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hand").field("about", &self.about).finish_non_exhaustive()
    }
}

/// A kind of which objects can be asked for by key.
pub trait Reachable: Resource<DynamicType = ()> + Sized {
    /// Objects of the kind where this one is.
    fn api(client: Client, key: &Key) -> Api<Self>;
}

/// What makes an API out of a client, by scope.
pub trait Scoped<K> {
    /// The API of that scope.
    fn api(client: Client, namespace: Option<&str>) -> Api<K>;
}

impl<K: Resource<DynamicType = (), Scope = ClusterResourceScope>> Scoped<K> for ClusterResourceScope {
    fn api(client: Client, _: Option<&str>) -> Api<K> {
        Api::all(client)
    }
}

impl<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>> Scoped<K> for NamespaceResourceScope {
    fn api(client: Client, namespace: Option<&str>) -> Api<K> {
        match namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::default_namespaced(client),
        }
    }
}

impl<K> Reachable for K
where
    K: Resource<DynamicType = ()>,
    K::Scope: Scoped<K>,
{
    fn api(client: Client, key: &Key) -> Api<Self> {
        K::Scope::api(client, key.namespace.as_deref())
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
    /// Does what a step says and keeps the cache at what came out of it. The child as it is now, if there is one.
    ///
    /// # Errors
    /// When the lease is not safely held or the API server does not do it.
    pub async fn carry_out<L>(&self, step: &Step<L>, cache: &Cache<L>) -> Result<Option<Arc<L>>, Error>
    where
        L: Reachable + Clone + Debug + DeserializeOwned,
    {
        match step {
            Step::Keep(live) => Ok(Some(live.clone())),
            Step::Make(desired) => self.apply(desired, None, cache).await.map(Some),
            Step::Change { to, from, others } => {
                let changed = self.apply(to, Some(from.meta()), cache).await?;
                if !others.is_empty() {
                    let (kind, name) = (L::kind(&()), Key::of(from.meta()).name);
                    let by = others.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
                    self.set_back
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(format!("{kind} `{name}`, which {by} had changed"));
                }
                Ok(Some(changed))
            }
            Step::Replace { to, from } => {
                self.delete(from.meta(), cache).await?;
                self.apply(to, None, cache).await.map(Some)
            }
            Step::Remove(live) => self.delete(live.meta(), cache).await.map(|()| None),
        }
    }

    /// What of ours others had changed, and was set back.
    pub(super) fn set_back(&self) -> Vec<String> {
        self.set_back.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn written(&self) -> u32 {
        self.written.load(Ordering::Relaxed)
    }

    /// Over what was seen, whoever has written it: it is ours. Over nothing that was not: what is there may be somebody's.
    async fn apply<L>(
        &self,
        desired: &Value,
        seen: Option<&ObjectMeta>,
        cache: &Cache<L>,
    ) -> Result<Arc<L>, Error>
    where
        L: Reachable + Clone + Debug + DeserializeOwned,
    {
        let name = desired.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let namespace = desired.pointer("/metadata/namespace").and_then(Value::as_str);
        let key = Key { namespace: namespace.map(str::to_owned), name: name.to_owned() };
        let mut params = PatchParams::apply(self.manager);
        let mut body = desired.clone();
        if let (Some(seen), Some(metadata)) = (seen, body.get_mut("metadata")) {
            params = params.force();
            as_seen(metadata, seen);
        }
        let api = L::api(self.client.clone(), &key);
        let applied = self
            .write("apply", L::kind(&()).as_ref(), &key, api.patch(name, &params, &Patch::Apply(&body)))
            .await?;
        cache.learn(applied.clone());
        Ok(Arc::new(applied))
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
            Err(error) => Err(error),
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
        self.write("apply", K::kind(&()).as_ref(), &key, api.patch(&key.name, &params, &Patch::Apply(&body)))
            .await
    }

    /// Takes our finalizer off, whoever put it on.
    pub(super) async fn let_go<K>(&self, object: &K, finalizer: &str) -> Result<(), Error>
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
            Err(Error::Api { failure, .. }) if failure.label == Failure::NOT_SERVED => Ok(()),
            done => done.map(|_| ()),
        }
    }

    /// Writes the status without the fields that are somebody else's.
    pub(super) async fn report<K, S>(&self, object: &K, status: &S, theirs: &[&str]) -> Result<K, Error>
    where
        K: Reachable + Clone + Debug + DeserializeOwned,
        S: Serialize,
    {
        let mut body = body_of::<K>(object.meta(), &[]);
        let mut status = json!(status);
        if let Some(fields) = status.as_object_mut() {
            fields.retain(|field, _| !theirs.contains(&field.as_str()));
        }
        put(&mut body, "status", status);
        let (key, params) = (Key::of(object.meta()), PatchParams::apply(self.manager).force());
        let api = K::api(self.client.clone(), &key);
        let patch = Patch::Apply(&body);
        self.write("status", K::kind(&()).as_ref(), &key, api.patch_status(&key.name, &params, &patch)).await
    }

    /// Tells people. An event that cannot be written is not worth another attempt.
    pub(super) async fn tell<K: Resource<DynamicType = ()>>(&self, object: &K, news: &News) {
        let key = Key::of(object.meta());
        let published = self.events.publish(object.object_ref(&()), news);
        if let Err(error) = self.write("create", "Event", &key, published).await {
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
        let left = self.term.remaining().ok_or(Error::NotLeading)?;
        self.metrics.wrote(kind, verb);
        self.written.fetch_add(1, Ordering::Relaxed);
        let mut on_its_way = OnItsWay(Some(&self.term));
        let answer = timeout(left.min(self.pace.request), request).await;
        let result = match answer {
            Err(_) => Err(Failure::no_answer()),
            Ok(Err(error)) => {
                // An answer is an answer; anything else leaves open whether there will be one.
                if matches!(error, kube::Error::Api(_)) {
                    on_its_way.0 = None;
                }
                Err(Failure::from(error))
            }
            Ok(Ok(done)) => {
                on_its_way.0 = None;
                Ok(done)
            }
        };
        let About { kind: of, object, generation, reconcile } = &self.about;
        tracing::debug!(
            kind = of, %object, generation, reconcile, verb, child_kind = kind, child = %key, is_done = result.is_ok(), "wrote"
        );
        result.map_err(|failure| Error::api(verb, format!("{kind} `{key}`"), failure))
    }
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

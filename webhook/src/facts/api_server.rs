//! One fact, asked of the API server itself.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use butler_api::names::dns_subdomain;
use butler_api::reference::NsRef;
use butler_api::{
    AddonDefinition, ButlerConfig, ClusterCreationPolicy, IPAllocation, NetworkPool, ProviderConfig, Team,
    TenantAddon, TenantCluster, User,
};
use butler_policies::Presumption;
use butler_policies::facts::{Fact, FactKey, FactKind};
use butler_policies::review::Caller;
use butler_program::{Complaints, patiently};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::Client;
use kube::api::{Api, ListParams, PostParams};
use kube::core::DeserializeGuard;
use tokio::time::timeout;

use super::Look;
use super::failure::{Failure, without_quotes};
use super::kept::{CONFIG_NAME, Kept, namespace_fact};
use super::listing;
use super::metrics::Metrics;
use super::params;
use super::secrets;

/// How long one look may take. The API server waits five seconds for the whole review.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// How long a list may take. All of a large platform's clusters are tens of megabytes.
const LIST_PATIENCE: Duration = Duration::from_secs(3);
/// Users are looked for by reading them all, because a server selects custom objects by nothing that is in their spec.
/// More than that are not read; then nobody can say.
const USER_PAGES: usize = 10;
const USERS_PER_PAGE: u32 = 500;
/// The verb, of our own, that makes whoever may use it on Teams an administrator.
const ADMINISTER: &str = "administer";

/// Looks at the API server, which always knows best.
#[derive(Clone)]
pub struct ApiServer {
    client: Client,
    metrics: Metrics,
    /// While the API server is away every denial would fail to look several times.
    complaints: Arc<Mutex<Complaints>>,
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiServer").finish_non_exhaustive()
    }
}

impl ApiServer {
    /// Asks through that client.
    pub fn new(client: Client, metrics: Metrics) -> Self {
        Self { client, metrics, complaints: Arc::default() }
    }

    fn complain(&self, kind: FactKind, failure: &Failure) {
        let mut complaints = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        if complaints.is_news(failure.label, Instant::now()) {
            tracing::warn!(%kind, reason = failure.label, "a fact cannot be read: {failure}");
        }
    }

    async fn ask(&self, key: &FactKey, caller: &Caller<'_>) -> Result<Fact, Failure> {
        match key {
            FactKey::Config => self.named::<ButlerConfig>(CONFIG_NAME).await,
            FactKey::Team(name) => self.named::<Team>(name).await,
            FactKey::Cluster(at) => self.placed::<TenantCluster>(at).await,
            FactKey::Addon(at) => self.placed::<TenantAddon>(at).await,
            FactKey::Definition(name) => self.named::<AddonDefinition>(name).await,
            FactKey::Provider(at) => self.placed::<ProviderConfig>(at).await,
            FactKey::Pool(at) => self.placed::<NetworkPool>(at).await,
            FactKey::Allocation(at) => self.placed::<IPAllocation>(at).await,
            FactKey::CreationPolicy(name) => self.named::<ClusterCreationPolicy>(name).await,
            FactKey::User(email) => self.user(email).await,
            FactKey::Namespace(name) => self.namespace(name).await,
            FactKey::Secret(at) => secrets::exists(&self.client, at).await,
            FactKey::Administrator(name) => self.administrator(name, caller).await,
            FactKey::Param(kind, at) => params::read(&self.client, kind, at).await,
        }
    }

    async fn named<K: Kept<Scope = ClusterResourceScope>>(&self, name: &str) -> Result<Fact, Failure> {
        // The name comes from an object that is being judged, and would become part of a path. One that no object
        // can have is not asked for.
        if dns_subdomain(name).is_err() {
            return Ok(Fact::Absent);
        }
        let api: Api<DeserializeGuard<K>> = Api::all(self.client.clone());
        fact_of(found(api.get(name).await)?)
    }

    async fn placed<K: Kept<Scope = NamespaceResourceScope>>(&self, at: &NsRef) -> Result<Fact, Failure> {
        if dns_subdomain(&at.name).is_err() || dns_subdomain(&at.namespace).is_err() {
            return Ok(Fact::Absent);
        }
        let api: Api<DeserializeGuard<K>> = Api::namespaced(self.client.clone(), &at.namespace);
        fact_of(found(api.get(&at.name).await)?)
    }

    async fn namespace(&self, name: &str) -> Result<Fact, Failure> {
        if dns_subdomain(name).is_err() {
            return Ok(Fact::Absent);
        }
        let api: Api<Namespace> = Api::all(self.client.clone());
        let namespace = found(api.get(name).await)?;
        Ok(namespace.map_or(Fact::Absent, |it| Fact::Namespace(namespace_fact(&it))))
    }

    /// Of several Users with one address the first by name counts, as in the snapshots; lists are in order of names.
    async fn user(&self, email: &str) -> Result<Fact, Failure> {
        let email = email.to_lowercase();
        let api: Api<DeserializeGuard<User>> = Api::all(self.client.clone());
        let mut params = ListParams::default().limit(USERS_PER_PAGE);
        let mut is_complete = true;
        for _ in 0..USER_PAGES {
            let page = api.list(&params).await?;
            for user in page.items {
                match user.0 {
                    Ok(user) if user.spec.email.to_lowercase() == email => return Ok(user.into_slim_fact()),
                    Ok(_) => {}
                    // It may be the one.
                    Err(_) => is_complete = false,
                }
            }
            params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                return Ok(if is_complete { Fact::Absent } else { Fact::Unreadable });
            }
        }
        Err(Failure::new("TooMany", "there are too many Users to look through"))
    }

    async fn administrator(&self, name: &str, caller: &Caller<'_>) -> Result<Fact, Failure> {
        if name != caller.name {
            return Err(Failure::new("Stranger", "only the caller's own authorization can be asked for"));
        }
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(name.to_owned()),
                groups: Some(caller.groups.iter().map(|group| group.to_string()).collect()),
                resource_attributes: Some(ResourceAttributes {
                    group: Some(butler_api::GROUP.to_owned()),
                    version: Some(butler_api::VERSION.to_owned()),
                    resource: Some("teams".to_owned()),
                    verb: Some(ADMINISTER.to_owned()),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let api: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let answer = api.create(&PostParams::default(), &review).await?;
        let is_allowed = answer.status.is_some_and(|status| status.allowed);
        Ok(if is_allowed { Fact::Administrator } else { Fact::Absent })
    }
}

impl Look for ApiServer {
    async fn look(&self, key: &FactKey, caller: &Caller<'_>) -> Fact {
        let answer = timeout(PATIENCE, patiently(|| self.ask(key, caller))).await;
        let fact = answer.unwrap_or_else(|_| Err(Failure::no_answer())).unwrap_or_else(|failure| {
            self.complain(key.kind(), &failure);
            Fact::Unreadable
        });
        self.metrics.looked(key.kind(), &fact);
        fact
    }

    async fn list(&self, presumption: &Presumption) -> Option<Vec<(FactKey, Fact)>> {
        let answer = timeout(LIST_PATIENCE, patiently(|| listing::list(&self.client, presumption))).await;
        match answer.unwrap_or_else(|_| Err(Failure::no_answer())) {
            Ok(all) => Some(all),
            Err(failure) => {
                self.complain(presumption.kind, &failure);
                None
            }
        }
    }
}

/// The fact that an object is. The guard keeps the client from logging an object that it cannot read.
fn fact_of<K: Kept>(object: Option<DeserializeGuard<K>>) -> Result<Fact, Failure> {
    match object {
        None => Ok(Fact::Absent),
        Some(DeserializeGuard(Ok(object))) => Ok(object.into_slim_fact()),
        Some(DeserializeGuard(Err(error))) => {
            let why = without_quotes(&error.to_string());
            Err(Failure::new(Failure::UNREADABLE, format!("the object cannot be read: {why}")))
        }
    }
}

/// What was found, if there is anything. A path that the API server does not serve is no answer about an object: only
/// the kind's own words say that there is none.
pub(super) fn found<T>(answer: Result<T, kube::Error>) -> Result<Option<T>, Failure> {
    match answer {
        Ok(object) => Ok(Some(object)),
        Err(kube::Error::Api(status)) if status.code == 404 && status.reason == "NotFound" => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;

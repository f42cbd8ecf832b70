//! The calls to the API server.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use butler_api::names::ObjectUid;
use butler_api::quota::ledger::{Inventory, Sighting};
use butler_api::reference::{NsRef, SYSTEM_NAMESPACE};
use butler_api::{QuotaLedger, QuotaLedgerSpec, Team, TenantCluster};
use butler_policies::Facts;
use butler_policies::quota::known_holding;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{DeserializeGuard, ObjectMeta};
use kube::{Client, ResourceExt};
use serde_json::json;
use tokio::time::timeout;

use super::metrics::Metrics;

/// How long one call may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long all pages of a list may take.
const LIST_PATIENCE: Duration = Duration::from_secs(20);
/// An answer of this many clusters is a few megabytes.
const PER_PAGE: u32 = 500;
/// Who owns what is written into a Team's status.
const FIELD_MANAGER: &str = "butler-quota";

/// Makes the calls, and counts them.
#[derive(Clone)]
pub(super) struct Store {
    client: Client,
    metrics: Metrics,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

/// Why a call did not do what it should.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    /// The object is not the one that was read, or there is one already, or none any more.
    #[error("somebody else was faster")]
    Conflict,
    /// Whether it was done is unknown.
    #[error("{0}")]
    Failed(String),
}

impl From<kube::Error> for CallError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if matches!(status.code, 404 | 409) => Self::Conflict,
            kube::Error::Api(status) => Self::Failed(format!("the API server says {}", status.code)),
            kube::Error::SerdeError(_) => Self::Failed("the API server's answer cannot be read".to_owned()),
            _ => Self::Failed("the API server cannot be reached".to_owned()),
        }
    }
}

impl Store {
    pub(super) fn new(client: Client, metrics: Metrics) -> Self {
        Self { client, metrics }
    }

    pub(super) fn ledgers(&self) -> Api<QuotaLedger> {
        Api::namespaced(self.client.clone(), SYSTEM_NAMESPACE)
    }

    async fn call<T>(
        &self,
        what: &'static str,
        call: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, CallError> {
        self.metrics.called(what);
        let answer = timeout(PATIENCE, call).await;
        Ok(answer.map_err(|_| CallError::Failed("the API server does not answer".to_owned()))??)
    }

    /// The ledger as it is stored now.
    pub(super) async fn read(&self, team: &str) -> Result<Option<QuotaLedger>, CallError> {
        let api = self.ledgers();
        self.call("read", api.get_opt(team)).await
    }

    /// Makes an object that is no ledger yet: as many writes as it says were Butler's, somebody else's was one more.
    pub(super) async fn create(&self, team: &str) -> Result<QuotaLedger, CallError> {
        let spec = QuotaLedgerSpec { team: team.to_owned(), ..QuotaLedgerSpec::default() };
        let (api, object, params) = (self.ledgers(), QuotaLedger::new(team, spec), PostParams::default());
        self.call("create", api.create(&params, &object)).await
    }

    /// Replaces exactly that version.
    pub(super) async fn write(
        &self,
        version: &ObjectMeta,
        spec: QuotaLedgerSpec,
    ) -> Result<QuotaLedger, CallError> {
        let name = version.name.clone().unwrap_or_default();
        let mut object = QuotaLedger::new(&name, spec);
        object.metadata.resource_version.clone_from(&version.resource_version);
        object.metadata.uid.clone_from(&version.uid);
        let (api, params) = (self.ledgers(), PostParams::default());
        self.call("write", api.replace(&name, &params, &object)).await
    }

    /// Removes exactly that version.
    pub(super) async fn delete(&self, version: &ObjectMeta) -> Result<(), CallError> {
        let preconditions =
            Preconditions { uid: version.uid.clone(), resource_version: version.resource_version.clone() };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let (api, name) = (self.ledgers(), version.name.clone().unwrap_or_default());
        self.call("delete", api.delete(&name, &params)).await.map(drop)
    }

    /// The Team as it is stored now.
    pub(super) async fn team(&self, name: &str) -> Result<Option<Team>, CallError> {
        let api: Api<Team> = Api::all(self.client.clone());
        self.call("team", api.get_opt(name)).await
    }

    /// Writes into the status of exactly that version of the Team which ledger it has, and nothing else.
    pub(super) async fn promise(&self, team: &Team, ledger: &ObjectMeta) -> Result<(), CallError> {
        let api: Api<Team> = Api::all(self.client.clone());
        let ObjectMeta { name, uid, resource_version, .. } = &team.metadata;
        let patch = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "Team",
            "metadata": { "name": name, "uid": uid, "resourceVersion": resource_version },
            "status": { "quotaLedger": ledger.uid },
        });
        let name = name.as_deref().unwrap_or_default();
        let params = PatchParams::apply(FIELD_MANAGER).force();
        self.call("status", api.patch_status(name, &params, &Patch::Apply(&patch))).await.map(drop)
    }

    /// The clusters as they are stored now, in one namespace or in all, with what each takes of a team. Pages of one list are
    /// of one moment.
    pub(super) async fn list(
        &self,
        team: &str,
        namespace: Option<&str>,
        facts: &Facts,
    ) -> Result<Inventory, CallError> {
        self.metrics.called("list");
        let listing = self.pages(team, namespace, facts);
        let listed = timeout(LIST_PATIENCE, listing).await;
        listed
            .map_err(|_| CallError::Failed("the API server does not list the clusters in time".to_owned()))?
    }

    async fn pages(
        &self,
        team: &str,
        namespace: Option<&str>,
        facts: &Facts,
    ) -> Result<Inventory, CallError> {
        let api: Api<DeserializeGuard<TenantCluster>> = match namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        };
        let (mut clusters, mut unreadable) = (BTreeMap::new(), BTreeSet::new());
        // Nothing is said about how old the answer may be, so it is what is stored now.
        let mut params = ListParams::default().limit(PER_PAGE);
        loop {
            let page = api.list(&params).await?;
            for object in page.items {
                let at = NsRef { name: object.name_any(), namespace: object.namespace().unwrap_or_default() };
                // One that nobody can read must not keep the others from being counted.
                match object.0.ok().and_then(|cluster| sighting(&cluster, team, facts)) {
                    Some((at, seen)) => drop(clusters.insert(at, seen)),
                    None => drop(unreadable.insert(at)),
                }
            }
            let next = page.metadata.continue_.filter(|token| !token.is_empty());
            if next.is_none() {
                let revision = page.metadata.resource_version.and_then(|it| it.parse().ok());
                let revision = revision
                    .ok_or_else(|| CallError::Failed("the list has no resourceVersion".to_owned()))?;
                let namespaces = namespace.map(|it| BTreeSet::from([it.to_owned()]));
                return Ok(Inventory { revision, namespaces, clusters, unreadable });
            }
            params.continue_token = next;
        }
    }
}

/// What is seen of a cluster, and takes of a team; nothing if nobody can say.
pub(super) fn sighting(cluster: &TenantCluster, team: &str, facts: &Facts) -> Option<(NsRef, Sighting)> {
    let at = NsRef { name: cluster.name_any(), namespace: cluster.namespace()? };
    let uid: ObjectUid = cluster.metadata.uid.as_deref()?.parse().ok()?;
    let revision = cluster.metadata.resource_version.as_deref()?.parse().ok()?;
    let is_leaving = cluster.metadata.deletion_timestamp.is_some();
    let created = cluster.metadata.creation_timestamp.as_ref().map_or(0, |time| time.0.as_second());
    let holding = if is_of(cluster, team) { Some(known_holding(cluster, facts)?) } else { None };
    Some((at, Sighting { uid, revision, created, holding, is_leaving }))
}

/// Whether a cluster is the team's.
pub(super) fn is_of(cluster: &TenantCluster, team: &str) -> bool {
    cluster.spec.team_ref.as_ref().is_some_and(|own| own.name == team)
}

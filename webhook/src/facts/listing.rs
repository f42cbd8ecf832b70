//! Everything of a kind, listed by the API server itself.

use butler_api::{
    AddonDefinition, ButlerConfig, ClusterCreationPolicy, IPAllocation, NetworkPool, ProviderConfig, Team,
    TenantAddon, TenantCluster,
};
use butler_policies::Presumption;
use butler_policies::facts::{Fact, FactKey, FactKind};
use k8s_openapi::NamespaceResourceScope;
use kube::Client;
use kube::api::{Api, ListParams};
use kube::core::DeserializeGuard;

use super::failure::Failure;
use super::kept::{Entry, Kept, Watched};

/// An answer of this many clusters is a few megabytes.
const PER_PAGE: u32 = 500;

/// What there is now of a kind. Pages of one list are of one moment, so nothing slips through between two of them.
pub(super) async fn list(
    client: &Client,
    presumption: &Presumption,
) -> Result<Vec<(FactKey, Fact)>, Failure> {
    let client = client.clone();
    let namespace = presumption.namespace.as_deref();
    match presumption.kind {
        FactKind::Cluster => pages(placed::<TenantCluster>(client, namespace)).await,
        FactKind::Addon => pages(placed::<TenantAddon>(client, namespace)).await,
        FactKind::Allocation => pages(placed::<IPAllocation>(client, namespace)).await,
        FactKind::Provider => pages(placed::<ProviderConfig>(client, namespace)).await,
        FactKind::Pool => pages(placed::<NetworkPool>(client, namespace)).await,
        FactKind::Config => pages(Api::<DeserializeGuard<ButlerConfig>>::all(client)).await,
        FactKind::Team => pages(Api::<DeserializeGuard<Team>>::all(client)).await,
        FactKind::Definition => pages(Api::<DeserializeGuard<AddonDefinition>>::all(client)).await,
        FactKind::CreationPolicy => pages(Api::<DeserializeGuard<ClusterCreationPolicy>>::all(client)).await,
        FactKind::User
        | FactKind::Namespace
        | FactKind::Secret
        | FactKind::Administrator
        | FactKind::Param => Err(Failure::new("NotListed", "this kind is not listed")),
    }
}

fn placed<K: Kept<Scope = NamespaceResourceScope>>(
    client: Client,
    namespace: Option<&str>,
) -> Api<DeserializeGuard<K>> {
    match namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    }
}

async fn pages<K: Kept>(api: Api<DeserializeGuard<K>>) -> Result<Vec<(FactKey, Fact)>, Failure> {
    let mut all = Vec::new();
    let mut params = ListParams::default().limit(PER_PAGE);
    loop {
        let page = api.list(&params).await?;
        all.extend(page.items.into_iter().filter_map(|object| {
            let Entry { key, fact, .. } = object.into_entry();
            Some((key?, fact))
        }));
        params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if params.continue_token.is_none() {
            return Ok(all);
        }
    }
}

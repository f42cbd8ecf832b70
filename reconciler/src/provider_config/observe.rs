//! What a provider rests on. Asks the API server for its Secret, and before it goes for all clusters.

use std::collections::BTreeSet;
use std::sync::Arc;

use butler_api::butler_config::CONFIG_NAME;
use butler_api::names::dns_subdomain;
use butler_api::reference::{NsRef, SYSTEM_NAMESPACE};
use butler_api::{NetworkPool, ProviderConfig, TenantCluster};
use butler_program::Failure;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ListParams};
use kube::core::DeserializeGuard;
use kube::{Client, ResourceExt};

use crate::frame::{Error, Key};
use crate::known::Known;

/// How many clusters are asked for at a time.
const PAGE: u32 = 500;

/// What was looked at.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The Secret with the credentials. Nothing where none is named.
    pub credentials: Option<Credentials>,
    /// The pools that are named, in their order; nothing for one that does not exist.
    pub pools: Vec<(String, Option<Arc<NetworkPool>>)>,
    /// When the provider is being deleted: clusters that run there, also those that only got it by default.
    pub used_by: Vec<String>,
}

/// What is known of a Secret: never what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// It has something under these keys.
    Keys(BTreeSet<String>),
    /// There is none.
    Absent,
    /// We may not look.
    Forbidden,
}

pub(super) async fn observe(
    client: &Client,
    known: &Known,
    provider: &ProviderConfig,
) -> Result<Observed, Error> {
    // A provider that goes needs no credentials any more.
    let credentials = match provider.credentials() {
        Some(at) if provider.metadata.deletion_timestamp.is_none() => Some(credentials(client, &at).await?),
        _ => None,
    };
    let pools = provider
        .spec
        .network
        .pools()
        .into_iter()
        .map(|pool| (pool.name.clone(), known.pools.get(&Key::namespaced(SYSTEM_NAMESPACE, &pool.name))));
    // Only who wants to go has to know.
    let used_by = match provider.metadata.deletion_timestamp {
        Some(_) => used_by(client, known, provider).await?,
        None => Vec::new(),
    };
    Ok(Observed { credentials, pools: pools.collect(), used_by })
}

async fn credentials(client: &Client, at: &NsRef) -> Result<Credentials, Error> {
    // What cannot be a name would ask for something else.
    if dns_subdomain(&at.name).is_err() || dns_subdomain(&at.namespace).is_err() {
        return Ok(Credentials::Absent);
    }
    let api = Api::<Secret>::namespaced(client.clone(), &at.namespace);
    match api.get_opt(&at.name).await.map_err(Failure::from) {
        Ok(None) => Ok(Credentials::Absent),
        Ok(Some(secret)) => {
            let filled = secret.data.unwrap_or_default().into_iter().filter(|(_, value)| !value.0.is_empty());
            Ok(Credentials::Keys(filled.map(|(key, _)| key).collect()))
        }
        Err(failure) if failure.label == Failure::FORBIDDEN => Ok(Credentials::Forbidden),
        Err(failure) => Err(Error::api("get", format!("Secret `{}/{}`", at.namespace, at.name), failure)),
    }
}

/// Clusters that run on a provider. What a watch has told is enough to keep the provider, and not enough to let it go.
async fn used_by(client: &Client, known: &Known, provider: &ProviderConfig) -> Result<Vec<String>, Error> {
    let cached = known.clusters.all();
    let mut names: Vec<String> = cached
        .iter()
        .filter(|cluster| runs_on(known, provider, cluster))
        .map(|cluster| Key::of(&cluster.metadata).to_string())
        .collect();
    // One that cannot be read may run there.
    let unreadable = known.clusters.keys().into_iter().filter(|key| known.clusters.unreadable(key).is_some());
    names.extend(unreadable.map(|key| key.to_string()));
    if names.is_empty() {
        names = used_now_by(client, known, provider).await?;
    }
    names.sort();
    names.dedup();
    Ok(names)
}

fn runs_on(known: &Known, provider: &ProviderConfig, cluster: &TenantCluster) -> bool {
    let own = NsRef { name: provider.name_any(), namespace: provider.namespace().unwrap_or_default() };
    let config = known.configs.get(&Key::cluster_wide(CONFIG_NAME));
    let team = cluster.spec.team_ref.as_ref().and_then(|it| known.teams.get(&Key::cluster_wide(&it.name)));
    cluster.spec.provider(team.as_deref().map(|it| &it.spec), config.as_deref().map(|it| &it.spec))
        == Some(own)
}

/// The same by a consistent list. A cluster that cannot be read may run there.
async fn used_now_by(
    client: &Client,
    known: &Known,
    provider: &ProviderConfig,
) -> Result<Vec<String>, Error> {
    let api = Api::<DeserializeGuard<TenantCluster>>::all(client.clone());
    let (mut names, mut page) = (Vec::new(), ListParams::default().limit(PAGE));
    loop {
        let found = api.list(&page).await.map_err(|error| Error::api("list", "TenantClusters", error))?;
        for cluster in found.items {
            match cluster.0 {
                Ok(cluster) if !runs_on(known, provider, &cluster) => {}
                Ok(cluster) => names.push(Key::of(&cluster.metadata).to_string()),
                Err(unreadable) => names.push(Key::of(&unreadable.metadata).to_string()),
            }
        }
        match found.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(names),
        }
    }
}

//! What is wrong with a provider, and what it has room for. Pure: nothing is made for a provider.

use std::collections::BTreeSet;

use butler_api::ProviderConfig;
use butler_api::condition::reason;
use butler_api::ip_allocation::AllocationType;
use butler_api::provider_config::NetworkMode;
use butler_api::provider_config::status::ProviderCapacity;
use butler_api::reference::{NsRef, SYSTEM_NAMESPACE};

use super::observe::{Credentials, Observed};
use crate::frame::Problem;

/// What was found out.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Whether the credentials are there.
    pub credentials: Result<Need, Problem>,
    /// Whether a pool has addresses left.
    pub pools: Result<Need, Problem>,
    /// What the pools have room for.
    pub capacity: Option<ProviderCapacity>,
    /// Clusters that run there.
    pub used_by: Vec<String>,
}

/// Whether something was needed at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It is there.
    Met,
    /// It is not needed.
    None,
}

/// What is wrong with a provider, and what it has room for.
pub(super) fn plan(provider: &ProviderConfig, observed: &Observed) -> Plan {
    let capacity = capacity(provider, observed);
    Plan {
        credentials: credentials(provider, observed),
        pools: pools(provider, observed, capacity.as_ref()),
        capacity,
        used_by: observed.used_by.clone(),
    }
}

fn credentials(provider: &ProviderConfig, observed: &Observed) -> Result<Need, Problem> {
    let sets = provider.spec.provider.credential_keys();
    if sets.is_empty() {
        return Ok(Need::None);
    }
    let invalid = |message: String| Err(Problem::new(reason::CREDENTIALS_INVALID, message));
    let Some(at) = provider.credentials() else {
        return invalid(
            "spec.credentialsRef: only the provider `local` works without credentials; name a Secret"
                .to_owned(),
        );
    };
    let place = format!("`{}/{}`", at.namespace, at.name);
    match &observed.credentials {
        None | Some(Credentials::Absent) => invalid(format!(
            "spec.credentialsRef: there is no Secret {place}; create it with {}",
            wanted(sets)
        )),
        Some(Credentials::Forbidden) => invalid(format!(
            "spec.credentialsRef: butler-reconciler may not read the Secret {place}; let it: {}",
            permission(&at)
        )),
        Some(Credentials::Keys(keys)) => {
            let own = provider.spec.credentials_ref.as_ref().and_then(|it| it.key());
            // A key that is named takes the place of the only one there is.
            let is_complete = match (own, sets) {
                (Some(own), [[_]]) => keys.contains(own),
                _ => sets.iter().any(|set| set.iter().all(|key| keys.contains(*key))),
            };
            if is_complete {
                return Ok(Need::Met);
            }
            let wanted = match (own, sets) {
                (Some(own), [[_]]) => format!("`{own}`"),
                _ => wanted(sets),
            };
            invalid(format!("spec.credentialsRef: the Secret {place} has {}, but needs {wanted}", had(keys)))
        }
    }
}

/// What somebody types who lets us read one Secret and no other. Each has a Role of its own, so that giving one right cannot
/// take another away.
fn permission(at: &NsRef) -> String {
    let NsRef { name, namespace } = at;
    let role = format!("butler-reconciler-reads-{name}");
    format!(
        "`kubectl create role {role} --namespace {namespace} --verb get --resource secrets --resource-name {name}` and \
         `kubectl create rolebinding {role} --namespace {namespace} --role {role} --serviceaccount \
         {SYSTEM_NAMESPACE}:butler-reconciler`"
    )
}

fn wanted(sets: &[&[&str]]) -> String {
    let set = |keys: &&[&str]| keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(" and ");
    sets.iter().map(set).collect::<Vec<_>>().join(", or ")
}

/// Keys are no secrets, but there may be many.
fn had(keys: &BTreeSet<String>) -> String {
    match keys.len() {
        0 => "nothing in it".to_owned(),
        count @ 1..=5 => {
            let listed = keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
            format!("only {listed}{}", if count == 1 { "" } else { " in it" })
        }
        count => format!("{count} other keys"),
    }
}

fn pools(
    provider: &ProviderConfig,
    observed: &Observed,
    capacity: Option<&ProviderCapacity>,
) -> Result<Need, Problem> {
    if provider.spec.network.mode() != NetworkMode::Ipam {
        return Ok(Need::None);
    }
    if observed.pools.is_empty() {
        let message = "spec.network.poolRefs: mode `ipam` takes addresses from pools; name at least one";
        return Err(Problem::new(reason::INVALID_CONFIGURATION, message));
    }
    let missing: Vec<String> = observed
        .pools
        .iter()
        .filter(|(_, pool)| pool.is_none())
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    if !missing.is_empty() {
        let message = format!(
            "spec.network.poolRefs: there is no NetworkPool {} in `butler-system`; create it, or remove it from the list",
            missing.join(", ")
        );
        return Err(Problem::new(reason::INVALID_CONFIGURATION, message));
    }
    match capacity.and_then(|capacity| capacity.available_ips) {
        None => {
            let message = "the pools have not been counted yet; this goes on when their status says how many addresses are left";
            Err(Problem::new(reason::WAITING_FOR_DEPENDENCIES, message))
        }
        Some(0) => {
            let names: Vec<String> = observed.pools.iter().map(|(name, _)| format!("`{name}`")).collect();
            let message = format!(
                "no address is left in {}; delete clusters, enlarge a pool, or add one to spec.network.poolRefs",
                names.join(", ")
            );
            Err(Problem::new(reason::POOL_EXHAUSTED, message))
        }
        Some(_) => Ok(Need::Met),
    }
}

/// What all pools together have left, and how many clusters of the usual size fit into each of them: one cluster's
/// addresses come from one pool.
fn capacity(provider: &ProviderConfig, observed: &Observed) -> Option<ProviderCapacity> {
    if provider.spec.network.mode() != NetworkMode::Ipam {
        return None;
    }
    let balancers = i64::from(provider.spec.network.load_balancer_addresses(None));
    let (mut left, mut tenants) = (0_i64, 0_i64);
    for pool in observed.pools.iter().filter_map(|(_, pool)| pool.as_ref()) {
        let available = i64::from(pool.status.as_ref()?.available_ips?).max(0);
        let nodes = i64::from(pool.spec.tenant_allocation.defaults.count(AllocationType::Nodes));
        left += available;
        tenants += available / (nodes + balancers).max(1);
    }
    let shown = |count: i64| Some(i32::try_from(count).unwrap_or(i32::MAX));
    Some(ProviderCapacity { available_ips: shown(left), estimated_tenants: shown(tenants) })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use butler_api::NetworkPool;
    use serde_json::{Value, json};

    use super::*;

    fn provider(spec: Value) -> ProviderConfig {
        serde_json::from_value(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ProviderConfig",
            "metadata": { "name": "p", "namespace": "butler-system" }, "spec": spec,
        }))
        .unwrap()
    }

    fn keys(names: &[&str]) -> Observed {
        let keys = names.iter().map(|name| (*name).to_owned()).collect();
        Observed { credentials: Some(Credentials::Keys(keys)), ..Observed::default() }
    }

    fn said(result: Result<Need, Problem>) -> String {
        match result {
            Ok(need) => format!("{need:?}"),
            Err(problem) => format!("{}: {}", problem.reason, problem.message),
        }
    }

    fn of(kind: &str, names: &[&str]) -> String {
        let provider = provider(json!({ "provider": kind, "credentialsRef": { "name": "c" } }));
        said(plan(&provider, &keys(names)).credentials)
    }

    #[test]
    fn every_provider_has_its_keys() {
        let table: [(&str, &[&str]); 8] = [
            ("harvester", &["kubeconfig"]),
            ("nutanix", &["username", "password"]),
            ("proxmox", &["username", "password"]),
            ("proxmox", &["token"]),
            ("azure", &["clientID", "clientSecret", "tenantID"]),
            ("aws", &["accessKeyID", "secretAccessKey"]),
            ("gcp", &["serviceAccountKey"]),
            ("harvester", &["kubeconfig", "more"]),
        ];
        for (kind, names) in table {
            assert_eq!(of(kind, names), "Met", "{kind}");
            let one_less = &names[1..];
            let is_fine = kind == "harvester" && one_less.contains(&"kubeconfig");
            assert_eq!(of(kind, one_less).starts_with("CredentialsInvalid: "), !is_fine, "{kind}");
        }
        assert_eq!(
            said(plan(&provider(json!({ "provider": "local" })), &Observed::default()).credentials),
            "None"
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(
            of("proxmox", &["username"]),
            "CredentialsInvalid: spec.credentialsRef: the Secret `butler-system/c` has only `username`, but needs \
             `username` and `password`, or `token`"
        );
        let named =
            provider(json!({ "provider": "harvester", "credentialsRef": { "name": "c", "key": "edge" } }));
        assert_eq!(said(plan(&named, &keys(&["edge"])).credentials), "Met");
        assert_eq!(
            said(plan(&named, &keys(&["kubeconfig"])).credentials),
            "CredentialsInvalid: spec.credentialsRef: the Secret `butler-system/c` has only `kubeconfig`, but needs `edge`"
        );
        let absent = Observed { credentials: Some(Credentials::Absent), ..Observed::default() };
        assert_eq!(
            said(plan(&named, &absent).credentials),
            "CredentialsInvalid: spec.credentialsRef: there is no Secret `butler-system/c`; create it with `kubeconfig`"
        );
        let forbidden = Observed { credentials: Some(Credentials::Forbidden), ..Observed::default() };
        assert_eq!(
            said(plan(&named, &forbidden).credentials),
            "CredentialsInvalid: spec.credentialsRef: butler-reconciler may not read the Secret `butler-system/c`; let it: \
             `kubectl create role butler-reconciler-reads-c --namespace butler-system --verb get --resource secrets \
             --resource-name c` and `kubectl create rolebinding butler-reconciler-reads-c --namespace butler-system --role \
             butler-reconciler-reads-c --serviceaccount butler-system:butler-reconciler`"
        );
    }

    fn pool(name: &str, available: Option<i32>) -> (String, Option<Arc<NetworkPool>>) {
        let pool = json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "NetworkPool",
            "metadata": { "name": name, "namespace": "butler-system" }, "spec": { "cidr": "10.0.0.0/24" },
            "status": available.map(|count| json!({ "availableIPs": count })),
        });
        (name.to_owned(), Some(Arc::new(serde_json::from_value(pool).unwrap())))
    }

    #[test]
    fn pools_are_counted_where_addresses_come_from_them() {
        let cloud = provider(json!({ "provider": "local" }));
        let found = plan(&cloud, &Observed::default());
        assert_eq!((said(found.pools), found.capacity), ("None".to_owned(), None));

        let ipam = provider(json!({ "provider": "local", "network": { "mode": "ipam" } }));
        let with = |pools| plan(&ipam, &Observed { pools, ..Observed::default() });
        // 5 nodes and 8 load balancers each: 40 / 13 + 12 / 13.
        let found = with(vec![pool("a", Some(40)), pool("b", Some(12))]);
        let capacity = ProviderCapacity { available_ips: Some(52), estimated_tenants: Some(3) };
        assert_eq!((said(found.pools), found.capacity), ("Met".to_owned(), Some(capacity)));
        assert!(
            said(with(vec![pool("a", Some(0))]).pools)
                .starts_with("PoolExhausted: no address is left in `a`; ")
        );
        assert!(said(with(vec![pool("a", None)]).pools).starts_with("WaitingForDependencies: "));
        assert!(
            said(with(Vec::new()).pools)
                .starts_with("InvalidConfiguration: spec.network.poolRefs: mode `ipam`")
        );
        assert!(said(with(vec![("gone".to_owned(), None)]).pools).contains("there is no NetworkPool `gone`"));
        let most = with(vec![pool("a", Some(i32::MAX)), pool("b", Some(i32::MAX))]).capacity.unwrap();
        assert_eq!(most.available_ips, Some(i32::MAX));
    }
}

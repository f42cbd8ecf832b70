//! The rules, one file each. This table is all there is: nothing registers itself.
//!
//! A rule looks at one object and adds what it finds. It never stops at the first finding, never looks at what another
//! rule looks at, and knows nothing of what an update may keep ([`crate::ratchet`] does).

pub mod addon_definition;
pub mod addons;
pub mod butler_config;
mod case;
pub mod cluster_creation_policy;
pub mod control_plane;
pub mod creation_policy;
pub mod environment;
pub mod immutable_fields;
pub mod kubernetes_version;
pub mod name_length;
pub mod network;
pub mod network_pool;
pub mod os_version;
pub mod provider_access;
pub mod provider_config;
pub mod team;
pub mod tenancy_mode;
pub mod tenant_addon;
pub mod unsupported;
pub mod worker_size;

use std::collections::BTreeSet;

use butler_api::address::{AddressError, AddressFamily, Cidr};
use butler_api::quantity::Quantity;
use butler_api::reference::NsRef;
use butler_api::{
    AddonDefinition, ButlerConfig, ClusterCreationPolicy, NetworkPool, ProviderConfig, Team, TenantAddon,
    TenantCluster,
};

pub use self::case::{Case, Moment};
use crate::facts::{FactKind, Facts};
use crate::finding::Findings;
use crate::review::{Kind, Review};

/// A rule over objects of one kind.
#[derive(Debug)]
pub struct Rule<T: 'static> {
    /// The name of its file, in kebab-case: a metric label.
    pub id: &'static str,
    /// What it looks at.
    pub check: fn(&Case<'_, T>, &mut Findings),
}

/// A rule that keeps an object from being deleted while it is in use. It looks at the object's name only, so that an
/// object that makes no sense any more can always go once nobody uses it.
#[derive(Debug)]
pub struct Protection {
    /// The name of its file, in kebab-case: a metric label.
    pub id: &'static str,
    /// The kind that it protects.
    pub kind: Kind,
    /// The kinds that use it. If not all of them are known, nobody can say that it is not in use.
    pub users: &'static [FactKind],
    /// What it looks at.
    pub check: fn(&Review<'_>, &Facts, &mut Findings),
}

/// The rules for TenantClusters.
pub const TENANT_CLUSTER: &[Rule<TenantCluster>] = &[
    Rule { id: "name-length", check: name_length::check },
    TENANCY_MODE,
    Rule { id: "environment", check: environment::check },
    Rule { id: "kubernetes-version", check: kubernetes_version::check },
    Rule { id: "os-version", check: os_version::check },
    Rule { id: "worker-size", check: worker_size::check },
    Rule { id: "control-plane", check: control_plane::check },
    Rule { id: "network", check: network::check },
    Rule { id: "provider-access", check: provider_access::check },
    Rule { id: "creation-policy", check: creation_policy::check },
    Rule { id: "addons", check: addons::check },
    Rule { id: "immutable-fields", check: immutable_fields::check },
    Rule { id: "unsupported", check: unsupported::check },
];

/// The one of them that says where a cluster belongs.
pub const TENANCY_MODE: Rule<TenantCluster> = Rule { id: "tenancy-mode", check: tenancy_mode::check };

/// The rules for TenantAddons.
pub const TENANT_ADDON: &[Rule<TenantAddon>] = &[Rule { id: "tenant-addon", check: tenant_addon::check }];

/// The rules for Teams.
pub const TEAM: &[Rule<Team>] = &[Rule { id: "team", check: team::check }];

/// The rules for the ButlerConfig.
pub const BUTLER_CONFIG: &[Rule<ButlerConfig>] = &[Rule { id: "butler-config", check: butler_config::check }];

/// The rules for ProviderConfigs.
pub const PROVIDER_CONFIG: &[Rule<ProviderConfig>] =
    &[Rule { id: "provider-config", check: provider_config::check }];

/// The rules for NetworkPools.
pub const NETWORK_POOL: &[Rule<NetworkPool>] = &[Rule { id: "network-pool", check: network_pool::check }];

/// The rules for AddonDefinitions.
pub const ADDON_DEFINITION: &[Rule<AddonDefinition>] =
    &[Rule { id: "addon-definition", check: addon_definition::check }];

/// The rules for ClusterCreationPolicies.
pub const CLUSTER_CREATION_POLICY: &[Rule<ClusterCreationPolicy>] =
    &[Rule { id: "cluster-creation-policy", check: cluster_creation_policy::check }];

/// What may not be deleted while it is in use.
pub const PROTECTIONS: &[Protection] = &[
    Protection { id: "team", kind: Kind::Team, users: &[FactKind::Cluster], check: team::protect },
    Protection {
        id: "provider-config",
        kind: Kind::ProviderConfig,
        users: &[FactKind::Cluster, FactKind::Team, FactKind::Config],
        check: provider_config::protect,
    },
    Protection {
        id: "network-pool",
        kind: Kind::NetworkPool,
        users: &[FactKind::Allocation, FactKind::Provider],
        check: network_pool::protect,
    },
    Protection {
        id: "addon-definition",
        kind: Kind::AddonDefinition,
        users: &[FactKind::Addon, FactKind::Cluster, FactKind::Definition],
        check: addon_definition::protect,
    },
    Protection {
        id: "tenant-addon",
        kind: Kind::TenantAddon,
        users: &[FactKind::Addon],
        check: tenant_addon::protect,
    },
];

/// The name of an object.
pub(crate) fn name_of(metadata: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

/// Where an object is.
pub(crate) fn place_of(metadata: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> NsRef {
    let namespace = metadata.namespace.clone().unwrap_or_default();
    NsRef { name: name_of(metadata).to_owned(), namespace }
}

/// Every amount of a block that cannot be read or is below zero.
fn check_amounts(
    reason: &'static str,
    block: &str,
    amounts: &[(&str, &Option<Quantity>)],
    findings: &mut Findings,
) {
    for (field, quantity) in amounts {
        let Some(quantity) = quantity else { continue };
        let message = match quantity.amount() {
            Ok(amount) if amount.is_negative() => format!("`{quantity}` is below zero; write `0` or more"),
            Ok(_) => continue,
            Err(error) => error.to_string(),
        };
        findings.invalid(reason, format!("{block}.{field}"), message);
    }
}

/// A range in the one spelling that it has, so that whoever compares or looks for it finds it.
fn canonical_cidr(text: &str) -> Result<Cidr, String> {
    let cidr: Cidr = text.parse().map_err(|error: AddressError| error.to_string())?;
    // No two texts are read as the same IPv4 address.
    if cidr.family() == AddressFamily::V4 {
        return Ok(cidr);
    }
    let canonical = cidr.to_string();
    if canonical == text {
        Ok(cidr)
    } else {
        Err(format!("`{}` has a shorter spelling; write `{canonical}`", butler_api::excerpt::excerpt(text)))
    }
}

/// Values in backticks, joined by commas, each once.
pub(crate) fn listed<'a>(values: impl IntoIterator<Item = &'a str>) -> String {
    /// A message has to stay readable however long the list is.
    const SHOWN: usize = 12;
    let mut seen = BTreeSet::new();
    let mut values = values.into_iter().filter(|value| seen.insert(*value));
    let shown: Vec<String> = values
        .by_ref()
        .take(SHOWN)
        .map(|value| format!("`{}`", butler_api::excerpt::excerpt(value)))
        .collect();
    let more = values.count();
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// Objects as `namespace/name`, listed like other values.
fn places(of: &[NsRef]) -> String {
    let names: Vec<String> = of.iter().map(|at| format!("{}/{}", at.namespace, at.name)).collect();
    listed(names.iter().map(String::as_str))
}

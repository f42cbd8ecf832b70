//! The rules, one file each. This table is all there is: nothing registers itself.
//!
//! A rule looks at one object and adds what it finds. It never stops at the first finding, never looks at what another
//! rule looks at, and knows nothing of what an update may keep ([`crate::ratchet`] does).

pub mod addon_definition;
pub mod addons;
pub mod butler_config;
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

use butler_api::address::{AddressError, Cidr};
use butler_api::butler_config::{SupportedKubernetes, SupportedRange};
use butler_api::quantity::Quantity;
use butler_api::reference::NsRef;
use butler_api::{
    AddonDefinition, ButlerConfig, ButlerConfigSpec, ClusterCreationPolicy, NetworkPool, ProviderConfig,
    Team, TenantAddon, TenantCluster,
};

use crate::facts::{FactKey, FactKind, Facts, Lookup};
use crate::finding::Findings;
use crate::review::{Caller, Kind, Review};

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
    Rule { id: "tenancy-mode", check: tenancy_mode::check },
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

/// What a rule may look at.
#[derive(Debug)]
pub struct Case<'a, T> {
    /// The object as it is to be.
    pub object: &'a T,
    /// How it comes to be so.
    pub moment: Moment<'a, T>,
    /// Who asks; nobody when an object is judged as it stands.
    pub caller: Option<&'a Caller<'a>>,
    /// What is known.
    pub facts: &'a Facts,
}

/// How an object comes to be as it is.
#[derive(Debug)]
pub enum Moment<'a, T> {
    /// It is made.
    Create,
    /// It changes.
    Update {
        /// As it was.
        old: &'a T,
    },
    /// It is as it is: judged to see what an update may keep, or whether what slipped past the gate may be worked on.
    Standing,
}

impl<'a, T> Case<'a, T> {
    /// The object as it was, if it changes.
    pub fn old(&self) -> Option<&'a T> {
        match self.moment {
            Moment::Update { old } => Some(old),
            Moment::Create | Moment::Standing => None,
        }
    }

    /// Whether the object is being made.
    pub fn is_create(&self) -> bool {
        matches!(self.moment, Moment::Create)
    }

    /// The platform's settings, or the defaults of them.
    pub fn config(&self) -> Option<&'a ButlerConfigSpec> {
        self.facts.config_spec()
    }

    /// The minors that the hosted control plane runs.
    pub fn hosted(&self) -> SupportedRange {
        self.config().map_or_else(
            || SupportedKubernetes::default().range(),
            |config| config.supported_kubernetes.range(),
        )
    }

    /// Whether the caller is an administrator of the platform: by their User, by the group that Kubernetes lets do
    /// anything, or by the API server's authorization. A User that says otherwise is final.
    pub fn caller_is_administrator(&self) -> bool {
        let Some(caller) = self.caller else { return false };
        if caller.groups.iter().any(|group| group == "system:masters") {
            return true;
        }
        match self.facts.user(&caller.name) {
            Lookup::Found(user) => {
                !user.spec.disabled() && user.spec.platform_role() == butler_api::user::PlatformRole::Admin
            }
            Lookup::Absent => self.facts.is_authorized_administrator(&caller.name),
            // Their User may be disabled, and that would be final.
            Lookup::Unknown => false,
        }
    }

    /// The facts that [`Case::caller_is_administrator`] looked at.
    pub fn administrator_facts(&self) -> Vec<FactKey> {
        let caller = self.caller.map(|caller| caller.name.to_string()).unwrap_or_default();
        vec![FactKey::User(caller.to_lowercase()), FactKey::Administrator(caller)]
    }
}

impl<'a> Case<'a, TenantCluster> {
    /// The namespace of the cluster.
    pub fn namespace(&self) -> &'a str {
        self.object.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// The team that the cluster names.
    pub fn team_name(&self) -> Option<&'a str> {
        self.object.spec.team_ref.as_ref().map(|team| team.name.as_str()).filter(|name| !name.is_empty())
    }

    /// The team that the cluster names, if it is known. That it is not is for the rule `tenancy-mode` to say.
    pub fn team(&self) -> Option<&'a Team> {
        self.facts.team(self.team_name()?).found()
    }

    /// Whether that field of the cluster was left out and filled in, as the annotation says.
    pub fn was_filled_in(&self, path: &str) -> bool {
        let annotations = self.object.metadata.annotations.as_ref();
        let filled_in = annotations.and_then(|it| it.get(butler_api::labels::annotations::FILLED_IN));
        filled_in.is_some_and(|paths| paths.split(',').any(|filled| filled == path))
    }

    /// The ProviderConfig that the cluster uses, its own or a default.
    pub fn provider_ref(&self) -> Option<NsRef> {
        self.object.spec.provider(self.team().map(|team| &team.spec), self.config())
    }

    /// The ProviderConfig that the cluster uses, if it is known. That it is not is for the rule `provider-access` to
    /// say.
    pub fn provider(&self) -> Option<&'a ProviderConfig> {
        self.facts.provider(&self.provider_ref()?).found()
    }
}

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

//! What a TenantCluster leaves out, and where each value comes from:
//!
//! | field | from |
//! |---|---|
//! | `teamRef` | the team of the namespace, where the platform has teams |
//! | `providerConfigRef` | team, platform |
//! | `os.type`, `os.version` | what the provider boots first; the newest version known to work |
//! | `kubernetesVersion` | environment, team, platform, built-in: the first that the cluster may use; else the newest of the team's list |
//! | `workers.replicas`, `cpu`, `memory`, `diskSize` | environment, team (`clusterDefaults`, then `resourceLimits.default*`), platform, built-in |
//! | `networking.podCIDR`, `.serviceCIDR` | built-in |
//! | `controlPlane.replicas` | built-in |
//! | `controlPlane.serviceType` | the platform's exposure mode, so that changing that later moves no cluster |
//! | `addons.*` | blocks for default addons; versions from the platform, then the catalogue |
//! | `infrastructureOverride.*` | ClusterCreationPolicies with `default`, or with `pin`, which leaves no choice anyway |
//! | annotations `creator-email`, `owner` | the caller |
//!
//! A default that the cluster could not use is passed over, so that a user is told of their own mistakes only.

mod addons;
mod version;

use butler_api::butler_config::MultiTenancyMode;
use butler_api::cluster_creation_policy::OptionMode;
use butler_api::exposure::ServiceType;
use butler_api::labels::annotations;
use butler_api::operating_system::OsType;
use butler_api::provider_config::ProviderKind;
use butler_api::quantity::{Amount, Quantity};
use butler_api::reference::LocalRef;
use butler_api::team::ClusterDefaults;
use butler_api::tenant_cluster::workers::{
    DEFAULT_CPU, DEFAULT_DISK, DEFAULT_MEMORY, DEFAULT_REPLICAS, MachineTemplate,
};
use butler_api::tenant_cluster::{ControlPlane, Networking};
use butler_api::wire::given;
use butler_api::{ButlerConfigSpec, ProviderConfig, Team, TenantCluster, TenantClusterSpec};

use super::Completion;
use super::patch::Fills;
use crate::facts::{FactKey, Facts, Lookup};
use crate::review::{Change, Review};
use crate::rules::cluster_creation_policy::PROVIDERS;
use crate::rules::creation_policy::{self, OPTIONS};
use crate::rules::name_of;

pub(crate) fn complete(review: &Review<'_>, change: &Change<TenantCluster>, facts: &Facts) -> Completion {
    let (cluster, old) = match change {
        Change::Create(cluster) => (cluster, None),
        Change::Update { old, new } => (new, Some(old)),
        Change::Delete(_) => return Completion::default(),
    };
    let mut filler = Filler {
        facts,
        config: facts.config_spec(),
        old: old.map(|old| &old.spec),
        spec: &cluster.spec,
        fills: Fills::default(),
        missing: Vec::new(),
    };
    let namespace = cluster.metadata.namespace.as_deref().unwrap_or(&review.namespace);
    let team = filler.team(namespace);
    let provider = filler.provider(team);
    let environment = cluster.environment();
    let os = filler.operating_system(provider);
    filler.version(team, environment, os);
    filler.workers(team, environment);
    filler.networking();
    filler.control_plane();
    filler.exposure();
    filler.policies(team, environment, provider);
    let more_addons = addons::fill(&mut filler, team, environment, old.is_none());
    let Filler { mut fills, missing, .. } = filler;
    annotate(&mut fills, cluster, old, review, more_addons);
    Completion { patch: fills.into_patch(review.object), missing }
}

struct Filler<'a> {
    facts: &'a Facts,
    config: Option<&'a ButlerConfigSpec>,
    old: Option<&'a TenantClusterSpec>,
    spec: &'a TenantClusterSpec,
    fills: Fills,
    missing: Vec<FactKey>,
}

impl<'a> Filler<'a> {
    fn team(&mut self, namespace: &str) -> Option<&'a Team> {
        let named = self.spec.team_ref.as_ref().or(self.old.and_then(|old| old.team_ref.as_ref()));
        if let Some(LocalRef { name }) = named {
            if self.spec.team_ref.is_none() {
                self.fills.add("spec.teamRef.name", name.as_str());
            }
            return self.lookup_team(name);
        }
        let mode = self.config.map_or(MultiTenancyMode::DEFAULT, |config| config.multi_tenancy.mode());
        let is_default = self.config.is_some_and(|config| config.default_namespace() == namespace);
        // On an update nothing is inferred: a cluster without a team stays one until somebody says otherwise.
        if mode == MultiTenancyMode::Disabled || is_default || self.old.is_some() {
            self.look_for_config();
            return None;
        }
        match self.facts.team_of_namespace(namespace) {
            Lookup::Found(team) => {
                self.fills.add("spec.teamRef.name", name_of(&team.metadata));
                Some(team)
            }
            Lookup::Absent | Lookup::Unknown => {
                self.missing.push(FactKey::Team(namespace.to_owned()));
                None
            }
        }
    }

    /// Something was not filled in, which a ButlerConfig that came in the same file may change.
    fn look_for_config(&mut self) {
        if self.config.is_none() && self.old.is_none() {
            self.missing.push(FactKey::Config);
        }
    }

    fn lookup_team(&mut self, name: &str) -> Option<&'a Team> {
        let team = self.facts.team(name).found();
        if team.is_none() {
            self.missing.push(FactKey::Team(name.to_owned()));
        }
        team
    }

    fn provider(&mut self, team: Option<&Team>) -> Option<&'a ProviderConfig> {
        let own = self.spec.provider_config_ref.as_ref();
        let kept = self.old.and_then(|old| old.provider_config_ref.as_ref());
        let at = match (own, kept) {
            (Some(own), _) => own.resolve(),
            (None, Some(kept)) => kept.resolve(),
            (None, None) => match self.spec.provider(team.map(|team| &team.spec), self.config) {
                Some(default) => default,
                None => {
                    self.look_for_config();
                    return None;
                }
            },
        };
        if own.is_none() {
            self.fills.add("spec.providerConfigRef.name", at.name.as_str());
            self.fills.add("spec.providerConfigRef.namespace", at.namespace.as_str());
        }
        let provider = self.facts.provider(&at).found();
        if provider.is_none() {
            self.missing.push(FactKey::Provider(at));
        }
        provider
    }

    fn template(spec: Option<&'a TenantClusterSpec>) -> Option<&'a MachineTemplate> {
        spec?.workers.as_ref().map(|workers| &workers.machine_template)
    }

    fn operating_system(&mut self, provider: Option<&ProviderConfig>) -> OsType {
        const VERSION: &str = "spec.workers.machineTemplate.os.version";
        let os = |spec| Self::template(spec).map(|template| &template.os);
        let (own, kept) = (os(Some(self.spec)), os(self.old));
        let preferred = || provider.and_then(|it| it.spec.provider.operating_systems().first().copied());
        let kept_type = kept.map(|os| os.r#type.unwrap_or_default());
        let chosen =
            own.and_then(|os| os.r#type).unwrap_or_else(|| kept_type.or_else(preferred).unwrap_or_default());
        if own.and_then(|os| os.r#type).is_none() {
            self.fills.add("spec.workers.machineTemplate.os.type", chosen.as_str());
        }
        // An image beats the version; writing one beside it would only mislead.
        let has_image = own.is_some_and(|os| os.image_ref().is_some());
        if own.and_then(|os| os.version()).is_none() && !has_image {
            let kept = kept.filter(|os| os.r#type.unwrap_or_default() == chosen).and_then(|os| os.version());
            let talos =
                own.and_then(|os| given(&os.talos.as_ref()?.version)).filter(|_| chosen == OsType::Talos);
            self.fills.add(VERSION, kept.or(talos).unwrap_or(chosen.operating_system().default_version));
        }
        chosen
    }

    fn version(&mut self, team: Option<&Team>, environment: Option<&str>, os: OsType) {
        if self.spec.kubernetes_version().is_some() {
            return;
        }
        let kept = self.old.and_then(|old| old.kubernetes_version()).map(str::to_owned);
        if let Some(version) = kept.or_else(|| version::choose(team, environment, self.config, os)) {
            self.fills.add("spec.kubernetesVersion", version);
        }
    }

    fn workers(&mut self, team: Option<&Team>, environment: Option<&str>) {
        let near = team.map(|team| team.spec.cluster_defaults(environment)).unwrap_or_default();
        let far = self.config.map(|config| config.cluster_defaults.clone()).unwrap_or_default();
        let limits = team.and_then(|team| team.spec.resource_limits.as_ref());
        if self.spec.replicas().is_none() {
            let kept = self.old.and_then(TenantClusterSpec::replicas);
            let of_team = limits.and_then(|limits| limits.default_node_count).filter(|count| *count > 0);
            let most =
                limits.and_then(|limits| limits.max_nodes_per_cluster).map_or(i32::MAX, |most| most.max(1));
            let default =
                near.worker_count().or(of_team).or(far.worker_count()).unwrap_or(DEFAULT_REPLICAS).min(most);
            self.fills.add("spec.workers.replicas", kept.unwrap_or(default));
        }
        let (own, kept) = (Self::template(Some(self.spec)), Self::template(self.old));
        if own.and_then(|template| template.cpu).is_none() {
            let of_team = limits.and_then(|limits| cores(limits.default_cpu_per_node.as_ref()?));
            let default = near.worker_cpu.or(of_team).or(far.worker_cpu).unwrap_or(DEFAULT_CPU).max(1);
            self.fills.add("spec.workers.machineTemplate.cpu", kept.and_then(|it| it.cpu).unwrap_or(default));
        }
        if own.and_then(MachineTemplate::memory).is_none() {
            let of_team = limits.and_then(|limits| at_least_a_gib(limits.default_memory_per_node.as_ref()?));
            let default = gi(near.worker_memory_gi, 1)
                .or(of_team)
                .or(gi(far.worker_memory_gi, 1))
                .unwrap_or_else(|| DEFAULT_MEMORY.to_owned());
            let kept = kept.and_then(MachineTemplate::memory).map(|memory| memory.as_str().to_owned());
            self.fills.add("spec.workers.machineTemplate.memory", kept.unwrap_or(default));
        }
        if own.and_then(MachineTemplate::disk_size).is_none() {
            let default = gi(near.worker_disk_gi, 10)
                .or(gi(far.worker_disk_gi, 10))
                .unwrap_or_else(|| DEFAULT_DISK.to_owned());
            let kept = kept.and_then(MachineTemplate::disk_size).map(|disk| disk.as_str().to_owned());
            self.fills.add("spec.workers.machineTemplate.diskSize", kept.unwrap_or(default));
        }
    }

    fn networking(&mut self) {
        let (own, kept) = (&self.spec.networking, self.old.map(|old| &old.networking));
        if given(&own.pod_cidr).is_none() {
            let kept = kept.map_or(Networking::DEFAULT_POD_CIDR, Networking::pod_cidr);
            self.fills.add("spec.networking.podCIDR", kept);
        }
        if given(&own.service_cidr).is_none() {
            let kept = kept.map_or(Networking::DEFAULT_SERVICE_CIDR, Networking::service_cidr);
            self.fills.add("spec.networking.serviceCIDR", kept);
        }
    }

    fn control_plane(&mut self) {
        if self.spec.control_plane.replicas.is_none() {
            let kept = self.old.and_then(|old| old.control_plane.replicas);
            self.fills.add("spec.controlPlane.replicas", kept.unwrap_or(ControlPlane::DEFAULT_REPLICAS));
        }
    }

    fn exposure(&mut self) {
        if self.spec.control_plane.service_type.is_some() {
            return;
        }
        let kept = self.old.and_then(|old| old.control_plane.service_type);
        let chosen = kept.unwrap_or_else(|| self.spec.control_plane.service_type(self.config));
        let text = match chosen {
            ServiceType::LoadBalancer => "LoadBalancer",
            ServiceType::NodePort => "NodePort",
            ServiceType::ClusterIP => "ClusterIP",
            ServiceType::Ingress => "Ingress",
            ServiceType::Gateway => "Gateway",
        };
        self.fills.add("spec.controlPlane.serviceType", text);
    }

    fn policies(
        &mut self,
        team: Option<&Team>,
        environment: Option<&str>,
        provider: Option<&ProviderConfig>,
    ) {
        if let Some(old) = self.old {
            return self.keep_overrides(old);
        }
        let Some(kind) = provider.map(|provider| provider.spec.provider) else { return };
        let team = team.map(|team| name_of(&team.metadata));
        for option in OPTIONS {
            let Some(path) = creation_policy::path_of(kind, option) else { continue };
            if self.settles(kind, option) {
                continue;
            }
            let settled = creation_policy::counting(self.facts, team, environment, kind, option);
            let settled = settled.and_then(|(_, policy)| match (policy.mode, policy.values.as_slice()) {
                (OptionMode::Pin, [only]) => Some(only.as_str()),
                (OptionMode::Default, _) => given(&policy.default),
                _ => None,
            });
            if let Some(value) = settled {
                self.fills.add(path, value);
            }
        }
    }

    /// An existing cluster keeps its values, and its having none: a new image would replace its machines. That its
    /// provider may be gone by now changes nothing about it.
    fn keep_overrides(&mut self, old: &TenantClusterSpec) {
        for kind in PROVIDERS {
            for option in OPTIONS.into_iter().filter(|option| !self.settles(kind, option)).collect::<Vec<_>>()
            {
                let kept = creation_policy::override_of(old, kind, option);
                if let (Some(path), Some(value)) = (creation_policy::path_of(kind, option), kept) {
                    self.fills.add(path, value);
                }
            }
        }
    }

    /// Whether the cluster says itself what it wants for an option.
    fn settles(&self, kind: ProviderKind, option: &str) -> bool {
        let image_elsewhere = option == "image"
            && Self::template(Some(self.spec)).is_some_and(|it| it.os.image_ref().is_some());
        image_elsewhere || creation_policy::override_of(self.spec, kind, option).is_some()
    }
}

/// Whole cores, rounded up: half a core cannot be had.
fn cores(quantity: &Quantity) -> Option<i32> {
    i32::try_from(quantity.amount().ok()?.ceil_units()).ok().filter(|cores| *cores > 0)
}

fn at_least_a_gib(quantity: &Quantity) -> Option<String> {
    let amount = quantity.amount().ok()?;
    let usable = amount >= Amount::from_units(1 << 30) && amount.to_units_exact().is_some();
    usable.then(|| quantity.as_str().to_owned())
}

fn gi(count: Option<i32>, least: i32) -> Option<String> {
    count.filter(|count| *count >= least).map(|count| format!("{count}Gi"))
}

/// The annotations of a cluster: who made it, what was filled in, and which default addons it gets besides its blocks.
fn annotate(
    fills: &mut Fills,
    cluster: &TenantCluster,
    old: Option<&TenantCluster>,
    review: &Review<'_>,
    more_addons: Vec<String>,
) {
    let of = |cluster: &TenantCluster, key: &str| {
        cluster.metadata.annotations.as_ref().and_then(|annotations| annotations.get(key).cloned())
    };
    let mut keep_or = |key: &'static str, fresh: Option<String>| {
        let present = of(cluster, key).filter(|text| !text.is_empty());
        let value = old.map_or(fresh, |old| of(old, key));
        if let (None, Some(value)) = (present, value.filter(|text| !text.is_empty())) {
            fills.annotate(key, value);
        }
    };
    let caller = Some(review.caller.name.to_string());
    let creator = of(cluster, annotations::CREATOR_EMAIL).filter(|text| !text.is_empty()).or(caller);
    keep_or(annotations::CREATOR_EMAIL, creator.clone());
    keep_or(annotations::OWNER, creator);
    keep_or(annotations::DEFAULT_ADDONS, Some(more_addons.join(",")));
    let filled: Vec<&str> = fills.spec_paths().collect();
    let before = old.and_then(|old| of(old, annotations::FILLED_IN));
    let present = of(cluster, annotations::FILLED_IN);
    match (old, present, before) {
        (None, None, _) if !filled.is_empty() => fills.annotate(annotations::FILLED_IN, filled.join(",")),
        (Some(_), None, Some(before)) => fills.annotate(annotations::FILLED_IN, before),
        _ => {}
    }
}

/// The defaults of a cluster's team and environment, and those of the platform.
fn defaults_in_order<'a>(
    team: Option<&Team>,
    environment: Option<&str>,
    config: Option<&'a ButlerConfigSpec>,
) -> (ClusterDefaults, Option<&'a ClusterDefaults>) {
    let near = team.map(|team| team.spec.cluster_defaults(environment)).unwrap_or_default();
    (near, config.map(|config| &config.cluster_defaults))
}

#[cfg(test)]
mod tests;

//! The built-in rules: what each is about, in one sentence.

use std::collections::BTreeMap;

use butler_policies::review::Kind;
use butler_policies::rules;

use super::object::{Policy, PolicySpec, PolicyStatus, Source};

/// Each rule with the sentence that its file opens with.
const SUMMARIES: &[(&str, &str)] = &[
    ("addon-definition", "An entry of the catalogue can be installed, and does not vanish while it is."),
    ("addons", "The addons of a cluster are ones that exist and that its team may have."),
    ("butler-config", "The platform's settings are one object, named `butler`, that can be read."),
    (
        "cluster-creation-policy",
        "A ClusterCreationPolicy settles options that exist, for somebody who exists, and nobody settles them twice.",
    ),
    ("control-plane", "The hosted control plane is one that can be built and reached."),
    ("creation-policy", "A cluster keeps to the ClusterCreationPolicies that count for it."),
    ("environment", "A cluster is in an environment of its team, and its creator is who they say."),
    ("immutable-fields", "What a cluster is built on cannot change under it."),
    (
        "kubernetes-version",
        "A cluster runs a Kubernetes release that its team may use and the hosted control plane accepts.",
    ),
    ("name-length", "A cluster's name must leave room for the names that are made from it."),
    ("network", "The address ranges of a cluster are well formed, apart from each other, and large enough."),
    (
        "network-pool",
        "A NetworkPool is a range of its own, divided without holes in the logic, and never taken from under its users.",
    ),
    ("os-version", "Workers run an operating system that suits their provider and their Kubernetes release."),
    ("provider-access", "A cluster runs on a provider that exists, works and is open to its team."),
    (
        "provider-config",
        "A ProviderConfig has what its provider needs, and is not taken from under its clusters.",
    ),
    ("quota", "What a team, an environment, a member or a provider uses stays within its limits."),
    ("team", "A Team takes nothing that is not its own, and nobody gives themselves more than they have."),
    ("tenancy-mode", "A cluster belongs where the platform's tenancy mode says."),
    ("tenant-addon", "A TenantAddon installs one chart once, into a cluster that exists."),
    ("unsupported", "What this release cannot honour is refused, and not stored and ignored."),
    ("worker-size", "Worker machines have a size that can exist."),
];

/// One object for each rule.
pub(super) fn all() -> Vec<Policy> {
    let all = about().into_iter();
    all.map(|(id, (kinds, is_protection))| {
        let mut operations = vec!["CREATE".to_owned(), "UPDATE".to_owned()];
        operations.extend(is_protection.then(|| "DELETE".to_owned()));
        let spec = PolicySpec {
            kind: "Rule",
            summary: summary(id).to_owned(),
            kinds: kinds.iter().map(|kind| kind.as_str().to_owned()).collect(),
            operations,
            actions: vec!["Deny".to_owned()],
            source: Source {
                built_in: concat!("butler-webhook ", env!("CARGO_PKG_VERSION")).to_owned(),
                ..Source::default()
            },
            ..PolicySpec::default()
        };
        Policy::new(format!("rule.{id}"), spec, PolicyStatus::default())
    })
    .collect()
}

fn summary(id: &str) -> &'static str {
    let found = SUMMARIES.iter().find(|(own, _)| *own == id);
    found.map_or("", |(_, summary)| summary)
}

/// The kinds that each rule is about, and whether it keeps them from being deleted while they are in use.
fn about() -> BTreeMap<&'static str, (Vec<Kind>, bool)> {
    let mut about: BTreeMap<&'static str, (Vec<Kind>, bool)> = BTreeMap::new();
    let mut add = |id, kind| about.entry(id).or_default().0.push(kind);
    macro_rules! add {
        ($($table:ident $kind:ident),* $(,)?) => {
            $(rules::$table.iter().for_each(|rule| add(rule.id, Kind::$kind));)*
        };
    }
    add!(
        TENANT_CLUSTER TenantCluster,
        TENANT_ADDON TenantAddon,
        TEAM Team,
        BUTLER_CONFIG ButlerConfig,
        PROVIDER_CONFIG ProviderConfig,
        NETWORK_POOL NetworkPool,
        ADDON_DEFINITION AddonDefinition,
        CLUSTER_CREATION_POLICY ClusterCreationPolicy,
    );
    // In no table, because it is asked of the team's ledger and not of the object alone.
    add("quota", Kind::TenantCluster);
    for protection in rules::PROTECTIONS {
        about.entry(protection.id).or_insert_with(|| (vec![protection.kind], true)).1 = true;
    }
    about
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_its_sentence_and_every_sentence_its_rule() {
        let known: Vec<&str> = about().into_keys().collect();
        let told: Vec<&str> = SUMMARIES.iter().map(|(id, _)| *id).collect();
        assert_eq!(known, told);
    }

    #[test]
    fn a_rule_that_protects_is_asked_about_deletions() {
        let all = all();
        let operations = |name: &str| {
            let policy = all.iter().find(|policy| policy.metadata.name.as_deref() == Some(name)).unwrap();
            policy.spec.operations.join(",")
        };
        assert_eq!(operations("rule.team"), "CREATE,UPDATE,DELETE");
        assert_eq!(operations("rule.network"), "CREATE,UPDATE");
    }
}

//! A cluster keeps to the ClusterCreationPolicies that count for it.
//!
//! Fields: `spec.infrastructureOverride.<provider>.*`, `spec.workers.machineTemplate.os.imageRef` (which must not disagree with
//! the override), `.schematicID` (where an image is settled, only one that is settled as well). For each option the
//! narrowest policy counts alone: team and environment, then team, then platform. `pin` and `allowList` are enforced on the
//! value that is *in effect*: the override, else (for images) `os.imageRef`, else the ProviderConfig's own. So leaving a field
//! out, writing the image elsewhere, or naming no provider gets nobody around a policy.

use std::borrow::Cow;

use butler_api::cluster_creation_policy::{ClusterCreationPolicySpec, OptionMode, OptionPolicy};
use butler_api::excerpt::excerpt;
use butler_api::provider_config::{ProviderConfigSpec, ProviderKind};
use butler_api::wire::given;
use butler_api::{TenantCluster, TenantClusterSpec};

use super::{Case, listed, name_of};
use crate::facts::{FactKey, FactKind, Facts};
use crate::finding::{Fault, Finding, Findings};

/// The value in effect is none that the policy lets through.
const NOT_LET_THROUGH: &str = "NotLetThrough";
/// No value is in effect although the policy settles one.
const VALUE_REQUIRED: &str = "ValueRequired";

/// Two places say something else.
const CONTRADICTION: &str = "Contradiction";

const IMAGE_REF: &str = "spec.workers.machineTemplate.os.imageRef";

/// The options that policies settle.
pub(crate) const OPTIONS: [&str; 4] = ["image", "network", "cluster", "storageContainer"];

/// Where an option is written, by provider. None: the provider has no such option.
pub(crate) fn path_of(provider: ProviderKind, option: &str) -> Option<&'static str> {
    Some(match (provider, option) {
        (ProviderKind::Harvester, "image") => "spec.infrastructureOverride.harvester.imageName",
        (ProviderKind::Harvester, "network") => "spec.infrastructureOverride.harvester.networkName",
        (ProviderKind::Nutanix, "image") => "spec.infrastructureOverride.nutanix.imageUUID",
        (ProviderKind::Nutanix, "network") => "spec.infrastructureOverride.nutanix.subnetUUID",
        (ProviderKind::Nutanix, "cluster") => "spec.infrastructureOverride.nutanix.clusterUUID",
        (ProviderKind::Nutanix, "storageContainer") => {
            "spec.infrastructureOverride.nutanix.storageContainerUUID"
        }
        (ProviderKind::Gcp, "image") => "spec.infrastructureOverride.gcp.image",
        (ProviderKind::Gcp, "network") => "spec.infrastructureOverride.gcp.subnetwork",
        (ProviderKind::Proxmox, "cluster") => "spec.infrastructureOverride.proxmox.node",
        (ProviderKind::Proxmox, "storageContainer") => "spec.infrastructureOverride.proxmox.storage",
        _ => return None,
    })
}

/// What the cluster itself writes for an option.
pub(crate) fn override_of<'a>(
    spec: &'a TenantClusterSpec,
    provider: ProviderKind,
    option: &str,
) -> Option<&'a str> {
    let overrides = &spec.infrastructure_override;
    let field = match (provider, option) {
        (ProviderKind::Harvester, "image") => &overrides.harvester.as_ref()?.image_name,
        (ProviderKind::Harvester, "network") => &overrides.harvester.as_ref()?.network_name,
        (ProviderKind::Nutanix, "image") => &overrides.nutanix.as_ref()?.image_uuid,
        (ProviderKind::Nutanix, "network") => &overrides.nutanix.as_ref()?.subnet_uuid,
        (ProviderKind::Nutanix, "cluster") => &overrides.nutanix.as_ref()?.cluster_uuid,
        (ProviderKind::Nutanix, "storageContainer") => &overrides.nutanix.as_ref()?.storage_container_uuid,
        (ProviderKind::Gcp, "image") => &overrides.gcp.as_ref()?.image,
        (ProviderKind::Gcp, "network") => &overrides.gcp.as_ref()?.subnetwork,
        (ProviderKind::Proxmox, "cluster") => &overrides.proxmox.as_ref()?.node,
        (ProviderKind::Proxmox, "storageContainer") => &overrides.proxmox.as_ref()?.storage,
        _ => return None,
    };
    given(field)
}

/// What the ProviderConfig has for an option.
fn default_of<'a>(provider: &'a ProviderConfigSpec, option: &str) -> Option<&'a str> {
    match (provider.provider, option) {
        (ProviderKind::Harvester, "image") => given(&provider.harvester.as_ref()?.image_name),
        (ProviderKind::Harvester, "network") => Some(provider.harvester.as_ref()?.network_name.as_str()),
        (ProviderKind::Nutanix, "image") => given(&provider.nutanix.as_ref()?.image_uuid),
        (ProviderKind::Nutanix, "network") => Some(provider.nutanix.as_ref()?.subnet_uuid.as_str()),
        (ProviderKind::Nutanix, "cluster") => Some(provider.nutanix.as_ref()?.cluster_uuid.as_str()),
        (ProviderKind::Nutanix, "storageContainer") => {
            given(&provider.nutanix.as_ref()?.storage_container_uuid)
        }
        (ProviderKind::Gcp, "image") => given(&provider.gcp.as_ref()?.image),
        (ProviderKind::Gcp, "network") => given(&provider.gcp.as_ref()?.subnetwork),
        (ProviderKind::Proxmox, "cluster") => match provider.proxmox.as_ref()?.nodes.as_slice() {
            [only] => Some(only.as_str()),
            _ => None,
        },
        (ProviderKind::Proxmox, "storageContainer") => Some(provider.proxmox.as_ref()?.storage.as_str()),
        _ => None,
    }
}

/// The policy that counts for an option, with its name: the narrowest one.
pub(crate) fn counting<'a>(
    facts: &'a Facts,
    team: Option<&str>,
    environment: Option<&str>,
    provider: ProviderKind,
    option: &str,
) -> Option<(&'a str, &'a OptionPolicy)> {
    let matching = facts.creation_policies().filter_map(|policy| {
        let rank = rank(&policy.spec, team, environment)?;
        let settled = policy.spec.options.get(option).filter(|_| policy.spec.targets(provider))?;
        Some((rank, name_of(&policy.metadata), settled))
    });
    // Of two policies with the same scope, which admission refuses but a race may let in, the first by name counts:
    // the same one on every replica.
    let narrowest = matching.min_by(|one, other| (one.0, one.1).cmp(&(other.0, other.1)))?;
    Some((narrowest.1, narrowest.2))
}

/// Whether a narrower policy, if there is one, may let through what this finding denies.
pub(crate) fn may_be_lifted(finding: &Finding) -> bool {
    finding.denies()
        && finding.rule == "creation-policy"
        && matches!(finding.reason, NOT_LET_THROUGH | VALUE_REQUIRED)
}

/// How narrow the policy's scope is, the narrowest first; none if it does not count for the cluster.
fn rank(policy: &ClusterCreationPolicySpec, team: Option<&str>, environment: Option<&str>) -> Option<u8> {
    let scope = &policy.scope;
    if let Some(narrow) = &scope.team_and_environment {
        let counts = Some(narrow.team_ref.name.as_str()) == team
            && Some(narrow.environment_name.as_str()) == environment;
        return counts.then_some(0);
    }
    if let Some(narrow) = &scope.team {
        return (Some(narrow.team_ref.name.as_str()) == team).then_some(1);
    }
    scope.platform_wide.is_some().then_some(2)
}

pub(super) fn check(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    let Some(provider) = case.provider() else { return };
    let kind = provider.spec.provider;
    if !case.facts.knows_all(FactKind::CreationPolicy) {
        findings.unknown_kind("spec.infrastructureOverride", FactKind::CreationPolicy);
    }
    check_agreement(&case.object.spec, kind, findings);
    for option in OPTIONS {
        let Some(path) = path_of(kind, option) else { continue };
        let counting = counting(case.facts, case.team_name(), case.object.environment(), kind, option);
        let Some((name, policy)) = counting else { continue };
        if !matches!(policy.mode, OptionMode::Pin | OptionMode::AllowList) || policy.values.is_empty() {
            continue;
        }
        if option == "image" {
            check_schematic(case, name, policy, findings);
        }
        let (path, value, is_own) = in_effect(case, &provider.spec, option, path);
        // A default may be of a policy as it was when defaults were filled in, a moment ago or on another replica.
        let was_filled_in = is_own && case.is_create() && case.was_filled_in(&path);
        let (origin, advice) = if was_filled_in {
            (", which was filled in,".to_owned(), "try again, or choose ")
        } else if is_own {
            (String::new(), "choose ")
        } else {
            (format!(", which the ProviderConfig `{}` has,", name_of(&provider.metadata)), "choose ")
        };
        let allowed = listed(policy.values.iter().map(String::as_str));
        let finding = match value {
            Some(value) if policy.values.iter().any(|allowed| allowed == value) => continue,
            Some(value) => Finding::deny(
                Fault::Forbidden,
                NOT_LET_THROUGH,
                path,
                format!(
                    "`{}`{origin} is not let through by the ClusterCreationPolicy `{name}`; {advice}{}{allowed}",
                    excerpt(value),
                    if policy.values.len() == 1 { "" } else { "one of " }
                ),
            ),
            None => Finding::deny(
                Fault::Required,
                VALUE_REQUIRED,
                path,
                format!("the ClusterCreationPolicy `{name}` settles it; choose one of {allowed}"),
            ),
        };
        let finding = finding.resting_on(FactKey::CreationPolicy(name.to_owned()));
        let provider = case.provider_fact().filter(|_| !is_own);
        findings.add(provider.into_iter().fold(finding, Finding::resting_on));
    }
}

/// Two places say which image to boot; nobody should have to know which of them wins.
fn check_agreement(spec: &TenantClusterSpec, kind: ProviderKind, findings: &mut Findings) {
    let os = spec.workers.as_ref().map(|workers| &workers.machine_template.os);
    let image = os.and_then(|os| os.image_ref());
    if let (Some(path), Some(own), Some(image)) =
        (path_of(kind, "image"), override_of(spec, kind, "image"), image)
        && own != image
    {
        let message = format!("says something else than `{IMAGE_REF}`; remove one of the two");
        findings.invalid(CONTRADICTION, path, message);
    }
}

/// A schematic has another image built, which is as good as naming it. The platform's own schematic is nobody's choice.
fn check_schematic(
    case: &Case<'_, TenantCluster>,
    name: &str,
    policy: &OptionPolicy,
    findings: &mut Findings,
) {
    let os = case.object.spec.workers.as_ref().map(|workers| &workers.machine_template.os);
    let Some(own) = os.and_then(|os| given(&os.schematic_id)) else { return };
    let factory = case.config().and_then(|config| config.image_factory.as_ref());
    let platforms = factory.and_then(|factory| given(&factory.default_schematic_id));
    if platforms == Some(own) || policy.values.iter().any(|allowed| allowed == own) {
        return;
    }
    let message = format!(
        "`{}` has another image built, which the ClusterCreationPolicy `{name}` does not let through; remove it",
        excerpt(own)
    );
    findings.add(
        Finding::deny(
            Fault::Forbidden,
            NOT_LET_THROUGH,
            "spec.workers.machineTemplate.os.schematicID",
            message,
        )
        .resting_on(FactKey::CreationPolicy(name.to_owned()))
        .resting_on(FactKey::Config),
    );
}

/// The field to name in a message, the value in effect, and whether the cluster itself says it.
fn in_effect<'a>(
    case: &Case<'a, TenantCluster>,
    provider: &'a ProviderConfigSpec,
    option: &str,
    path: &'static str,
) -> (Cow<'static, str>, Option<&'a str>, bool) {
    let spec = &case.object.spec;
    if let Some(value) = override_of(spec, provider.provider, option) {
        return (path.into(), Some(value), true);
    }
    let image = spec.workers.as_ref().and_then(|workers| workers.machine_template.os.image_ref());
    if let Some(image) = image.filter(|_| option == "image") {
        return (IMAGE_REF.into(), Some(image), true);
    }
    (path.into(), default_of(provider, option), false)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::fixtures::*;

    const HARVESTER: &str = "spec.infrastructureOverride.harvester";

    fn found(policies: &[Value], tweak: Value) -> Vec<String> {
        on_create(check, &cluster(tweak), &facts_with(policies))
    }

    fn image(image: &str) -> Value {
        json!({"spec": {"infrastructureOverride": {"harvester": {"imageName": image}}}})
    }

    #[test]
    fn a_pin_counts_for_the_value_in_effect() {
        let pin = [creation_policy(json!({}))];
        assert_eq!(found(&pin, json!({})), [""; 0]);
        assert_eq!(found(&pin, image("default/talos")), [""; 0]);
        assert_eq!(
            found(&pin, image("default/other")),
            [format!(
                "{HARVESTER}.imageName: `default/other` is not let through by the ClusterCreationPolicy `images`; choose \
                 `default/talos`"
            )]
        );
        let other =
            [creation_policy(json!({"spec": {"options": {"image": {"values": ["default/approved"]}}}}))];
        assert_eq!(
            found(&other, json!({})),
            [format!(
                "{HARVESTER}.imageName: `default/talos`, which the ProviderConfig `harvester-a` has, is not let through by the \
                 ClusterCreationPolicy `images`; choose `default/approved`"
            )]
        );
        assert_eq!(
            found(
                &pin,
                json!({"spec": {"workers": {"machineTemplate": {"os": {"imageRef": "default/sneaky"}}}}})
            ),
            [
                "spec.workers.machineTemplate.os.imageRef: `default/sneaky` is not let through by the ClusterCreationPolicy \
              `images`; choose `default/talos`"
            ]
        );
    }

    /// The pin has changed between the two stages of a review: the user chose nothing, so they are not told to choose.
    #[test]
    fn a_value_that_was_filled_in_may_be_of_yesterday() {
        let now = [creation_policy(json!({"spec": {"options": {"image": {"values": ["default/now"]}}}}))];
        let mut filled = image("default/talos");
        filled["metadata"]["annotations"]["butler.butlerlabs.dev/filled-in"] =
            json!("spec.kubernetesVersion,spec.infrastructureOverride.harvester.imageName");
        assert_eq!(
            found(&now, filled),
            [format!(
                "{HARVESTER}.imageName: `default/talos`, which was filled in, is not let through by the ClusterCreationPolicy \
                 `images`; try again, or choose `default/now`"
            )]
        );
    }

    #[test]
    fn a_schematic_is_an_image_of_another_name() {
        let with = |schematic: &str| json!({"spec": {"workers": {"machineTemplate": {"os": {"schematicID": schematic}}}}});
        let pin = creation_policy(json!({}));
        assert_eq!(
            found(std::slice::from_ref(&pin), with("3765")),
            [
                "spec.workers.machineTemplate.os.schematicID: `3765` has another image built, which the ClusterCreationPolicy \
              `images` does not let through; remove it"
            ]
        );
        assert_eq!(found(&[], with("3765")), [""; 0]);
        let named = creation_policy(
            json!({"spec": {"options": {"image": {"mode": "allowList", "values": ["default/talos", "3765"]}}}}),
        );
        assert_eq!(found(&[named], with("3765")), [""; 0]);
        let platforms = config(
            json!({"spec": {"imageFactory": {"url": "https://f.example.org", "defaultSchematicID": "3765"}}}),
        );
        assert_eq!(found(&[pin, platforms], with("3765")), [""; 0]);
    }

    #[test]
    fn two_places_do_not_name_two_images() {
        let both = |image: &str| {
            let mut both = self::image("default/talos");
            both["spec"]["workers"] = json!({"machineTemplate": {"os": {"imageRef": image}}});
            both
        };
        assert_eq!(found(&[], both("default/talos")), [""; 0]);
        assert_eq!(
            found(&[], both("default/other")),
            [format!(
                "{HARVESTER}.imageName: says something else than `spec.workers.machineTemplate.os.imageRef`; remove one of the two"
            )]
        );
    }

    #[test]
    fn a_cluster_that_names_no_provider_does_not_get_around_it() {
        let objects = [
            creation_policy(json!({"spec": {"options": {"image": {"values": ["default/approved"]}}}})),
            config(json!({"spec": {"defaultProviderConfigRef": {"name": "harvester-a"}}})),
        ];
        assert_eq!(found(&objects, json!({"spec": {"providerConfigRef": null}})).len(), 1);
    }

    #[test]
    fn the_narrowest_policy_counts_alone() {
        let narrow = creation_policy(json!({
            "metadata": {"name": "ours"},
            "spec": {"scope": {"platformWide": null, "team": {"teamRef": {"name": "payments"}}},
                     "options": {"image": {"mode": "allowList", "values": ["default/a", "default/b"]}}}
        }));
        let policies = [creation_policy(json!({})), narrow];
        assert_eq!(found(&policies, image("default/b")), [""; 0]);
        assert_eq!(
            found(&policies, image("default/talos")),
            [format!(
                "{HARVESTER}.imageName: `default/talos` is not let through by the ClusterCreationPolicy `ours`; choose one of \
                 `default/a`, `default/b`"
            )]
        );
    }

    #[test]
    fn advice_and_other_providers_are_not_enforced() {
        let advice = creation_policy(json!({"spec": {"options": {"image": {"mode": "recommended"}}}}));
        assert_eq!(found(&[advice], image("default/other")), [""; 0]);
        let elsewhere = creation_policy(json!({"spec": {"targetProviders": ["nutanix"]}}));
        assert_eq!(found(&[elsewhere], image("default/other")), [""; 0]);
    }
}

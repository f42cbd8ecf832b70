//! The addons of a cluster.

use butler_api::Team;
use butler_api::tenant_cluster::Addons;

use super::Filler;
use crate::rules::addons::asked;

/// Adds the blocks of default addons to a new cluster, and a version to every block without one. Returns the default addons
/// that have no block of their own; an annotation keeps them.
pub(super) fn fill(
    filler: &mut Filler<'_>,
    team: Option<&Team>,
    environment: Option<&str>,
    is_new: bool,
) -> Vec<String> {
    let mut more = Vec::new();
    let mut blocks: Vec<(&'static str, &'static str, Option<String>)> = Vec::new();
    for addon in asked(&filler.spec.addons) {
        if addon.version.is_none() {
            let kept = filler.old.map(|old| asked(&old.addons)).unwrap_or_default();
            let kept = kept.into_iter().find(|old| (old.block, old.name) == (addon.block, addon.name));
            blocks.push((addon.block, addon.name, kept.and_then(|kept| kept.version.map(str::to_owned))));
        }
    }
    if is_new {
        let near = team.map(|team| team.spec.cluster_defaults(environment)).unwrap_or_default();
        let far = filler.config.map(|config| config.cluster_defaults.clone()).unwrap_or_default();
        for name in near.over(&far).default_addons {
            let is_taken = |block| {
                !is_free(&filler.spec.addons, block) || blocks.iter().any(|(taken, _, _)| *taken == block)
            };
            match block_of(&name) {
                Some((block, name, provider)) if !is_taken(block) => {
                    if let Some((path, provider)) = provider {
                        filler.fills.add(path, provider);
                    }
                    blocks.push((block, name, None));
                }
                Some(_) => {}
                None if filler.facts.definition(&name).found().is_some() => more.push(name),
                None => {}
            }
        }
    }
    for (block, name, kept) in blocks {
        let platforms = filler.config.and_then(|config| config.default_addon_versions.of(name));
        let catalogue =
            filler.facts.definition(name).found().map(|it| it.spec.chart.default_version.as_str());
        let version = kept.as_deref().or(platforms).or(catalogue).filter(|version| !version.is_empty());
        if let (Some(version), Some(path)) = (version, version_path(block)) {
            filler.fills.add(path, version);
        }
    }
    more
}

type Choice = Option<(&'static str, &'static str)>;

/// The block of an addon, its name in the catalogue, and the field that chooses it where the block has a choice.
fn block_of(addon: &str) -> Option<(&'static str, &'static str, Choice)> {
    Some(match addon {
        "cilium" => ("cni", "cilium", Some(("spec.addons.cni.provider", "cilium"))),
        "metallb" => ("loadBalancer", "metallb", Some(("spec.addons.loadBalancer.provider", "metallb"))),
        "longhorn" => ("storage", "longhorn", Some(("spec.addons.storage.provider", "longhorn"))),
        "linstor" => ("storage", "linstor", Some(("spec.addons.storage.provider", "linstor"))),
        "traefik" => ("ingress", "traefik", Some(("spec.addons.ingress.provider", "traefik"))),
        "ingress-nginx" => ("ingress", "ingress-nginx", Some(("spec.addons.ingress.provider", "nginx"))),
        "prometheus" => ("monitoring", "prometheus", Some(("spec.addons.monitoring.provider", "prometheus"))),
        "flux" | "fluxcd" => ("gitops", "flux", Some(("spec.addons.gitops.provider", "fluxcd"))),
        "argocd" => ("gitops", "argocd", Some(("spec.addons.gitops.provider", "argocd"))),
        // Installed in every cluster that does not switch it off.
        "cert-manager" => ("certManager", "cert-manager", None),
        _ => return None,
    })
}

fn is_free(addons: &Addons, block: &str) -> bool {
    match block {
        "cni" => addons.cni.is_none(),
        "loadBalancer" => addons.load_balancer.is_none(),
        "certManager" => addons.cert_manager.is_none(),
        "storage" => addons.storage.is_none(),
        "ingress" => addons.ingress.is_none(),
        "monitoring" => addons.monitoring.is_none(),
        "gitops" => addons.gitops.is_none(),
        _ => false,
    }
}

fn version_path(block: &str) -> Option<&'static str> {
    Some(match block {
        "cni" => "spec.addons.cni.version",
        "loadBalancer" => "spec.addons.loadBalancer.version",
        "certManager" => "spec.addons.certManager.version",
        "storage" => "spec.addons.storage.version",
        "ingress" => "spec.addons.ingress.version",
        "monitoring" => "spec.addons.monitoring.version",
        "gitops" => "spec.addons.gitops.version",
        _ => return None,
    })
}

//! The Kubernetes release of a cluster that names none.

use butler_api::butler_config::SupportedKubernetes;
use butler_api::operating_system::OsType;
use butler_api::version::KubernetesVersion;
use butler_api::{ButlerConfigSpec, Team};

use super::defaults_in_order;

/// The release when nobody says: the newest that the default operating system's release runs and that Butler was tried with.
const BUILT_IN: KubernetesVersion = KubernetesVersion::new(1, 31, 4);

/// The first default that the cluster may use, else the newest release of the team's list that it may use.
pub(super) fn choose(
    team: Option<&Team>,
    environment: Option<&str>,
    config: Option<&ButlerConfigSpec>,
    os: OsType,
) -> Option<String> {
    let (near, far) = defaults_in_order(team, environment, config);
    let allowed = team
        .and_then(|team| team.spec.resource_limits.as_ref())
        .map(|limits| limits.allowed_kubernetes_versions.as_slice())
        .unwrap_or_default();
    let hosted =
        config.map_or_else(|| SupportedKubernetes::default().range(), |it| it.supported_kubernetes.range());
    let system = os.operating_system();
    let usable = |version: &KubernetesVersion| {
        let is_allowed = allowed.is_empty() || allowed.contains(&version.to_string());
        is_allowed && hosted.contains(*version) && system.supports(*version).is_ok()
    };
    let read = |text: Option<&str>| text.and_then(|text| text.parse::<KubernetesVersion>().ok());
    let wanted = [
        read(near.kubernetes_version()),
        read(far.and_then(|defaults| defaults.kubernetes_version())),
        Some(BUILT_IN),
        system.highest_kubernetes,
    ];
    let listed = allowed.iter().filter_map(|text| read(Some(text)));
    // Where the platform hosts neither, the first release of the newest minor that it does host.
    let newest = KubernetesVersion::new(hosted.highest.major, hosted.highest.minor, 0);
    let chosen = wanted.into_iter().flatten().find(usable);
    chosen
        .or_else(|| listed.filter(usable).max())
        .or_else(|| Some(newest).filter(usable))
        .map(|version| version.to_string())
}

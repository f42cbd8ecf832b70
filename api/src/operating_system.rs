//! The operating systems a worker may run: one table of what Butler knows about each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::provider_config::ProviderKind;
use crate::version::KubernetesVersion;

/// The operating system of worker machines.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum OsType {
    /// Immutable and managed through an API, without a shell; the default.
    #[default]
    Talos,
    /// Rocky Linux, joined with kubeadm; Kubernetes v1.30.2 at most.
    Rocky,
    /// Flatcar Container Linux, immutable, set up by Ignition.
    Flatcar,
    /// Minimal and made for containers; not yet proven end to end.
    Bottlerocket,
    /// Immutable, built by its community; not yet proven end to end.
    Kairos,
}

/// How a machine learns that it is to join a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BootstrapMethod {
    /// A Talos machine configuration, applied through the Talos API.
    TalosMachineConfig,
    /// `kubeadm join`, run by cloud-init.
    KubeadmCloudInit,
    /// An Ignition file that joins with a bootstrap token.
    Ignition,
    /// Bottlerocket settings in TOML.
    BottlerocketToml,
    /// A Kairos cloud-config.
    KairosCloudConfig,
}

/// How far an operating system has been tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Maturity {
    /// Clusters with it have been created, used and deleted end to end.
    Proven,
    /// It is built, but no end to end run has proven it; users are warned.
    EndToEndPending,
}

/// What Butler knows about one operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatingSystem {
    /// The name a user writes.
    pub os_type: OsType,
    /// The name a message shows.
    pub display_name: &'static str,
    /// How its machines join.
    pub bootstrap: BootstrapMethod,
    /// The newest Kubernetes it runs, if there is a bound.
    pub highest_kubernetes: Option<KubernetesVersion>,
    /// The image release used when the user names none.
    pub default_version: &'static str,
    /// Whether it has been proven end to end.
    pub maturity: Maturity,
}

/// The Kubernetes version asked for is newer than what the operating system runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{asked}` is too new for {display_name}, which runs Kubernetes up to `{highest}`; choose `{highest}` or lower, or \
     another operating system"
)]
pub struct UnsupportedKubernetes {
    /// The version asked for.
    pub asked: KubernetesVersion,
    /// The newest one possible.
    pub highest: KubernetesVersion,
    /// The operating system in question.
    pub display_name: &'static str,
}

const TALOS: OperatingSystem = OperatingSystem {
    os_type: OsType::Talos,
    display_name: "Talos Linux",
    bootstrap: BootstrapMethod::TalosMachineConfig,
    highest_kubernetes: None,
    default_version: "v1.9.3",
    maturity: Maturity::Proven,
};

const ROCKY: OperatingSystem = OperatingSystem {
    os_type: OsType::Rocky,
    display_name: "Rocky Linux",
    bootstrap: BootstrapMethod::KubeadmCloudInit,
    highest_kubernetes: Some(KubernetesVersion::new(1, 30, 2)),
    default_version: "9.5",
    maturity: Maturity::Proven,
};

const FLATCAR: OperatingSystem = OperatingSystem {
    os_type: OsType::Flatcar,
    display_name: "Flatcar Container Linux",
    bootstrap: BootstrapMethod::Ignition,
    highest_kubernetes: None,
    // Butler's own documents name no release. This one is from the Stable channel, first published on 2025-06-25;
    // machines update themselves from there.
    default_version: "4230.2.0",
    maturity: Maturity::Proven,
};

const BOTTLEROCKET: OperatingSystem = OperatingSystem {
    os_type: OsType::Bottlerocket,
    display_name: "Bottlerocket",
    bootstrap: BootstrapMethod::BottlerocketToml,
    highest_kubernetes: None,
    // Butler's own documents name no release. This one, of 2026-01-14, was the first with Kubernetes 1.35 images, the
    // newest minor that Steward runs.
    default_version: "1.53.0",
    maturity: Maturity::EndToEndPending,
};

const KAIROS: OperatingSystem = OperatingSystem {
    os_type: OsType::Kairos,
    display_name: "Kairos",
    bootstrap: BootstrapMethod::KairosCloudConfig,
    highest_kubernetes: None,
    // Butler's own documents name no release. This is a stable one of 2026.
    default_version: "v4.2.0",
    maturity: Maturity::EndToEndPending,
};

impl ProviderKind {
    /// The operating systems that machines of the provider can boot, the preferred one first. Bottlerocket is published
    /// for neither Proxmox nor Azure nor Google Cloud; containers of `local` are joined by kubeadm, which is how Rocky
    /// machines join.
    pub const fn operating_systems(self) -> &'static [OsType] {
        use OsType::{Bottlerocket, Flatcar, Kairos, Rocky, Talos};
        match self {
            Self::Harvester | Self::Nutanix | Self::Aws => &[Talos, Rocky, Flatcar, Bottlerocket, Kairos],
            Self::Proxmox | Self::Azure | Self::Gcp => &[Talos, Rocky, Flatcar, Kairos],
            Self::Local => &[Rocky],
        }
    }
}

impl OsType {
    /// All of them, the default first.
    pub const ALL: [Self; 5] = [Self::Talos, Self::Rocky, Self::Flatcar, Self::Bottlerocket, Self::Kairos];

    /// What Butler knows about it.
    pub const fn operating_system(self) -> &'static OperatingSystem {
        match self {
            Self::Talos => &TALOS,
            Self::Rocky => &ROCKY,
            Self::Flatcar => &FLATCAR,
            Self::Bottlerocket => &BOTTLEROCKET,
            Self::Kairos => &KAIROS,
        }
    }

    /// The name as users write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Talos => "talos",
            Self::Rocky => "rocky",
            Self::Flatcar => "flatcar",
            Self::Bottlerocket => "bottlerocket",
            Self::Kairos => "kairos",
        }
    }
}

impl OperatingSystem {
    /// Whether workers with it can run that Kubernetes version.
    pub fn supports(&self, asked: KubernetesVersion) -> Result<(), UnsupportedKubernetes> {
        match self.highest_kubernetes {
            Some(highest) if asked > highest => {
                Err(UnsupportedKubernetes { asked, highest, display_name: self.display_name })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BootstrapMethod, Maturity, OsType};
    use crate::version::KubernetesVersion;

    #[test]
    fn each_operating_system_bootstraps_in_its_own_way() {
        let table = [
            (OsType::Talos, BootstrapMethod::TalosMachineConfig, Maturity::Proven),
            (OsType::Rocky, BootstrapMethod::KubeadmCloudInit, Maturity::Proven),
            (OsType::Flatcar, BootstrapMethod::Ignition, Maturity::Proven),
            (OsType::Bottlerocket, BootstrapMethod::BottlerocketToml, Maturity::EndToEndPending),
            (OsType::Kairos, BootstrapMethod::KairosCloudConfig, Maturity::EndToEndPending),
        ];
        for (os, bootstrap, maturity) in table {
            assert_eq!(os.operating_system().os_type, os);
            assert_eq!(os.operating_system().bootstrap, bootstrap);
            assert_eq!(os.operating_system().maturity, maturity);
        }
    }

    #[test]
    fn names_on_the_wire_are_lower_case_and_talos_is_the_default() {
        for os in OsType::ALL {
            let json = format!("\"{}\"", os.as_str());
            assert_eq!(serde_json::to_string(&os).unwrap(), json);
            assert_eq!(serde_json::from_str::<OsType>(&json).unwrap(), os);
        }
        assert_eq!(OsType::default(), OsType::Talos);
        assert_eq!(
            serde_json::from_str::<OsType>("\"Rocky\"").unwrap_err().to_string(),
            "unknown variant `Rocky`, expected one of `talos`, `rocky`, `flatcar`, `bottlerocket`, `kairos` at line 1 \
             column 7",
        );
    }

    #[test]
    fn rocky_stops_at_its_highest_kubernetes() {
        let rocky = OsType::Rocky.operating_system();
        assert_eq!(rocky.supports(KubernetesVersion::new(1, 30, 2)), Ok(()));
        assert_eq!(rocky.supports(KubernetesVersion::new(1, 29, 9)), Ok(()));
        assert_eq!(
            rocky.supports(KubernetesVersion::new(1, 30, 3)).unwrap_err().to_string(),
            "`v1.30.3` is too new for Rocky Linux, which runs Kubernetes up to `v1.30.2`; choose `v1.30.2` or lower, or \
             another operating system",
        );
    }

    #[test]
    fn the_others_have_no_bound() {
        for os in OsType::ALL.into_iter().filter(|os| *os != OsType::Rocky) {
            assert_eq!(os.operating_system().supports(KubernetesVersion::new(u32::MAX, 0, 0)), Ok(()));
        }
    }
}

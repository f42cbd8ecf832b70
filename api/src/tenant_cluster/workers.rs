//! The worker machines of a TenantCluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::butler_config::ButlerConfigSpec;
use crate::operating_system::OsType;
use crate::provider_config::ProviderKind;
use crate::quantity::{Amount, Quantity};
use crate::wire::{given, is_default};

/// Workers when nobody says. Upstream's default for teams; enough that a node can be replaced.
pub const DEFAULT_REPLICAS: i32 = 3;
/// Cores of a machine when nobody says.
pub const DEFAULT_CPU: i32 = 4;
/// Memory of a machine when nobody says.
pub const DEFAULT_MEMORY: &str = "16Gi";
/// Disk of a machine when nobody says.
pub const DEFAULT_DISK: &str = "100Gi";

/// Machines that run the workload, all of the same shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workers {
    /// How many machines there are, at least 1. `kubectl scale` changes this field. Left out, it comes from
    /// the defaults of the environment, the team or the platform, else it is 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub replicas: Option<i32>,
    /// Shape of every machine. What it leaves out comes from the defaults of the environment or the team,
    /// then of the platform.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub machine_template: MachineTemplate,
}

/// The shape of a worker machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineTemplate {
    /// Processor cores of each machine, at least 1. Left out, it comes from the defaults of the environment
    /// or the team, else it is 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub cpu: Option<i32>,
    /// Memory of each machine, for example `16Gi`. Left out or `0`, it comes from the defaults of the
    /// environment or the team, else it is `16Gi`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Quantity>,
    /// Size of each machine's disk, for example `100Gi`. Left out or `0`, it comes from the defaults of the
    /// environment or the team, else it is `100Gi`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_size: Option<Quantity>,
    /// Operating system of the machines.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "is_default")]
    pub os: WorkerOs,
}

impl MachineTemplate {
    /// The memory that was asked for. Clients written in Go send `0` for an amount that was never set.
    pub fn memory(&self) -> Option<&Quantity> {
        self.memory.as_ref().filter(is_set)
    }

    /// The disk size that was asked for; `0` counts as not set, as for memory.
    pub fn disk_size(&self) -> Option<&Quantity> {
        self.disk_size.as_ref().filter(is_set)
    }
}

/// Whether an amount is anything but zero. One that cannot be read counts as set, so that somebody complains
/// about it.
fn is_set(quantity: &&Quantity) -> bool {
    quantity.amount().ok() != Some(Amount::default())
}

/// The operating system of worker machines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerOs {
    /// Which operating system. Left out, it is Talos, or Rocky on the provider `local`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<OsType>,
    /// Version of the operating system, for example `9.5` for Rocky Linux. Left out, it is the newest one
    /// that Butler knows to work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Image to boot from, in the provider's own notation, for example `default/rocky-95` on Harvester. It
    /// beats `version` and the provider's default image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_ref: Option<String>,
    /// Image Factory schematic to build the image from. Left out, it is the platform's default schematic, if
    /// there is one.
    #[serde(rename = "schematicID", skip_serializing_if = "Option::is_none")]
    pub schematic_id: Option<String>,
    /// Public SSH key that may log in to the machines. Left out, it is the platform's key. Talos has no SSH
    /// and uses neither.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_authorized_key: Option<String>,
    /// Settings that only Talos has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub talos: Option<Talos>,
}

impl WorkerOs {
    /// The version that was asked for.
    pub fn version(&self) -> Option<&str> {
        given(&self.version)
    }

    /// The image that was asked for.
    pub fn image_ref(&self) -> Option<&str> {
        given(&self.image_ref)
    }

    /// The Image Factory schematic: the cluster's own, else the platform's default.
    pub fn schematic_id<'a>(&'a self, config: Option<&'a ButlerConfigSpec>) -> Option<&'a str> {
        let platforms = || given(&config?.image_factory.as_ref()?.default_schematic_id);
        given(&self.schematic_id).or_else(platforms)
    }

    /// The SSH key of the machines: their own, else the platform's. Talos machines have no SSH at all.
    pub fn ssh_authorized_key<'a>(
        &'a self,
        os_type: OsType,
        config: Option<&'a ButlerConfigSpec>,
    ) -> Option<&'a str> {
        if os_type == OsType::Talos {
            return None;
        }
        given(&self.ssh_authorized_key).or_else(|| given(&config?.ssh_authorized_key))
    }

    /// The disk that Talos installs itself on. What the first disk is called depends on the provider's bus.
    pub fn install_disk(&self, provider: ProviderKind) -> &str {
        let own = self.talos.as_ref().and_then(|talos| given(&talos.install_disk));
        own.unwrap_or(match provider {
            ProviderKind::Harvester => "/dev/vda",
            _ => "/dev/sda",
        })
    }
}

/// Settings that only Talos has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Talos {
    /// Disk that Talos installs itself on. Left out, it is `/dev/vda` on Harvester and `/dev/sda` elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub install_disk: Option<String>,
    /// Installer image. Left out, it follows from the version and the schematic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installer_image: Option<String>,
    /// Talos release, for example `v1.9.3`. Left out, it is `os.version`, else the newest one that Butler
    /// knows to work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_amount_of_zero_counts_as_not_set() {
        let template: MachineTemplate =
            serde_json::from_value(json!({"memory": "0", "diskSize": "20Gi"})).expect("template");
        assert_eq!(template.memory(), None);
        assert!(template.disk_size().is_some());
    }

    #[test]
    fn talos_machines_get_no_ssh_key() {
        let config: ButlerConfigSpec =
            serde_json::from_value(json!({"sshAuthorizedKey": "platform"})).expect("config");
        let none = WorkerOs::default();
        let own = WorkerOs { ssh_authorized_key: Some("own".into()), ..Default::default() };
        assert_eq!(own.ssh_authorized_key(OsType::Rocky, Some(&config)), Some("own"));
        assert_eq!(none.ssh_authorized_key(OsType::Rocky, Some(&config)), Some("platform"));
        assert_eq!(none.ssh_authorized_key(OsType::Rocky, None), None);
        assert_eq!(own.ssh_authorized_key(OsType::Talos, Some(&config)), None);
    }

    #[test]
    fn the_install_disk_follows_the_provider_unless_the_user_names_one() {
        let none = WorkerOs::default();
        assert_eq!(none.install_disk(ProviderKind::Harvester), "/dev/vda");
        assert_eq!(none.install_disk(ProviderKind::Nutanix), "/dev/sda");
        let talos = Talos { install_disk: Some("/dev/nvme0n1".into()), ..Default::default() };
        let own = WorkerOs { talos: Some(talos), ..Default::default() };
        assert_eq!(own.install_disk(ProviderKind::Harvester), "/dev/nvme0n1");
    }
}

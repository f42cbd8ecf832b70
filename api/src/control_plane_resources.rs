//! Processor time and memory of the three control plane components.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// Requests and limits of the hosted control plane, per component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneResources {
    /// Resources of the API server, in each replica.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_server: Option<ComponentResources>,
    /// Resources of the controller manager, in each replica.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller_manager: Option<ComponentResources>,
    /// Resources of the scheduler, in each replica.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<ComponentResources>,
}

impl ControlPlaneResources {
    /// These resources, with the components they leave out taken from `fallback`. A component that is present
    /// replaces the fallback's whole: its request is never paired with a limit from elsewhere.
    pub fn or(&self, fallback: &Self) -> Self {
        Self {
            api_server: self.api_server.clone().or_else(|| fallback.api_server.clone()),
            controller_manager: self
                .controller_manager
                .clone()
                .or_else(|| fallback.controller_manager.clone()),
            scheduler: self.scheduler.clone().or_else(|| fallback.scheduler.clone()),
        }
    }
}

/// Requests and limits of one component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComponentResources {
    /// What is set aside for the component. Left out, nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<ResourceAmounts>,
    /// What the component may use at most. Left out, there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<ResourceAmounts>,
}

/// An amount of processor time and of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceAmounts {
    /// Processor cores, for example `250m` or `2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Quantity>,
    /// Memory, for example `512Mi`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Quantity>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_component_replaces_the_platform_default_whole() {
        let resources = |value| serde_json::from_value::<ControlPlaneResources>(value).expect("resources");
        let platform = resources(json!({
            "apiServer": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}},
            "scheduler": {"requests": {"cpu": "25m"}}
        }));
        let cluster = resources(json!({"apiServer": {"requests": {"cpu": "2"}}}));
        let expected = resources(json!({
            "apiServer": {"requests": {"cpu": "2"}},
            "scheduler": {"requests": {"cpu": "25m"}}
        }));
        assert_eq!(cluster.or(&platform), expected);
    }
}

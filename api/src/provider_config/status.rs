//! What Butler reports about a provider.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What Butler observed about the provider. Written by Butler only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderConfigStatus {
    /// The aspects of the provider's state; Ready sums up.
    #[serde(default, deserialize_with = "crate::wire::conditions", skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::schema::conditions")]
    pub conditions: Vec<Condition>,
    /// Whether the credentials work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validated: Option<bool>,
    /// When the credentials were last tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_validation_time: Option<Time>,
    /// Version that the infrastructure reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_version: Option<String>,
    /// Whether clusters can be placed on the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// When the provider was last asked for its state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_probe_time: Option<Time>,
    /// What the provider has room for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<ProviderCapacity>,
}

/// What a provider has room for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderCapacity {
    /// Addresses that are left in the pools.
    #[serde(rename = "availableIPs", skip_serializing_if = "Option::is_none")]
    pub available_ips: Option<i32>,
    /// Clusters of the usual size that those addresses suffice for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_tenants: Option<i32>,
}

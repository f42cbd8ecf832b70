//! QuotaLedger: what the clusters of a team may take, as it is stored.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// More clusters than a ledger has room for.
const MOST_LINES: u32 = 20_000;

/// What the clusters of a team may take. Written by Butler only.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "butler.butlerlabs.dev",
    version = "v1alpha1",
    kind = "QuotaLedger",
    namespaced,
    doc = "What the clusters of one team may take of its limits. Butler's webhook writes it before it admits a cluster or \
           its growth, so that no limit is ever exceeded. Leave it alone: one that is deleted or edited is made anew from \
           the clusters that there are, and until then no cluster of the team can be created or grow.",
    shortname = "ql",
    category = "butler",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name": "Team", "type": "string", "jsonPath": ".spec.team",
                      "description": "Team that the ledger is of."}"#,
    printcolumn = r#"{"name": "Writes", "type": "integer", "jsonPath": ".spec.writes",
                      "description": "How often the ledger was written."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct QuotaLedgerSpec {
    /// Team that the ledger is of.
    pub team: String,
    /// How often Butler wrote the ledger. It equals `metadata.generation` unless somebody else wrote it too.
    pub writes: i64,
    /// The `metadata.resourceVersion` of the newest list of clusters that changed anything here.
    #[serde(default, skip_serializing_if = "crate::wire::is_default")]
    pub listed: u64,
    /// Environments that clusters are in. Lines below name them by their place in this list, counted from 0.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_LINES))]
    pub environments: Vec<String>,
    /// People that clusters belong to, likewise.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_LINES))]
    pub owners: Vec<String>,
    /// ProviderConfigs that clusters run on, likewise.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_LINES))]
    pub providers: Vec<String>,
    /// Clusters as they were last seen, one per line: name, uid, resourceVersion, nodes, cores, memory, disk, environment,
    /// owner, provider, and `past-the-gate` for one that was not admitted with that much.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_LINES))]
    pub held: Vec<String>,
    /// Requests that were admitted and may still be stored, one per line: name, uid, resourceVersion that the request
    /// changes or `new`, number of the write that took it up, and then like `held`.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_LINES))]
    pub open: Vec<String>,
}

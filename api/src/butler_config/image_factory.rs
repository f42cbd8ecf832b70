//! Who builds the images of worker machines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reference::SecretRef;

/// An Image Factory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageFactory {
    /// Address of the factory, beginning with `http://` or `https://`.
    #[schemars(regex(pattern = crate::schema::HTTP_URL))]
    pub url: String,
    /// Secret with the factory's key, in its entry `apiKey`. Left out, the factory is used without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_ref: Option<SecretRef>,
    /// Schematic of clusters that do not name one. Left out, such clusters use the provider's image.
    #[serde(rename = "defaultSchematicID", skip_serializing_if = "Option::is_none")]
    pub default_schematic_id: Option<String>,
    /// Whether to bring images to the provider when a cluster needs them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub auto_sync: Option<bool>,
}

impl ImageFactory {
    /// Whether to bring images to the provider when a cluster needs them.
    pub fn auto_sync(&self) -> bool {
        self.auto_sync.unwrap_or(true)
    }
}

//! How the platform tells people what happened.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The log of who changed what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Audit {
    /// Whether changes are recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// Address that every record is sent to. Left out, records stay on the platform.
    #[serde(rename = "webhookURL", skip_serializing_if = "Option::is_none")]
    pub webhook_url: Option<String>,
    /// How many records are kept, from 100 to 100000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 100000), extend("default" = Self::DEFAULT_BUFFER_SIZE))]
    pub buffer_size: Option<i32>,
}

impl Audit {
    /// How many records are kept when nobody says.
    pub const DEFAULT_BUFFER_SIZE: i32 = 10_000;

    /// Whether changes are recorded.
    pub fn enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }

    /// How many records are kept.
    pub fn buffer_size(&self) -> i32 {
        self.buffer_size.unwrap_or(Self::DEFAULT_BUFFER_SIZE)
    }
}

/// Messages about what happens on the platform.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notifications {
    /// Address that messages are sent to, for example a chat room's. Left out, none are sent.
    #[serde(rename = "webhookURL", skip_serializing_if = "Option::is_none")]
    pub webhook_url: Option<String>,
}

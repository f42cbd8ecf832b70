//! Where the platform's Git repositories are hosted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reference::LocalRef;
use crate::wire::given;

/// A Git host and the credentials for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitProvider {
    /// Which Git host.
    pub r#type: GitProviderType,
    /// Address of the Git host. Left out, it is the public service: `https://api.github.com`,
    /// `https://gitlab.com` or `https://api.bitbucket.org`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Organisation, group or workspace that holds the repositories. Left out, they belong to the user of the
    /// credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// Secret with the credentials, in `butler-system`: `token` for GitHub and GitLab, `username` and
    /// `app-password` for Bitbucket.
    pub secret_ref: LocalRef,
}

impl GitProvider {
    /// The address of the Git host.
    pub fn url(&self) -> &str {
        given(&self.url).unwrap_or(match self.r#type {
            GitProviderType::Github => "https://api.github.com",
            GitProviderType::Gitlab => "https://gitlab.com",
            GitProviderType::Bitbucket => "https://api.bitbucket.org",
        })
    }
}

/// The Git hosts Butler knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GitProviderType {
    /// GitHub.
    Github,
    /// GitLab.
    Gitlab,
    /// Bitbucket.
    Bitbucket,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_address_follows_the_kind_of_host() {
        let provider = |value| serde_json::from_value::<GitProvider>(value).expect("provider");
        let gitlab = provider(json!({"type": "gitlab", "secretRef": {"name": "git"}}));
        assert_eq!(gitlab.url(), "https://gitlab.com");
        let own = provider(
            json!({"type": "gitlab", "url": "https://git.example.org", "secretRef": {"name": "git"}}),
        );
        assert_eq!(own.url(), "https://git.example.org");
    }
}

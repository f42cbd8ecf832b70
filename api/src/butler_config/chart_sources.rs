//! Where charts of tenants may come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Helm repositories that TenantAddons may take charts of their own from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChartSources {
    /// Addresses of the repositories, for example `https://charts.example.org/stable`. One that ends in `/*` stands for
    /// everything below it. An empty list allows none.
    #[serde(default, deserialize_with = "crate::wire::or_default", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub allowed_repositories: Vec<String>,
}

impl ChartSources {
    /// Whether charts may come from that repository. Addresses are compared as text, except that the scheme and the
    /// host may be written in any case and a slash at the end says nothing. One with `..`, `@`, `?`, `#`, `%` or `\` in it
    /// never matches: it may mean another place than it seems to.
    pub fn allows(&self, repository: &str) -> bool {
        let Some(asked) = normal(repository) else { return false };
        self.allowed_repositories.iter().any(|allowed| match allowed.strip_suffix("/*") {
            Some(base) => normal(base).is_some_and(|base| {
                asked.strip_prefix(&base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }),
            None => normal(allowed).is_some_and(|allowed| allowed == asked),
        })
    }

    /// Whether an address can be a repository at all: `https://` or `oci://` and a host, with nothing in it that could
    /// hide where it leads.
    pub fn is_repository(address: &str) -> bool {
        normal(address)
            .is_some_and(|address| address.starts_with("https://") || address.starts_with("oci://"))
    }
}

/// Where a chart lies, whichever part of the way its repository or its name is written in; with or without TLS it is the
/// same chart. Nothing for an address that may mean another place than it seems to.
pub(crate) fn place_of_chart(repository: &str, chart: &str) -> Option<String> {
    let address = normal(repository)?;
    let (_, place) = address.split_once("://")?;
    let (host, path) = place.split_once('/').unwrap_or((place, ""));
    let host = host.strip_suffix(":443").or_else(|| host.strip_suffix(":80")).unwrap_or(host);
    let steps = path.split('/').chain(chart.split('/')).filter(|step| !step.is_empty() && *step != ".");
    Some(steps.fold(host.to_owned(), |place, step| format!("{place}/{step}")))
}

fn normal(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let rest = rest.trim_end_matches('/');
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let hides = rest.contains("..")
        || rest.contains(['@', '?', '#', '%', '\\'])
        || rest.contains(char::is_whitespace);
    if host.is_empty() || hides {
        return None;
    }
    Some(format!("{}://{}{path}", scheme.to_ascii_lowercase(), host.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_lies_in_one_place_however_it_is_written() {
        let place = Some("charts.example.org/stable/velero".to_owned());
        for (repository, chart) in [
            ("https://charts.example.org/stable", "velero"),
            ("http://Charts.Example.org:80/stable/", "velero/"),
            ("https://charts.example.org:443//stable", "./velero"),
            ("oci://charts.example.org", "stable/velero"),
        ] {
            assert_eq!(place_of_chart(repository, chart), place, "{repository} {chart}");
        }
        assert_ne!(place_of_chart("https://charts.example.org", "velero"), place);
        assert_eq!(place_of_chart("https://a@charts.example.org/stable", "velero"), None);
    }

    #[test]
    fn a_repository_is_allowed_by_its_address_or_by_what_it_lies_below() {
        let sources = ChartSources {
            allowed_repositories: vec![
                "https://charts.example.org/stable".into(),
                "oci://ghcr.io/acme/*".into(),
            ],
        };
        let table = [
            ("https://charts.example.org/stable", true),
            ("HTTPS://Charts.Example.org/stable/", true),
            ("https://charts.example.org/Stable", false),
            ("https://charts.example.org/stable/more", false),
            ("http://charts.example.org/stable", false),
            ("oci://ghcr.io/acme/queue", true),
            ("oci://ghcr.io/acme", true),
            ("oci://ghcr.io/acme-evil/queue", false),
            ("oci://ghcr.io/acme/../evil", false),
            ("oci://ghcr.io@evil.example/acme/queue", false),
            ("oci://ghcr.io/acme%2f..", false),
            ("charts", false),
        ];
        for (repository, allowed) in table {
            assert_eq!(sources.allows(repository), allowed, "{repository}");
        }
        assert!(!ChartSources::default().allows("https://charts.example.org"));
    }

    #[test]
    fn only_encrypted_transports_are_repositories() {
        assert!(ChartSources::is_repository("https://charts.example.org"));
        assert!(ChartSources::is_repository("oci://ghcr.io/acme"));
        assert!(!ChartSources::is_repository("http://charts.example.org"));
        assert!(!ChartSources::is_repository("file:///etc"));
        assert!(!ChartSources::is_repository("https:///charts"));
    }
}

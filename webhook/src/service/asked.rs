//! What a request asks for, read from its method, path and query the way kube-apiserver reads it.

use std::borrow::Cow;

use http::{Method, Uri};

use super::{GROUP, VERSION};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Whether we live, or are ready. Everybody may ask.
    Health(Health),
    /// Anything else that is no object: discovery, OpenAPI, our version, or nothing that there is.
    Path(Page),
    /// Objects of a resource, if there is such a resource.
    Resource(Target),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Live,
    Ready,
}

/// Something that is no object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Index,
    Version,
    Groups,
    Group,
    Resources,
    OpenApiV2,
    OpenApiV3,
    OpenApiV3Group,
    Nothing,
}

/// What is to be done to which object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) verb: &'static str,
    pub(super) resource: String,
    pub(super) subresource: String,
    /// Empty for all of them, and for objects that are in none.
    pub(super) namespace: String,
    /// Empty for all of them.
    pub(super) name: String,
}

impl Asked {
    pub(super) fn of(method: &Method, uri: &Uri, query: &Query) -> Self {
        let path = uri.path();
        match path {
            "/livez" | "/healthz" => return Self::Health(Health::Live),
            "/readyz" => return Self::Health(Health::Ready),
            "/" => return Self::Path(Page::Index),
            "/version" | "/version/" => return Self::Path(Page::Version),
            "/apis" | "/apis/" => return Self::Path(Page::Groups),
            "/openapi/v2" => return Self::Path(Page::OpenApiV2),
            "/openapi/v3" | "/openapi/v3/" => return Self::Path(Page::OpenApiV3),
            _ => {}
        }
        if path.strip_prefix("/openapi/v3/apis/") == Some(&format!("{GROUP}/{VERSION}")) {
            return Self::Path(Page::OpenApiV3Group);
        }
        let Some(rest) = path.strip_prefix("/apis/") else { return Self::Path(Page::Nothing) };
        let mut parts = rest.split('/').filter(|part| !part.is_empty());
        match (parts.next(), parts.next(), parts.next()) {
            (Some(GROUP), None, _) => Self::Path(Page::Group),
            (Some(GROUP), Some(VERSION), None) => Self::Path(Page::Resources),
            (Some(GROUP), Some(VERSION), Some(first)) => {
                let rest: Vec<Cow<'_, str>> = parts.map(decoded).collect();
                Target::of(method, first, &rest, query).map_or(Self::Path(Page::Nothing), Self::Resource)
            }
            _ => Self::Path(Page::Nothing),
        }
    }
}

impl Target {
    /// Nothing where no path of a resource leads.
    fn of(method: &Method, first: &str, rest: &[Cow<'_, str>], query: &Query) -> Option<Self> {
        let rest: Vec<&str> = rest.iter().map(AsRef::as_ref).collect();
        let (namespace, resource, rest) = match (first, rest.as_slice()) {
            ("namespaces", [namespace, resource, rest @ ..]) => (*namespace, *resource, rest),
            (resource, rest) => ("", resource, rest),
        };
        let (name, subresource) = match rest {
            [] => ("", ""),
            [name] => (*name, ""),
            [name, subresource] => (*name, *subresource),
            _ => return None,
        };
        let is_watch = query.is_true("watch");
        let verb = match *method {
            Method::GET | Method::HEAD if !name.is_empty() => "get",
            Method::GET | Method::HEAD if is_watch => "watch",
            Method::GET | Method::HEAD => "list",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if name.is_empty() => "deletecollection",
            Method::DELETE => "delete",
            // Kubernetes has no verb for anything else, and nobody can be given a right to it.
            _ => "",
        };
        // Who may see one object may list and watch it by its name.
        let selected = (matches!(verb, "list" | "watch")).then(|| query.selected_name()).flatten();
        Some(Self {
            verb,
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            namespace: namespace.to_owned(),
            name: selected.unwrap_or_else(|| name.to_owned()),
        })
    }
}

/// The query of a request. Of a parameter that is there twice, the first counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn of(uri: &Uri) -> Self {
        let pairs = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(&name.replace('+', " ")).into_owned(), decoded(&value.replace('+', " ")).into_owned())
        };
        Self(pairs.map(pair).collect())
    }

    /// A parameter, if it is there and says anything.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str());
        found.filter(|value| !value.is_empty())
    }

    /// A switch; any word but those for no switches it on, as for kube-apiserver.
    pub(super) fn is_true(&self, name: &str) -> bool {
        let found = self.0.iter().find(|(own, _)| own == name);
        found.is_some_and(|(_, value)| !matches!(value.to_ascii_lowercase().as_str(), "false" | "0"))
    }

    /// The one name that a field selector asks for.
    fn selected_name(&self) -> Option<String> {
        let mut terms = self.get("fieldSelector")?.split(',');
        let name = |term: &str| {
            let value = term.trim().strip_prefix("metadata.name=")?;
            Some(value.strip_prefix('=').unwrap_or(value).to_owned())
        };
        terms.find_map(name).filter(|name| !name.is_empty())
    }
}

/// `%41` is `A`. What is no such code stays as it is.
pub(super) fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let code = bytes.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
            }
            None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, uri: &str) -> Asked {
        let uri: Uri = uri.parse().unwrap();
        Asked::of(&method.parse().unwrap(), &uri, &Query::of(&uri))
    }

    fn target(verb: &'static str, namespace: &str, resource: &str, name: &str) -> Asked {
        Asked::Resource(Target {
            verb,
            resource: resource.to_owned(),
            subresource: String::new(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }

    #[test]
    fn paths_and_methods_are_read_as_kubernetes_reads_them() {
        let base = format!("/apis/{GROUP}/{VERSION}");
        let cases = [
            ("GET", "/policies", target("list", "", "policies", "")),
            ("GET", "/policies?watch=true", target("watch", "", "policies", "")),
            ("GET", "/policies?watch=1", target("watch", "", "policies", "")),
            ("GET", "/policies?watch=0", target("list", "", "policies", "")),
            ("GET", "/policies/rule.team", target("get", "", "policies", "rule.team")),
            ("GET", "/policies/rule%2Eteam", target("get", "", "policies", "rule.team")),
            ("GET", "/policies?fieldSelector=metadata.name%3Da", target("list", "", "policies", "a")),
            ("GET", "/namespaces/team-a/reviews", target("list", "team-a", "reviews", "")),
            ("POST", "/namespaces/team-a/reviews", target("create", "team-a", "reviews", "")),
            ("PUT", "/policies/a", target("update", "", "policies", "a")),
            ("PATCH", "/policies/a", target("patch", "", "policies", "a")),
            ("DELETE", "/policies/a", target("delete", "", "policies", "a")),
            ("DELETE", "/policies", target("deletecollection", "", "policies", "")),
            ("GET", "/policies/a/b/c", Asked::Path(Page::Nothing)),
        ];
        for (method, path, expected) in cases {
            assert_eq!(asked(method, &format!("{base}{path}")), expected, "{method} {path}");
        }
    }

    #[test]
    fn what_is_no_object_is_told_apart() {
        let cases = [
            ("/livez", Asked::Health(Health::Live)),
            ("/healthz", Asked::Health(Health::Live)),
            ("/readyz", Asked::Health(Health::Ready)),
            ("/apis", Asked::Path(Page::Groups)),
            ("/apis/policy.butler.butlerlabs.dev", Asked::Path(Page::Group)),
            ("/apis/policy.butler.butlerlabs.dev/v1alpha1", Asked::Path(Page::Resources)),
            ("/apis/policy.butler.butlerlabs.dev/v1", Asked::Path(Page::Nothing)),
            ("/apis/butler.butlerlabs.dev/v1alpha1/teams", Asked::Path(Page::Nothing)),
            ("/openapi/v2", Asked::Path(Page::OpenApiV2)),
            ("/openapi/v3", Asked::Path(Page::OpenApiV3)),
            ("/openapi/v3/apis/policy.butler.butlerlabs.dev/v1alpha1", Asked::Path(Page::OpenApiV3Group)),
            ("/metrics", Asked::Path(Page::Nothing)),
        ];
        for (path, expected) in cases {
            assert_eq!(asked("GET", path), expected, "{path}");
        }
    }

    #[test]
    fn codes_are_read_and_what_is_none_stays() {
        for (text, expected) in
            [("a%2fb", "a/b"), ("100%", "100%"), ("%zz", "%zz"), ("%c3%a9", "é"), ("", "")]
        {
            assert_eq!(decoded(text), expected);
        }
    }
}

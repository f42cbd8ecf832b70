//! The API server's front proxy: by which certificate it is recognised, and in which headers it names its caller.
//!
//! Both are in a ConfigMap that the API server writes for everybody whom it proxies to, and keeps up to date: authorities
//! are replaced while we run.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use butler_certs::{Callers, CallersError};
use futures::StreamExt;
use http::{HeaderMap, HeaderName};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::Api;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use rustls::pki_types::CertificateDer;

use super::User;
use crate::service::asked::decoded;
use crate::service::status::Refusal;

const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";

/// Recognises the front proxy, once it is known what it looks like.
#[derive(Debug, Default)]
pub(in crate::service) struct FrontProxy {
    known: ArcSwapOption<Known>,
}

/// What the ConfigMap says.
#[derive(Debug)]
struct Known {
    callers: Arc<Callers>,
    /// Common names; none means any.
    allowed: BTreeSet<String>,
    users: Vec<HeaderName>,
    uids: Vec<HeaderName>,
    groups: Vec<HeaderName>,
    /// In lower case, as headers are kept.
    extras: Vec<String>,
}

/// Why the ConfigMap says nothing.
#[derive(Debug, thiserror::Error)]
enum UnknownError {
    #[error(
        "`{0}` is missing: the API server has no --requestheader-client-ca-file, so nobody can be proxied"
    )]
    Missing(&'static str),
    #[error("`{0}` is no list of texts")]
    NoList(&'static str),
    #[error("`{0}` names no header")]
    NoHeader(&'static str),
    #[error(transparent)]
    Authority(#[from] CallersError),
}

impl FrontProxy {
    /// Keeps to what the API server says. Never ends; drop it to stop.
    pub(super) async fn follow(&self, client: Client) {
        let api: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
        let named = watcher::Config::default().fields(&format!("metadata.name={NAME}"));
        let mut events = pin!(watcher(api, named).default_backoff());
        let mut last = None;
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Apply(map) | Event::InitApply(map)) => {
                    let data = map.data.unwrap_or_default();
                    if last.as_ref() != Some(&data) {
                        self.learn(&data);
                        last = Some(data);
                    }
                }
                // The API server puts it back; until then what it said holds.
                Ok(Event::Delete(_) | Event::Init | Event::InitDone) => {}
                Err(error) => tracing::warn!("`{NAMESPACE}/{NAME}` cannot be watched: {error}"),
            }
        }
    }

    fn learn(&self, data: &BTreeMap<String, String>) {
        match Known::read(data) {
            Ok(known) => {
                self.known.store(Some(Arc::new(known)));
                tracing::info!("the API server's front proxy is known");
            }
            Err(error) => tracing::error!("`{NAMESPACE}/{NAME}` says nothing of a front proxy: {error}"),
        }
    }

    /// Whom the front proxy names; nobody if it is not the front proxy who asks.
    ///
    /// # Errors
    /// When nobody can say yet.
    pub(super) fn named(
        &self,
        chain: &[CertificateDer<'_>],
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<Option<User>, Refusal> {
        if chain.is_empty() {
            return Ok(None);
        }
        let Some(known) = self.known.load_full() else {
            return Err(Refusal::unavailable("the API server's front proxy is not known yet"));
        };
        Ok(known.is_proxy(chain, now).then(|| known.user(headers)).flatten())
    }
}

impl Known {
    fn read(data: &BTreeMap<String, String>) -> Result<Self, UnknownError> {
        const AUTHORITY: &str = "requestheader-client-ca-file";
        let authority = data.get(AUTHORITY).ok_or(UnknownError::Missing(AUTHORITY))?;
        let users = headers(data, "requestheader-username-headers")?;
        if users.is_empty() {
            return Err(UnknownError::NoHeader("requestheader-username-headers"));
        }
        let extras = texts(data, "requestheader-extra-headers-prefix")?;
        Ok(Self {
            // By any name: which names count is decided by the common name alone.
            callers: Callers::new(authority.as_bytes(), [])?,
            allowed: texts(data, "requestheader-allowed-names")?.into_iter().collect(),
            users,
            uids: headers(data, "requestheader-uid-headers")?,
            groups: headers(data, "requestheader-group-headers")?,
            extras: extras.iter().map(|prefix| prefix.to_ascii_lowercase()).collect(),
        })
    }

    fn is_proxy(&self, chain: &[CertificateDer<'_>], now: Timestamp) -> bool {
        let Ok(caller) = self.callers.recognise(chain, now) else { return false };
        let is_named = || caller.common_name.is_some_and(|name| self.allowed.contains(&name));
        self.allowed.is_empty() || is_named()
    }

    /// The caller in the headers of the front proxy; nobody if it names none.
    fn user(&self, headers: &HeaderMap) -> Option<User> {
        let values = |names: &[HeaderName]| -> Vec<String> {
            let all = names.iter().flat_map(|name| headers.get_all(name));
            all.filter_map(|value| value.to_str().ok()).map(str::to_owned).collect()
        };
        let first = |names: &[HeaderName]| values(names).into_iter().find(|value| !value.is_empty());
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in headers {
            let key = self.extras.iter().find_map(|prefix| name.as_str().strip_prefix(prefix.as_str()));
            if let (Some(key), Ok(value)) = (key, value.to_str()) {
                extra.entry(decoded(key).to_lowercase()).or_default().push(value.to_owned());
            }
        }
        Some(User {
            name: first(&self.users)?,
            uid: first(&self.uids).unwrap_or_default(),
            groups: values(&self.groups),
            extra,
        })
    }
}

fn texts(data: &BTreeMap<String, String>, key: &'static str) -> Result<Vec<String>, UnknownError> {
    let Some(text) = data.get(key).filter(|text| !text.is_empty()) else { return Ok(Vec::new()) };
    serde_json::from_str(text).map_err(|_| UnknownError::NoList(key))
}

fn headers(data: &BTreeMap<String, String>, key: &'static str) -> Result<Vec<HeaderName>, UnknownError> {
    let names = texts(data, key)?;
    names.iter().map(|name| name.parse().map_err(|_| UnknownError::NoHeader(key))).collect()
}

#[cfg(test)]
mod tests {
    use butler_bench::pki::Authority;
    use http::HeaderValue;
    use rustls::pki_types::pem::PemObject;

    use super::*;

    fn data(authority: &Authority, allowed: &str) -> BTreeMap<String, String> {
        let texts = [
            ("requestheader-client-ca-file", authority.certificate()),
            ("requestheader-allowed-names", allowed),
            ("requestheader-username-headers", "[\"X-Remote-User\"]"),
            ("requestheader-group-headers", "[\"X-Remote-Group\"]"),
            ("requestheader-uid-headers", "[\"X-Remote-Uid\"]"),
            ("requestheader-extra-headers-prefix", "[\"X-Remote-Extra-\"]"),
        ];
        texts.map(|(key, text)| (key.to_owned(), text.to_owned())).into()
    }

    fn headers() -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("x-remote-user", "ana@example.com"),
            ("x-remote-group", "team-a"),
            ("x-remote-group", "system:authenticated"),
            ("x-remote-uid", "42"),
            ("x-remote-extra-example.com%2fscopes", "one"),
            ("x-remote-extra-example.com%2fscopes", "two"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers
    }

    fn chain(authority: &Authority, name: &str) -> Vec<CertificateDer<'static>> {
        let issued = authority.client(name, &[]).unwrap();
        vec![CertificateDer::from_pem_slice(issued.certificate.as_bytes()).unwrap()]
    }

    fn authority(directory: &tempfile::TempDir, name: &str) -> Authority {
        Authority::open(&directory.path().join(name), name).unwrap()
    }

    #[test]
    fn headers_count_with_the_certificate_of_the_front_proxy_and_without_it_they_say_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let (ours, other) = (authority(&directory, "ours"), authority(&directory, "other"));
        let proxy = FrontProxy::default();
        let (headers, now) = (headers(), Timestamp::now());
        let right = chain(&ours, "front-proxy-client");
        // Nobody knows yet; who shows nothing is nobody all the same.
        assert_eq!(proxy.named(&right, &headers, now).unwrap_err().code.as_u16(), 503);
        assert_eq!(proxy.named(&[], &headers, now), Ok(None));

        proxy.learn(&data(&ours, "[\"front-proxy-client\"]"));
        let named = proxy.named(&right, &headers, now).unwrap().unwrap();
        assert_eq!(named.name, "ana@example.com");
        assert_eq!(named.uid, "42");
        assert_eq!(named.groups, ["team-a", "system:authenticated"]);
        assert_eq!(named.extra["example.com/scopes"], ["one", "two"]);
        for (what, wrong) in [
            ("no certificate", Vec::new()),
            ("another name", chain(&ours, "somebody")),
            ("another authority", chain(&other, "front-proxy-client")),
        ] {
            assert_eq!(proxy.named(&wrong, &headers, now), Ok(None), "{what}");
        }
        assert_eq!(proxy.named(&right, &HeaderMap::new(), now), Ok(None));

        // The authority is replaced while we run; nonsense changes nothing.
        proxy.learn(&data(&other, "[]"));
        assert_eq!(proxy.named(&right, &headers, now), Ok(None));
        assert!(proxy.named(&chain(&other, "anybody"), &headers, now).unwrap().is_some());
        proxy.learn(&BTreeMap::new());
        assert!(proxy.named(&chain(&other, "anybody"), &headers, now).unwrap().is_some());
    }

    #[test]
    fn what_names_no_front_proxy_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let ours = authority(&directory, "ours");
        for (key, text, why) in [
            ("requestheader-client-ca-file", "garbage", "not one or more X.509 certificates"),
            ("requestheader-allowed-names", "front-proxy-client", "is no list of texts"),
            ("requestheader-username-headers", "[]", "names no header"),
            ("requestheader-group-headers", "[\"two words\"]", "names no header"),
        ] {
            let mut data = data(&ours, "[]");
            data.insert(key.to_owned(), text.to_owned());
            let error = Known::read(&data).unwrap_err().to_string();
            assert!(error.contains(why), "{key}: {error}");
        }
    }
}

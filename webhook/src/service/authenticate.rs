//! Who asks: whoever the front proxy says, if the front proxy says so, or the holder of a token.
//!
//! The aggregator has authenticated its caller, shows its own certificate and names the caller in headers. Without that
//! certificate the headers are anybody's and say nothing. A caller who comes directly shows a token, which the API server
//! is asked about every time: there are few of them, and one that was revoked must not go on.

mod front_proxy;

use std::collections::BTreeMap;
use std::time::Duration;

use butler_program::{Failure, patiently};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use kube::Client;
use kube::api::{Api, PostParams};
use rustls::pki_types::CertificateDer;
use serde_json::{Value, json};
use tokio::time::timeout;

pub(super) use self::front_proxy::FrontProxy;
use super::status::Refusal;

/// How long the API server may think about a token.
const PATIENCE: Duration = Duration::from_secs(5);
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const ANONYMOUS: &str = "system:anonymous";

/// Somebody who is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) groups: Vec<String>,
    pub(super) extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Somebody of whom no more is known.
    pub(super) fn known(name: String, groups: Vec<String>) -> Self {
        with_everybody(Self { name, groups, ..Self::default() })
    }

    /// As a request for admission tells it.
    pub(super) fn info(&self) -> Value {
        let mut info = json!({ "username": self.name, "groups": self.groups });
        if let Some(fields) = info.as_object_mut() {
            if !self.uid.is_empty() {
                fields.insert("uid".to_owned(), self.uid.as_str().into());
            }
            if !self.extra.is_empty() {
                fields.insert("extra".to_owned(), json!(self.extra));
            }
        }
        info
    }
}

/// Finds out who asks.
pub(super) struct Authenticator {
    client: Client,
    front_proxy: FrontProxy,
}

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Authenticator")
            .field("front_proxy", &self.front_proxy)
            .finish_non_exhaustive()
    }
}

impl Authenticator {
    pub(super) fn new(client: Client) -> Self {
        Self { client, front_proxy: FrontProxy::default() }
    }

    /// Follows what the API server says of its front proxy. Never ends; drop it to stop.
    pub(super) async fn run(&self) {
        self.front_proxy.follow(self.client.clone()).await;
    }

    /// Who asks, by the certificates that were shown when the connection was made and the headers of the request.
    pub(super) async fn authenticate(
        &self,
        chain: &[CertificateDer<'_>],
        headers: &HeaderMap,
    ) -> Result<User, Refusal> {
        if let Some(user) = self.front_proxy.named(chain, headers, Timestamp::now())? {
            return Ok(with_everybody(user));
        }
        let token = token(headers).ok_or_else(Refusal::unauthorized)?;
        let asked = timeout(PATIENCE, patiently(|| self.ask(token))).await;
        match asked {
            Ok(Ok(Some(user))) => Ok(with_everybody(user)),
            Ok(Ok(None)) => Err(Refusal::unauthorized()),
            Ok(Err(error)) => {
                tracing::warn!("a token cannot be reviewed: {error}");
                Err(Refusal::internal("the token cannot be reviewed"))
            }
            Err(_) => Err(Refusal::internal("the API server does not answer")),
        }
    }

    async fn ask(&self, token: &str) -> Result<Option<User>, Failure> {
        let spec = TokenReviewSpec { token: token.to_owned(), ..TokenReviewSpec::default() };
        let review = TokenReview { spec, ..TokenReview::default() };
        let api: Api<TokenReview> = Api::all(self.client.clone());
        let status = api.create(&PostParams::default(), &review).await?.status.unwrap_or_default();
        let known = status.user.filter(|_| status.authenticated == Some(true));
        Ok(known.map(|user| User {
            name: user.username.unwrap_or_default(),
            uid: user.uid.unwrap_or_default(),
            groups: user.groups.unwrap_or_default(),
            extra: user.extra.unwrap_or_default(),
        }))
    }
}

/// The token of a caller who has one.
fn token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Everybody who is known is in one group, which discovery is open to.
fn with_everybody(mut user: User) -> User {
    let is_told = |group: &String| group == AUTHENTICATED || group == UNAUTHENTICATED;
    if user.name != ANONYMOUS && !user.groups.iter().any(is_told) {
        user.groups.push(AUTHENTICATED.to_owned());
    }
    user
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_token_is_what_follows_bearer() {
        let cases = [
            ("Bearer abc", Some("abc")),
            ("bearer abc ", Some("abc")),
            ("Bearer ", None),
            ("Basic abc", None),
            ("abc", None),
        ];
        for (value, expected) in cases {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static(value))]);
            assert_eq!(token(&headers), expected, "{value}");
        }
        assert_eq!(token(&HeaderMap::new()), None);
    }

    #[test]
    fn who_is_known_is_in_the_group_of_all_who_are_and_nobody_is_in_it_by_being_nobody() {
        let groups = |name: &str, groups: &[&str]| {
            let groups = groups.iter().map(|group| (*group).to_owned()).collect();
            with_everybody(User { name: name.to_owned(), groups, ..User::default() }).groups
        };
        assert_eq!(groups("ana", &["team-a"]), ["team-a", AUTHENTICATED]);
        assert_eq!(groups("ana", &[AUTHENTICATED]), [AUTHENTICATED]);
        assert_eq!(groups(ANONYMOUS, &[UNAUTHENTICATED]), [UNAUTHENTICATED]);
        assert_eq!(groups(ANONYMOUS, &[]), [""; 0]);
    }
}

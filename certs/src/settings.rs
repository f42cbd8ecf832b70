//! What a caller chooses about self-managed certificates.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use crate::registration::{Ours, Registration};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Validity is written in whole seconds, so two thirds of less than this is nothing.
const SHORTEST: Duration = Duration::from_secs(3);

/// How long things live.
///
/// The default suits production. A serving certificate of 90 days is renewed after 60, which leaves 30 days to
/// notice and repair whatever keeps it from being renewed. An authority of a year is replaced after eight
/// months, and the four that remain are longer than any certificate it has signed. Half a minute of settling
/// covers API servers that learn late of a registration's new bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    pub(crate) authority: Duration,
    pub(crate) serving: Duration,
    pub(crate) settling: Duration,
}

/// Lifetimes that cannot work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LifetimesError {
    /// Too short to be renewed in time.
    #[error("a serving certificate must live for at least 3 seconds, not {0:?}; choose days")]
    TooShort(Duration),
    /// A certificate cannot outlive its authority.
    #[error(
        "the authority's life of {authority:?} must be at least the serving certificate's {serving:?}; make the first longer"
    )]
    AuthorityTooShort {
        /// How long the authority would live.
        authority: Duration,
        /// How long the serving certificate would live.
        serving: Duration,
    },
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self { authority: 365 * DAY, serving: 90 * DAY, settling: Duration::from_secs(30) }
    }
}

impl Lifetimes {
    /// Lives of the authority and of the serving certificate, and how long a new authority must have been
    /// trusted by every registration before it signs.
    ///
    /// # Errors
    /// When they cannot work together.
    pub fn new(authority: Duration, serving: Duration, settling: Duration) -> Result<Self, LifetimesError> {
        if serving < SHORTEST {
            return Err(LifetimesError::TooShort(serving));
        }
        if authority < serving {
            return Err(LifetimesError::AuthorityTooShort { authority, serving });
        }
        Ok(Self { authority, serving, settling })
    }
}

/// Where self-managed certificates are kept, whom they are for, and who has to trust them.
///
/// The Secret holds the authority's private key, since any replica may have to sign: nobody but the programs that
/// serve with it may read it. Rights needed, each on the one name where there is one:
///
/// - `secrets`: get, list, watch, update; create in the namespace
/// - each registration: get, list, watch, patch
/// - `events.events.k8s.io` in the namespace: create, patch
///
/// To rotate by hand: remove `tls.crt` for a new certificate, `ca.key` for a new authority. Deleting the Secret does
/// both, and the old authority stays trusted for one life of a certificate; after a theft of its key, stop the
/// replicas, delete the Secret and empty `caBundle`, and start again.
#[derive(Clone, Debug)]
pub struct Settings {
    pub(crate) namespace: String,
    pub(crate) secret: String,
    pub(crate) names: BTreeSet<String>,
    pub(crate) ours: Ours,
    pub(crate) registrations: Vec<Registration>,
    pub(crate) lifetimes: Lifetimes,
}

impl Settings {
    /// Certificates for a Service, kept in the Secret `<service>-certificates` of its namespace. Webhooks and
    /// APIServices that point at this Service are ours.
    pub fn for_service(namespace: &str, service: &str) -> Self {
        // The API server asks for `<service>.<namespace>.svc`; the others are for people inside the cluster.
        let names = [
            format!("{service}.{namespace}.svc"),
            format!("{service}.{namespace}"),
            format!("{service}.{namespace}.svc.cluster.local"),
        ];
        Self {
            namespace: namespace.to_owned(),
            secret: format!("{service}-certificates"),
            names: names.into(),
            ours: Ours { namespace: namespace.to_owned(), service: service.to_owned(), urls: Vec::new() },
            registrations: Vec::new(),
            lifetimes: Lifetimes::default(),
        }
    }

    /// Keeps them in another Secret of the namespace.
    #[must_use]
    pub fn secret(mut self, name: impl Into<String>) -> Self {
        self.secret = name.into();
        self
    }

    /// Adds a DNS name or an IP address to the certificate.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        // As a certificate gives it back: an address has many spellings.
        self.names.insert(name.parse::<IpAddr>().map_or(name, |address| address.to_string()));
        self
    }

    /// Takes webhooks for ours too whose `clientConfig.url` is this one or below it, for example
    /// `https://127.0.0.1:9443`.
    #[must_use]
    pub fn url(mut self, url: impl Into<String>) -> Self {
        self.ours.urls.push(url.into().trim_end_matches('/').to_owned());
        self
    }

    /// Keeps `caBundle` right in this registration. One that does not exist is served as soon as it does.
    #[must_use]
    pub fn registration(mut self, registration: Registration) -> Self {
        self.registrations.push(registration);
        self
    }

    /// Other lifetimes than the default.
    #[must_use]
    pub fn lifetimes(mut self, lifetimes: Lifetimes) -> Self {
        self.lifetimes = lifetimes;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_that_cannot_work_are_refused() {
        let seconds = Duration::from_secs;
        assert!(Lifetimes::new(seconds(3), seconds(3), seconds(0)).is_ok());
        let short = Lifetimes::new(seconds(9), seconds(2), seconds(0)).unwrap_err();
        assert_eq!(
            short.to_string(),
            "a serving certificate must live for at least 3 seconds, not 2s; choose days"
        );
        let reversed = Lifetimes::new(seconds(9), seconds(10), seconds(0)).unwrap_err();
        assert_eq!(
            reversed.to_string(),
            "the authority's life of 9s must be at least the serving certificate's 10s; make the first longer"
        );
    }

    #[test]
    fn an_address_is_kept_as_certificates_spell_it() {
        let settings = Settings::for_service("n", "s").name("0:0:0:0:0:0:0:1").name("Example.com");
        assert!(settings.names.contains("::1") && settings.names.contains("Example.com"));
    }

    #[test]
    fn the_default_overlap_outlasts_every_certificate_of_the_old_authority() {
        let Lifetimes { authority, serving, .. } = Lifetimes::default();
        assert!(authority / 3 > serving);
    }
}

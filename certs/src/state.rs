//! What the Secret holds, parsed: authorities, the certificate in service, and two moments.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use crate::certificate::{Certificate, Fingerprint, Validity};

/// A private key as PEM. It prints as nothing, so that no log line or error can carry it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct PrivateKey(Arc<str>);

impl PrivateKey {
    pub(crate) fn new(pem: impl Into<Arc<str>>) -> Self {
        Self(pem.into())
    }

    pub(crate) fn pem(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PrivateKey(..)")
    }
}

/// An authority's certificate: what others must trust.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Trusted {
    pub(crate) id: Fingerprint,
    pub(crate) validity: Validity,
    pub(crate) certificate: Arc<str>,
}

impl From<&Certificate> for Trusted {
    fn from(certificate: &Certificate) -> Self {
        Self { id: certificate.id, validity: certificate.validity, certificate: certificate.to_pem().into() }
    }
}

/// An authority whose key we have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Authority {
    pub(crate) trusted: Trusted,
    pub(crate) key: PrivateKey,
}

/// A serving certificate with its key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Leaf {
    pub(crate) id: Fingerprint,
    /// The authority that signed it, verified.
    pub(crate) issuer: Fingerprint,
    pub(crate) validity: Validity,
    pub(crate) names: BTreeSet<String>,
    pub(crate) certificate: Arc<str>,
    pub(crate) key: PrivateKey,
}

/// Everything replicas share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// Signs serving certificates.
    pub(crate) signing: Option<Authority>,
    /// Will sign, once everybody trusts it.
    pub(crate) next: Option<Authority>,
    /// Since when every registration is known to trust `next`.
    pub(crate) next_trusted_since: Option<Timestamp>,
    /// Signs no more; trusted while a certificate it signed may be in service somewhere.
    pub(crate) retired: Vec<Trusted>,
    /// When the retired ones are forgotten at the latest.
    pub(crate) retired_until: Option<Timestamp>,
    /// What every replica serves.
    pub(crate) serving: Option<Leaf>,
}

impl State {
    /// Every authority to trust. The order is that of a life: retired, signing, next.
    pub(crate) fn trusted(&self) -> impl Iterator<Item = &Trusted> {
        let keyed = [&self.signing, &self.next].into_iter().flatten();
        self.retired.iter().chain(keyed.map(|authority| &authority.trusted))
    }

    /// The same as one PEM text: what `caBundle` has to be.
    pub(crate) fn bundle(&self) -> String {
        self.trusted().map(|trusted| &*trusted.certificate).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_key_prints_as_nothing() {
        assert_eq!(format!("{:?}", PrivateKey::new("-----BEGIN PRIVATE KEY-----")), "PrivateKey(..)");
    }
}

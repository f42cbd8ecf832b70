//! The Secret and the [`State`] in it.
//!
//! | Key | Holds |
//! |---|---|
//! | `tls.crt`, `tls.key` | the serving certificate and its key, as in any TLS Secret |
//! | `ca.crt` | every authority to trust: retired, signing, next |
//! | `ca.key` | the key of the signing authority |
//! | `ca-next.key` | the key of the next authority, during a rotation |
//!
//! Which certificate of `ca.crt` has which part is told by the keys, so nothing is stored twice and nothing can
//! disagree. Reading is lenient: whatever a hand has damaged is reported and taken as missing, and `decide`
//! replaces it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use rcgen::{KeyPair, PublicKeyData};
use rustls::RootCertStore;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::CryptoProvider;
use rustls::server::ParsedCertificate;
use x509_parser::prelude::FromDer;

use crate::certificate::{Certificate, unix_time};
use crate::pair::{Pair, Refusal};
use crate::state::{Authority, Leaf, PrivateKey, State, Trusted};

const SERVING: &str = "tls.crt";
const SERVING_KEY: &str = "tls.key";
const TRUSTED: &str = "ca.crt";
const SIGNING_KEY: &str = "ca.key";
const NEXT_KEY: &str = "ca-next.key";

// Moments are no secrets, and an annotation is easier to read for people.
const TRUSTED_SINCE: &str = "certs.butler.butlerlabs.dev/next-trusted-since";
const RETIRED_UNTIL: &str = "certs.butler.butlerlabs.dev/retired-until";

/// Something in the Secret that a hand has damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error(transparent)]
    Serving(Refusal),
    #[error("`ca.crt` does not hold X.509 certificates in PEM form")]
    Trusted,
    #[error("`{0}` is not the key of an authority in `ca.crt`")]
    Key(&'static str),
}

/// What the Secret holds, and what in it cannot be used.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub(crate) state: State,
    pub(crate) faults: Vec<Fault>,
}

pub(crate) fn read(secret: &Secret, provider: &CryptoProvider) -> Stored {
    let empty = BTreeMap::new();
    let data = secret.data.as_ref().unwrap_or(&empty);
    let entry = |key: &str| data.get(key).map(|value| value.0.as_slice()).filter(|value| !value.is_empty());
    let mut faults = Vec::new();

    let mut authorities =
        Certificate::all_from_pem(entry(TRUSTED).unwrap_or_default()).unwrap_or_else(|_| {
            faults.push(Fault::Trusted);
            Vec::new()
        });
    let serving = match (entry(SERVING), entry(SERVING_KEY)) {
        (None, None) => None,
        (chain, key) => {
            let (chain, key) = (chain.unwrap_or_default(), key.unwrap_or_default());
            leaf(chain, key, &authorities, provider)
                .inspect_err(|refusal| faults.push(Fault::Serving(*refusal)))
                .ok()
        }
    };
    let mut keyed = |name: &'static str| {
        let found = take_owner(entry(name)?, &mut authorities);
        if found.is_none() {
            faults.push(Fault::Key(name));
        }
        found
    };
    let (signing, next) = (keyed(SIGNING_KEY), keyed(NEXT_KEY));

    let annotations = secret.metadata.annotations.as_ref();
    let moment = |key: &str| annotations?.get(key)?.parse::<Timestamp>().ok();
    let state = State {
        next_trusted_since: moment(TRUSTED_SINCE).filter(|_| next.is_some()),
        signing,
        next,
        retired: authorities.iter().map(Trusted::from).collect(),
        retired_until: moment(RETIRED_UNTIL),
        serving,
    };
    Stored { state, faults }
}

/// Writes the state into a Secret, leaving alone what is not ours: labels, other annotations, other keys.
pub(crate) fn write(secret: &mut Secret, state: &State) {
    let State { signing, next, next_trusted_since, retired: _, retired_until, serving } = state;
    let bundle = Some(state.bundle()).filter(|bundle| !bundle.is_empty());
    let data = secret.data.get_or_insert_default();
    let mut put = |key: &str, value: Option<&str>| match value {
        Some(value) => drop(data.insert(key.to_owned(), ByteString(value.as_bytes().to_vec()))),
        None => drop(data.remove(key)),
    };
    put(SERVING, serving.as_ref().map(|leaf| &*leaf.certificate));
    put(SERVING_KEY, serving.as_ref().map(|leaf| leaf.key.pem()));
    put(TRUSTED, bundle.as_deref());
    put(SIGNING_KEY, signing.as_ref().map(|authority| authority.key.pem()));
    put(NEXT_KEY, next.as_ref().map(|authority| authority.key.pem()));

    let annotations = secret.metadata.annotations.get_or_insert_default();
    for (key, moment) in [(TRUSTED_SINCE, next_trusted_since), (RETIRED_UNTIL, retired_until)] {
        match moment {
            Some(moment) => drop(annotations.insert(key.to_owned(), moment.to_string())),
            None => drop(annotations.remove(key)),
        }
    }
}

fn leaf(
    chain: &[u8],
    key: &[u8],
    authorities: &[Certificate],
    provider: &CryptoProvider,
) -> Result<Leaf, Refusal> {
    let text = |bytes| std::str::from_utf8(bytes).map_err(|_| Refusal::NoCertificate);
    let certificate = Pair::parse(chain, key, provider)?.certificate;
    let issuer = authorities
        .iter()
        .find(|authority| has_signed(authority, &certificate, provider))
        .ok_or(Refusal::UnknownIssuer)?;
    Ok(Leaf {
        id: certificate.id,
        issuer: issuer.id,
        validity: certificate.validity,
        names: certificate.names,
        certificate: text(chain)?.into(),
        key: PrivateKey::new(text(key)?),
    })
}

/// Whether a client that trusts this authority would accept the certificate, at the first moment both are valid.
fn has_signed(authority: &Certificate, certificate: &Certificate, provider: &CryptoProvider) -> bool {
    let Ok(parsed) = ParsedCertificate::try_from(&certificate.der) else { return false };
    let mut roots = RootCertStore::empty();
    if roots.add(authority.der.clone()).is_err() {
        return false;
    }
    let moment = unix_time(certificate.validity.from.max(authority.validity.from));
    let algorithms = provider.signature_verification_algorithms.all;
    verify_server_cert_signed_by_trust_anchor(&parsed, &roots, &[], moment, algorithms).is_ok()
}

/// Takes the authority out whose key this is.
fn take_owner(key: &[u8], authorities: &mut Vec<Certificate>) -> Option<Authority> {
    let pem = std::str::from_utf8(key).ok()?;
    let public = KeyPair::from_pem(pem).ok()?.subject_public_key_info();
    let index = authorities.iter().position(|authority| {
        let parsed = x509_parser::certificate::X509Certificate::from_der(&authority.der);
        parsed.is_ok_and(|(_, parsed)| parsed.public_key().raw == public)
    })?;
    let certificate = authorities.remove(index);
    Some(Authority { trusted: Trusted::from(&certificate), key: PrivateKey::new(pem) })
}

#[cfg(test)]
mod tests;

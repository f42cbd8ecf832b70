//! A certificate and a key that are to be served: checked before anybody sees them.

use std::sync::Arc;

use jiff::Timestamp;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::CertifiedKey;

use crate::certificate::Certificate;

/// Why a certificate was not taken. The old one, if any, goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A file is missing or cannot be read.
    #[error("`tls.crt` or `tls.key` cannot be read; check that both exist and may be read")]
    Unreadable,
    /// There is no certificate in it, or one that does not parse.
    #[error("`tls.crt` does not hold an X.509 certificate in PEM form; write the certificate and its chain")]
    NoCertificate,
    /// There is no private key in it, or none that can be used.
    #[error("`tls.key` does not hold a usable private key in PEM form; write an ECDSA, RSA or Ed25519 key")]
    NoKey,
    /// The key is another certificate's.
    #[error("`tls.key` does not belong to the certificate in `tls.crt`; replace both together")]
    KeyMismatch,
    /// Its time is over.
    #[error("the certificate in `tls.crt` ended at {0}; renew it")]
    Expired(Timestamp),
    /// Its time has not come.
    #[error("the certificate in `tls.crt` begins only at {0}; check the clocks")]
    NotYetValid(Timestamp),
    /// No authority we trust has signed it.
    #[error("the certificate in `tls.crt` is not signed by an authority in `ca.crt`; leave the Secret to us")]
    UnknownIssuer,
}

impl Refusal {
    /// For metrics: bounded, unlike the message.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Unreadable => "Unreadable",
            Self::NoCertificate => "NoCertificate",
            Self::NoKey => "NoKey",
            Self::KeyMismatch => "KeyMismatch",
            Self::Expired(_) => "Expired",
            Self::NotYetValid(_) => "NotYetValid",
            Self::UnknownIssuer => "UnknownIssuer",
        }
    }
}

/// A certificate that can be served with.
#[derive(Debug)]
pub(crate) struct Pair {
    /// The server's own certificate; the chain is in `certified`.
    pub(crate) certificate: Certificate,
    pub(crate) certified: Arc<CertifiedKey>,
}

impl Pair {
    /// Whether two PEM texts make a certificate that can be served with, at whatever time.
    pub(crate) fn parse(chain: &[u8], key: &[u8], provider: &CryptoProvider) -> Result<Self, Refusal> {
        let chain = Certificate::all_from_pem(chain).map_err(|_| Refusal::NoCertificate)?;
        let certificate = chain.first().cloned().ok_or(Refusal::NoCertificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| Refusal::NoKey)?;
        let key = provider.key_provider.load_private_key(key).map_err(|_| Refusal::NoKey)?;
        let chain = chain.into_iter().map(|certificate| certificate.der).collect();
        let certified = CertifiedKey::new(chain, key);
        // A key that cannot tell its public half counts as a mismatch: ring's always can.
        certified.keys_match().map_err(|_| Refusal::KeyMismatch)?;
        Ok(Self { certificate, certified: Arc::new(certified) })
    }

    /// Whether its time is now.
    pub(crate) fn valid_at(self, now: Timestamp) -> Result<Self, Refusal> {
        let validity = self.certificate.validity;
        if validity.is_over(now) {
            return Err(Refusal::Expired(validity.until));
        }
        if now < validity.from {
            return Err(Refusal::NotYetValid(validity.from));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::advance::Mint;
    use crate::mint::Minter;
    use crate::settings::Lifetimes;
    use crate::state::Leaf;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn leaf() -> Leaf {
        let seconds = Duration::from_secs;
        let mut mint = Minter { lifetimes: Lifetimes::new(seconds(100), seconds(20), seconds(0)).unwrap() };
        let authority = mint.authority(at(1000)).unwrap();
        mint.leaf(&authority, &["a".to_owned()].into(), at(1000)).unwrap()
    }

    fn judge(chain: &str, key: &str, now: i64) -> Result<(), Refusal> {
        let provider = rustls::crypto::ring::default_provider();
        Pair::parse(chain.as_bytes(), key.as_bytes(), &provider)?.valid_at(at(now)).map(|_| ())
    }

    #[test]
    fn each_way_to_be_bad_has_its_own_refusal() {
        let (one, other) = (leaf(), leaf());
        let (chain, key) = (&*one.certificate, one.key.pem());
        let cut = &chain[..chain.len() / 2];
        let twice_broken = format!("{chain}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        let cases = [
            (chain, key, 1000, Ok(())),
            (chain, key, 1019, Ok(())),
            (chain, key, 1020, Err(Refusal::Expired(at(1020)))),
            (chain, key, 998, Err(Refusal::NotYetValid(at(999)))),
            (chain, other.key.pem(), 1000, Err(Refusal::KeyMismatch)),
            (chain, "", 1000, Err(Refusal::NoKey)),
            (chain, chain, 1000, Err(Refusal::NoKey)),
            ("", key, 1000, Err(Refusal::NoCertificate)),
            (key, key, 1000, Err(Refusal::NoCertificate)),
            (cut, key, 1000, Err(Refusal::NoCertificate)),
            (&twice_broken, key, 1000, Err(Refusal::NoCertificate)),
        ];
        for (number, (chain, key, now, expected)) in cases.into_iter().enumerate() {
            assert_eq!(judge(chain, key, now), expected, "case {number}");
        }
    }

    #[test]
    fn neither_a_pair_nor_a_refusal_prints_a_key() {
        let leaf = leaf();
        let provider = rustls::crypto::ring::default_provider();
        let pair = Pair::parse(leaf.certificate.as_bytes(), leaf.key.pem().as_bytes(), &provider).unwrap();
        let secret = leaf.key.pem().lines().nth(1).unwrap();
        assert!(!format!("{pair:?} {leaf:?}").contains(secret));
        let pem = PrivateKeyDer::from_pem_slice(leaf.key.pem().as_bytes()).unwrap();
        let bytes = format!("{:?}", pem.secret_der());
        assert!(!format!("{pair:?}").contains(bytes.trim_matches(['[', ']'])));
    }
}

//! Makes authorities and certificates: ECDSA P-256, signed by ring.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::advance::Mint;
use crate::certificate::{Certificate, Validity};
use crate::settings::Lifetimes;
use crate::state::{Authority, Leaf, PrivateKey, Trusted};

/// Clocks of API servers may be behind ours by this much.
const BACKDATED: Duration = Duration::from_secs(60 * 60);

/// A certificate cannot be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MintError {
    #[error("cannot make a key or certificate: {0}; check that every name is a DNS name or an IP address")]
    Make(#[from] rcgen::Error),
    #[error("a certificate just made cannot be read back")]
    Read,
}

/// The real mint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Minter {
    pub(crate) lifetimes: Lifetimes,
}

impl Mint for Minter {
    type Error = MintError;

    fn authority(&mut self, now: Timestamp) -> Result<Authority, MintError> {
        let key = KeyPair::generate()?;
        // The moment tells authorities apart for whoever looks at a bundle.
        let mut params =
            params(&format!("butler authority of {now:.0}"), validity(now, self.lifetimes.authority));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
        let certificate = read(params.self_signed(&key)?.der())?;
        Ok(Authority { trusted: Trusted::from(&certificate), key: PrivateKey::new(key.serialize_pem()) })
    }

    fn leaf(
        &mut self,
        signer: &Authority,
        names: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<Leaf, MintError> {
        let authority = CertificateDer::from_pem_slice(signer.trusted.certificate.as_bytes())
            .map_err(|_| MintError::Read)?;
        let issuer = Issuer::from_ca_cert_der(&authority, KeyPair::from_pem(signer.key.pem())?)?;
        let wanted = validity(now, self.lifetimes.serving);
        let validity = Validity {
            from: wanted.from.max(signer.trusted.validity.from),
            until: wanted.until.min(signer.trusted.validity.until),
        };
        // Clients look at the alternative names only; a common name is limited to 64 characters.
        let mut params = params("butler", validity);
        params.subject_alt_names =
            CertificateParams::new(names.iter().cloned().collect::<Vec<_>>())?.subject_alt_names;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = read(params.signed_by(&key, &issuer)?.der())?;
        Ok(Leaf {
            id: certificate.id,
            issuer: signer.trusted.id,
            validity: certificate.validity,
            names: certificate.names.clone(),
            certificate: certificate.to_pem().into(),
            key: PrivateKey::new(key.serialize_pem()),
        })
    }
}

/// A life that began a little before now. The part before now is small against the whole, or a certificate of
/// seconds would be due when it is made.
fn validity(now: Timestamp, life: Duration) -> Validity {
    let before = (life / 20).min(BACKDATED);
    Validity {
        from: now.checked_sub(before).unwrap_or(Timestamp::MIN),
        until: now.checked_add(life).unwrap_or(Timestamp::MAX),
    }
}

fn params(name: &str, validity: Validity) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.use_authority_key_identifier_extension = true;
    let moment = |at: Timestamp| {
        let seconds = u64::try_from(at.as_second()).unwrap_or(0);
        rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds)
    };
    params.not_before = moment(validity.from);
    params.not_after = moment(validity.until);
    params
}

fn read(der: &CertificateDer<'static>) -> Result<Certificate, MintError> {
    Certificate::from_der(der.clone()).map_err(|_| MintError::Read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn minter(authority: u64, serving: u64) -> Minter {
        let seconds = Duration::from_secs;
        Minter { lifetimes: Lifetimes::new(seconds(authority), seconds(serving), seconds(0)).unwrap() }
    }

    #[test]
    fn lives_are_as_asked_for_and_a_certificate_ends_with_its_authority() {
        let mut mint = minter(1000, 100);
        let authority = mint.authority(at(10_000)).unwrap();
        assert_eq!(authority.trusted.validity, Validity { from: at(9_950), until: at(11_000) });
        let leaf = mint.leaf(&authority, &names(&["a.b.svc", "127.0.0.1", "::1"]), at(10_500)).unwrap();
        assert_eq!(leaf.validity, Validity { from: at(10_495), until: at(10_600) });
        assert_eq!(leaf.names, names(&["a.b.svc", "127.0.0.1", "::1"]));
        assert_eq!(leaf.issuer, authority.trusted.id);
        let last = mint.leaf(&authority, &names(&["a"]), at(10_950)).unwrap();
        assert_eq!(last.validity.until, at(11_000));
    }

    #[test]
    fn a_name_that_cannot_be_one_is_refused_without_showing_a_key() {
        let mut mint = minter(1000, 100);
        let authority = mint.authority(at(10_000)).unwrap();
        let error = mint.leaf(&authority, &names(&["ä"]), at(10_000)).unwrap_err().to_string();
        assert!(error.ends_with("; check that every name is a DNS name or an IP address"), "{error}");
        assert!(!format!("{authority:?}").contains("PRIVATE"));
    }
}

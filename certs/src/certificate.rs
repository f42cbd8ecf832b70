//! What a certificate says about itself, read once when it comes in.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;

use jiff::Timestamp;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use sha2::{Digest, Sha256};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

/// Tells certificates apart: the SHA-256 of the whole certificate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Fingerprint(pub(crate) [u8; 32]);

impl fmt::Display for Fingerprint {
    /// The first eight bytes: enough to find the certificate again, short enough for a log line.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(8).try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// From when until when a certificate may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Validity {
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
}

impl Validity {
    /// When two thirds of its life are over. Counted from the certificate alone, not from settings, so that
    /// replicas with different settings agree.
    pub(crate) fn due(&self) -> Timestamp {
        let life = self.until.as_second().saturating_sub(self.from.as_second()).max(0);
        let due = self.from.as_second().saturating_add(life / 3 * 2 + life % 3 * 2 / 3);
        Timestamp::from_second(due).unwrap_or(self.until)
    }

    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        now >= self.until
    }
}

/// A certificate as it was read.
#[derive(Clone, Debug)]
pub(crate) struct Certificate {
    pub(crate) der: CertificateDer<'static>,
    pub(crate) id: Fingerprint,
    pub(crate) validity: Validity,
    pub(crate) common_name: Option<String>,
    /// DNS names and addresses it is for.
    pub(crate) names: BTreeSet<String>,
}

/// Bytes that are no certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an X.509 certificate")]
pub(crate) struct NotACertificate;

impl Certificate {
    pub(crate) fn from_der(der: CertificateDer<'static>) -> Result<Self, NotACertificate> {
        let (rest, parsed) = X509Certificate::from_der(&der).map_err(|_| NotACertificate)?;
        if !rest.is_empty() {
            return Err(NotACertificate);
        }
        let moment = |time: i64| Timestamp::from_second(time).map_err(|_| NotACertificate);
        let validity = Validity {
            from: moment(parsed.validity.not_before.timestamp())?,
            until: moment(parsed.validity.not_after.timestamp())?,
        };
        let common_name =
            parsed.subject().iter_common_name().next().and_then(|name| name.as_str().ok()).map(str::to_owned);
        let names = match parsed.subject_alternative_name() {
            Ok(Some(extension)) => extension.value.general_names.iter().filter_map(name).collect(),
            Ok(None) => BTreeSet::new(),
            Err(_) => return Err(NotACertificate),
        };
        let id = Fingerprint(Sha256::digest(&der).into());
        Ok(Self { id, validity, common_name, names, der })
    }

    /// Every certificate of a PEM text, in order. One broken certificate makes the text broken: a reader that
    /// skips what it cannot read would trust or serve something else than was meant.
    pub(crate) fn all_from_pem(pem: &[u8]) -> Result<Vec<Self>, NotACertificate> {
        CertificateDer::pem_slice_iter(pem)
            .map(|der| Self::from_der(der.map_err(|_| NotACertificate)?))
            .collect()
    }

    pub(crate) fn to_pem(&self) -> String {
        let block = pem::Pem::new("CERTIFICATE", self.der.to_vec());
        pem::encode_config(&block, pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF))
    }
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(octets) => {
            let address = <[u8; 4]>::try_from(*octets)
                .map(IpAddr::from)
                .or_else(|_| <[u8; 16]>::try_from(*octets).map(IpAddr::from));
            address.ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

/// The time as rustls wants it; before 1970 counts as 1970.
pub(crate) fn unix_time(now: Timestamp) -> UnixTime {
    let seconds = u64::try_from(now.as_second()).unwrap_or(0);
    UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn two_thirds_of_a_life_are_counted_without_overflow() {
        for (from, until, due) in
            [(0, 90, 60), (0, 91, 60), (0, 92, 61), (100, 103, 102), (5, 5, 5), (9, 3, 9)]
        {
            assert_eq!(Validity { from: at(from), until: at(until) }.due(), at(due), "{from}..{until}");
        }
        let widest = Validity { from: Timestamp::MIN, until: Timestamp::MAX };
        assert!(widest.due() < Timestamp::MAX);
    }

    #[test]
    fn text_that_is_no_certificate_is_refused_whole() {
        assert!(Certificate::all_from_pem(b"").unwrap().is_empty());
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert_eq!(Certificate::all_from_pem(broken.as_bytes()).unwrap_err(), NotACertificate);
    }
}

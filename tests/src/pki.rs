//! Keys and certificates of one control plane.
//!
//! Two authorities, because each opens a different door: `ca` for the API server and its users,
//! `front-proxy-ca` for aggregated API servers. Etcd has a third, beside its data: a user's certificate must
//! not open etcd.
//!
//! Only the authorities' keys and the service account key are kept between starts. Every certificate is
//! issued anew, so a kept data directory never meets an expired one, and old copies stay valid because the
//! keys that sign are the same.

mod groups;

use std::fmt;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType,
};

/// Where everything of the bench is reached.
pub const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Long, since an authority's certificate gets stored in webhook registrations of a kept directory.
const AUTHORITY_DAYS: u32 = 3650;
/// Longer than anybody leaves a control plane running.
const CERTIFICATE_DAYS: u32 = 400;

/// What can go wrong with keys and certificates.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// A file cannot be read or written.
    #[error("cannot access `{path}`: {source}; check that the directory is yours and the disk is not full")]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A key that was kept cannot be read.
    #[error("`{path}` does not hold a usable key ({source}); remove the data directory and start again")]
    Key {
        /// The key file.
        path: PathBuf,
        /// What is wrong with it.
        source: rcgen::Error,
    },
    /// A certificate cannot be made, for example because a name is not a possible DNS name.
    #[error("cannot issue a certificate for `{subject}`: {source}; choose another name")]
    Issue {
        /// Whom it was for.
        subject: String,
        /// What is wrong.
        source: rcgen::Error,
    },
}

/// A certificate with its private key, both as PEM.
#[derive(Clone)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl fmt::Debug for Issued {
    /// Without the key, which has no business in a log.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Issued").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

impl Issued {
    /// Writes `<path>.crt` and `<path>.key`, readable by their owner only.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn keep(&self, path: &Path) -> Result<(), PkiError> {
        write(&path.with_extension("crt"), &self.certificate)?;
        write(&path.with_extension("key"), &self.key)
    }
}

/// A certificate authority whose key is kept in a directory.
#[derive(Debug)]
pub struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Takes the key from `<path>.key`, or makes one, and writes a fresh certificate to `<path>.crt`.
    ///
    /// # Errors
    /// When the files cannot be read or written, or the key is not one.
    pub fn open(path: &Path, name: &str) -> Result<Self, PkiError> {
        let failed = |source| PkiError::Issue { subject: name.to_owned(), source };
        let key = kept_key(&path.with_extension("key"))?;
        let mut params = params(name, &[], AUTHORITY_DAYS);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages =
            vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).map_err(failed)?.pem();
        write(&path.with_extension("crt"), &certificate)?;
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    /// The authority's own certificate as PEM: what others must trust.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// A certificate for a server that is reached at these addresses and names.
    ///
    /// # Errors
    /// When a name is not a possible DNS name.
    pub fn server(&self, name: &str, addresses: &[IpAddr], names: &[&str]) -> Result<Issued, PkiError> {
        let failed = |source| PkiError::Issue { subject: name.to_owned(), source };
        let mut params = params(name, &[], CERTIFICATE_DAYS);
        params.subject_alt_names = addresses.iter().copied().map(SanType::IpAddress).collect();
        for name in names {
            params.subject_alt_names.push(SanType::DnsName((*name).try_into().map_err(failed)?));
        }
        // Etcd dials itself with its serving certificate, hence both usages.
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(&params, name, &[])
    }

    /// A certificate that makes its holder the user `name` in `groups`.
    ///
    /// # Errors
    /// When the certificate cannot be made.
    pub fn client(&self, name: &str, groups: &[&str]) -> Result<Issued, PkiError> {
        let mut params = params(name, groups, CERTIFICATE_DAYS);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(&params, name, groups)
    }

    fn issue(&self, params: &CertificateParams, name: &str, groups: &[&str]) -> Result<Issued, PkiError> {
        let failed = |source| PkiError::Issue { subject: name.to_owned(), source };
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        let certificate = if groups.len() > 1 {
            let der = groups::with_subject(certificate.der(), name, groups, self.issuer.key())
                .unwrap_or(Err(rcgen::Error::CouldNotParseCertificate))
                .map_err(failed)?;
            pem::encode_config(
                &pem::Pem::new("CERTIFICATE", der),
                pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF),
            )
        } else {
            certificate.pem()
        };
        Ok(Issued { certificate, key: key.serialize_pem() })
    }
}

/// The authorities of one control plane, and the files its programs read.
#[derive(Debug)]
pub struct Pki {
    directory: PathBuf,
    cluster: Authority,
}

impl Pki {
    /// Brings every file of `directory` up to date; `service_address` is where pods would reach the API
    /// server.
    ///
    /// # Errors
    /// When the files cannot be read or written, or a key that was kept is not one.
    pub fn open(directory: &Path, service_address: IpAddr) -> Result<Self, PkiError> {
        make_private_directory(directory)?;
        let cluster = Authority::open(&directory.join("ca"), "butler-bench")?;
        let front_proxy = Authority::open(&directory.join("front-proxy-ca"), "butler-bench-front-proxy")?;

        let service_account = kept_key(&directory.join("sa.key"))?;
        write(&directory.join("sa.pub"), &service_account.public_key_pem())?;

        let addresses = [LOOPBACK.as_slice(), &[service_address]].concat();
        let names = [
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
        ];
        let pki = Self { directory: directory.to_owned(), cluster };
        let keep = |name: &str, issued: Issued| issued.keep(&directory.join(name));
        keep("apiserver", pki.cluster.server("kube-apiserver", &addresses, &names)?)?;
        keep("apiserver-kubelet-client", pki.cluster.client("kube-apiserver-kubelet-client", &[])?)?;
        keep("apiserver-webhook-client", pki.cluster.client("kube-apiserver-webhook-client", &[])?)?;
        keep("front-proxy-client", front_proxy.client("front-proxy-client", &[])?)?;
        Ok(pki)
    }

    /// The authority of the API server and its users.
    pub fn cluster(&self) -> &Authority {
        &self.cluster
    }

    /// The path of a file, such as `ca.crt` or `apiserver.key`.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

fn params(name: &str, groups: &[&str], days: u32) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    if let [group] = groups {
        params.distinguished_name.push(DnType::OrganizationName, *group);
    }
    params.distinguished_name.push(DnType::CommonName, name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    // A clock before 1970 gives certificates from 1970, and the programs will say so.
    let now =
        rcgen::date_time_ymd(1970, 1, 1) + SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // A day of slack for clocks that are set back while a kept directory rests.
    params.not_before = now - DAY;
    params.not_after = now + DAY * days;
    params
}

fn kept_key(path: &Path) -> Result<KeyPair, PkiError> {
    match fs::read_to_string(path) {
        Ok(text) => {
            KeyPair::from_pem(&text).map_err(|source| PkiError::Key { path: path.to_owned(), source })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let key =
                KeyPair::generate().map_err(|source| PkiError::Key { path: path.to_owned(), source })?;
            write(path, &key.serialize_pem())?;
            Ok(key)
        }
        Err(source) => Err(PkiError::File { path: path.to_owned(), source }),
    }
}

pub(crate) fn make_private_directory(path: &Path) -> Result<(), PkiError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| PkiError::File { path: path.to_owned(), source })
}

/// Writes a file that only its owner may read, and that is never seen half written.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), PkiError> {
    // Two callers may want the same file at once, so each writes to one of its own.
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let aside = path.with_extension(format!("new{}", WRITTEN.fetch_add(1, Ordering::Relaxed)));
    let written = || -> io::Result<()> {
        let mut file = File::options().create(true).write(true).truncate(true).mode(0o600).open(&aside)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&aside, path)
    };
    written().map_err(|source| PkiError::File { path: path.to_owned(), source })
}

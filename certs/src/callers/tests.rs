use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(1000);
    params.not_after = params.not_before + Duration::from_secs(1000);
    params
}

/// An authority and its PEM.
fn authority(name: &str) -> (Issuer<'static, KeyPair>, String) {
    let mut params = params(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    (Issuer::new(params, key), pem)
}

fn certificate(
    issuer: &Issuer<'static, KeyPair>,
    name: &str,
    also: &[&str],
    usage: ExtendedKeyUsagePurpose,
) -> CertificateDer<'static> {
    let mut params = params(name);
    let also: Vec<String> = also.iter().map(|name| (*name).to_owned()).collect();
    params.subject_alt_names = CertificateParams::new(also).unwrap().subject_alt_names;
    params.extended_key_usages = vec![usage];
    params.signed_by(&KeyPair::generate().unwrap(), issuer).unwrap().der().clone()
}

#[test]
fn only_who_proves_an_allowed_name_is_recognised() {
    let (ours, pem) = authority("ours");
    // The same name, another key: a name proves nothing.
    let (theirs, _) = authority("ours");
    let client = || ExtendedKeyUsagePurpose::ClientAuth;
    let server = ExtendedKeyUsagePurpose::ServerAuth;
    let callers = Callers::new(pem.as_bytes(), ["kube-apiserver", "other.example.com"]).unwrap();
    let known =
        |name: &str, common: &str| Ok(Caller { name: name.to_owned(), common_name: Some(common.to_owned()) });
    let not_allowed = |presented: &str| Err(NotProved::NotAllowed { presented: presented.to_owned() });
    let right = certificate(&ours, "kube-apiserver", &[], client());
    let cases = [
        (vec![right.clone()], 1500, known("kube-apiserver", "kube-apiserver")),
        (vec![right.clone()], 999, Err(NotProved::NotTrusted)),
        (vec![right], 2001, Err(NotProved::NotTrusted)),
        (
            vec![certificate(&ours, "x", &["other.example.com"], client())],
            1500,
            known("other.example.com", "x"),
        ),
        (vec![certificate(&ours, "mallory", &["m"], client())], 1500, not_allowed("`mallory`, `m`")),
        (
            vec![certificate(&ours, "kube-apiserver-2", &[], client())],
            1500,
            not_allowed("`kube-apiserver-2`"),
        ),
        (vec![certificate(&theirs, "kube-apiserver", &[], client())], 1500, Err(NotProved::NotTrusted)),
        (vec![certificate(&ours, "kube-apiserver", &[], server)], 1500, Err(NotProved::NotTrusted)),
        (vec![CertificateDer::from(vec![1, 2, 3])], 1500, Err(NotProved::NotACertificate)),
        (vec![], 1500, Err(NotProved::NoCertificate)),
    ];
    for (number, (chain, now, expected)) in cases.into_iter().enumerate() {
        assert_eq!(callers.recognise(&chain, at(now)), expected, "case {number}");
    }
}

#[test]
fn without_allowed_names_any_certificate_of_the_authority_will_do() {
    let (ours, pem) = authority("ours");
    let callers = Callers::new(pem.as_bytes(), []).unwrap();
    let chain = [certificate(&ours, "anybody", &[], ExtendedKeyUsagePurpose::ClientAuth)];
    let anybody = "anybody".to_owned();
    let expected = Caller { name: anybody.clone(), common_name: Some(anybody) };
    assert_eq!(callers.recognise(&chain, at(1500)), Ok(expected));
}

#[test]
fn an_authority_is_replaced_whole_or_not_at_all() {
    let ((old, old_pem), (new, new_pem)) = (authority("old"), authority("new"));
    let client = || ExtendedKeyUsagePurpose::ClientAuth;
    let by_old = [certificate(&old, "one", &[], client())];
    let by_new = [certificate(&new, "one", &[], client())];
    let callers = Callers::new(old_pem.as_bytes(), ["one"]).unwrap();
    for bad in ["", "garbage", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert_eq!(
            callers.trust(bad.as_bytes()).unwrap_err().to_string(),
            "the client authority is not one or more X.509 certificates in PEM form; \
             give the `ca.crt` that signed the caller's certificate"
        );
        assert!(callers.recognise(&by_old, at(1500)).is_ok());
    }
    callers.trust(new_pem.as_bytes()).unwrap();
    assert_eq!(callers.recognise(&by_old, at(1500)), Err(NotProved::NotTrusted));
    assert!(callers.recognise(&by_new, at(1500)).is_ok());
    callers.trust(format!("{old_pem}{new_pem}").as_bytes()).unwrap();
    assert!(callers.recognise(&by_old, at(1500)).is_ok() && callers.recognise(&by_new, at(1500)).is_ok());
}

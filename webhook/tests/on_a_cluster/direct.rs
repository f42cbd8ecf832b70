//! Calls to a replica without the API server: a fresh connection, and so a handshake, each time.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Client;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Who a client says it is: certificate and key as PEM.
pub(crate) type Identity<'a> = (&'a str, &'a str);

pub(crate) const UID: &str = "705ab4f5-6393-11e8-b7cc-42010a800002";

/// What every webhook of ours is registered to trust.
pub(crate) async fn trusted(client: &Client) -> Vec<u8> {
    let all: kube::Api<ValidatingWebhookConfiguration> = kube::Api::all(client.clone());
    let ours = all.get(butler_webhook::registration::NAME).await.unwrap();
    let first = ours.webhooks.unwrap().remove(0);
    first.client_config.ca_bundle.unwrap().0
}

/// Everything that comes back over TLS for one review, also when the connection breaks.
pub(crate) async fn call(
    port: u16,
    bundle: &[u8],
    identity: Option<Identity<'_>>,
) -> (Vec<u8>, io::Result<()>) {
    let body = review();
    let request = format!(
        "POST /validate-butler-butlerlabs-dev-v1alpha1-team HTTP/1.1\r\nHost: gate\r\nContent-Type: application/json\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len(),
    );
    send(port, bundle, identity, &request).await
}

/// Everything that comes back over TLS for any request.
pub(crate) async fn send(
    port: u16,
    bundle: &[u8],
    identity: Option<Identity<'_>>,
    request: &str,
) -> (Vec<u8>, io::Result<()>) {
    let mut answer = Vec::new();
    let result = exchange(port, bundle, identity, request, &mut answer).await;
    (answer, result)
}

async fn exchange(
    port: u16,
    bundle: &[u8],
    identity: Option<Identity<'_>>,
    request: &str,
    answer: &mut Vec<u8>,
) -> io::Result<()> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    let name = ServerName::from(std::net::IpAddr::from(Ipv4Addr::LOCALHOST));
    let mut stream = TlsConnector::from(Arc::new(config(bundle, identity))).connect(name, stream).await?;
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    stream.read_to_end(answer).await?;
    Ok(())
}

/// A question that can always be answered: a Team is deleted that nobody uses.
fn review() -> String {
    let resource = json!({"group": "butler.butlerlabs.dev", "version": "v1alpha1", "resource": "teams"});
    json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
        "uid": UID, "resource": resource, "operation": "DELETE", "name": "nobody",
        "userInfo": {"username": "admin", "groups": ["system:masters"]},
        "oldObject": {"metadata": {"name": "nobody"}}}})
    .to_string()
}

fn config(bundle: &[u8], identity: Option<Identity<'_>>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots);
    let Some((certificate, key)) = identity else { return config.with_no_client_auth() };
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    config.with_client_auth_cert(vec![certificate], key).unwrap()
}

/// Whether that is the answer to our review, and a yes.
pub(crate) fn is_yes(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    text.starts_with("HTTP/1.1 200 ") && text.contains(UID) && text.contains(r#""allowed":true"#)
}

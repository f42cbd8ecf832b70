//! The port that the aggregator calls, and whoever comes directly.

use std::sync::Arc;
use std::time::Duration;

use butler_program::connection::{self, Activity};
use butler_program::{ConnectionLimits, Drain, Finishing, Share, Stopped, listen};
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::Shared;
use super::request;

const HANDSHAKE: Duration = Duration::from_secs(5);

/// By then the gate has waited until the Service has forgotten us.
const DRAIN: Drain = Drain { notice: Duration::ZERO, grace: Duration::from_secs(1) };

/// What is known of a connection for as long as it is open.
#[derive(Debug)]
pub(super) struct Connection {
    /// What the caller showed; its own certificate first. It has the key of that one, and nothing more is proved.
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) activity: Arc<Activity>,
    pub(super) finishing: Finishing,
}

/// Serves until it is asked to stop, then ends watches and what is in flight.
pub(super) async fn run(
    shared: Arc<Shared>,
    tls: Arc<ServerConfig>,
    listener: TcpListener,
    stopped: Stopped,
) {
    let tls = TlsAcceptor::from(tls);
    listen(
        listener,
        DRAIN,
        stopped,
        || {},
        |stream, finishing| {
            let place = shared.connections.take(1)?;
            Some(serve(shared.clone(), tls.clone(), stream, finishing, place))
        },
    )
    .await;
}

async fn serve(
    shared: Arc<Shared>,
    tls: TlsAcceptor,
    stream: TcpStream,
    finishing: Finishing,
    _place: Share,
) {
    // What is sent on a watch is for now. A failure costs only time.
    let _ = stream.set_nodelay(true);
    let mut stream = match timeout(HANDSHAKE, tls.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return tracing::debug!("a TLS handshake failed: {error}"),
        Err(_) => return,
    };
    let tls = stream.get_ref().1;
    let is_http2 = tls.alpn_protocol() == Some(b"h2");
    let chain = tls.peer_certificates().unwrap_or_default();
    let chain = chain.iter().map(|certificate| certificate.clone().into_owned()).collect();
    let activity = Arc::new(Activity::default());
    let connection = Arc::new(Connection { chain, activity: activity.clone(), finishing: finishing.clone() });
    let answer = |request| {
        let (shared, connection) = (shared.clone(), connection.clone());
        async move { request::answer(&shared, &connection, request).await }
    };
    let limits = ConnectionLimits::default();
    let ended = connection::speak(&mut stream, is_http2, &activity, &limits, finishing, answer).await;
    connection::linger(stream.get_mut().0, ended, &activity, &limits).await;
}

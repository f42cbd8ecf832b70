//! Accepts connections, and ends them without losing a request.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Why nobody can call.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {source}")]
pub struct ListenError {
    /// Where.
    pub address: SocketAddr,
    /// Why not.
    pub source: io::Error,
}

/// Listens there. The default address of programs is IPv6's, which takes IPv4 too; where there is no IPv6 at all, IPv4
/// alone has to do.
///
/// # Errors
/// When the address is taken or not ours.
pub async fn bind(address: SocketAddr) -> Result<TcpListener, ListenError> {
    match TcpListener::bind(address).await {
        Err(error) if error.kind() == io::ErrorKind::Unsupported && address.ip().is_unspecified() => {
            let address = (Ipv4Addr::UNSPECIFIED, address.port()).into();
            TcpListener::bind(address).await.map_err(|source| ListenError { address, source })
        }
        bound => bound.map_err(|source| ListenError { address, source }),
    }
}

/// How long ending takes.
#[derive(Clone, Copy, Debug)]
pub struct Drain {
    /// While readiness is already false and connections are still taken. 5 s: a Service keeps sending until every
    /// node has heard that this endpoint is gone.
    pub notice: Duration,
    /// After that, for what is in flight. 10 s: twice what a request or a new connection may take. Together with
    /// the notice it stays below the 30 s that a Pod has to end.
    pub grace: Duration,
}

impl Default for Drain {
    fn default() -> Self {
        Self { notice: Duration::from_secs(5), grace: Duration::from_secs(10) }
    }
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Connections that were open when no more were taken, and ended by themselves.
    pub finished: usize,
    /// Connections that were still in use when the grace time was over.
    pub cut: usize,
}

/// Becomes true when connections should end after what they are doing.
pub type Finishing = watch::Receiver<bool>;

/// Runs `serve` on every connection until `shutdown`, then drains; `leave` is called before the notice.
///
/// `serve` gives nothing for a connection that is not wanted. Dropping the future drops every connection.
pub async fn listen<F>(
    listener: TcpListener,
    drain: Drain,
    shutdown: impl Future<Output = ()>,
    leave: impl FnOnce(),
    serve: impl Fn(TcpStream, Finishing) -> Option<F>,
) -> Drained
where
    F: Future<Output = ()> + Send + 'static,
{
    let finishing = watch::Sender::new(false);
    let mut connections = JoinSet::new();
    let mut accept = |stream, connections: &mut JoinSet<()>| {
        if let Some(connection) = serve(stream, finishing.subscribe()) {
            connections.spawn(connection);
        }
    };
    accept_until(&listener, shutdown, &mut connections, &mut accept).await;
    leave();
    accept_until(&listener, sleep(drain.notice), &mut connections, &mut accept).await;
    drop(listener);

    while connections.try_join_next().is_some() {}
    let open = connections.len();
    finishing.send_replace(true);
    let all_ended = async { while connections.join_next().await.is_some() {} };
    let cut = if timeout(drain.grace, all_ended).await.is_ok() { 0 } else { connections.len() };
    connections.shutdown().await;
    Drained { finished: open - cut, cut }
}

async fn accept_until(
    listener: &TcpListener,
    end: impl Future<Output = ()>,
    connections: &mut JoinSet<()>,
    accept: &mut impl FnMut(TcpStream, &mut JoinSet<()>),
) {
    let mut end = pin!(end);
    loop {
        tokio::select! {
            () = &mut end => return,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => accept(stream, connections),
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    // Out of file descriptors, most likely: trying again at once would only burn the core that could
                    // free some.
                    tracing::warn!("cannot accept connections: {error}");
                    sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
}

/// Whether the failure is that of a caller who has gone, and not ours.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

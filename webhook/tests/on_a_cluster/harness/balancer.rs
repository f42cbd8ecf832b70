//! What a Service does: one address in front of all replicas.

use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Hands each connection to the next replica that takes it. Ends when it is dropped.
pub(crate) struct Balancer {
    port: u16,
    replicas: Arc<Mutex<Vec<u16>>>,
    task: JoinHandle<()>,
}

impl Balancer {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let replicas: Arc<Mutex<Vec<u16>>> = Arc::default();
        let task = tokio::spawn(accept(listener, replicas.clone()));
        Self { port, replicas, task }
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn add(&self, replica: u16) {
        self.replicas.lock().unwrap().push(replica);
    }

    pub(super) fn remove(&self, replica: u16) {
        self.replicas.lock().unwrap().retain(|port| *port != replica);
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, replicas: Arc<Mutex<Vec<u16>>>) {
    let mut turn = 0;
    while let Ok((mut caller, _)) = listener.accept().await {
        let mut choices = replicas.lock().unwrap().clone();
        let first = turn % choices.len().max(1);
        choices.rotate_left(first);
        turn += 1;
        tokio::spawn(async move {
            if let Ok(mut replica) = first_that_answers(&choices).await {
                copy_bidirectional(&mut caller, &mut replica).await.ok();
            }
        });
    }
}

/// A replica that is gone refuses the connection, and the next one is asked.
async fn first_that_answers(choices: &[u16]) -> io::Result<TcpStream> {
    for port in choices {
        if let Ok(stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).await {
            return Ok(stream);
        }
    }
    Err(io::ErrorKind::ConnectionRefused.into())
}

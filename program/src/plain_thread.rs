//! Ports on threads of their own.

use std::thread::JoinHandle;

use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::PlainPort;

/// The plain port, on a thread of its own: whether the program lives, and what it is busy with, can be asked even while
/// its work keeps all other threads busy. Dropped, it stops, and is waited for.
#[derive(Debug)]
pub struct PlainThread {
    _thread: PortThread,
}

impl PlainThread {
    /// Begins to serve.
    ///
    /// # Errors
    /// When there is no thread to be had, or the listener cannot be handed over to it.
    pub fn start(port: PlainPort, listener: TcpListener) -> std::io::Result<Self> {
        let serve = |listener, stopped| async move { port.run(listener, stopped).await };
        Ok(Self { _thread: PortThread::start("plain-port", listener, || {}, serve)? })
    }
}

/// Any port on a thread of its own, with a runtime of its own: what it does takes one core at most. Dropped, it is asked to
/// stop, and is waited for.
#[derive(Debug)]
pub struct PortThread {
    /// Dropping it is the sign to stop.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Resolves when a port is to stop.
pub type Stopped = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

impl PortThread {
    /// Begins to serve; `prepare` runs first, on the new thread.
    ///
    /// # Errors
    /// When there is no thread to be had, or the listener cannot be handed over to it.
    pub fn start<F: Future<Output = ()>>(
        name: &str,
        listener: TcpListener,
        prepare: impl FnOnce() + Send + 'static,
        serve: impl FnOnce(TcpListener, Stopped) -> F + Send + 'static,
    ) -> std::io::Result<Self> {
        // A listener belongs to the runtime that made it.
        let listener = listener.into_std()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let work = move || {
            prepare();
            let stopped = Box::pin(async {
                // Nothing is ever sent.
                let _ = stopped.await;
            });
            runtime.block_on(serve(listener, stopped));
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for PortThread {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // It ends within the second or two that whoever asks just now is given; that it panicked was said when it did.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::ConnectionLimits;

    /// The only thread of this test's runtime waits for the answer, so nothing on that runtime could give it.
    #[tokio::test]
    async fn the_plain_port_answers_while_the_runtime_is_busy_and_stops_with_the_program() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let port = PlainPort::new(Arc::default(), Arc::default(), ConnectionLimits::default());
        let plain = PlainThread::start(port, listener).unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(b"GET /livez HTTP/1.1\r\nhost: gate\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nok\n"), "{answer}");
        drop(plain);
        assert!(TcpStream::connect(address).is_err(), "still listening");
    }
}

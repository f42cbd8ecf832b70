//! One running program.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use butler_bench::guard::{Held, Streams};

/// How long a start or a stop may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A replica of the webhook. It ends, at once and without being asked, when it is dropped.
pub(crate) struct Replica {
    program: Held,
    port: u16,
    metrics_port: u16,
    service_port: u16,
    log: PathBuf,
}

impl Replica {
    /// On these ports: the gate's, the plain one, and, where it is wanted, the policy service's.
    pub(super) fn start(arguments: &[String], ports: [u16; 3], has_service: bool, log: PathBuf) -> Self {
        let [port, metrics_port, service_port] = ports;
        let mut command = Command::new(env!("CARGO_BIN_EXE_butler-webhook"));
        command.args(arguments);
        command.arg(format!("--listen=127.0.0.1:{port}"));
        command.arg(format!("--metrics-listen=127.0.0.1:{metrics_port}"));
        if has_service {
            command.arg(format!("--service-listen=127.0.0.1:{service_port}"));
        }
        let program = Held::start(&command, Streams::to_log(&log).unwrap()).unwrap();
        Self { program, port, metrics_port, service_port, log }
    }

    /// Waits until it is ready; not so if it ends before.
    pub(super) async fn is_ready_at_last(&mut self) -> bool {
        let started = Instant::now();
        while self.program.ended().unwrap().is_none() {
            if self.get("/readyz").await.is_some_and(|(status, _)| status == 200) {
                return true;
            }
            assert!(started.elapsed() < PATIENCE, "the webhook is not ready:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    }

    pub(super) fn stop(&mut self) {
        self.program.stop(PATIENCE);
    }

    /// Where it serves TLS.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Where the policy service is, if there is one.
    pub(crate) fn service_port(&self) -> u16 {
        self.service_port
    }

    /// Everything that it has logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// All its metrics, as Prometheus reads them.
    pub(crate) async fn metrics(&self) -> String {
        let (status, text) = self.get("/metrics").await.unwrap();
        assert_eq!(status, 200, "{text}");
        text
    }

    /// The status and the body of an answer on the plain port; nothing if nobody answers there.
    async fn get(&self, path: &str) -> Option<(u16, String)> {
        butler_bench::plain::get(self.metrics_port, path).await
    }
}

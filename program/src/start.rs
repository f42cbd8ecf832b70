//! How a program begins, and how it ends: arguments, signals, exit code.

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Command, FromArgMatches, ValueEnum};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::log::{JsonLines, filter};
use crate::{ConnectError, ConnectionLimits, ListenError, PlainPort, PlainThread, Readiness, bind};

/// What every program can be told about where it runs.
#[derive(Args, Clone, Debug)]
pub struct ProgramOptions {
    /// Where /metrics, /livez and /readyz are served, without TLS.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "[::]:8080")]
    pub metrics_listen: SocketAddr,
    /// How to reach the API server; without it, as a pod of its cluster does.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
}

/// Why a program cannot begin.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum StartError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Listen(#[from] ListenError),
}

/// The plain port before anybody is answered: a program that cannot have it says so before it does anything else.
#[derive(Debug)]
pub struct PlainListener {
    address: SocketAddr,
    listener: TcpListener,
}

impl ProgramOptions {
    /// Takes the plain port.
    ///
    /// # Errors
    /// When it cannot be had.
    pub async fn listen(&self) -> Result<PlainListener, ListenError> {
        let address = self.metrics_listen;
        Ok(PlainListener { address, listener: bind(address).await? })
    }
}

impl PlainListener {
    /// Begins to answer, on a thread of its own, until what is returned is dropped.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn serve(
        self,
        registry: Registry,
        readiness: Arc<Readiness>,
        limits: ConnectionLimits,
    ) -> Result<PlainThread, ListenError> {
        let Self { address, listener } = self;
        let port = PlainPort::new(Arc::new(registry), readiness, limits);
        PlainThread::start(port, listener).map_err(|source| ListenError { address, source })
    }
}

/// What every program can be told about its log.
#[derive(Args, Clone, Copy, Debug)]
pub struct LogOptions {
    /// How log lines are written.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Json)]
    pub log_format: LogFormat,
    /// What is logged: error, warn, info, debug or trace.
    #[arg(long, value_name = "LEVEL", default_value_t = LevelFilter::INFO)]
    pub log: LevelFilter,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LogFormat {
    /// One JSON object a line, for machines.
    Json,
    /// For people.
    Text,
}

/// Reads the arguments of a program and runs it until it ends or `SIGTERM` or `SIGINT` asks it to. `run` gets the future
/// that says so.
pub fn main<O, E, F>(name: &'static str, about: &'static str, run: impl FnOnce(O, Stop) -> F) -> ExitCode
where
    O: Args,
    E: Error + 'static,
    F: Future<Output = Result<(), E>>,
{
    // What the options say of themselves is not what the program is for, so that comes after them.
    let command = LogOptions::augment_args(O::augment_args(Command::new(name)));
    let command = command.about(about).long_about(None).version(env!("CARGO_PKG_VERSION"));
    let matches = command.get_matches();
    let read = O::from_arg_matches(&matches)
        .and_then(|options| Ok((options, LogOptions::from_arg_matches(&matches)?)));
    let (options, log) = read.unwrap_or_else(|error| error.exit());
    let lines = tracing_subscriber::fmt().with_max_level(log.log).with_writer(std::io::stderr);
    let filter = filter(log.log);
    match log.log_format {
        LogFormat::Json => lines.event_format(JsonLines).finish().with(filter).init(),
        LogFormat::Text => lines.with_ansi(false).finish().with(filter).init(),
    }
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error),
    };
    let ended = runtime.block_on(async {
        let stop = stop()?;
        run(options, stop).await.map_err(Box::<dyn Error>::from)
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&*error),
    }
}

/// Resolves when the program is asked to end.
pub type Stop = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

fn stop() -> std::io::Result<Stop> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(Box::pin(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }))
}

fn fail(error: &dyn Error) -> ExitCode {
    tracing::error!("{error}");
    ExitCode::FAILURE
}

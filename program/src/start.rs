//! How a program begins, and how it ends: arguments about logging, signals, exit code.

use std::error::Error;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use tokio::signal::unix::{SignalKind, signal};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::log::{JsonLines, filter};

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

/// Runs a program until it ends or `SIGTERM` or `SIGINT` asks it to. `run` gets the future that says so.
pub fn main<E, F>(log: LogOptions, run: impl FnOnce(Stop) -> F) -> ExitCode
where
    E: Error + 'static,
    F: Future<Output = Result<(), E>>,
{
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
        run(stop).await.map_err(Box::<dyn Error>::from)
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

//! `butler-webhook`: the gate as a program.

use std::process::ExitCode;

use butler_webhook::log::{JsonLines, filter};
use butler_webhook::{Options, run};
use clap::{Parser, ValueEnum};
use mimalloc::MiMalloc;
use tokio::signal::unix::{SignalKind, signal};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Taking memory and giving it back is a good part of a review with the system's own allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Judges and defaults Butler's objects at kubectl apply.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    /// How log lines are written.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Json)]
    log_format: LogFormat,
    /// What is logged: error, warn, info (a line for every review), debug or trace.
    #[arg(long, value_name = "LEVEL", default_value_t = LevelFilter::INFO)]
    log: LevelFilter,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    /// One JSON object a line, for machines.
    Json,
    /// For people.
    Text,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let log = tracing_subscriber::fmt().with_max_level(arguments.log).with_writer(std::io::stderr);
    let filter = filter(arguments.log);
    match arguments.log_format {
        LogFormat::Json => log.event_format(JsonLines).finish().with(filter).init(),
        LogFormat::Text => log.with_ansi(false).finish().with(filter).init(),
    }
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error),
    };
    match runtime.block_on(serve(arguments.options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&*error),
    }
}

async fn serve(options: Options) -> Result<(), Box<dyn std::error::Error>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    Ok(run(options, stop).await?)
}

fn fail(error: &dyn std::error::Error) -> ExitCode {
    tracing::error!("butler-webhook: {error}");
    ExitCode::FAILURE
}

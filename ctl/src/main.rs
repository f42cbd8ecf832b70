//! What people type: Butler's command line.

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::failure::Failure;

mod crds;
mod dev;
mod failure;
mod policy;
mod print;
mod registration;

/// Hand out Kubernetes clusters as custom resources.
#[derive(Debug, Parser)]
#[command(name = "butlerctl", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write Butler's CustomResourceDefinitions, one file each.
    Crds {
        /// The directory to write to; files of kinds that are gone are removed from it.
        #[arg(value_name = "DIR", default_value = "manifests/crds")]
        directory: PathBuf,
    },
    /// Print the webhook's registrations: ask it about every Butler object, and fail if it does not answer.
    Registration {
        /// Call the webhook at this address instead of its Service, for example https://127.0.0.1:9443.
        #[arg(long, value_name = "URL")]
        url: Option<String>,
    },
    /// Run a real Kubernetes control plane with Butler's kinds, its webhook and a small sample platform on this machine.
    Dev(dev::Arguments),
    /// Check, test and try out policies.
    #[command(subcommand)]
    Policy(policy::Command),
}

fn main() -> ExitCode {
    let done = |()| ExitCode::SUCCESS;
    let result: Result<ExitCode, Failure> = match Arguments::parse().command {
        Command::Crds { directory } => crds::write(&directory).map(done),
        Command::Registration { url } => registration::print(url).map(done),
        Command::Dev(arguments) => dev::run(arguments).map(done),
        Command::Policy(command) => policy::run(command),
    };
    result.unwrap_or_else(|failure| failure.report())
}

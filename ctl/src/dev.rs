//! `butlerctl dev`: a real control plane with Butler's kinds, its webhook and a sample platform, on this machine.

use std::{
    fs, future, io,
    path::{Path, PathBuf},
    time::Duration,
};

use butler_bench::{
    binaries::{Binaries, Binary},
    control_plane::{ControlPlane, Options},
};
use clap::{Args, Subcommand};
use rustix::process::setsid;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{failure::Failure, print};

mod detach;
mod engine;
mod environment;
mod gate;
mod platform;
mod process;
mod stop;

/// The programs a developer's control plane consists of, and those its user types.
const PROGRAMS: [Binary; 5] =
    [Binary::Etcd, Binary::KubeApiserver, Binary::KubeControllerManager, Binary::Kubectl, Binary::Helm];

/// `butlerctl dev`, with or without one of its subcommands.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    start: Start,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the lines that make a shell use the control plane: eval "$(butlerctl dev env --data-dir DIR)"
    Env(DataDirectory),
    /// Stop the control plane that runs in a data directory; its state stays.
    Stop(DataDirectory),
}

#[derive(Args, Debug)]
struct DataDirectory {
    /// The data directory of the control plane.
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
}

/// How to start.
#[derive(Args, Debug)]
struct Start {
    /// Keep the state in this directory between runs; without it, nothing is kept.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Judge by the policies in this directory; without it, by those in `policies` of the data directory.
    #[arg(long, value_name = "DIR")]
    policies: Option<PathBuf>,
    /// The API server's port on 127.0.0.1; without it, a free one.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Return when the control plane is ready; the last line printed is the path of its kubeconfig.
    #[arg(long)]
    detach: bool,
    /// Write the kubeconfig's path to this file once everything is ready: how a detached start hears of it.
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "detach")]
    announce: Option<PathBuf>,
}

impl Start {
    /// The directory of policies. One that is asked for has to be there; the one in the data directory is made.
    fn policies(&self) -> Result<Option<PathBuf>, Failure> {
        match (&self.policies, &self.data_dir) {
            (Some(directory), _) if directory.is_dir() => Ok(Some(directory.canonicalize()?)),
            (Some(directory), _) => Err(Failure::new(format_args!(
                "there is no directory `{}`; make it, or leave out --policies",
                directory.display()
            ))),
            (None, Some(data)) => {
                let directory = data.join("policies");
                fs::create_dir_all(&directory)?;
                Ok(Some(directory.canonicalize()?))
            }
            (None, None) => Ok(None),
        }
    }
}

/// Runs `butlerctl dev` and its subcommands.
pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    match arguments.command {
        None => {
            let runtime = tokio::runtime::Runtime::new()?;
            let result = runtime.block_on(start(arguments.start));
            // Not waiting for a build that was interrupted: it ends with this process.
            runtime.shutdown_background();
            result
        }
        Some(Command::Env(DataDirectory { data_dir })) => {
            // First, because having the programs may mean to build them.
            process::running(&data_dir)?;
            let programs = Binaries::ensure(&PROGRAMS)?.directory()?;
            print::line(environment::exports(&data_dir.join("kubeconfig").canonicalize()?, &programs))
        }
        Some(Command::Stop(DataDirectory { data_dir })) => stop::stop(&data_dir),
    }
}

async fn start(start: Start) -> Result<(), Failure> {
    let mut interrupt = Interrupt::listen()?;
    tokio::select! {
        result = bring_up(&start) => result,
        () = interrupt.received() => match start.detach {
            true => Err(Failure::new("interrupted before the control plane was ready; nothing is left running")),
            // What Ctrl-C is for.
            false => Ok(()),
        },
    }
}

async fn bring_up(start: &Start) -> Result<(), Failure> {
    if start.announce.is_some() {
        // Out of the terminal's reach: neither its Ctrl-C nor its end is meant for what runs in the background. Fails
        // only for whoever leads a group already, and then there is no terminal to leave.
        setsid().ok();
    }
    let programs = tokio::task::spawn_blocking(|| Binaries::ensure(&PROGRAMS)?.directory()).await??;
    match start.detach {
        true => detach::start(start).await,
        false => serve(start, &programs).await,
    }
}

/// Brings everything up and keeps it up until something ends unasked. Whoever stops polling this stops everything.
async fn serve(start: &Start, programs: &Path) -> Result<(), Failure> {
    let mut options = Options::default().webhook_client_certificate();
    if let Some(directory) = &start.data_dir {
        options = options.data_directory(directory);
    }
    if let Some(port) = start.port {
        options = options.api_port(port);
    }
    eprintln!("starting the control plane");
    let control_plane = ControlPlane::start(options).await?;
    eprintln!("installing Butler's kinds");
    platform::install_kinds(&control_plane).await?;
    let gate = gate::prepare(&control_plane, start.policies()?).await?;
    let engine = engine::prepare(&control_plane).await?;
    tokio::select! {
        // It is not asked to stop, so that it has ended means that it has failed.
        ended = butler_webhook::run(gate.clone(), future::pending()) => Ok(ended?),
        ended = butler_reconciler::run(engine, future::pending()) => Ok(ended?),
        result = accompany(start, programs, &control_plane, &gate) => result,
    }
}

/// What happens while the webhook runs: it is registered, the sample platform is installed through it, and then nothing
/// but looking whether all is well.
async fn accompany(
    start: &Start,
    programs: &Path,
    control_plane: &ControlPlane,
    gate: &butler_webhook::Options,
) -> Result<(), Failure> {
    eprintln!("starting the webhook");
    gate::register(control_plane, gate).await?;
    eprintln!("installing the sample platform");
    platform::install_samples(control_plane).await?;

    match &start.announce {
        Some(file) => announce(file, control_plane.kubeconfig())?,
        None => print::line(welcome(control_plane, programs))?,
    }
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if let Err(error) = control_plane.check().await {
            // Where somebody will look for it, since nobody may be watching this process.
            fs::write(control_plane.logs().join("butlerctl-dev.log"), format!("{error}\n"))?;
            return Err(error.into());
        }
    }
}

/// Written aside and renamed, so that whoever waits for the file never reads half of it.
fn announce(file: &Path, kubeconfig: &Path) -> io::Result<()> {
    let aside = file.with_extension("part");
    fs::write(&aside, kubeconfig.as_os_str().as_encoded_bytes())?;
    fs::rename(aside, file)
}

fn welcome(control_plane: &ControlPlane, programs: &Path) -> String {
    let exports = environment::exports(control_plane.kubeconfig(), programs).replace('\n', "\n  ");
    format!(
        "
Butler's control plane is ready at {url}. In another terminal:

  {exports}

Things to try:

  kubectl get butler -A                                           what the sample platform consists of
  kubectl explain tenantcluster.spec                              what a cluster may say
  kubectl apply -f manifests/samples/tenant-cluster.yaml          ask for a cluster
  kubectl get tenantcluster -n team-a -o yaml                     see what was filled in
  kubectl scale tenantcluster my-cluster -n team-a --replicas=300 ask for too much, and hear why not
  kubectl get policies                                            everything that is judged by

Ctrl-C stops everything.",
        url = control_plane.url(),
    )
}

/// Ctrl-C or a request to terminate.
#[derive(Debug)]
struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupt {
    fn listen() -> io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn received(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

//! What whoever starts the program chooses.

use std::net::SocketAddr;
use std::path::PathBuf;

use butler_program::ProgramOptions;
use clap::Args;

/// How the gate is run. The defaults are those of the manifests.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Where the API server calls.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "[::]:9443")]
    pub listen: SocketAddr,
    /// Where the API server's aggregator calls the policy service; without it, there is none.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub service_listen: Option<SocketAddr>,
    /// Where it runs.
    #[command(flatten)]
    pub program: ProgramOptions,
    /// The namespace of the Service.
    #[arg(long, value_name = "NAMESPACE", env = "POD_NAMESPACE", default_value = "butler-system")]
    pub namespace: String,
    /// The Service that the API server calls.
    #[arg(long, value_name = "NAME", default_value = "butler-webhook")]
    pub service: String,
    /// Serve with `tls.crt` and `tls.key` of this directory, reloaded when they change; without it, certificates are made
    /// and rotated here and kept in a Secret.
    #[arg(long, value_name = "DIR")]
    pub certificate_dir: Option<PathBuf>,
    /// Another DNS name or IP address for the certificates that are made here. May be repeated.
    #[arg(long, value_name = "NAME", conflicts_with = "certificate_dir")]
    pub certificate_name: Vec<String>,
    /// Webhooks that are registered under this URL are ours, as are those that name our Service. May be repeated.
    #[arg(long, value_name = "URL", conflicts_with = "certificate_dir")]
    pub registration_url: Vec<String>,
    /// Let nobody call who has no client certificate of this authority, in PEM form. Reloaded when it changes.
    #[arg(long, value_name = "FILE")]
    pub client_ca: Option<PathBuf>,
    /// Let only certificates with this name call. May be repeated; without it any name will do.
    #[arg(long, value_name = "NAME", requires = "client_ca")]
    pub client_name: Vec<String>,
    /// Judge by the policies in this directory too, reloaded when they change: ValidatingAdmissionPolicies,
    /// MutatingAdmissionPolicies, their bindings and params, in *.yaml, *.yml and *.json, also in directories below.
    #[arg(long, value_name = "DIR")]
    pub policy_dir: Option<PathBuf>,
    /// Within how many seconds the API server is done with any request, its last write to etcd included. What a team reserved
    /// for a request that was never seen stored is free again after that time, and a list. More than its --request-timeout.
    #[arg(long, value_name = "SECONDS", default_value_t = 90, value_parser = clap::value_parser!(u16).range(1..))]
    pub request_bound: u16,
    /// Reviews that are worked on at the same time; the next one is told to come back.
    #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..))]
    pub max_in_flight: u16,
    /// How long to go on serving after being asked to stop, while the Service forgets us.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub drain_delay: u16,
}

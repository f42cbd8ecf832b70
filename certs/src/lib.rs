//! Serving certificates for what kube-apiserver calls: the admission webhook and the aggregated API.
//!
//! [`Certificates`] keeps one certificate loaded in [`Serving`], which rustls asks at every handshake, so a new
//! certificate takes effect without a restart and without a dropped call. It comes from one of two places:
//!
//! - **self-managed** ([`Certificates::self_managed`]): an authority and a certificate in one Secret, made,
//!   renewed and rotated by whichever replica is first. Every change is a compare-and-swap on that Secret, so
//!   there is no leader. What is to be done next is one pure function, `decide`; how the pieces are read and
//!   written is around it, and `self_managed` drives it.
//! - **from files** ([`Certificates::from_files`]): a directory that cert-manager, a mounted Secret or a person
//!   writes.
//!
//! [`Callers`] is the other direction: proof that whoever calls us is the API server.
//!
//! ```no_run
//! # async fn example(client: kube::Client) -> Result<(), butler_certs::ServerConfigError> {
//! use butler_certs::{Certificates, Proof, Registration, Settings, server_config};
//!
//! let settings = Settings::for_service("butler-system", "butler-webhook")
//!     .registration(Registration::validating("butler-validating"))
//!     .registration(Registration::mutating("butler-mutating"));
//! let certificates = Certificates::self_managed(client, settings);
//! let serving = certificates.serving();
//! tokio::spawn(certificates.run());
//! let tls = server_config(serving.clone(), Proof::NotAsked)?;
//! serving.ready().await;
//! # Ok(())
//! # }
//! ```
//!
//! Private keys are held as values that print as nothing, and no error carries file or
//! Secret contents.

mod advance;
mod bell;
mod callers;
mod certificate;
mod certificates;
mod decide;
mod files;
mod metrics;
mod mint;
mod pace;
mod pair;
mod registration;
mod report;
mod self_managed;
mod server;
mod serving;
mod settings;
mod state;
mod stored;

pub use bell::Bell;
pub use callers::{Caller, Callers, CallersError, NotProved};
pub use certificates::Certificates;
pub use files::Files;
pub use metrics::Metrics;
pub use pair::Refusal;
pub use registration::Registration;
pub use report::{Events, Report, Topic};
pub use server::{Proof, ServerConfigError, server_config};
pub use serving::Serving;
pub use settings::{Lifetimes, LifetimesError, Settings};

//! The gate: judges and defaults every Butler object at `kubectl apply`.
//!
//! Follow one review by opening the modules in this order: [`server`] takes it off the wire, [`endpoint`] says what
//! is asked at which path, [`admission`] turns its bytes into an answer, looking at a snapshot of [`facts`]. [`run`]
//! puts them together. Beside them, [`service`] shows what is in force to whoever asks with kubectl.

pub mod admission;
pub mod endpoint;
pub mod facts;
mod options;
pub mod policy_files;
pub mod quota;
pub mod registration;
mod run;
pub mod server;
pub mod service;

pub use butler_program::log;
pub use options::Options;
pub use run::{RunError, run};

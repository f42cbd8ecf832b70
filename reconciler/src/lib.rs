//! The engine: realizes what the gate admitted, and keeps it so.
//!
//! Follow one reconcile by opening the modules in this order: [`run`] puts the parts together, [`known`] is what is
//! watched, [`frame`] gives each object its turn and calls the steps of its controller: [`butler_config`],
//! [`provider_config`], [`team`].

pub mod butler_config;
pub mod frame;
pub mod known;
mod options;
pub mod provider_config;
mod run;
pub mod team;
mod turns;
mod words;

pub use options::Options;
pub use run::run;

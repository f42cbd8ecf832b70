//! Butler's custom resources and the pure domain behind them: no I/O, no client, no clock.

pub mod address;
pub mod condition;
mod excerpt;
pub mod names;
pub mod operating_system;
pub mod phase;
pub mod quantity;
pub mod quota;
pub mod role;
pub mod version;

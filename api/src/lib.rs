//! Butler's custom resources and the pure domain behind them: no I/O, no client, no clock.

mod excerpt;

/// Amounts of cpu, memory and disk.
pub mod quantity;

//! Butler's custom resources and the pure domain behind them: no I/O, no client, no clock.

mod excerpt;

/// What a controller says about an object.
pub mod condition;
/// Operating systems of workers.
pub mod operating_system;
/// The phase of a TenantCluster.
pub mod phase;
/// Amounts of cpu, memory and disk.
pub mod quantity;
/// Roles in a team.
pub mod role;
/// Kubernetes versions.
pub mod version;

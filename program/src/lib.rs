//! What every program of Butler's is made of: [`main`](start::main) reads arguments and logs, [`connect`] finds the API
//! server, [`listen`] and [`connection`] take callers in and let them go, and [`PlainPort`] tells an operator and the
//! kubelet how the program is.

mod answer;
pub mod backoff;
mod budget;
mod complaints;
pub mod connect;
pub mod connection;
pub mod failure;
pub mod grants;
mod listen;
pub mod log;
mod patience;
mod plain_port;
mod plain_thread;
mod readiness;
pub mod start;

pub use answer::text;
pub use backoff::Backoff;
pub use budget::{Budget, Share};
pub use complaints::Complaints;
pub use connect::ConnectError;
pub use connection::ConnectionLimits;
pub use failure::Failure;
pub use grants::Grants;
pub use listen::{Drain, Drained, Finishing, ListenError, bind, listen};
pub use patience::patiently;
pub use plain_port::PlainPort;
pub use plain_thread::{PlainThread, PortThread, Stopped};
pub use readiness::Readiness;
pub use start::{PlainListener, ProgramOptions, StartError};

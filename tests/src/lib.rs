//! A real Kubernetes control plane on loopback, for tests and for newcomers.
//!
//! [`ControlPlane::start`] runs etcd, kube-apiserver and kube-controller-manager with their own certificates
//! in a directory of their own, and hands back a kubeconfig and clients. Whatever it starts is held by a
//! [`guard`]: when the owning process ends, in whatever way, the programs and the temporary directory are
//! gone a moment later.
//!
//! A suite that does not mind neighbours asks for [`ControlPlane::shared`] and a namespace of its own:
//!
//! ```no_run
//! # async fn example() -> Result<(), butler_bench::ControlPlaneError> {
//! let plane = butler_bench::ControlPlane::shared().await?;
//! let namespace = plane.namespace().await?;
//! let shown = plane.kubectl(&["get", "pods", "-n", &namespace]).await?.success()?;
//! # Ok(())
//! # }
//! ```

pub mod binaries;
pub mod cluster_api;
pub mod control_plane;
pub mod guard;
pub mod manifests;
pub mod patience;
pub mod pki;
pub mod plain;
pub mod proxy;
pub mod stand_ins;

pub use cluster_api::ClusterApi;
pub use control_plane::{ControlPlane, ControlPlaneError, Options, User};
pub use patience::eventually;
pub use proxy::Proxy;

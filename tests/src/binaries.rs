//! Stand-in until the real module arrives: programs from the directory in `BUTLER_BENCH_BINARIES`.

use std::path::PathBuf;

/// A program of the bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binary {
    /// etcd
    Etcd,
    /// kube-apiserver
    KubeApiserver,
    /// kube-controller-manager
    KubeControllerManager,
    /// kubectl
    Kubectl,
    /// helm
    Helm,
    /// The core manager of Cluster API.
    ClusterApi,
    /// The kubeadm bootstrap manager of Cluster API.
    KubeadmBootstrap,
}

/// Where the programs are.
#[derive(Clone, Debug)]
pub struct Binaries {
    directory: PathBuf,
}

/// Why they are not to be had.
#[derive(Debug, thiserror::Error)]
#[error("set `BUTLER_BENCH_BINARIES` to the directory with the programs")]
pub struct BinariesError;

impl Binaries {
    /// Finds them.
    ///
    /// # Errors
    /// Never, in fact.
    pub fn ensure(_wanted: &[Binary]) -> Result<Self, BinariesError> {
        let directory = std::env::var_os("BUTLER_BENCH_BINARIES").unwrap_or_else(|| "/tmp/gobin".into());
        Ok(Self { directory: directory.into() })
    }

    /// Where one is.
    pub fn path(&self, binary: Binary) -> PathBuf {
        self.directory.join(match binary {
            Binary::Etcd => "etcd",
            Binary::KubeApiserver => "kube-apiserver",
            Binary::KubeControllerManager => "kube-controller-manager",
            Binary::Kubectl => "kubectl",
            Binary::Helm => "helm",
            Binary::ClusterApi => "cluster-api",
            Binary::KubeadmBootstrap => "kubeadm-bootstrap",
        })
    }

    /// The module directory of Cluster API.
    pub fn cluster_api_manifests(&self) -> PathBuf {
        PathBuf::from("/root/go/pkg/mod/sigs.k8s.io/cluster-api@v1.13.6")
    }
}

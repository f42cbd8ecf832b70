//! Stand-in until the real module arrives: programs from the directory in `BUTLER_BENCH_BINARIES`.

use std::path::{Path, PathBuf};

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
    paths: Vec<(Binary, PathBuf)>,
}

/// Why they are not to be had.
#[derive(Debug, thiserror::Error)]
#[error("set `BUTLER_BENCH_BINARIES` to the directory with the programs")]
pub struct BinariesError;

/// The files of Cluster API that install it.
#[derive(Clone, Debug)]
pub struct ClusterApiManifests {
    /// CRDs of the core manager.
    pub core_crds: PathBuf,
    /// CRDs of the bootstrap manager.
    pub bootstrap_crds: PathBuf,
    /// Webhooks of the core manager.
    pub core_webhooks: PathBuf,
    /// Webhooks of the bootstrap manager.
    pub bootstrap_webhooks: PathBuf,
}

impl Binaries {
    /// Finds them.
    ///
    /// # Errors
    /// Never, in fact.
    pub fn ensure(wanted: &[Binary]) -> Result<Self, BinariesError> {
        let directory = std::env::var_os("BUTLER_BENCH_BINARIES").unwrap_or_else(|| "/tmp/gobin".into());
        let name = |binary| match binary {
            Binary::Etcd => "etcd",
            Binary::KubeApiserver => "kube-apiserver",
            Binary::KubeControllerManager => "kube-controller-manager",
            Binary::Kubectl => "kubectl",
            Binary::Helm => "helm",
            Binary::ClusterApi => "cluster-api",
            Binary::KubeadmBootstrap => "kubeadm-bootstrap",
        };
        let path = |binary: &Binary| (*binary, PathBuf::from(&directory).join(name(*binary)));
        Ok(Self { paths: wanted.iter().map(path).collect() })
    }

    /// Where one is.
    ///
    /// # Errors
    /// When it was not asked for.
    pub fn path(&self, binary: Binary) -> Result<&Path, BinariesError> {
        let found = self.paths.iter().find(|(known, _)| *known == binary);
        found.map(|(_, path)| path.as_path()).ok_or(BinariesError)
    }

    /// The manifests of Cluster API.
    ///
    /// # Errors
    /// Never, in fact.
    pub fn cluster_api_manifests(&self) -> Result<ClusterApiManifests, BinariesError> {
        let module = PathBuf::from("/root/go/pkg/mod/sigs.k8s.io/cluster-api@v1.13.6");
        Ok(ClusterApiManifests {
            core_crds: module.join("config/crd/bases"),
            bootstrap_crds: module.join("bootstrap/kubeadm/config/crd/bases"),
            core_webhooks: module.join("config/webhook/manifests.yaml"),
            bootstrap_webhooks: module.join("bootstrap/kubeadm/config/webhook/manifests.yaml"),
        })
    }
}

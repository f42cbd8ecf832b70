//! The programs of a real Kubernetes: found where somebody provides them, or built once from pinned sources.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    path::{Path, PathBuf},
};

mod assets;
mod cache;
mod checksum;
mod contents;
mod error;
mod go;
mod go_module;
mod make;
mod progress;
mod recipe;
mod settings;

use assets::Assets;
use checksum::Sha256;
pub use error::BinariesError;
pub use progress::Progress;
use recipe::{CLUSTER_API_FILES, Recipe};
use settings::Settings;

/// A program of the bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Binary {
    /// Where the API server keeps its objects.
    Etcd,
    /// The API server.
    KubeApiserver,
    /// Deletes namespaces, collects garbage, makes service account tokens.
    KubeControllerManager,
    /// The command line that users type.
    Kubectl,
    /// Installs addons.
    Helm,
    /// The manager of Cluster API's own kinds.
    ClusterApi,
    /// The manager of Cluster API's kubeadm bootstrap provider.
    KubeadmBootstrap,
    /// Says what Kubernetes' own CEL makes of an expression.
    CelOracle,
}

impl Binary {
    /// Every program of a running bench, in the order in which they are built.
    pub const ALL: [Self; 7] = [
        Self::Etcd,
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::Kubectl,
        Self::Helm,
        Self::ClusterApi,
        Self::KubeadmBootstrap,
    ];

    /// Programs that nothing needs to run: whoever refreshes records that are kept of them asks for them by
    /// name.
    pub const ON_REQUEST: [Self; 1] = [Self::CelOracle];

    /// The file name, in the cache as in `KUBEBUILDER_ASSETS`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::Kubectl => "kubectl",
            Self::Helm => "helm",
            Self::ClusterApi => "cluster-api",
            Self::KubeadmBootstrap => "kubeadm-bootstrap",
            Self::CelOracle => "cel-oracle",
        }
    }

    /// The version that is built, without a leading `v`; what `KUBEBUILDER_ASSETS` has may be another one.
    pub fn version(self) -> &'static str {
        Recipe::program(self).module.version()
    }
}

impl fmt::Display for Binary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Programs that are there, verified and ready to start.
#[derive(Debug, Clone)]
pub struct Binaries {
    settings: Settings,
    paths: BTreeMap<Binary, PathBuf>,
}

impl Binaries {
    /// Finds the wanted programs, or builds them, which takes minutes the first time; says so on standard
    /// error.
    ///
    /// What the directory `KUBEBUILDER_ASSETS` has is used from there. The rest is taken from the cache in
    /// `BUTLER_CACHE_DIR`, or `butler` in the user's cache directory, and built with `go` if it is not there
    /// yet. Any number of processes and threads may do this at once: each program is built by one of them.
    pub fn ensure(wanted: &[Binary]) -> Result<Self, BinariesError> {
        Self::ensure_with_progress(wanted, &mut Progress::to_stderr())
    }

    /// [`Binaries::ensure`], with progress going elsewhere.
    pub fn ensure_with_progress(wanted: &[Binary], progress: &mut Progress) -> Result<Self, BinariesError> {
        let settings = Settings::from_environment();
        let assets = settings.assets.as_deref().map(Assets::open).transpose()?;
        let mut paths = BTreeMap::new();
        let mut recipes = Vec::new();
        for binary in BTreeSet::from_iter(wanted.iter().copied()) {
            match assets.as_ref().map(|assets| assets.find(binary)).transpose()?.flatten() {
                Some(path) => drop(paths.insert(binary, path)),
                None => {
                    let recipe = Recipe::program(binary);
                    paths.insert(binary, settings.cache()?.directory(&recipe.key()).join(binary.name()));
                    recipes.push(recipe);
                }
            }
        }
        // A manager does not start without its CRDs: they are announced and made with it.
        if recipes.iter().any(Recipe::is_of_cluster_api) {
            recipes.push(Recipe::cluster_api_manifests());
        }
        if !recipes.is_empty() {
            make::make(settings.cache()?, &recipes, &settings.search_path, progress)?;
        }
        Ok(Self { settings, paths })
    }

    /// The path of a program that was asked for.
    pub fn path(&self, binary: Binary) -> Result<&Path, BinariesError> {
        let name = binary.name();
        self.paths.get(&binary).map(PathBuf::as_path).ok_or(BinariesError::NotAskedFor { name })
    }

    /// A directory for `PATH` that has all programs that were asked for, by their names.
    pub fn directory(&self) -> Result<PathBuf, BinariesError> {
        let parents: BTreeSet<_> = self.paths.values().filter_map(|path| path.parent()).collect();
        // Everything from KUBEBUILDER_ASSETS: that is such a directory already, and the cache stays
        // untouched.
        if let (Some(only), 1) = (parents.first(), parents.len()) {
            return Ok(only.to_path_buf());
        }
        // The directory's name follows from its links, so whoever else makes it makes the same.
        let mut hash = Sha256::new();
        for (binary, path) in &self.paths {
            hash.field(binary.name());
            hash.field(&path.to_string_lossy());
        }
        let hash = hash.finish();
        let directory =
            self.settings.cache()?.root().join(format!("path-{}", hash.get(..12).unwrap_or(&hash)));
        let failed = |path: &Path, source| BinariesError::cache("create", path, source);
        fs::create_dir_all(&directory).map_err(|source| failed(&directory, source))?;
        for (binary, path) in &self.paths {
            let link = directory.join(binary.name());
            match std::os::unix::fs::symlink(path, &link) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed(&link, error));
                }
                _ => {}
            }
        }
        Ok(directory)
    }

    /// Cluster API's CRDs and webhook registrations, of the same version as its managers. Without the
    /// managers this may still have to fetch that one Go module.
    pub fn cluster_api_manifests(&self) -> Result<ClusterApiManifests, BinariesError> {
        let cache = self.settings.cache()?;
        let recipe = Recipe::cluster_api_manifests();
        let directory = cache.directory(&recipe.key());
        make::make(cache, &[recipe], &self.settings.search_path, &mut Progress::to_stderr())?;
        let [core_crds, bootstrap_crds, control_plane_crds, core_webhooks, bootstrap_webhooks] =
            CLUSTER_API_FILES.map(|path| directory.join(path));
        Ok(ClusterApiManifests {
            core_crds,
            bootstrap_crds,
            control_plane_crds,
            core_webhooks,
            bootstrap_webhooks,
        })
    }
}

/// The files of Cluster API's Go module that install it, as its authors wrote them: CRDs without conversion,
/// webhooks that call a Service.
#[derive(Debug, Clone)]
pub struct ClusterApiManifests {
    /// The directory of the CRDs of clusters, machines and their kin.
    pub core_crds: PathBuf,
    /// The directory of the CRDs of the kubeadm bootstrap provider.
    pub bootstrap_crds: PathBuf,
    /// The directory of the CRDs of the kubeadm control plane provider, which has no manager here.
    pub control_plane_crds: PathBuf,
    /// The file with the webhook configurations of the core manager.
    pub core_webhooks: PathBuf,
    /// The file with the webhook configurations of the bootstrap manager.
    pub bootstrap_webhooks: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binaries(cache: &Path, paths: &[(Binary, &str)]) -> Binaries {
        let cache = cache.as_os_str().to_owned();
        let settings = Settings::from_variables(|name| (name == "BUTLER_CACHE_DIR").then(|| cache.clone()));
        Binaries { settings, paths: paths.iter().map(|(binary, path)| (*binary, path.into())).collect() }
    }

    #[test]
    fn a_directory_for_path_has_every_program_by_its_name() {
        let cache = tempfile::tempdir().unwrap();
        let binaries = binaries(cache.path(), &[(Binary::Kubectl, "/a/kubectl"), (Binary::Helm, "/b/helm")]);
        let directory = binaries.directory().unwrap();
        assert_eq!(fs::read_link(directory.join("kubectl")).unwrap(), Path::new("/a/kubectl"));
        assert_eq!(fs::read_link(directory.join("helm")).unwrap(), Path::new("/b/helm"));
        assert_eq!(binaries.directory().unwrap(), directory, "a second call finds it made");
    }

    #[test]
    fn programs_that_share_a_directory_need_no_other() {
        let cache = tempfile::tempdir().unwrap();
        let binaries = binaries(cache.path(), &[(Binary::Kubectl, "/a/kubectl"), (Binary::Helm, "/a/helm")]);
        assert_eq!(binaries.directory().unwrap(), Path::new("/a"));
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_program_that_was_not_asked_for_is_named() {
        let binaries = binaries(Path::new("/cache"), &[(Binary::Kubectl, "/a/kubectl")]);
        assert_eq!(binaries.path(Binary::Kubectl).unwrap(), Path::new("/a/kubectl"));
        assert_eq!(
            binaries.path(Binary::Helm).unwrap_err().to_string(),
            "`helm` is not among the programs that were asked for: \
             add it to the list given to `Binaries::ensure`"
        );
    }
}

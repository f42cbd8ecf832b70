//! What to make and how: everything that decides the bytes of a product, and the cache key that follows from
//! it.

use std::{ffi::OsString, path::Path};

use super::{
    Binary,
    checksum::Sha256,
    go_module::{CEL_ORACLE, CLUSTER_API, ETCD, GoModule, HELM, KUBERNETES},
};

/// How one product of the cache is made.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) name: &'static str,
    pub(super) module: &'static GoModule,
    pub(super) product: Product,
}

#[derive(Debug)]
pub(super) enum Product {
    /// The program of this package, linked with these flags.
    Program { package: &'static str, linker_flags: String },
    /// These files and folders of the module, under the same relative paths.
    Files { paths: &'static [&'static str] },
}

/// Cluster API's CRDs and webhook registrations, at their paths inside its module.
pub(super) const CLUSTER_API_FILES: [&str; 5] = [
    "config/crd/bases",
    "bootstrap/kubeadm/config/crd/bases",
    "controlplane/kubeadm/config/crd/bases",
    "config/webhook/manifests.yaml",
    "bootstrap/kubeadm/config/webhook/manifests.yaml",
];

/// Counts changes of how we build (the environment of `go`, the layout of a product) that no other input
/// would show.
const FORMAT: &str = "1";

impl Recipe {
    pub(super) fn program(binary: Binary) -> Self {
        let (module, package) = match binary {
            Binary::Etcd => (&ETCD, "go.etcd.io/etcd/server/v3"),
            Binary::KubeApiserver => (&KUBERNETES, "k8s.io/kubernetes/cmd/kube-apiserver"),
            Binary::KubeControllerManager => (&KUBERNETES, "k8s.io/kubernetes/cmd/kube-controller-manager"),
            Binary::Kubectl => (&KUBERNETES, "k8s.io/kubernetes/cmd/kubectl"),
            Binary::Helm => (&HELM, "helm.sh/helm/v4/cmd/helm"),
            Binary::ClusterApi => (&CLUSTER_API, "sigs.k8s.io/cluster-api"),
            Binary::KubeadmBootstrap => (&CLUSTER_API, "sigs.k8s.io/cluster-api/bootstrap/kubeadm"),
            Binary::CelOracle => (&CEL_ORACLE, "butler.butlerlabs.dev/bench/cel-oracle"),
        };
        let mut linker_flags = "-s -w".to_owned();
        for stamp in stamps(binary, module.version()) {
            linker_flags.push_str(" -X ");
            linker_flags.push_str(&stamp);
        }
        Self { name: binary.name(), module, product: Product::Program { package, linker_flags } }
    }

    pub(super) fn cluster_api_manifests() -> Self {
        let product = Product::Files { paths: &CLUSTER_API_FILES };
        Self { name: "cluster-api-manifests", module: &CLUSTER_API, product }
    }

    pub(super) fn is_of_cluster_api(&self) -> bool {
        self.module.name == CLUSTER_API.name
    }

    /// How messages call the product: `etcd 3.6.14`.
    pub(super) fn label(&self) -> String {
        format!("{} {}", self.name, self.module.version())
    }

    /// The name of the product's directory. Whatever changes the product changes the key, so a cache shared
    /// by two checkouts holds both of their products and neither sees the other's.
    pub(super) fn key(&self) -> String {
        let mut hash = Sha256::new();
        hash.field(FORMAT);
        hash.field(self.module.go_mod);
        hash.field(self.module.go_sum);
        for (name, text) in self.module.sources {
            hash.field(name);
            hash.field(text);
        }
        match &self.product {
            Product::Program { package, linker_flags } => {
                for argument in build_arguments(Path::new("program"), package, linker_flags) {
                    hash.field(&argument.to_string_lossy());
                }
            }
            Product::Files { paths } => {
                hash.field("files");
                for path in *paths {
                    hash.field(path);
                }
            }
        }
        let hash = hash.finish();
        let short = hash.get(..12).unwrap_or(&hash);
        format!("{}-{}-{}-{}-{short}", self.name, self.module.version(), go_os(), go_arch())
    }
}

/// The arguments with which `go` builds one program.
pub(super) fn build_arguments(output: &Path, package: &str, linker_flags: &str) -> Vec<OsString> {
    // -trimpath and -buildvcs=false keep this machine's paths and any repository around the cache out of the
    // program.
    let mut arguments: Vec<OsString> =
        ["build", "-trimpath", "-buildvcs=false", "-ldflags", linker_flags, "-o"].map(OsString::from).into();
    arguments.push(output.into());
    arguments.push(package.into());
    arguments
}

/// The linker's `-X` values. Without them Kubernetes calls itself v0.0.0-master, which Cluster API and Helm
/// charts with a `kubeVersion` refuse.
fn stamps(binary: Binary, version: &str) -> Vec<String> {
    match binary {
        Binary::Etcd | Binary::CelOracle => Vec::new(),
        Binary::KubeApiserver | Binary::KubeControllerManager | Binary::Kubectl => {
            ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"]
                .iter()
                .flat_map(|package| kubernetes_stamps(package, version))
                .collect()
        }
        Binary::Helm => {
            let package = "helm.sh/helm/v4/internal/version";
            vec![format!("{package}.version=v{version}"), format!("{package}.gitTreeState=clean")]
        }
        Binary::ClusterApi | Binary::KubeadmBootstrap => {
            kubernetes_stamps("sigs.k8s.io/cluster-api/version", version).into()
        }
    }
}

fn kubernetes_stamps(package: &str, version: &str) -> [String; 4] {
    let mut parts = version.split('.');
    let major = parts.next().unwrap_or_default();
    let minor = parts.next().unwrap_or_default();
    [
        format!("{package}.gitVersion=v{version}"),
        format!("{package}.gitMajor={major}"),
        format!("{package}.gitMinor={minor}"),
        format!("{package}.gitTreeState=clean"),
    ]
}

/// This machine in Go's words.
pub(super) fn go_os() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    }
}

/// This machine's processor in Go's words.
pub(super) fn go_arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "x86" => "386",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static PINNED: GoModule = GoModule {
        name: "example",
        go_mod: "require example.com/x v1.2.3\n",
        go_sum: "example.com/x v1.2.3 h1:aaaa=\n",
        sources: &[],
        requirement: "example.com/x",
    };
    static OTHER_SUM: GoModule = GoModule { go_sum: "example.com/x v1.2.3 h1:bbbb=\n", ..PINNED };
    static OTHER_REQUIREMENTS: GoModule =
        GoModule { go_mod: "require example.com/x v1.2.3\nrequire example.com/y v1.0.0\n", ..PINNED };
    static OTHER_SOURCES: GoModule = GoModule { sources: &[("main.go", "package main\n")], ..PINNED };

    fn recipe() -> Recipe {
        let product = Product::Program { package: "example.com/x", linker_flags: "-s -w".to_owned() };
        Recipe { name: "x", module: &PINNED, product }
    }

    #[test]
    fn the_key_names_the_product_its_version_and_the_machine() {
        let key = recipe().key();
        let (readable, hash) = key.rsplit_once('-').unwrap();
        assert_eq!(readable, format!("x-1.2.3-{}-{}", go_os(), go_arch()));
        assert_eq!(hash.len(), 12);
        assert_eq!(key, recipe().key());
    }

    #[test]
    fn the_key_changes_with_every_input() {
        let program =
            |package, linker_flags: &str| Product::Program { package, linker_flags: linker_flags.to_owned() };
        let variants = [
            recipe(),
            Recipe { name: "y", ..recipe() },
            Recipe { module: &OTHER_SUM, ..recipe() },
            Recipe { module: &OTHER_REQUIREMENTS, ..recipe() },
            Recipe { module: &OTHER_SOURCES, ..recipe() },
            Recipe { product: program("example.com/x/cmd", "-s -w"), ..recipe() },
            Recipe { product: program("example.com/x", "-s -w -X example.com/x.version=1"), ..recipe() },
            Recipe { product: Product::Files { paths: &["config"] }, ..recipe() },
            Recipe { product: Product::Files { paths: &["con", "fig"] }, ..recipe() },
        ];
        let keys: std::collections::BTreeSet<_> = variants.iter().map(Recipe::key).collect();
        assert_eq!(keys.len(), variants.len(), "{keys:#?}");
    }

    #[test]
    fn every_program_is_a_tool_of_its_go_mod() {
        for binary in Binary::ALL {
            let recipe = Recipe::program(binary);
            let Product::Program { package, .. } = recipe.product else { panic!("{binary:?} is a program") };
            let named =
                recipe.module.go_mod.lines().any(|line| line.trim().trim_start_matches("tool ") == package);
            assert!(named, "tests/go/{}/go.mod has no tool `{package}`", recipe.module.name);
        }
    }

    #[test]
    fn a_program_of_our_own_is_the_package_of_its_go_mod() {
        let recipe = Recipe::program(Binary::CelOracle);
        let Product::Program { package, .. } = recipe.product else { panic!("the oracle is a program") };
        assert_eq!(recipe.module.go_mod.lines().next(), Some(format!("module {package}").as_str()));
    }

    #[test]
    fn kubernetes_is_stamped_in_both_of_its_version_packages() {
        let Product::Program { linker_flags, .. } = Recipe::program(Binary::Kubectl).product else {
            panic!()
        };
        assert_eq!(
            linker_flags,
            "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.4 \
             -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36 \
             -X k8s.io/component-base/version.gitTreeState=clean \
             -X k8s.io/client-go/pkg/version.gitVersion=v1.36.4 -X k8s.io/client-go/pkg/version.gitMajor=1 \
             -X k8s.io/client-go/pkg/version.gitMinor=36 -X k8s.io/client-go/pkg/version.gitTreeState=clean"
        );
    }
}

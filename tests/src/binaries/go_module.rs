//! The pinned Go modules of `tests/go`, embedded so that an installed butlerctl builds without a checkout.

/// One folder of `tests/go`: what `go` needs to fetch exactly the sources that were committed.
#[derive(Debug)]
pub(super) struct GoModule {
    /// The folder in `tests/go`, and the word for it in messages.
    pub(super) name: &'static str,
    pub(super) go_mod: &'static str,
    pub(super) go_sum: &'static str,
    /// Files of our own beside them, by name: a program that nobody publishes.
    pub(super) sources: &'static [(&'static str, &'static str)],
    /// The required module whose version is the version of the programs.
    pub(super) requirement: &'static str,
}

macro_rules! go_module {
    ($name:literal, $requirement:literal $(, $source:literal)*) => {
        GoModule {
            name: $name,
            go_mod: include_str!(concat!("../../go/", $name, "/go.mod")),
            go_sum: include_str!(concat!("../../go/", $name, "/go.sum")),
            sources: &[$(($source, include_str!(concat!("../../go/", $name, "/", $source)))),*],
            requirement: $requirement,
        }
    };
}

pub(super) static ETCD: GoModule = go_module!("etcd", "go.etcd.io/etcd/server/v3");
pub(super) static KUBERNETES: GoModule = go_module!("kubernetes", "k8s.io/kubernetes");
pub(super) static HELM: GoModule = go_module!("helm", "helm.sh/helm/v4");
pub(super) static CLUSTER_API: GoModule = go_module!("cluster-api", "sigs.k8s.io/cluster-api");
pub(super) static CEL_ORACLE: GoModule =
    go_module!("cel-oracle", "k8s.io/apiserver", "encode.go", "evaluate.go", "functions.go", "main.go");

impl GoModule {
    /// The version of the programs, without the leading `v`. `go.mod` is the one place where it is written;
    /// that it names one is proved by a test, so no caller has to handle its absence.
    pub(super) fn version(&self) -> &'static str {
        self.words()
            .find_map(|words| match *words.strip_prefix(&["require"]).unwrap_or(&words) {
                [module, version, ..] if module == self.requirement => version.strip_prefix('v'),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// The oldest Go that `go.mod` accepts.
    pub(super) fn go_version(&self) -> &'static str {
        self.words()
            .find_map(|words| match *words {
                ["go", version] => Some(version),
                _ => None,
            })
            .unwrap_or_default()
    }

    fn words(&self) -> impl Iterator<Item = Vec<&'static str>> {
        self.go_mod.lines().map(|line| line.split_whitespace().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_go_mod_names_its_version_and_go_sum_has_its_checksum() {
        for module in [&ETCD, &KUBERNETES, &HELM, &CLUSTER_API, &CEL_ORACLE] {
            let version = module.version();
            assert_eq!(version.split('.').count(), 3, "tests/go/{}: version `{version}`", module.name);
            let checksum = format!("{} v{version} h1:", module.requirement);
            assert!(
                module.go_sum.lines().any(|line| line.starts_with(&checksum)),
                "tests/go/{}/go.sum has no line `{checksum}…`",
                module.name
            );
            assert!(module.go_version().starts_with("1."), "tests/go/{}", module.name);
        }
    }

    #[test]
    fn a_requirement_is_found_on_a_line_of_its_own_and_in_a_block() {
        let module =
            |go_mod| GoModule { name: "x", go_mod, go_sum: "", sources: &[], requirement: "example.com/x" };
        assert_eq!(module("require example.com/x v1.2.3\n").version(), "1.2.3");
        assert_eq!(module("require (\n\texample.com/x v1.2.3 // indirect\n)\n").version(), "1.2.3");
        assert_eq!(module("require example.com/x/v2 v2.0.0\n").version(), "");
    }

    #[test]
    fn the_oracle_is_made_of_the_libraries_of_the_api_server() {
        let (_, minor_and_patch) = KUBERNETES.version().split_once('.').unwrap();
        assert_eq!(CEL_ORACLE.version(), format!("0.{minor_and_patch}"));
        let cel = |module: &GoModule| {
            module
                .words()
                .find(|words| words.first() == Some(&"github.com/google/cel-go"))
                .map(|words| words[1])
        };
        assert!(cel(&KUBERNETES).is_some());
        assert_eq!(cel(&CEL_ORACLE), cel(&KUBERNETES));
    }

    #[test]
    fn every_source_of_the_oracle_is_embedded() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/go/cel-oracle");
        let mut names: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".go"))
            .collect();
        names.sort();
        let embedded: Vec<_> = CEL_ORACLE.sources.iter().map(|(name, _)| *name).collect();
        assert_eq!(embedded, names);
    }

    #[test]
    fn the_kubernetes_replacements_follow_the_kubernetes_version() {
        let (_, minor_and_patch) = KUBERNETES.version().split_once('.').unwrap();
        let staging = format!("v0.{minor_and_patch}");
        let replacements: Vec<_> = KUBERNETES.words().filter(|words| words.contains(&"=>")).collect();
        assert!(!replacements.is_empty());
        for words in replacements {
            assert_eq!(words.last(), Some(&staging.as_str()), "{words:?}");
        }
    }
}

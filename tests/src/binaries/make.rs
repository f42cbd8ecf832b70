//! Makes what the cache does not have yet, then vouches for all of it.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs, io, panic,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread,
    time::Instant,
};

use super::{
    cache::{Cache, Stage},
    contents,
    error::BinariesError,
    go::{Go, release},
    progress::{Elapsed, Progress},
    recipe::{Product, Recipe, build_arguments},
};

/// The directories this process has verified. Held for the whole of [`make`], so that the tests of one
/// process do not see each other as "another run".
static VERIFIED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Returns when the cache has the product of every recipe, verified. `search_path` is where `go` is looked
/// for.
pub(super) fn make(
    cache: Cache<'_>,
    recipes: &[Recipe],
    search_path: &OsStr,
    progress: &mut Progress,
) -> Result<(), BinariesError> {
    let mut verified = VERIFIED.lock().unwrap_or_else(PoisonError::into_inner);
    let missing: Vec<&Recipe> = recipes.iter().filter(|recipe| !cache.has(&recipe.key())).collect();
    make_missing(cache, &missing, search_path, progress).inspect_err(|_| progress.interrupt())?;
    let directories: Vec<PathBuf> = recipes.iter().map(|recipe| cache.directory(&recipe.key())).collect();
    verify(&directories, &mut verified)
}

fn make_missing(
    cache: Cache<'_>,
    missing: &[&Recipe],
    search_path: &OsStr,
    progress: &mut Progress,
) -> Result<(), BinariesError> {
    let versions = missing.iter().map(|recipe| recipe.module.go_version());
    let Some(needed) = versions.max_by_key(|version| release(version)) else { return Ok(()) };
    let labels: Vec<String> = missing.iter().map(|recipe| recipe.label()).collect();
    let go = Go::find(search_path, needed, &labels.join(", "))?;
    progress.plan(&labels, cache.root(), &go.version);
    // Recipes of one module share its sources, which need fetching once.
    let mut downloaded = BTreeSet::new();
    for (index, recipe) in missing.iter().enumerate() {
        progress.next();
        let next = labels.get(index + 1).map(String::as_str);
        make_one(&go, cache, recipe, next, &mut downloaded, progress)?;
    }
    Ok(())
}

fn make_one(
    go: &Go,
    cache: Cache<'_>,
    recipe: &Recipe,
    next: Option<&str>,
    downloaded: &mut BTreeSet<&'static str>,
    progress: &mut Progress,
) -> Result<(), BinariesError> {
    let (key, label) = (recipe.key(), recipe.label());
    let started = Instant::now();
    let mut waiting = false;
    let lock = cache.lock(&key, || {
        if waiting {
            progress.tick(Instant::now());
        } else {
            progress.begin(&format!("another run is building {label}; waiting"), None, started);
            waiting = true;
        }
    })?;
    if cache.has(&key) {
        progress.done(&format!("{label} was built by another run"));
        return Ok(());
    }
    let started = Instant::now();
    let stage = cache.stage(&key, &lock)?;
    let pinned = [("go.mod", recipe.module.go_mod), ("go.sum", recipe.module.go_sum)];
    for (name, text) in pinned.iter().chain(recipe.module.sources) {
        let path = stage.module().join(name);
        fs::write(&path, text).map_err(|source| BinariesError::cache("write", &path, source))?;
    }
    let mut kitchen = Kitchen { go, stage: &stage, progress };
    match &recipe.product {
        Product::Program { package, linker_flags } => {
            if downloaded.insert(recipe.module.name) {
                // Apart from the build, because it is the part that needs the network and fails without it.
                kitchen.go(&format!("downloading the sources of {label}"), None, &["mod", "download"])?;
            }
            let program = stage.product().join(recipe.name);
            let arguments = build_arguments(&program, package, linker_flags);
            kitchen.go(&format!("building {label}"), next, &arguments)?;
        }
        Product::Files { paths } => {
            let module = recipe.module.requirement;
            kitchen.go(&format!("downloading the sources of {label}"), None, &["mod", "download", module])?;
            let find = ["list", "-m", "-f", "{{.Dir}}", module];
            let source = kitchen.go(&format!("copying {label}"), next, &find)?;
            for path in *paths {
                copy(&Path::new(source.trim()).join(path), &stage.product().join(path))?;
            }
        }
    }
    stage.publish()?;
    progress.done(&format!("{label} made in {}", Elapsed(started.elapsed())));
    Ok(())
}

/// Where one product is being made, and who watches.
struct Kitchen<'a> {
    go: &'a Go,
    stage: &'a Stage,
    progress: &'a mut Progress,
}

impl Kitchen<'_> {
    fn go<S>(&mut self, doing: &str, next: Option<&str>, arguments: &[S]) -> Result<String, BinariesError>
    where
        S: AsRef<OsStr>,
    {
        self.progress.begin(doing, next, Instant::now());
        let (module, temporary) = (self.stage.module(), self.stage.temporary());
        self.go.run(doing, &module, &temporary, arguments, || self.progress.tick(Instant::now()))
    }
}

/// Copies a file, or a folder of files, with permissions of our own: those of Go's module cache forbid
/// writing.
fn copy(source: &Path, target: &Path) -> Result<(), BinariesError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error: io::Error| BinariesError::Cache { action: "copy", path, source: error }
    };
    if source.is_dir() {
        fs::create_dir_all(target).map_err(failed(target))?;
        for entry in fs::read_dir(source).map_err(failed(source))? {
            let entry = entry.map_err(failed(source))?;
            copy(&entry.path(), &target.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if let Some(directory) = target.parent() {
        fs::create_dir_all(directory).map_err(failed(directory))?;
    }
    let text = fs::read(source).map_err(failed(source))?;
    fs::write(target, text).map_err(failed(target))
}

/// Verifies what this process has not verified yet, all at once: hashing a hundred megabytes after another
/// would be the longest part of starting the bench.
fn verify(directories: &[PathBuf], verified: &mut BTreeSet<PathBuf>) -> Result<(), BinariesError> {
    let unverified: Vec<&PathBuf> = directories.iter().filter(|path| !verified.contains(*path)).collect();
    let findings: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = unverified.iter().map(|path| scope.spawn(|| contents::verify(path))).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    for (path, finding) in unverified.into_iter().zip(findings) {
        finding.unwrap_or_else(|payload| panic::resume_unwind(payload))?;
        verified.insert(path.clone());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cluster_api_manifests_come_out_of_its_go_module() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::new(root.path());
        let recipe = Recipe::cluster_api_manifests();
        let directory = cache.directory(&recipe.key());
        let search_path = std::env::var_os("PATH").unwrap();
        let mut progress = Progress::to_writer(Box::new(io::sink()));
        make(cache, &[recipe], &search_path, &mut progress).unwrap();
        for (file, kind) in [
            ("config/crd/bases/cluster.x-k8s.io_clusters.yaml", "kind: CustomResourceDefinition"),
            (
                "bootstrap/kubeadm/config/crd/bases/bootstrap.cluster.x-k8s.io_kubeadmconfigs.yaml",
                "kind: KubeadmConfig",
            ),
            (
                "controlplane/kubeadm/config/crd/bases/controlplane.cluster.x-k8s.io_kubeadmcontrolplanes.yaml",
                "kind: KubeadmControlPlane",
            ),
            ("config/webhook/manifests.yaml", "kind: ValidatingWebhookConfiguration"),
            ("bootstrap/kubeadm/config/webhook/manifests.yaml", "kind: ValidatingWebhookConfiguration"),
        ] {
            let text = fs::read_to_string(directory.join(file)).unwrap();
            assert!(text.contains(kind), "`{file}` has no `{kind}`");
        }
    }
}

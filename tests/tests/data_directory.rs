//! A data directory keeps its state, and only what is ours and fits is used.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use butler_bench::guard::mentioning;
use butler_bench::{ControlPlane, Options};

async fn refusal(options: Options) -> String {
    ControlPlane::start(options.without_controllers()).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_kept_directory_keeps_objects_and_identities_between_runs() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().canonicalize().unwrap().join("kept");
    let options = Options::default().data_directory(&path);

    let plane = ControlPlane::start(options.clone()).await.unwrap();
    plane.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}").await.unwrap();
    let alice = plane.user("alice", &["system:masters"]).unwrap();
    let old_kubeconfig = fs::read_to_string(alice.kubeconfig()).unwrap();
    let old_url = plane.url().to_owned();
    only_the_owner_can_read(&path);

    let in_use = refusal(options.clone()).await;
    assert_eq!(
        in_use,
        format!(
            "`{}` is in use by a running control plane; stop that one or choose another directory",
            path.display()
        )
    );
    let stopped = Instant::now();
    drop(plane);
    println!("a kept control plane ended after {:.2?}", stopped.elapsed());
    // A guard's shell ends a moment after what it guarded.
    loop {
        let survivors = mentioning(&path.display().to_string());
        if survivors.is_empty() {
            break;
        }
        assert!(stopped.elapsed() < Duration::from_secs(30), "{survivors:#?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    let started = Instant::now();
    let plane = ControlPlane::start(options.clone()).await.unwrap();
    println!("a kept control plane was ready again after {:.2?}", started.elapsed());
    let get = ["get", "configmap", "kept"];
    assert!(plane.kubectl(&get).await.unwrap().status.success());
    // Certificates are new, but what the old keys signed is still good.
    fs::write(alice.kubeconfig(), old_kubeconfig.replace(&old_url, plane.url())).unwrap();
    plane.kubectl_as(&alice, &get).await.unwrap().success().unwrap();
    drop(plane);

    let marker = path.join("butler-bench.json");
    let text = fs::read_to_string(&marker).unwrap();
    fs::write(&marker, r#"{"layout":1,"kubernetes":"v1.2.3"}"#).unwrap();
    let other = refusal(options.clone()).await;
    let version = text.split('"').rev().nth(1).unwrap().to_owned();
    assert_eq!(
        other,
        format!(
            "`{}` holds the data of Kubernetes v1.2.3, layout 1, and this is Kubernetes {version}, layout 1; \
             remove it or choose another directory",
            path.display()
        )
    );
    fs::write(&marker, "garbage").unwrap();
    assert!(refusal(options).await.contains("holds the data of an unknown version, and this is"));
}

fn only_the_owner_can_read(path: &Path) {
    for entry in fs::read_dir(path).unwrap().chain(fs::read_dir(path.join("pki")).unwrap()) {
        let entry = entry.unwrap();
        let is_secret =
            entry.file_type().unwrap().is_dir() || entry.path().extension().is_some_and(|it| it == "key");
        let mode = entry.metadata().unwrap().permissions().mode();
        assert!(!is_secret || mode & 0o077 == 0, "{} has mode {mode:o}", entry.path().display());
    }
}

#[tokio::test]
async fn a_directory_of_somebody_else_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    fs::write(path.join("thesis.tex"), "years of work").unwrap();
    assert_eq!(
        refusal(Options::default().data_directory(&path)).await,
        format!(
            "`{}` is not empty and not a data directory of this bench; choose an empty or new directory",
            path.display()
        )
    );
    let names: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["thesis.tex"]);
}

#[tokio::test]
async fn a_directory_that_cannot_be_made_is_a_clear_error() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let refused = refusal(Options::default().data_directory(file.join("below"))).await;
    assert!(refused.starts_with(&format!("cannot access `{}/below`: ", file.display())), "{refused}");
}

#[tokio::test]
async fn a_fixed_port_is_used_and_a_busy_one_is_an_error() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    assert_eq!(
        refusal(Options::default().api_port(port)).await,
        format!("port {port} is in use by another program; stop that program or choose another port")
    );
    drop(listener);
    let plane = ControlPlane::start(Options::default().without_controllers().api_port(port)).await.unwrap();
    assert_eq!(plane.url(), format!("https://127.0.0.1:{port}"));
}

#[tokio::test]
async fn a_program_that_ends_early_is_quoted() {
    let refused = refusal(Options::default().api_server_flags(["--no-such-flag"])).await;
    assert_eq!(
        refused,
        "kube-apiserver ended with exit status: 1 and said `Error: unknown flag: --no-such-flag`; mend that, or start \
         in another data directory"
    );
}

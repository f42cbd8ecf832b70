//! `butlerctl dev` as a newcomer types it, on real processes.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test by panicking, like the test itself")]

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Command, Output, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use butler_bench::guard::mentioning;
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};

fn butlerctl(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_butlerctl")).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    str::from_utf8(&output.stderr).unwrap()
}

/// Runs one line of a shell the way a user would after `eval "$(butlerctl dev env …)"`.
fn in_shell(exports: &str, line: &str) -> Output {
    Command::new("sh").args(["-c", &format!("{exports}\n{line}")]).output().unwrap()
}

/// Ends the control plane also when the test fails.
struct Stopped<'a>(&'a str);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        butlerctl(&["dev", "stop", "--data-dir", self.0]);
    }
}

#[test]
fn a_detached_control_plane_is_used_stopped_and_found_again_as_it_was() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("it's data");
    let data_dir = directory.to_str().unwrap();
    let _stopped = Stopped(data_dir);

    let started = butlerctl(&["dev", "--detach", "--data-dir", data_dir]);
    assert!(started.status.success(), "{}", stderr(&started));
    let kubeconfig = stdout(&started).lines().last().unwrap();
    assert_eq!(Path::new(kubeconfig), directory.canonicalize().unwrap().join("kubeconfig"));

    let exports = butlerctl(&["dev", "env", "--data-dir", data_dir]);
    assert!(exports.status.success(), "{}", stderr(&exports));
    let exports = stdout(&exports).to_owned();
    let shown = in_shell(&exports, "kubectl get butlerconfig,teams -o name && helm version --short");
    assert!(shown.status.success(), "{}", stderr(&shown));
    assert!(
        stdout(&shown).starts_with(
            "butlerconfig.butler.butlerlabs.dev/butler\n\
             team.butler.butlerlabs.dev/platform-engineering\n\
             team.butler.butlerlabs.dev/team-a\n\
             v4."
        ),
        "{}",
        stdout(&shown)
    );
    let changed = in_shell(&exports, "kubectl delete team team-a");
    assert!(changed.status.success(), "{}", stderr(&changed));

    let twice = butlerctl(&["dev", "--detach", "--data-dir", data_dir]);
    assert_eq!(twice.status.code(), Some(2));
    assert!(stderr(&twice).contains("in use"), "{}", stderr(&twice));

    let stopped = butlerctl(&["dev", "stop", "--data-dir", data_dir]);
    assert!(stopped.status.success(), "{}", stderr(&stopped));
    assert_eq!(mentioning(data_dir), Vec::<String>::new());

    let again = butlerctl(&["dev", "--detach", "--data-dir", data_dir]);
    assert!(again.status.success(), "{}", stderr(&again));
    let teams = in_shell(&exports, "kubectl get teams -o name");
    assert_eq!(stdout(&teams), "team.butler.butlerlabs.dev/platform-engineering\n", "{}", stderr(&teams));
}

/// Three mistakes in one object.
const MISTAKEN: &str = "
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: TenantCluster
metadata: {name: mistaken, namespace: team-a}
spec:
  kubernetesVersion: v1.99.0
  workers: {replicas: 3, machineTemplate: {memory: 256Mi}}
  networking: {podCIDR: 10.96.0.0/16}
";

const DENIAL: &str = "\
The TenantCluster \"mistaken\" is invalid: 
* spec.kubernetesVersion: `v1.99.0` is not run by the hosted control plane; choose one of `v1.24` to `v1.35`
* spec.workers.machineTemplate.memory: `256Mi` is too little; write at least `1Gi`
* spec.networking.serviceCIDR: `10.96.0.0/12` overlaps podCIDR `10.96.0.0/16`; choose a range apart from it
";

#[test]
fn the_webhook_judges_after_a_restart_too_and_answers_nobody_but_the_api_server() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("data");
    let data_dir = directory.to_str().unwrap();
    let _stopped = Stopped(data_dir);
    for _ in 0..2 {
        let started = butlerctl(&["dev", "--detach", "--data-dir", data_dir]);
        assert!(started.status.success(), "{}", stderr(&started));
        let exports = butlerctl(&["dev", "env", "--data-dir", data_dir]);
        let exports = stdout(&exports).to_owned();

        let denied = in_shell(&exports, &format!("kubectl apply -f - <<'EOF'{MISTAKEN}EOF"));
        assert_eq!(denied.status.code(), Some(1), "{}", stdout(&denied));
        assert_eq!(stderr(&denied), DENIAL);
        let admitted = in_shell(&exports, &format!("kubectl apply -f '{}'", sample("tenant-cluster.yaml")));
        assert!(admitted.status.success(), "{}", stderr(&admitted));

        let jsonpath = |path| {
            let line =
                format!("kubectl get validatingwebhookconfiguration butler-webhook -o jsonpath={path}");
            stdout(&in_shell(&exports, &line)).to_owned()
        };
        let url = jsonpath("{.webhooks[0].clientConfig.url}");
        let authority = in_shell(
            &exports,
            "kubectl get secret butler-webhook-certificates -n butler-system -o 'go-template={{index .data \"ca.crt\" | base64decode}}'",
        );
        assert_eq!(call(&url, stdout(&authority), None), "");
        let answer = call(&url, stdout(&authority), Some(&directory.join("pki")));
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");

        let stopped = butlerctl(&["dev", "stop", "--data-dir", data_dir]);
        assert!(stopped.status.success(), "{}", stderr(&stopped));
        assert_eq!(mentioning(data_dir), Vec::<String>::new());
    }
}

fn sample(name: &str) -> String {
    format!("{}/../manifests/samples/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// What the webhook answers to something that is no review, to a caller with the API server's certificate or without any.
fn call(url: &str, authority: &str, identity: Option<&Path>) -> String {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots);
    let config = match identity {
        None => config.with_no_client_auth(),
        Some(directory) => {
            let file = |ending: &str| directory.join(format!("apiserver-webhook-client.{ending}"));
            let certificate = CertificateDer::from_pem_file(file("crt")).unwrap();
            let key = PrivateKeyDer::from_pem_file(file("key")).unwrap();
            config.with_client_auth_cert(vec![certificate], key).unwrap()
        }
    };
    let (address, path) = url.strip_prefix("https://").unwrap().split_once('/').unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(connection, TcpStream::connect(address).unwrap());
    let request = format!(
        "POST /{path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Content-Length: 2\r\n\r\n{{}}"
    );
    // Whoever is not let in sees the connection end, sooner or later.
    let mut answer = Vec::new();
    let _ = stream.write_all(request.as_bytes()).and_then(|()| stream.read_to_end(&mut answer));
    String::from_utf8(answer).unwrap()
}

#[test]
fn a_control_plane_can_be_stopped_while_it_starts() {
    let directory = tempfile::tempdir().unwrap();
    let data_dir = directory.path().join("data");
    let data_dir = data_dir.to_str().unwrap();
    let starting = Command::new(env!("CARGO_BIN_EXE_butlerctl"))
        .args(["dev", "--detach", "--data-dir", data_dir])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Until it has taken its directory there is nothing to stop; the API server takes seconds from there.
    while !butlerctl(&["dev", "stop", "--data-dir", data_dir]).status.success() {
        thread::sleep(Duration::from_millis(20));
    }
    let started = starting.wait_with_output().unwrap();
    assert_eq!(started.status.code(), Some(2));
    assert_eq!(
        stderr(&started),
        "error: the control plane was stopped before it was ready; start it again\n"
    );
    assert_eq!(mentioning(data_dir), Vec::<String>::new());
}

#[test]
fn a_detached_control_plane_without_a_data_directory_leaves_none_behind() {
    let started = butlerctl(&["dev", "--detach"]);
    assert!(started.status.success(), "{}", stderr(&started));
    let directory = Path::new(stdout(&started).lines().last().unwrap()).parent().unwrap();
    let _stopped = Stopped(directory.to_str().unwrap());
    assert!(directory.is_dir());

    let stopped = butlerctl(&["dev", "stop", "--data-dir", directory.to_str().unwrap()]);
    assert!(stopped.status.success(), "{}", stderr(&stopped));
    assert_eq!(mentioning(directory.to_str().unwrap()), Vec::<String>::new());
    assert!(!directory.exists());
}

#[test]
fn what_cannot_be_done_is_one_sentence_and_exit_code_two() {
    let empty = tempfile::tempdir().unwrap();
    let empty = empty.path().to_str().unwrap();
    let foreign = tempfile::tempdir().unwrap();
    fs::write(foreign.path().join("thesis.txt"), "").unwrap();
    let foreign = foreign.path().to_str().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();

    let file = Path::new(foreign).join("thesis.txt");
    let file = file.to_str().unwrap();

    let cases: [(&[&str], String); 6] = [
        (
            &["dev", "--data-dir", file],
            format!("error: `{file}` exists and is not a directory; choose an empty or new directory"),
        ),
        (
            &["dev", "stop", "--data-dir", empty],
            format!(
                "error: no control plane runs in `{empty}`; start one with `butlerctl dev --data-dir {empty}`"
            ),
        ),
        (
            &["dev", "env", "--data-dir", empty],
            format!(
                "error: no control plane runs in `{empty}`; start one with `butlerctl dev --data-dir {empty}`"
            ),
        ),
        (
            &["dev", "--data-dir", foreign],
            format!(
                "error: `{foreign}` is not empty and not a data directory of this bench; choose an empty or new directory"
            ),
        ),
        (
            &["dev", "--detach", "--port", &port],
            format!(
                "error: port {port} is in use by another program; stop that program or choose another port"
            ),
        ),
        (
            &["crds", "no/such/directory"],
            "error: `no/such/directory` is not a directory; run this from the repository's root, or name an \
             existing directory"
                .to_owned(),
        ),
    ];
    for (arguments, expected) in cases {
        let output = butlerctl(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(stderr(&output).lines().last().unwrap_or_default(), expected, "{arguments:?}");
        assert_eq!(stdout(&output), "", "{arguments:?}");
    }
}

#[test]
fn a_data_directory_of_another_kubernetes_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let marker = directory.path().join("butler-bench.json");
    let text = r#"{"layout":1,"kubernetes":"v1.20.0"}"#;
    fs::write(&marker, text).unwrap();
    let output = butlerctl(&["dev", "--data-dir", directory.path().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let path = directory.path().canonicalize().unwrap();
    let path = path.display();
    assert_eq!(
        stderr(&output).lines().last().unwrap_or_default(),
        format!(
            "error: `{path}` holds the data of Kubernetes v1.20.0, layout 1, and this is Kubernetes v1.36.4, \
             layout 1; remove it or choose another directory"
        )
    );
    assert_eq!(fs::read_to_string(marker).unwrap(), text);
}

#[test]
fn without_go_the_first_start_says_what_to_install() {
    let cache = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_butlerctl"))
        .arg("dev")
        .env("BUTLER_CACHE_DIR", cache.path())
        .env("PATH", "/nowhere")
        .env_remove("KUBEBUILDER_ASSETS")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("`go`"), "{}", stderr(&output));
}

#[test]
fn a_wrong_flag_is_explained_with_exit_code_two() {
    let output = butlerctl(&["dev", "--detatch"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("a similar argument exists: '--detach'"), "{}", stderr(&output));
}

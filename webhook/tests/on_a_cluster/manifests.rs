//! The manifests that install the webhook: accepted by the API server as they are, agreeing with each other, and
//! granting what is needed and no more.

use butler_bench::manifests::{disagreements, refusals};
use butler_bench::{ControlPlane, Options};

use crate::harness::{ACCOUNT, GROUPS};
use crate::objects::{install_definitions, read, repository};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_command_installs_everything_and_a_second_changes_nothing() {
    let plane = ControlPlane::start(Options::default()).await.unwrap();
    let folder = repository("manifests/webhook");
    let folder = folder.to_str().unwrap();
    let kubectl = async |arguments: &[&str]| {
        let output = plane.kubectl(arguments).await.unwrap();
        // Also how the API server says that a Pod breaks the namespace's standard, or a field is deprecated. That nobody
        // serves the policy service here is so.
        let is_news = |line: &&str| !line.contains(butler_webhook::service::API_VERSION);
        let complaints: Vec<&str> = output.stderr.lines().filter(is_news).collect();
        assert_eq!(complaints, [""; 0], "{arguments:?}");
        output.success().unwrap()
    };
    // What is in a namespace can only be tried where the namespace is.
    kubectl(&["apply", "--server-side", "-f", &format!("{folder}/namespace.yaml")]).await;
    let tried =
        kubectl(&["apply", "--server-side", "--dry-run=server", "--validate=strict", "-k", folder]).await;
    let installed = kubectl(&["apply", "--server-side", "--validate=strict", "-k", folder]).await;
    assert_eq!(tried.replace(" (server dry run)", ""), installed);
    let objects: Vec<&str> =
        installed.lines().filter_map(|line| line.strip_suffix(" serverside-applied")).collect();
    assert_eq!(objects.len(), 17, "{installed}");
    let elsewhere = "rolebinding.rbac.authorization.k8s.io/butler-webhook-front-proxy";
    let objects: Vec<&str> = objects.into_iter().filter(|object| *object != elsewhere).collect();
    kubectl(&["get", "-n", "kube-system", elsewhere]).await;

    let versions =
        "-o=jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{\"\\n\"}{end}";
    let read = [&["get", "-n", "butler-system", versions], objects.as_slice()].concat();
    // `get` takes one namespace and ignores it for what is in none.
    let before = kubectl(&read).await;
    kubectl(&["apply", "--server-side", "--validate=strict", "-k", folder]).await;
    assert_eq!(kubectl(&read).await, before);

    samples_of_administrators_make_administrators(&plane).await;
    the_account_may_do_what_it_needs_and_no_more(&plane).await;
}

async fn samples_of_administrators_make_administrators(plane: &ControlPlane) {
    install_definitions(plane).await;
    plane.apply(&read("manifests/samples/platform/administrators.yaml")).await.unwrap();
    let engineer = plane.user("engineer@example.com", &["platform-engineers"]).unwrap();
    let developer = plane.user("developer@example.com", &["developers"]).unwrap();
    for (user, answer) in [(engineer, "yes\n"), (developer, "no\n")] {
        let asked = ["auth", "can-i", "administer", "teams.butler.butlerlabs.dev"];
        let output = plane.kubectl_as(&user, &asked).await.unwrap();
        assert_eq!(output.stdout, answer, "{}: {}", user.name(), output.stderr);
    }
}

async fn the_account_may_do_what_it_needs_and_no_more(plane: &ControlPlane) {
    let account = plane.user(ACCOUNT, &GROUPS).unwrap();
    let system = "--namespace=butler-system";
    let cases: &[(&str, &[&str])] = &[
        ("yes", &["watch", "tenantclusters.butler.butlerlabs.dev", "-A"]),
        ("yes", &["list", "namespaces"]),
        ("yes", &["create", "subjectaccessreviews.authorization.k8s.io"]),
        ("yes", &["patch", "validatingwebhookconfigurations/butler-webhook"]),
        ("yes", &["watch", "mutatingwebhookconfigurations/butler-webhook"]),
        ("yes", &["update", "secrets/butler-webhook-certificates", system]),
        ("yes", &["create", "secrets", system]),
        ("yes", &["get", "secrets/harvester-prod", system]),
        ("yes", &["create", "events.events.k8s.io", system]),
        ("yes", &["create", "tokenreviews.authentication.k8s.io"]),
        ("yes", &["watch", "configmaps/extension-apiserver-authentication", "--namespace=kube-system"]),
        ("yes", &["patch", "apiservices/v1alpha1.policy.butler.butlerlabs.dev"]),
        ("no", &["get", "configmaps", "--namespace=kube-system"]),
        ("no", &["patch", "apiservices/v1.apps"]),
        ("no", &["update", "tenantclusters.butler.butlerlabs.dev", "-A"]),
        ("no", &["patch", "teams.butler.butlerlabs.dev"]),
        ("no", &["administer", "teams.butler.butlerlabs.dev"]),
        ("no", &["patch", "validatingwebhookconfigurations/somebody-else"]),
        ("no", &["list", "validatingwebhookconfigurations"]),
        ("no", &["create", "validatingwebhookconfigurations"]),
        ("no", &["delete", "mutatingwebhookconfigurations/butler-webhook"]),
        ("no", &["list", "secrets", system]),
        ("no", &["update", "secrets/harvester-prod", system]),
        ("no", &["delete", "secrets/butler-webhook-certificates", system]),
        ("no", &["get", "secrets", "--namespace=default"]),
        ("no", &["create", "secrets", "--namespace=default"]),
        ("no", &["impersonate", "users"]),
    ];
    for (answer, question) in cases {
        let output = plane.kubectl_as(&account, &[&["auth", "can-i"], *question].concat()).await.unwrap();
        assert_eq!(output.stdout.trim_end(), *answer, "{question:?}: {}", output.stderr);
    }
}

#[test]
fn the_manifests_agree_with_each_other() {
    assert_eq!(disagreements(&repository("manifests/webhook"), ACCOUNT), [""; 0]);
}

#[test]
fn the_program_takes_the_arguments_of_the_deployment() {
    let folder = repository("manifests/webhook");
    let [away, misspelt] = refusals(env!("CARGO_BIN_EXE_butler-webhook"), &folder).unwrap();
    let said = String::from_utf8(away.stderr).unwrap();
    assert!(said.contains("cannot read the kubeconfig `/no/such/file`"), "{said}");
    assert_eq!((away.status.code(), misspelt.status.code()), (Some(1), Some(2)));
}

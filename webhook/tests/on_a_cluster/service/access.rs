//! Who gets in, and who may do what.

use butler_bench::pki::Authority;

use super::{MASTER, POLICIES, ask, front_proxy, identity, start};
use crate::direct::trusted;
use crate::harness::Gate;
use crate::objects::eventually;

/// Somebody who may see policies, somebody who may see one of them, and a robot of whom the second is true.
const ROLES: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: viewer }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: User, name: viewer@example.com }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: one-policy }
rules: [{ apiGroups: [policy.butler.butlerlabs.dev], resources: [policies], resourceNames: [rule.team], verbs: [get, list] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: one-policy }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: one-policy }
subjects:
- { apiGroup: rbac.authorization.k8s.io, kind: User, name: narrow@example.com }
- { kind: ServiceAccount, name: robot, namespace: default }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: robot, namespace: default }
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_who_is_known_gets_in_and_only_who_may_is_answered() {
    let gate = start(1).await;
    gate.plane().apply(ROLES).await.unwrap();
    everybody_may_what_their_role_says(&gate).await;
    forged_headers_say_nothing(&gate).await;
    tokens_are_reviewed(&gate).await;
    forms_that_there_are_not_are_refused(&gate).await;
}

async fn everybody_may_what_their_role_says(gate: &Gate) {
    let plane = gate.plane();
    let [viewer, narrow, nobody] =
        ["viewer", "narrow", "nobody"].map(|name| plane.user(&format!("{name}@example.com"), &[]).unwrap());
    // Roles are aggregated a moment after they are there.
    eventually("who may view may view policies", async || {
        plane.kubectl_as(&viewer, &["get", "policies"]).await.unwrap().status.success()
    })
    .await;
    let cases = [
        (&viewer, &["get", "policies"][..], true),
        (&viewer, &["get", "policy", "rule.network"], true),
        (&viewer, &["delete", "policy", "rule.network"], false),
        (&narrow, &["get", "policies"], false),
        (&narrow, &["get", "policy", "rule.team"], true),
        (&narrow, &["get", "policies", "--field-selector=metadata.name=rule.team"], true),
        (&narrow, &["get", "policy", "rule.network"], false),
        (&nobody, &["get", "policies"], false),
        (&nobody, &["get", "policy", "rule.team"], false),
        // Discovery is for everybody who is known.
        (&nobody, &["get", "--raw", "/apis/policy.butler.butlerlabs.dev/v1alpha1"], true),
    ];
    for (user, arguments, is_allowed) in cases {
        let said = plane.kubectl_as(user, arguments).await.unwrap();
        assert_eq!(said.status.success(), is_allowed, "{} {arguments:?}: {}", user.name(), said.stderr);
        assert!(is_allowed || said.stderr.contains("(Forbidden)"), "{}", said.stderr);
    }
    let said = plane.kubectl_as(&nobody, &["get", "policies"]).await.unwrap().stderr;
    assert_eq!(
        said.trim_end(),
        "Error from server (Forbidden): policies.policy.butler.butlerlabs.dev is forbidden: User \
         \"nobody@example.com\" cannot list resource \"policies\" in API group \"policy.butler.butlerlabs.dev\" at the \
         cluster scope"
    );
    // The API server says who is impersonated.
    let said = plane.kubectl(&["get", "policies", "--as=nobody@example.com"]).await.unwrap().stderr;
    assert!(said.contains("User \"nobody@example.com\" cannot list"), "{said}");
}

async fn forged_headers_say_nothing(gate: &Gate) {
    let bundle = trusted(gate.client()).await;
    let pki = gate.plane().pki();
    let proxy = front_proxy(gate);
    let authority = Authority::open(&pki.file("front-proxy-ca"), "butler-bench-front-proxy").unwrap();
    let other_name = authority.client("somebody", &[]).unwrap();
    let of_the_cluster = pki.cluster().client("front-proxy-client", &["system:masters"]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let stranger = Authority::open(&directory.path().join("stranger"), "stranger").unwrap();
    let strange = stranger.client("front-proxy-client", &[]).unwrap();

    let cases = [
        ("no certificate", None, 401),
        ("one of another authority", identity(&strange), 401),
        ("one of the cluster's own authority", identity(&of_the_cluster), 401),
        ("one with another name", identity(&other_name), 401),
        ("that of the front proxy", identity(&proxy), 200),
    ];
    for (what, shown, expected) in cases {
        let (code, body) = ask(&gate.replicas()[0], &bundle, shown, POLICIES, MASTER).await;
        assert_eq!(code, expected, "{what}: {body}");
        let reason = if code == 401 { "Unauthorized" } else { "" };
        assert_eq!(body["reason"].as_str().unwrap_or_default(), reason, "{what}");
    }
    // The front proxy names nobody, or somebody without rights.
    assert_eq!(ask(&gate.replicas()[0], &bundle, identity(&proxy), POLICIES, "").await.0, 401);
    let nobody = "X-Remote-User: nobody@example.com\r\n";
    assert_eq!(ask(&gate.replicas()[0], &bundle, identity(&proxy), POLICIES, nobody).await.0, 403);
    let anonymous = "X-Remote-User: system:anonymous\r\nX-Remote-Group: system:unauthenticated\r\n";
    assert_eq!(ask(&gate.replicas()[0], &bundle, identity(&proxy), "/apis", anonymous).await.0, 403);
    // Everybody may know whether we live.
    for path in ["/livez", "/readyz", "/healthz"] {
        assert_eq!(ask(&gate.replicas()[0], &bundle, None, path, "").await.0, 200, "{path}");
    }
}

async fn tokens_are_reviewed(gate: &Gate) {
    let (plane, bundle) = (gate.plane(), trusted(gate.client()).await);
    let token =
        plane.kubectl(&["create", "token", "robot", "-n", "default"]).await.unwrap().success().unwrap();
    let bearer = |token: &str| format!("Authorization: Bearer {}\r\n", token.trim());
    let one = format!("{POLICIES}/rule.team");
    let (code, body) = ask(&gate.replicas()[0], &bundle, None, &one, &bearer(&token)).await;
    assert_eq!((code, &body["kind"]), (200, &"Policy".into()), "{body}");
    assert_eq!(ask(&gate.replicas()[0], &bundle, None, POLICIES, &bearer(&token)).await.0, 403);
    // Whose headers are nobody's, and who may not be anybody else.
    let forged = format!("{}{MASTER}", bearer(&token));
    let (code, body) = ask(&gate.replicas()[0], &bundle, None, POLICIES, &forged).await;
    assert_eq!(code, 403, "{body}");
    assert!(body["message"].as_str().unwrap().contains("system:serviceaccount:default:robot"), "{body}");
    let impersonating = format!("{}Impersonate-User: admin\r\n", bearer(&token));
    assert_eq!(ask(&gate.replicas()[0], &bundle, None, &one, &impersonating).await.0, 400);
    assert_eq!(ask(&gate.replicas()[0], &bundle, None, &one, &bearer("garbage")).await.0, 401);

    // A token whose account is gone is over.
    plane.kubectl(&["delete", "serviceaccount", "robot", "-n", "default"]).await.unwrap().success().unwrap();
    eventually("the token is over", async || {
        ask(&gate.replicas()[0], &bundle, None, &one, &bearer(&token)).await.0 == 401
    })
    .await;
}

async fn forms_that_there_are_not_are_refused(gate: &Gate) {
    let bundle = trusted(gate.client()).await;
    let proxy = front_proxy(gate);
    let accepting = |form: &str| format!("{MASTER}Accept: {form}\r\n");
    let cases = [
        (POLICIES.to_owned(), "application/vnd.kubernetes.protobuf", 406),
        (POLICIES.to_owned(), "application/yaml", 200),
        (format!("{POLICIES}?watch=true"), "application/yaml", 406),
        (format!("{POLICIES}?limit=x"), "application/json", 400),
        (format!("{POLICIES}?resourceVersionMatch=Exact"), "application/json", 422),
        (format!("{POLICIES}?resourceVersion=5"), "application/json", 410),
        (format!("{POLICIES}/rule.team/status"), "application/json", 404),
        ("/apis/policy.butler.butlerlabs.dev/v9".to_owned(), "application/json", 404),
    ];
    for (path, form, expected) in cases {
        let (code, body) = ask(&gate.replicas()[0], &bundle, identity(&proxy), &path, &accepting(form)).await;
        assert_eq!(code, expected, "{path} {form}: {body}");
    }
}

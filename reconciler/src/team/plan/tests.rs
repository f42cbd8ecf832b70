use serde::de::DeserializeOwned;

use super::*;

fn object<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn team(tweak: impl FnOnce(&mut Value)) -> Team {
    let mut team = json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "Team",
        "metadata": { "name": "payments", "uid": "team-uid" },
        "spec": { "access": { "users": [{ "name": "bo", "role": "operator" }] } },
    });
    tweak(&mut team);
    object(team)
}

fn namespace_with(labels: Value) -> Option<Arc<Ns>> {
    Some(Arc::new(object(json!({ "metadata": { "name": "payments", "uid": "n", "labels": labels } }))))
}

fn butlers() -> Value {
    json!({ MANAGED_BY: MANAGED_BY_BUTLER, (labels::TEAM): "payments" })
}

/// All steps that write something.
fn shown(plan: &Plan) -> Vec<String> {
    match plan {
        Plan::Stay { namespace, access, clusters } => {
            let Access { roles, bindings, cluster_roles, cluster_bindings, in_the_way } = access;
            let first = match namespace {
                Ok(step) if step.is_done() => None,
                Ok(step) => Some(step.to_string()),
                Err(problem) => Some(format!("{}: {}", problem.reason, problem.message)),
            };
            let taken = in_the_way.iter().map(|it| format!("in the way: {it}"));
            let mut all: Vec<String> = first.into_iter().collect();
            all.extend(roles.iter().filter(|it| !it.is_done()).map(ToString::to_string));
            all.extend(bindings.iter().filter(|it| !it.is_done()).map(ToString::to_string));
            all.extend(cluster_roles.iter().filter(|it| !it.is_done()).map(ToString::to_string));
            all.extend(cluster_bindings.iter().filter(|it| !it.is_done()).map(ToString::to_string));
            all.extend(taken);
            all.extend(clusters.iter().map(|it| format!("wait for {it}")));
            all
        }
        Plan::Unseen { access, error } => {
            let taken = access.bindings.iter().filter(|it| matches!(it, Step::Remove(_)));
            taken.map(ToString::to_string).chain([error.to_string()]).collect()
        }
        Plan::Clear { cluster_bindings, cluster_roles, namespace, going_since } => {
            let mut all: Vec<String> = cluster_bindings.iter().map(ToString::to_string).collect();
            all.extend(cluster_roles.iter().map(ToString::to_string));
            all.extend(namespace.iter().map(ToString::to_string));
            all.extend(going_since.iter().map(|since| format!("going since {since}")));
            all
        }
    }
}

#[test]
fn a_new_team_gets_a_namespace_and_its_members_their_roles() {
    assert_eq!(
        shown(&plan(&team(|_| {}), &Observed::default())),
        [
            "make Namespace payments",
            "make RoleBinding butler-team-user-bo",
            "make ClusterRole butler:team:payments:member",
            "make ClusterRoleBinding butler:team:payments:member",
        ]
    );
}

#[test]
fn a_namespace_is_taken_only_if_it_is_the_teams() {
    let with = |labels| {
        let observed = Observed { namespace: namespace_with(labels), ..Observed::default() };
        shown(&plan(&team(|_| {}), &observed)).remove(0)
    };
    assert_eq!(with(butlers()), "change Namespace payments");
    let refusal = "NamespaceError: the namespace `payments` exists and is not this team's, so it is left alone; remove it, \
                   or let the platform's administrators give it the labels `app.kubernetes.io/managed-by: butler` and \
                   `butler.butlerlabs.dev/team: payments`";
    assert_eq!(with(json!({})), refusal);
    assert_eq!(with(json!({ (labels::TEAM): "payments" })), refusal);
    assert_eq!(with(json!({ MANAGED_BY: MANAGED_BY_BUTLER, (labels::TEAM): "other" })), refusal);
    let mut tenants = butlers();
    tenants[labels::TENANT] = json!("orders");
    assert_eq!(with(tenants), refusal);
}

#[test]
fn what_is_to_go_goes_also_where_the_namespace_cannot_be_used() {
    let bindings = vec![binding("butler-team-user-gone", butlers())];
    let observed = Observed { namespace: namespace_with(json!({})), bindings, ..Observed::default() };
    let shown = shown(&plan(&team(|_| {}), &observed));
    assert!(shown[0].starts_with("NamespaceError: "));
    assert_eq!(shown[1], "remove RoleBinding butler-team-user-gone");
}

#[test]
fn a_label_that_was_removed_is_put_back() {
    let namespace: Ns =
        object(json!({ "metadata": { "name": "payments", "labels": { (labels::TEAM): "payments" },
        "managedFields": [{ "manager": MANAGER, "operation": "Apply", "fieldsType": "FieldsV1",
            "fieldsV1": { "f:metadata": { "f:labels": { "f:butler.butlerlabs.dev/team": {} } } } }] } }));
    let observed = Observed { namespace: Some(Arc::new(namespace)), ..Observed::default() };
    assert_eq!(shown(&plan(&team(|_| {}), &observed))[0], "change Namespace payments");
}

#[test]
fn names_that_are_the_platforms_are_never_taken() {
    let named = |name: &str, observed: &Observed| {
        shown(&plan(&team(|team| team["metadata"]["name"] = json!(name)), observed)).remove(0)
    };
    for name in ["kube-system", "kube-public", "default", "butler-system", "butler-tenants"] {
        assert_eq!(
            named(name, &Observed::default()),
            format!(
                "NamespaceError: `{name}` is a namespace of the platform, and a team gets the namespace of its name; make \
                 the team anew under another name"
            )
        );
    }
    let config = object(json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "ButlerConfig", "metadata": { "name": "butler" },
        "spec": { "defaultNamespace": "shared" },
    }));
    let observed = Observed { config: Some(Arc::new(config)), ..Observed::default() };
    assert!(named("shared", &observed).starts_with("NamespaceError"));
    let mut own: Ns = object(json!({ "metadata": { "name": "shared", "uid": "n", "labels": butlers() } }));
    own.metadata.labels.as_mut().unwrap().insert(labels::TEAM.to_owned(), "shared".to_owned());
    let its_own = Observed { namespace: Some(Arc::new(own)), ..observed.clone() };
    assert_eq!(named("shared", &its_own), "change Namespace shared", "a team that had it first keeps it");
    assert_eq!(named("butler-tenants", &observed), "make Namespace butler-tenants");
    assert!(named("a.b", &observed).starts_with("ValidationFailed: metadata.name: "));
}

#[test]
fn a_namespace_on_its_way_out_is_waited_for() {
    let mut namespace: Ns = object(json!({ "metadata": { "name": "payments", "labels": butlers() } }));
    namespace.metadata.deletion_timestamp = Some(object(json!("2026-01-02T03:04:05Z")));
    let observed = Observed { namespace: Some(Arc::new(namespace)), ..Observed::default() };
    assert_eq!(
        shown(&plan(&team(|_| {}), &observed))[0],
        "Deleting: the namespace `payments` is being deleted since 2026-01-02T03:04:05Z; the team gets a new one when it is \
         gone (`kubectl get namespace payments -o yaml` says what keeps it)"
    );
}

fn binding(name: &str, labels: Value) -> Arc<RoleBinding> {
    Arc::new(object(json!({
        "metadata": { "name": name, "namespace": "payments", "labels": labels },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "butler-team-admin" },
    })))
}

#[test]
fn whoever_is_not_a_member_any_more_loses_access_first_and_others_bindings_stay() {
    let bindings = vec![
        binding("butler-team-user-gone", butlers()),
        binding("theirs", json!({})),
        binding("of-another-team", json!({ MANAGED_BY: MANAGED_BY_BUTLER, (labels::TEAM): "other" })),
    ];
    let observed = Observed { namespace: namespace_with(butlers()), bindings, ..Observed::default() };
    assert_eq!(
        shown(&plan(&team(|_| {}), &observed))[1..3],
        ["remove RoleBinding butler-team-user-gone", "make RoleBinding butler-team-user-bo"]
    );
}

#[test]
fn whoever_is_not_a_member_any_more_loses_access_although_the_labels_are_gone() {
    let owned = |name: &str, uid: &str| {
        let mut binding = RoleBinding::clone(&binding(name, json!({})));
        binding.metadata.owner_references = Some(vec![object(json!({
            "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "Team", "name": "payments", "uid": uid,
            "controller": true }))]);
        Arc::new(binding)
    };
    let bindings = vec![owned("butler-team-user-gone", "team-uid"), owned("theirs", "another-uid")];
    let observed = Observed { namespace: namespace_with(butlers()), bindings, ..Observed::default() };
    let shown = shown(&plan(&team(|_| {}), &observed));
    assert_eq!(shown[1], "remove RoleBinding butler-team-user-gone");
    assert!(!shown.iter().any(|it| it.contains("theirs")), "{shown:?}");
}

#[test]
fn a_team_that_is_deleted_while_nobody_can_look_loses_members_and_nothing_else() {
    let going = team(|team| team["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z"));
    let failure = butler_program::Failure::no_answer();
    let observed = Observed {
        namespace: namespace_with(butlers()),
        bindings: vec![binding("butler-team-user-gone", butlers())],
        clusters_now: Err(Error::api("list", "TenantClusters of `payments`", failure)),
        ..Observed::default()
    };
    let unseen = plan(&going, &observed);
    assert_eq!(
        shown(&unseen),
        [
            "remove RoleBinding butler-team-user-gone",
            "cannot list TenantClusters of `payments`: the API server does not answer"
        ]
    );
    assert!(!unseen.is_gone());
}

#[test]
fn a_binding_to_another_role_is_replaced_and_one_of_somebody_else_is_left_alone() {
    let with = |labels| {
        let bindings = vec![binding("butler-team-user-bo", labels)];
        let observed = Observed { namespace: namespace_with(butlers()), bindings, ..Observed::default() };
        shown(&plan(&team(|_| {}), &observed))
    };
    assert_eq!(with(butlers())[1], "replace RoleBinding butler-team-user-bo");
    assert_eq!(with(json!({})).last().unwrap(), "in the way: RoleBinding `butler-team-user-bo`");
}

#[test]
fn a_team_that_is_deleted_waits_for_its_clusters_then_clears_up_then_goes() {
    let going = team(|team| team["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z"));
    let elsewhere = object(json!({
        "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
        "metadata": { "name": "stray", "namespace": "elsewhere" }, "spec": { "teamRef": { "name": "payments" } },
    }));
    let observed = Observed {
        namespace: namespace_with(butlers()),
        clusters: vec![Arc::new(elsewhere)],
        clusters_now: Ok(vec!["orders".to_owned()]),
        ..Observed::default()
    };
    let waits = shown(&plan(&going, &observed));
    assert_eq!(waits[0], "change Namespace payments");
    assert!(
        waits.contains(&"make RoleBinding butler-team-user-bo".to_owned()),
        "somebody has to delete them"
    );
    assert_eq!(waits[waits.len() - 2..], ["wait for elsewhere/stray", "wait for orders"]);
    let bindings = vec![binding("butler-team-user-gone", butlers())];
    let stray = Observed { namespace: None, bindings, clusters_now: Ok(Vec::new()), ..observed };
    let waits = shown(&plan(&going, &stray));
    assert_eq!(
        waits[..2],
        [
            "Deleting: the namespace is gone, and a team that is being deleted gets no other",
            "remove RoleBinding butler-team-user-gone"
        ]
    );

    let wide = Arc::new(object(
        json!({ "metadata": { "name": "butler:team:payments:member", "labels": butlers() } }),
    ));
    let observed =
        Observed { namespace: namespace_with(butlers()), cluster_roles: vec![wide], ..Observed::default() };
    let clear = plan(&going, &observed);
    assert_eq!(
        shown(&clear),
        ["remove ClusterRole butler:team:payments:member", "remove Namespace payments"]
    );
    assert!(!clear.is_gone());

    let mut on_its_way: Ns = object(json!({ "metadata": { "name": "payments", "labels": butlers() } }));
    on_its_way.metadata.deletion_timestamp = Some(object(json!("2026-01-02T03:04:06Z")));
    let waiting = plan(&going, &Observed { namespace: Some(Arc::new(on_its_way)), ..Observed::default() });
    assert_eq!(shown(&waiting), ["going since 2026-01-02T03:04:06Z"]);
    assert!(!waiting.is_gone());

    assert!(plan(&going, &Observed::default()).is_gone());
    let others = Observed { namespace: namespace_with(json!({})), ..Observed::default() };
    assert!(plan(&going, &others).is_gone(), "somebody else's namespace is not waited for");
}

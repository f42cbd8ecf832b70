use butler_api::Team;
use serde_json::{Value, json};

use super::check;
use crate::fixtures::*;
use crate::review::Review;

fn typed(tweak: Value) -> Team {
    serde_json::from_value(team(tweak)).expect("team")
}

fn named(name: &str) -> Team {
    typed(json!({"metadata": {"name": name}}))
}

#[test]
fn a_team_captures_no_namespace() {
    assert_eq!(on_create(check, &named("shipping"), &facts()), [""; 0]);
    assert_eq!(on_create(check, &named("payments"), &facts()), [""; 0]);
    for name in ["kube-system", "default", "butler-system", "butler-tenants"] {
        assert_eq!(
            on_create(check, &named(name), &facts()),
            [format!(
                "metadata.name: `{name}` is a namespace of the platform, and a team gets the namespace of its name; choose \
                 another"
            )]
        );
    }
    let taken = json!({"kind": "Namespace", "metadata": {"name": "monitoring"}});
    assert_eq!(
        on_create(check, &named("monitoring"), &facts_with(&[taken])),
        [
            "metadata.name: the namespace `monitoring` exists and is not this team's, and a team gets the namespace of its name; \
          choose another, or let the platform's administrators give it the labels `app.kubernetes.io/managed-by: butler` and \
          `butler.butlerlabs.dev/team: monitoring`"
        ]
    );
    assert_eq!(
        on_create(check, &named("a.b"), &facts()),
        ["metadata.name: `a.b` contains `.`; use only lower-case letters, digits and `-`"]
    );
}

#[test]
fn limits_are_set_by_administrators_of_the_platform() {
    let denial = [
        "spec.resourceLimits: only administrators of the platform may set what a team may use; leave it as it is, or \
                   ask them",
    ];
    let (plain, limited) =
        (typed(json!({})), typed(json!({"spec": {"resourceLimits": {"maxClusters": 99}}})));
    assert_eq!(on_create(check, &limited, &facts()), denial);
    assert_eq!(on_create_by(&master(), check, &limited, &facts()), [""; 0]);
    assert_eq!(on_update(check, &plain, &limited, &facts()), denial);
    assert_eq!(on_update(check, &limited, &plain, &facts()), denial);
    assert_eq!(on_update_by(&master(), check, &plain, &limited, &facts()), [""; 0]);
    let user = |role: &str| {
        facts_with(&[
            json!({"kind": "User", "metadata": {"name": "ana"}, "spec": {"email": "Ana@example.org", "platformRole": role}}),
        ])
    };
    assert_eq!(on_create(check, &limited, &user("admin")), [""; 0]);
    assert_eq!(on_create(check, &limited, &user("viewer")), denial);
    let everybody = facts_with(&[config(json!({"spec": {"defaultTeamLimits": {"maxClusters": 99}}}))]);
    assert_eq!(on_create(check, &limited, &everybody), [""; 0]);
}

#[test]
fn nobody_promotes_themselves() {
    let (old, facts) = (typed(json!({})), facts());
    let promoted = typed(json!({"spec": {"access": {"users": [
        {"name": "ana@example.org", "role": "admin"}, {"name": "bob@example.org", "role": "admin"}
    ]}, "environments": [{"name": "dev", "limits": {"maxClusters": 9}}]}}));
    assert_eq!(on_update(check, &old, &promoted, &facts), [""; 0]);
    assert_eq!(
        on_update_by(&caller("bob@example.org"), check, &old, &promoted, &facts),
        [
            "spec.environments[0].limits: only administrators of the team may set what an environment may use; leave it as it is, \
             or ask one",
            "spec.access: only administrators of the team may change who is in it; ask one of them"
        ]
    );
}

#[test]
fn what_clusters_get_is_changed_by_administrators_of_the_team() {
    let old = typed(json!({"spec": {"environments": [{"name": "dev"}, {"name": "prod"}]}}));
    let table: [(Value, &[&str]); 5] = [
        (json!({"displayName": "Payments"}), &[]),
        (
            json!({"providerConfigRef": {"name": "harvester-a"}}),
            &[
                "spec.providerConfigRef: only administrators of the team may change where its clusters run; ask one of them",
            ],
        ),
        (
            json!({"clusterDefaults": {"workerCount": 2}}),
            &[
                "spec.clusterDefaults: only administrators of the team may change what its clusters get; ask one of them",
            ],
        ),
        (
            json!({"environments": [{"name": "dev", "clusterDefaults": {"workerCount": 2}}, {"name": "prod"}]}),
            &[
                "spec.environments: only administrators of the team may change its environments (here `dev`); ask one of them",
            ],
        ),
        (
            json!({"environments": [{"name": "dev"}, {"name": "test"}]}),
            &[
                "spec.environments: only administrators of the team may change its environments (here `prod`, `test`); ask one of \
               them",
            ],
        ),
    ];
    for (spec, expected) in table {
        let environments = json!([{"name": "dev"}, {"name": "prod"}]);
        let new = typed(json!({"spec": merged(json!({"environments": environments}), spec.clone())}));
        assert_eq!(on_update_by(&caller("bob@example.org"), check, &old, &new, &facts()), expected, "{spec}");
        assert_eq!(on_update(check, &old, &new, &facts()), [""; 0], "{spec}");
    }
}

#[test]
fn defaults_are_ones_that_clusters_can_have() {
    let table: [(Value, &[&str]); 3] = [
        (
            json!({"clusterDefaults": {"kubernetesVersion": "v1.36.0"}}),
            &[
                "spec.clusterDefaults.kubernetesVersion: `v1.36.0` is not run by the hosted control plane; choose one of `v1.24` to \
               `v1.35`",
            ],
        ),
        (
            json!({"environments": [{"name": "dev", "clusterDefaults": {"defaultAddons": ["later"]}}]}),
            &[
                "warning: spec.environments[0].clusterDefaults.defaultAddons[0]: the catalogue has no addon `later` yet; clusters \
               wait for it",
            ],
        ),
        (
            json!({"providerConfigRef": {"name": "later"}}),
            &[
                "warning: spec.providerConfigRef.name: there is no ProviderConfig `later` yet; clusters wait for it",
            ],
        ),
    ];
    for (spec, expected) in table {
        assert_eq!(on_create(check, &typed(json!({"spec": spec})), &facts()), expected, "{spec}");
    }
}

#[test]
fn access_to_an_environment_is_within_the_teams() {
    let with = |access: Value| typed(json!({"spec": {"environments": [{"name": "dev", "access": access}]}}));
    assert_eq!(
        on_create(check, &with(json!({"users": [{"name": "ANA@example.org", "role": "admin"}]})), &facts()),
        [""; 0]
    );
    assert_eq!(
        on_create(
            check,
            &with(json!({"users": [{"name": "eve@example.org"}], "groups": [{"name": "g"}]})),
            &facts()
        ),
        [
            "spec.environments[0].access.users[0].name: `eve@example.org` is not in the team; add them to `spec.access.users` \
             first",
            "spec.environments[0].access.groups[0].name: `g` is not in the team; add it to `spec.access.groups` first"
        ]
    );
    let mut tied = with(json!({"groups": [{"name": "sre"}, {"name": "sre", "identityProvider": "other"}]}));
    tied.spec.access.groups =
        serde_json::from_value(json!([{"name": "sre", "identityProvider": "okta"}])).expect("groups");
    assert_eq!(
        on_create(check, &tied, &facts()),
        [
            "spec.environments[0].access.groups[1].name: `other:sre` is not in the team; add it to `spec.access.groups` first"
        ],
        "another provider's group of that name is another group"
    );
}

#[test]
fn limits_can_be_read_and_agree() {
    let table: [(Value, &[&str]); 5] = [
        (json!({"maxCPUCores": "10"}), &[]),
        (
            json!({"maxTotalCPU": "10"}),
            &["warning: spec.resourceLimits.maxTotalCPU: an older name; write `maxCPUCores` instead"],
        ),
        (
            json!({"maxMemory": "1Gi", "maxTotalMemory": "2Gi"}),
            &[
                "spec.resourceLimits.maxMemory: says something else than its older name `spec.resourceLimits.maxTotalMemory`; \
                 remove the older one",
                "warning: spec.resourceLimits.maxTotalMemory: an older name; write `maxMemory` instead",
            ],
        ),
        (
            json!({"maxStorage": "-1Gi"}),
            &["spec.resourceLimits.maxStorage: `-1Gi` is below zero; write `0` or more"],
        ),
        (
            json!({"allowedKubernetesVersions": ["1.30"]}),
            &[
                "spec.resourceLimits.allowedKubernetesVersions[0]: `1.30` is not a Kubernetes version; write `v` and three \
               numbers, such as `v1.30.2`",
            ],
        ),
    ];
    for (limits, expected) in table {
        let team = typed(json!({"spec": {"resourceLimits": limits}}));
        assert_eq!(on_create_by(&master(), check, &team, &facts()), expected, "{limits}");
    }
}

#[test]
fn what_clusters_use_stays() {
    let old = typed(json!({"spec": {"environments": [{"name": "dev"}, {"name": "prod"}]}}));
    let new = typed(json!({"spec": {"environments": [{"name": "prod"}]}}));
    let used = facts_with(&[cluster_json(
        json!({"metadata": {"labels": {"butler.butlerlabs.dev/environment": "dev"}}}),
    )]);
    assert_eq!(
        on_update(check, &old, &new, &used),
        [
            "spec.environments: the environment `dev` cannot go while clusters are in it (`orders`); delete or migrate them first"
        ]
    );
    assert_eq!(on_update(check, &old, &new, &facts()), [""; 0]);
    let delete = |name: &str| {
        let object = team(json!({"metadata": {"name": name}}));
        let body = review_body("DELETE", "teams", &Value::Null, &object, "ana@example.org");
        crate::judge(&Review::parse(body.as_bytes()).expect("review"), &facts())
            .denials()
            .map(line)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        delete("payments"),
        ["metadata.name: the team still has clusters (`orders`); delete them first"]
    );
    assert_eq!(delete("shipping"), [""; 0]);
}

/// Each against each would be 10^10 comparisons, and the test would not end.
#[test]
fn many_users_are_looked_up_and_not_searched_for() {
    let users = |upper: bool| -> Vec<Value> {
        let name =
            |at: usize| if upper { format!("U{at}@EXAMPLE.ORG") } else { format!("u{at}@example.org") };
        (0..100_000).map(|at| json!({"name": name(at)})).collect()
    };
    let mut stranger = users(true);
    stranger.push(json!({"name": "eve@example.org"}));
    let mut object = named("shipping");
    object.spec.access = serde_json::from_value(json!({"users": users(false)})).expect("access");
    object.spec.environments =
        serde_json::from_value(json!([{"name": "dev", "access": {"users": stranger}}]))
            .expect("environments");
    let by = caller("admin");
    let found = on_create_by(&by, check, &object, &facts());
    assert_eq!(
        found,
        [
            "spec.environments[0].access.users[100000].name: `eve@example.org` is not in the team; add them to `spec.access.users` \
             first"
        ]
    );
}

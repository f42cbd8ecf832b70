use serde_json::{Value, json};

use super::*;

fn found(team: Value, config: Value, holding: &Holding, provider: Value) -> Vec<String> {
    let team: TeamSpec = serde_json::from_value(team).expect("team");
    let config: ButlerConfigSpec = serde_json::from_value(config).expect("config");
    let provider: ProviderConfigSpec = serde_json::from_value(provider).expect("provider");
    let limits = Limits { name: "payments", team: &team, config: Some(&config) };
    let found = limits.for_cluster(holding, Some(&provider)).expect("limits");
    let shown = |it: Limit| {
        format!("{} {} {}.{}", it.dimension, it.dimension.shown(it.most), it.source.object, it.source.field)
    };
    found.into_iter().map(shown).collect()
}

fn local() -> Value {
    json!({"provider": "local"})
}

#[test]
fn no_limit_means_none_and_zero_means_zero() {
    assert_eq!(found(json!({}), json!({}), &Holding::default(), local()), [""; 0]);
    let zero = json!({"resourceLimits": {"maxClusters": 0, "maxTotalNodes": 0, "maxMemory": "0"}});
    assert_eq!(
        found(zero, json!({}), &Holding::default(), local()),
        [
            "clusters 0 the Team `payments`.spec.resourceLimits.maxClusters",
            "nodes 0 the Team `payments`.spec.resourceLimits.maxTotalNodes",
            "memory 0 the Team `payments`.spec.resourceLimits.maxMemory",
        ]
    );
}

#[test]
fn each_limit_is_the_teams_under_either_name_else_the_platforms() {
    let team =
        json!({"resourceLimits": {"maxTotalCPU": "200", "maxStorage": "5Ti", "maxTotalStorage": "5Ti"}});
    let config = json!({"defaultTeamLimits":
        {"maxClusters": 5, "maxWorkersPerCluster": 9, "maxTotalCPU": "10", "maxTotalMemory": "1Ti"}});
    assert_eq!(
        found(team, config, &Holding::default(), local()),
        [
            "clusters 5 the ButlerConfig.spec.defaultTeamLimits.maxClusters",
            "nodes 9 the ButlerConfig.spec.defaultTeamLimits.maxWorkersPerCluster",
            "cpu 200 the Team `payments`.spec.resourceLimits.maxTotalCPU",
            "memory 1Ti the ButlerConfig.spec.defaultTeamLimits.maxTotalMemory",
            "storage 5Ti the Team `payments`.spec.resourceLimits.maxStorage",
        ]
    );
}

#[test]
fn an_environment_a_member_and_a_provider_have_their_own() {
    let team = json!({"environments": [
        {"name": "dev", "limits": {"maxClusters": 3, "maxClustersPerMember": 2}},
        {"name": "prod", "limits": {"maxClusters": 0}}
    ]});
    let provider = json!({"provider": "local", "limits": {"maxClustersPerTeam": 4, "maxNodesPerTeam": 12}});
    let holding = |environment: &str| Holding {
        environment: Some(environment.into()),
        owner: Some("ana@example.org".into()),
        provider: Some("butler-system/local".into()),
        ..Holding::default()
    };
    let of_provider = [
        "clusters 4 the ProviderConfig `butler-system/local`.spec.limits.maxClustersPerTeam",
        "nodes 12 the ProviderConfig `butler-system/local`.spec.limits.maxNodesPerTeam",
    ];
    let in_dev = [
        "clusters 3 the Team `payments`.spec.environments[dev].limits.maxClusters",
        "clusters 2 the Team `payments`.spec.environments[dev].limits.maxClustersPerMember",
    ];
    assert_eq!(
        found(team.clone(), json!({}), &holding("dev"), provider.clone()),
        [in_dev.as_slice(), of_provider.as_slice()].concat()
    );
    // Zero allows none.
    let in_prod = ["clusters 0 the Team `payments`.spec.environments[prod].limits.maxClusters"];
    assert_eq!(
        found(team, json!({}), &holding("prod"), provider),
        [in_prod.as_slice(), of_provider.as_slice()].concat()
    );
}

#[test]
fn a_limit_that_cannot_be_read_is_no_limit_of_zero_and_not_ignored_either() {
    let team: TeamSpec =
        serde_json::from_value(json!({"resourceLimits": {"maxMemory": "9e18Ei"}})).expect("team");
    let limits = Limits { name: "payments", team: &team, config: None };
    assert_eq!(
        limits.of_team().unwrap_err().to_string(),
        "the limit `spec.resourceLimits.maxMemory` of the Team `payments` cannot be read: `9e18Ei` ends in the unknown \
         suffix `e18Ei`; use n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3"
    );
}

#[test]
fn a_message_says_what_is_used_by_whom_what_is_added_what_fits_and_who_can_help() {
    let limit = |scope, dimension, most: &str, object: &str, field: &str, owners| Limit {
        scope,
        dimension,
        most: most.parse().unwrap(),
        source: Source { object: object.to_owned(), field: field.to_owned(), owners },
    };
    let team: Arc<str> = "payments".into();
    let field = "spec.resourceLimits.maxMemory";
    let memory = Exceeded {
        limit: limit(Scope::Team, Dimension::Memory, "100Gi", "the Team `payments`", field, PLATFORM),
        team: team.clone(),
        used: 96 << 30,
        clusters: 2,
        pending: 1,
        adds: 48 << 30,
    };
    assert_eq!(
        memory.to_string(),
        "the Team `payments` may have 100Gi memory; 96Gi used by 2 clusters (1 with changes under way, which settle within \
         minutes), this adds 48Gi, 4Gi would fit; the platform's administrators can raise `spec.resourceLimits.maxMemory` of \
         the Team `payments`"
    );
    let field = "spec.resourceLimits.maxNodesPerCluster";
    let nodes = Exceeded {
        limit: limit(Scope::Cluster, Dimension::Nodes, "5", "the Team `payments`", field, PLATFORM),
        team,
        used: 3,
        clusters: 1,
        pending: 0,
        adds: 4,
    };
    assert_eq!(
        nodes.to_string(),
        "a cluster of the Team `payments` may have 5 nodes, and this one would have 7; the platform's administrators can raise \
         `spec.resourceLimits.maxNodesPerCluster` of the Team `payments`"
    );
}

//! What every generated definition must hold.

use std::sync::LazyLock;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::*;

static ALL: LazyLock<Vec<CustomResourceDefinition>> = LazyLock::new(all);

fn schema(definition: &CustomResourceDefinition) -> Value {
    let version = &definition.spec.versions[0];
    let schema = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
    serde_json::to_value(schema.expect("schema")).expect("schema")
}

fn named(plural: &str) -> &'static CustomResourceDefinition {
    ALL.iter().find(|definition| definition.spec.names.plural == plural).expect(plural)
}

/// The schema of one field, found by its path in the object.
fn field(plural: &str, path: &str) -> Value {
    path.split('.').fold(schema(named(plural)), |schema, step| {
        let schema = schema.get("items").cloned().unwrap_or(schema);
        schema["properties"][step].clone()
    })
}

fn required(plural: &str, path: &str) -> Value {
    let schema = if path.is_empty() { schema(named(plural)) } else { field(plural, path) };
    schema.get("required").cloned().unwrap_or_default()
}

/// Calls `visit` with the path and schema of everything in every definition.
fn everywhere(visit: &mut dyn FnMut(&str, &Value)) {
    fn walk(path: &str, schema: &Value, visit: &mut dyn FnMut(&str, &Value)) {
        visit(path, schema);
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            walk(&format!("{path}.{name}"), inner, visit);
        }
        if let Some(items) = schema.get("items") {
            walk(&format!("{path}[]"), items, visit);
        }
        if let Some(values) = schema.get("additionalProperties") {
            walk(&format!("{path}{{}}"), values, visit);
        }
    }
    for definition in ALL.iter() {
        walk(&definition.spec.names.kind, &schema(definition), visit);
    }
}

#[test]
fn every_property_is_described_in_whole_sentences() {
    everywhere(&mut |path, schema| {
        // Items and values are reached through the list or map that holds them; only fields have a name to
        // explain.
        if path.ends_with("[]") && schema["type"] != "object" || path.ends_with("{}") {
            return;
        }
        let description =
            schema["description"].as_str().unwrap_or_else(|| panic!("{path} has no description"));
        assert!(description.ends_with('.'), "{path}: {description}");
        assert!(description.starts_with(|c: char| c.is_uppercase()), "{path}: {description}");
        assert!(!description.contains("Option<") && !description.contains("[`"), "{path}: {description}");
    });
}

#[test]
fn null_is_nowhere_a_value() {
    everywhere(&mut |path, schema| {
        assert_eq!(schema.get("nullable"), None, "{path}");
        let values = schema["enum"].as_array();
        assert!(values.is_none_or(|values| values.iter().all(Value::is_string)), "{path}");
    });
}

#[test]
fn every_schema_is_structural() {
    everywhere(&mut |path, schema| {
        for forbidden in ["$ref", "oneOf", "allOf", "not", "definitions", "const"] {
            assert_eq!(schema.get(forbidden), None, "{path}");
        }
        if schema.get("x-kubernetes-int-or-string").is_some() {
            assert_eq!(schema["anyOf"], json!([{"type": "integer"}, {"type": "string"}]), "{path}");
            assert!(schema["pattern"].is_string(), "{path}");
        } else {
            assert_eq!(schema.get("anyOf"), None, "{path}");
            assert!(schema["type"].is_string(), "{path}");
        }
    });
}

#[test]
fn every_list_says_how_it_is_merged_and_its_keys_are_always_there() {
    everywhere(&mut |path, schema| {
        if schema["type"] != "array" {
            return;
        }
        let list_type =
            schema["x-kubernetes-list-type"].as_str().unwrap_or_else(|| panic!("{path} has no list type"));
        let keys = schema["x-kubernetes-list-map-keys"].as_array();
        assert_eq!(list_type == "map", keys.is_some(), "{path}");
        for key in keys.into_iter().flatten().filter_map(Value::as_str) {
            let items = &schema["items"];
            let is_required =
                items["required"].as_array().is_some_and(|names| names.iter().any(|name| name == key));
            assert!(is_required || items["properties"][key].get("default").is_some(), "{path}: {key}");
        }
    });
}

#[test]
fn every_list_in_a_spec_has_a_bound() {
    everywhere(&mut |path, schema| {
        if schema["type"] == "array" && path.contains("spec") {
            assert!(schema["maxItems"].is_u64(), "{path}");
        }
    });
    assert_eq!(field("tenantclusters", "spec.controlPlane.certSANs")["maxItems"], 256);
    assert_eq!(field("tenantclusters", "spec.timeServers")["maxItems"], 64);
    assert_eq!(field("teams", "spec.environments")["maxItems"], 1000);
    assert_eq!(field("networkpools", "spec.reserved")["maxItems"], 16384);
    assert_eq!(field("tenantclusters", "status.observedState.workers.nodes").get("maxItems"), None);
}

#[test]
fn only_helm_values_keep_fields_that_nobody_knows() {
    everywhere(&mut |path, schema| {
        let keeps = schema.get("x-kubernetes-preserve-unknown-fields").is_some();
        let free = path.ends_with(".values") || path.ends_with(".valuesSchema");
        assert_eq!(keeps, free && schema["type"] == "object", "{path}");
    });
}

#[test]
fn references_are_replaced_whole() {
    everywhere(&mut |path, schema| {
        let is_reference = ["Ref", ".dependsOn[]"].iter().any(|end| path.ends_with(end));
        if is_reference && schema["type"] == "object" {
            assert_eq!(schema["x-kubernetes-map-type"], "atomic", "{path}");
        }
    });
}

#[test]
fn spec_is_required_exactly_where_something_in_it_is() {
    for definition in ALL.iter() {
        let schema = schema(definition);
        let spec = &schema["properties"]["spec"];
        let kind = definition.spec.names.kind.as_str();
        if matches!(kind, "Team" | "ButlerConfig" | "TenantCluster") {
            assert_eq!(spec["default"], json!({}), "{kind}");
            assert_eq!(schema.get("required"), None, "{kind}");
        } else {
            assert_eq!(spec.get("default"), None, "{kind}");
            assert_eq!(schema["required"], json!(["spec"]), "{kind}");
        }
    }
}

/// Admission fills these in, unless something else in the object cannot be read. Then the schema speaks next, and must not
/// ask the user for what they may leave out. That nothing is stored without them is for the rules to see to.
#[test]
fn what_admission_fills_in_is_not_required_by_the_schema() {
    assert_eq!(required("tenantclusters", "spec"), Value::Null);
    assert_eq!(required("tenantclusters", "spec.workers"), Value::Null);
    assert_eq!(required("tenantclusters", "spec.workspaces"), json!(["enabled"]));
    assert_eq!(required("tenantclusters", "spec.addons.cni"), Value::Null);
    assert_eq!(required("tenantaddons", "spec"), json!(["clusterRef"]));
    assert_eq!(required("providerconfigs", "spec"), json!(["provider"]));
    assert_eq!(required("networkpools", "spec.tenantAllocation"), Value::Null);
}

#[test]
fn blocks_with_constant_defaults_are_filled_in_even_when_left_out() {
    let blocks = [
        ("tenantclusters", "spec.controlPlane"),
        ("tenantclusters", "spec.networking"),
        ("tenantclusters", "spec.managementPolicy"),
        ("butlerconfigs", "spec.multiTenancy"),
        ("providerconfigs", "spec.scope"),
    ];
    for (plural, path) in blocks {
        assert_eq!(field(plural, path)["default"], json!({}), "{path}");
        assert_eq!(required(plural, path), Value::Null, "{path}");
    }
}

/// kubectl merges lists of custom resources by replacing them, so it would send a list without the default anew at every
/// `kubectl apply` of the same file.
#[test]
fn nothing_inside_a_list_has_a_default() {
    everywhere(&mut |path, schema| {
        let is_inside = path.contains("spec") && path.contains("[]");
        assert!(!is_inside || schema.get("default").is_none(), "{path}");
    });
}

#[test]
fn what_depends_on_team_provider_or_system_has_no_constant_default() {
    let machine = "spec.workers.machineTemplate";
    let fields =
        ["cpu", "memory", "diskSize", "os.type", "os.version", "os.talos.version", "os.talos.installDisk"];
    for name in fields {
        assert_eq!(field("tenantclusters", &format!("{machine}.{name}")).get("default"), None, "{name}");
    }
    // An update that leaves one of these out keeps what the cluster has, which a schema cannot know.
    for path in
        ["controlPlane.replicas", "controlPlane.serviceType", "networking.podCIDR", "networking.serviceCIDR"]
    {
        assert_eq!(field("tenantclusters", &format!("spec.{path}")).get("default"), None, "{path}");
    }
    assert_eq!(field("teams", "spec.resourceLimits.defaultNodeCount").get("default"), None);
}

#[test]
fn integers_have_the_width_of_the_reference() {
    assert_eq!(field("tenantclusters", "spec.workers.replicas")["format"], "int32");
    assert_eq!(field("tenantclusters", "status.observedGeneration")["format"], "int64");
    assert_eq!(field("tenantclusters", "spec.infrastructureOverride.proxmox.templateID").get("format"), None);
    assert_eq!(field("tenantaddons", "status.helmRelease.revision").get("format"), None);
    assert_eq!(field("providerconfigs", "spec.proxmox.templateID")["format"], "int32");
}

#[test]
fn a_description_names_the_default_and_the_meaning_of_every_value() {
    let mode = field("tenantclusters", "spec.managementPolicy.mode");
    assert_eq!(mode["enum"], json!(["Active", "Observe", "GitOps"]));
    let expected = "How far Butler goes in keeping the cluster as described here. Default: `Active`.\n\n\
                    - `Active`: Butler installs the addons and keeps them as described.\n\
                    - `Observe`: Butler reports what it finds and changes nothing inside the cluster.\n\
                    - `GitOps`: Butler hands the addons over to the GitOps tool in `addons.gitops` and leaves them alone.";
    assert_eq!(mode["description"], expected);
    let host = field("butlerconfigs", "spec.gitProvider.type");
    assert_eq!(host["description"], "Which Git host.");
    let nodes = field("networkpools", "spec.tenantAllocation.defaults.nodesPerTenant");
    assert!(nodes["description"].as_str().expect("description").ends_with("Default: `5`."));
}

#[test]
fn kinds_are_found_by_category_and_short_name() {
    for definition in ALL.iter() {
        let names = &definition.spec.names;
        assert_eq!(names.categories, Some(vec!["butler".to_owned()]), "{}", names.kind);
        assert!(names.short_names.as_ref().is_some_and(|names| !names.is_empty()), "{}", names.kind);
    }
}

#[test]
fn every_kind_but_the_catalogue_and_the_ledger_has_a_status_and_clusters_can_be_scaled() {
    for definition in ALL.iter() {
        let version = &definition.spec.versions[0];
        let kind = definition.spec.names.kind.as_str();
        let subresources = version.subresources.as_ref();
        let has_status = subresources.is_some_and(|subresources| subresources.status.is_some());
        assert_eq!(has_status, !matches!(kind, "AddonDefinition" | "QuotaLedger"), "{kind}");
        let scale = subresources.and_then(|subresources| subresources.scale.as_ref());
        assert_eq!(scale.is_some(), kind == "TenantCluster", "{kind}");
        if has_status {
            let conditions = &schema(definition)["properties"]["status"]["properties"]["conditions"];
            assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]), "{kind}");
        }
    }
}

#[test]
fn every_printer_column_reads_a_field_that_exists() {
    for definition in ALL.iter() {
        let schema = schema(definition);
        for column in definition.spec.versions[0].additional_printer_columns.iter().flatten() {
            let path = column.json_path.split(['[', '?']).next().expect("path");
            let steps = path.split('.').filter(|step| !step.is_empty() && !path.starts_with(".metadata"));
            let found = steps.fold(schema.clone(), |schema, step| schema["properties"][step].clone());
            assert!(!found.is_null(), "{}: {}", definition.spec.names.kind, column.json_path);
        }
    }
}

#[test]
fn files_are_named_after_group_and_plural() {
    let names: Vec<String> = ALL.iter().map(file_name).collect();
    assert!(names.is_sorted());
    assert_eq!(names.last().map(String::as_str), Some("butler.butlerlabs.dev_users.yaml"));
}

/// An object with every field of the schema in it. `turn` picks among the values of a choice.
fn filled(schema: &Value, turn: usize) -> Value {
    if let Some(values) = schema["enum"].as_array() {
        return values[turn % values.len()].clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            let fields = fields.map(|(name, field)| (name.clone(), filled(field, turn)));
            let keyed =
                schema.get("additionalProperties").map(|value| ("key".to_owned(), filled(value, turn)));
            fields.chain(keyed).collect()
        }
        Some("array") => json!([filled(&schema["items"], turn)]),
        Some("integer") => json!(schema["minimum"].as_f64().map_or(7, |least| least as i64 + 1)),
        Some("boolean") => json!(turn.is_multiple_of(2)),
        Some("string") if schema["format"] == "date-time" => json!("2026-05-02T10:00:00Z"),
        Some("string") => json!("text"),
        _ => json!("500m"),
    }
}

#[test]
fn every_field_of_every_kind_is_read_and_written_under_its_name() {
    fn round_trip<K: CustomResourceExt + DeserializeOwned + Serialize>() {
        let definition = named(&K::api_resource().plural);
        for turn in 0..14 {
            let mut object = filled(&schema(definition), turn);
            object["apiVersion"] = json!("butler.butlerlabs.dev/v1alpha1");
            object["kind"] = json!(definition.spec.names.kind);
            object["metadata"] = json!({"name": "sample"});
            let typed: K =
                serde_json::from_value(object.clone()).unwrap_or_else(|error| panic!("{error}: {object}"));
            assert_eq!(serde_json::to_value(typed).expect("object"), object);
        }
    }
    round_trip::<AddonDefinition>();
    round_trip::<ButlerConfig>();
    round_trip::<ClusterCreationPolicy>();
    round_trip::<IPAllocation>();
    round_trip::<ManagementAddon>();
    round_trip::<NetworkPool>();
    round_trip::<ProviderConfig>();
    round_trip::<Team>();
    round_trip::<TenantAddon>();
    round_trip::<TenantCluster>();
    round_trip::<User>();
}

//! Objects and platforms, as right and as wrong as they may be.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::facts::{FactKey, FactKind, Facts};
use crate::fixtures::*;
use butler_api::reference::NsRef;

/// A kind: its resource, where its object is, and what its fields may hold besides nothing.
pub(super) struct Fields {
    pub(super) resource: &'static str,
    pub(super) metadata: Value,
    fields: Vec<(&'static str, Value)>,
}

/// Every kind that is judged.
pub(super) const KINDS: usize = 8;

pub(super) fn fields(kind: usize) -> Fields {
    let of = |resource, metadata, fields: &[(&'static str, Value)]| Fields {
        resource,
        metadata,
        fields: fields.to_vec(),
    };
    match kind {
        0 => of(
            "tenantclusters",
            json!({"name": "orders", "namespace": "payments"}),
            &[
                ("kubernetesVersion", json!(["v1.30.2", "v1.31.4", "v1.36.0", "1"])),
                ("teamRef", json!([{"name": "payments"}, {"name": "gone"}])),
                ("providerConfigRef", json!([{"name": "harvester-a"}, {"name": "gone"}])),
                ("workers.replicas", json!([0, 3, 300, 9000])),
                ("workers.machineTemplate.memory", json!(["0", "1Mi", "8Gi", "x"])),
                ("workers.machineTemplate.os.type", json!(["talos", "rocky", "kairos"])),
                ("networking.podCIDR", json!(["10.96.0.0/16", "fd00::/48", "nonsense"])),
                ("networking.lbPoolSize", json!([4])),
                ("controlPlane.serviceType", json!(["NodePort", "Ingress"])),
                ("controlPlane.certSANs", json!([["a"], ["a", "a"], ["?"]])),
                ("addons.cni.version", json!(["1.17.0", "0.1"])),
                ("addons.storage.provider", json!(["longhorn"])),
                ("infrastructureOverride.harvester.imageName", json!(["default/talos", "default/other"])),
                ("managementPolicy.mode", json!(["Active", "GitOps"])),
            ],
        ),
        1 => of(
            "tenantaddons",
            json!({"name": "orders-argocd", "namespace": "payments"}),
            &[
                ("clusterRef.name", json!(["orders", "gone"])),
                ("addon", json!(["argocd", "gone"])),
                ("version", json!(["7.7.5", "0.1"])),
                (
                    "helm",
                    json!([{"repository": "https://charts.example.org", "chart": "queue"}, {"repository": "charts", "chart": ".."}]),
                ),
                ("dependsOn", json!([[{"name": "gone"}], [{"name": "orders-argocd"}]])),
                ("values.replicas", json!([0, 3, "three"])),
            ],
        ),
        2 => of(
            "teams",
            json!({"name": "payments"}),
            &[
                (
                    "access.users",
                    json!([[{"name": "ana@example.org", "role": "admin"}], [{"name": "eve@example.org", "role": "admin"}]]),
                ),
                ("resourceLimits.maxClusters", json!([0, 9])),
                ("resourceLimits.maxMemory", json!(["1Gi", "-1Gi"])),
                ("resourceLimits.maxTotalMemory", json!(["1Gi", "2Gi"])),
                ("resourceLimits.allowedKubernetesVersions", json!([["v1.30.2"], ["1.30", "x"]])),
                (
                    "environments",
                    json!([[{"name": "dev"}], [{"name": "prod", "access": {"users": [{"name": "bob@example.org"}]}}]]),
                ),
                ("clusterDefaults.kubernetesVersion", json!(["v1.31.4", "latest"])),
            ],
        ),
        3 => of(
            "butlerconfigs",
            json!({"name": "butler"}),
            &[
                ("multiTenancy.mode", json!(["Enforced", "Optional", "Disabled"])),
                ("defaultNamespace", json!(["tenants", "kube-system", "A"])),
                ("controlPlaneExposure.mode", json!(["LoadBalancer", "Ingress", "Gateway"])),
                ("controlPlaneExposure.gatewayRef", json!(["edge/shared", "shared"])),
                ("supportedKubernetes.lowest", json!(["v1.30", "v1.40", "x"])),
                ("supportedKubernetes.highest", json!(["v1.36", "x"])),
                ("defaultTeamLimits.maxTotalCPU", json!(["1", "-1"])),
                ("chartSources.allowedRepositories", json!([[], ["https://charts.example.org"], ["x", "y"]])),
                ("defaultProviderConfigRef.name", json!(["harvester-a", "gone"])),
            ],
        ),
        4 => of(
            "providerconfigs",
            json!({"name": "harvester-a", "namespace": "butler-system"}),
            &[
                ("provider", json!(["harvester", "aws", "local"])),
                ("credentialsRef.name", json!(["harvester-a", "lost"])),
                ("harvester.networkName", json!(["default/vlan40", ""])),
                ("aws.region", json!(["eu-west-1", ""])),
                ("scope", json!([{"type": "team"}, {"type": "team", "teamRef": {"name": "gone"}}])),
                ("network.mode", json!(["ipam", "cloud"])),
                ("network.poolRefs", json!([[{"name": "vlan50"}], [{"name": "gone"}, {"name": "lost"}]])),
                ("network.dnsServers", json!([["10.0.0.1"], ["dns", "names"]])),
            ],
        ),
        5 => of(
            "networkpools",
            json!({"name": "vlan50", "namespace": "butler-system"}),
            &[
                ("cidr", json!(["10.50.0.0/22", "10.50.0.0/23", "10.0.0.0/8", "10.50.0.1/22", "x"])),
                ("reserved", json!([[{"cidr": "10.50.1.0/24"}], [{"cidr": "10.60.0.0/24"}, {"cidr": "x"}]])),
                ("tenantAllocation.start", json!(["10.50.1.0", "10.50.2.0", "x"])),
                ("tenantAllocation.end", json!(["10.50.1.90", "10.50.2.9", "x"])),
                (
                    "tenantAllocation.ranges",
                    json!([[{"start": "10.50.2.0", "end": "10.50.2.9"}, {"start": "10.50.1.0", "end": "10.50.1.9"}]]),
                ),
            ],
        ),
        6 => of(
            "addondefinitions",
            json!({"name": "argocd"}),
            &[
                ("displayName", json!(["Argo CD"])),
                ("description", json!(["GitOps"])),
                ("category", json!(["gitops"])),
                ("chart.repository", json!(["https://charts.example.org", "charts"])),
                ("chart.name", json!(["argo-cd"])),
                ("chart.defaultVersion", json!(["7.7.5", ""])),
                ("dependsOn", json!([["argocd"], ["gone", "lost"]])),
                ("valuesSchema", json!([{"type": "object"}, {"type": 7}])),
            ],
        ),
        _ => of(
            "clustercreationpolicies",
            json!({"name": "images"}),
            &[
                (
                    "scope",
                    json!([{"platformWide": {}}, {"team": {"teamRef": {"name": "gone"}}}, {"platformWide": {}, "team": {"teamRef": {"name": "payments"}}}]),
                ),
                ("targetProviders", json!([["harvester"], ["aws"]])),
                (
                    "options",
                    json!([{"image": {"mode": "pin", "values": ["a"]}}, {"image": {"mode": "pin"}, "flavour": {"mode": "default"}}]),
                ),
            ],
        ),
    }
}

/// A kind and two specs of it.
pub(super) fn pairs() -> impl Strategy<Value = (usize, Value, Value)> {
    (0..KINDS).prop_flat_map(|kind| (Just(kind), specs(kind), specs(kind)))
}

/// A spec of a kind.
pub(super) fn specs(kind: usize) -> impl Strategy<Value = Value> {
    let count = fields(kind).fields.len();
    proptest::collection::vec(any::<Index>(), count).prop_map(move |picks| {
        let fields = fields(kind).fields;
        fields.iter().zip(picks).fold(json!({}), |spec, ((path, values), pick)| {
            let values = values.as_array().expect("values");
            // The first place stands for a field that is left out.
            match pick.index(values.len() + 1).checked_sub(1) {
                None => spec,
                Some(place) => {
                    let nested = path.rsplit('.');
                    merged(spec, nested.fold(values[place].clone(), |value, part| json!({part: value})))
                }
            }
        })
    })
}

/// A spec that nobody can read.
pub(super) fn nonsense() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"workers": 7, "cidr": {}, "provider": "abacus", "scope": 1, "chart": []})),
        Just(json!({"multiTenancy": {"mode": "Sometimes"}, "access": "everybody", "clusterRef": 9})),
        Just(json!({})),
    ]
}

/// A platform whose settings, limits and catalogue are anything, with some of it gone or unreadable.
#[derive(Clone, Debug)]
pub(super) struct Platform {
    mode: &'static str,
    limits: Value,
    flags: Vec<bool>,
    lost: Option<usize>,
}

pub(super) fn platforms() -> impl Strategy<Value = Platform> {
    let mode = prop_oneof![Just("Enforced"), Just("Optional"), Just("Disabled")];
    let limits = prop_oneof![
        Just(Value::Null),
        Just(json!({"maxClusters": 0, "maxNodesPerCluster": 0, "allowedKubernetesVersions": ["v1.30.2"]})),
        Just(json!({"allowedProviders": ["other"], "allowedAddons": ["velero"], "defaultNodeCount": 2})),
        Just(
            json!({"deniedAddons": ["longhorn", "argocd"], "allowedKubernetesVersions": ["v1.31.4", "v1.29.1"]})
        ),
    ];
    let flags = proptest::collection::vec(any::<bool>(), 9);
    (mode, limits, flags, proptest::option::of(0..10_usize))
        .prop_map(|(mode, limits, flags, lost)| Platform { mode, limits, flags, lost })
}

impl Platform {
    /// What is known of it.
    pub(super) fn facts(&self) -> Facts {
        let [ready, environments, pinned, gone, held, schema, hosted, exposed, defaults] = self.flags[..]
        else {
            unreachable!()
        };
        let mut objects = vec![
            config(json!({"spec": {
                "multiTenancy": {"mode": self.mode}, "defaultProviderConfigRef": {"name": "harvester-a"},
                "supportedKubernetes": if hosted { json!({}) } else { json!({"lowest": "v1.32"}) },
                "controlPlaneExposure": if exposed { json!({"mode": "Ingress", "hostname": "*.example.org"}) } else { json!({}) },
                "clusterDefaults": if defaults { json!({"kubernetesVersion": "v1.32.0", "workerCount": 9}) } else { json!({}) }
            }})),
            team(json!({"spec": {
                "resourceLimits": self.limits, "environments": if environments { json!([{"name": "dev"}]) } else { json!([]) }
            }})),
            provider(json!({"status": {"ready": ready}})),
            pool(json!({})),
            definition(json!({"spec": {
                "chart": {"defaultVersion": if schema { "8.0.0" } else { "7.7.5" }},
                "valuesSchema": if schema { json!({"type": "object", "required": ["domain"]}) } else { Value::Null }
            }})),
        ];
        if pinned {
            objects.push(creation_policy(
                json!({"spec": {"options": {"image": {"values": ["default/pinned"]}}}}),
            ));
        }
        if held {
            objects.push(json!({
                "kind": "IPAllocation", "metadata": {"name": "orders-lb", "namespace": "butler-system"},
                "spec": {"poolRef": {"name": "vlan50"}, "type": "loadbalancer",
                         "tenantClusterRef": {"name": "orders", "namespace": "payments"}},
                "status": {"phase": "Allocated", "startAddress": "10.50.1.8", "endAddress": "10.50.1.11"}
            }));
        }
        let mut facts = facts_with(&objects);
        if gone {
            let at = |name: &str, namespace: &str| NsRef { name: name.into(), namespace: namespace.into() };
            for key in [
                FactKey::Team("payments".into()),
                FactKey::Definition("argocd".into()),
                FactKey::Provider(at("harvester-a", "butler-system")),
                FactKey::Cluster(at("orders", "payments")),
            ] {
                facts.learn(key, crate::facts::Fact::Absent);
            }
        }
        if let Some(lost) = self.lost {
            let kinds = [
                FactKind::Config,
                FactKind::Team,
                FactKind::Cluster,
                FactKind::Addon,
                FactKind::Definition,
                FactKind::Provider,
                FactKind::Pool,
                FactKind::CreationPolicy,
                FactKind::Secret,
                FactKind::Namespace,
            ];
            facts.lose(kinds[lost]);
        }
        facts
    }
}

/// Somebody who asks: a member, a stranger, the owner of everything.
pub(super) fn callers() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("ana@example.org"), Just("eve@example.org"), Just("admin")]
}

/// The body of a review. `admin` is in the group that may do anything.
pub(super) fn body(kind: usize, operation: &str, new: &Value, old: &Value, caller: &str) -> String {
    let body = review_body(operation, fields(kind).resource, new, old, caller);
    if caller == "admin" { body.replace("system:authenticated", "system:masters") } else { body }
}

/// An object of a kind.
pub(super) fn object(kind: usize, spec: &Value, metadata: Value) -> Value {
    json!({"metadata": merged(fields(kind).metadata, metadata), "spec": spec})
}

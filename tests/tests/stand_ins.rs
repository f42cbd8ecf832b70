//! The CRDs of ours take what Butler writes for Steward and the infrastructure providers, and nothing they do
//! not know.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends at the first surprise")]

use butler_bench::{ControlPlane, stand_ins};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

async fn plane() -> &'static ControlPlane {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    let plane = ControlPlane::shared().await.unwrap();
    INSTALLED.get_or_init(|| async { stand_ins::install(plane).await.unwrap() }).await;
    plane
}

fn object(api_version: &str, kind: &str, spec: Value) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "one" }, "spec": spec })
}

const STEWARD: &str = "steward.butlerlabs.dev/v1alpha1";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io/v1alpha1";

/// One valid object of every kind that Butler writes or reads.
fn objects() -> Vec<Value> {
    let steward_control_plane = json!({
        "version": "v1.31.0",
        "replicas": 3,
        "dataStoreName": "default",
        "dataStoreSchema": "t_0123",
        "dataStoreUsername": "t_0123",
        "network": {
            "serviceType": "LoadBalancer",
            "serviceAddress": "10.0.0.5",
            "serviceLabels": { "a": "b" },
            "serviceAnnotations": { "metallb.io/address-pool": "tenants" },
            "certSANs": ["one.example.com"],
            "dnsServiceIPs": ["10.96.0.10"],
            "gateway": { "hostname": "one.example.com", "parentRefs": [{ "name": "shared", "namespace": "gateways" }] },
            "loadBalancerConfig": { "loadBalancerSourceRanges": ["10.0.0.0/8"], "loadBalancerClass": "metallb" },
        },
        "addons": {
            "coreDNS": { "dnsServiceIPs": ["10.96.0.10"] },
            "kubeProxy": {},
            "konnectivity": { "server": { "port": 8132 }, "agent": { "mode": "DaemonSet" } },
            "tcpProxy": { "hostAliases": [{ "ip": "10.0.0.5", "hostnames": ["one.example.com"] }] },
            "workerBootstrap": {
                "provider": "talos",
                "talos": { "port": 50001 },
                "csrApproval": { "autoApprove": true },
                "allowedSubnets": ["10.0.0.0/8"],
            },
        },
        "kubelet": { "preferredAddressTypes": ["InternalIP"], "cgroupfs": "systemd" },
        "apiServer": { "extraArgs": ["--v=2"], "resources": { "requests": { "cpu": "1" } } },
        "deployment": { "nodeSelector": { "a": "b" }, "podAdditionalMetadata": { "labels": { "a": "b" } } },
    });
    let tenant_control_plane = json!({
        "kubernetes": {
            "version": "v1.31.0",
            "kubelet": { "configurationJSONPatches": [{ "op": "add", "path": "/maxPods", "value": 200 }] },
        },
        "controlPlane": {
            "deployment": { "replicas": 2, "extraArgs": { "apiServer": ["--v=2"] } },
            "service": { "serviceType": "LoadBalancer", "additionalMetadata": { "labels": { "a": "b" } } },
            "ingress": { "ingressClassName": "haproxy", "hostname": "one.example.com:443", "controllerType": "haproxy" },
        },
        "networkProfile": { "address": "10.0.0.5", "port": 6443, "certSANs": ["one.example.com"] },
        "dataStore": "default",
        "dataStoreSchema": "t_0123",
        "dataStoreUsername": "t_0123",
        "addons": { "coreDNS": {}, "kubeProxy": {}, "konnectivity": {} },
        "writePermissions": { "blockDeletion": true },
    });
    let secret =
        |key: &str| json!({ "secretReference": { "name": "etcd", "namespace": "steward", "keyPath": key } });
    let data_store = json!({
        "driver": "etcd",
        "endpoints": ["127.0.0.1:2379"],
        "tlsConfig": {
            "certificateAuthority": { "certificate": secret("ca.crt"), "privateKey": secret("ca.key") },
            "clientCertificate": { "certificate": secret("tls.crt"), "privateKey": secret("tls.key") },
        },
    });
    let mut objects = vec![
        object(CONTROL_PLANE, "StewardControlPlane", steward_control_plane.clone()),
        object(
            CONTROL_PLANE,
            "StewardControlPlaneTemplate",
            json!({ "template": { "spec": steward_control_plane } }),
        ),
        object(STEWARD, "TenantControlPlane", tenant_control_plane),
        object(STEWARD, "DataStore", data_store),
    ];
    for (version, name, mut cluster, machine) in providers() {
        let api_version = format!("infrastructure.cluster.x-k8s.io/{version}");
        cluster["controlPlaneEndpoint"] = json!({ "host": "10.0.0.5", "port": 6443 });
        objects.push(object(&api_version, &format!("{name}Cluster"), cluster));
        let template =
            json!({ "template": { "metadata": { "labels": { "a": "b" } }, "spec": machine.clone() } });
        objects.push(object(&api_version, &format!("{name}MachineTemplate"), template));
        let mut machine = machine;
        machine["providerID"] = json!("provider://one");
        objects.push(object(&api_version, &format!("{name}Machine"), machine));
    }
    objects
}

fn providers() -> [(&'static str, &'static str, Value, Value); 5] {
    let harvester = (
        "v1alpha1",
        "Harvester",
        json!({
            "server": "https://harvester",
            "targetNamespace": "tenants",
            "identitySecret": { "namespace": "tenants", "name": "harvester" },
            "loadBalancerConfig": { "ipamType": "pool", "ipPoolRef": "tenants" },
        }),
        json!({
            "cpu": 4, "memory": "8Gi", "sshUser": "rocky", "sshKeyPair": "tenants/key",
            "volumes": [{ "volumeType": "image", "imageName": "tenants/rocky", "volumeSize": "40Gi", "bootOrder": 0 }],
            "networks": ["tenants/vlan1"],
        }),
    );
    let nutanix = (
        "v1beta1",
        "Nutanix",
        json!({ "prismCentral": {
            "address": "prism", "port": 9440, "insecure": false,
            "credentialRef": { "kind": "Secret", "name": "nutanix" },
        }}),
        json!({
            "vcpuSockets": 2, "vcpusPerSocket": 1, "memorySize": "8Gi", "systemDiskSize": "40Gi", "bootType": "uefi",
            "image": { "type": "name", "name": "rocky" }, "cluster": { "type": "name", "name": "pe" },
            "subnet": [{ "type": "uuid", "uuid": "0" }],
        }),
    );
    let proxmox = (
        "v1alpha2",
        "Proxmox",
        json!({
            "dnsServers": ["10.0.0.1"], "allowedNodes": ["pve1"], "externalManagedControlPlane": true,
            "ipv4Config": { "addresses": ["10.0.0.20-10.0.0.29"], "prefix": 24, "gateway": "10.0.0.1" },
        }),
        json!({
            "sourceNode": "pve1", "templateID": 100, "numSockets": 1, "numCores": 4, "memoryMiB": 8192,
            "disks": { "bootVolume": { "disk": "scsi0", "sizeGb": 40 } },
            "network": { "networkDevices": [{ "name": "net0", "bridge": "vmbr0" }] },
        }),
    );
    let kubevirt = (
        "v1alpha1",
        "Kubevirt",
        json!({}),
        json!({
            "virtualMachineTemplate": { "spec": { "runStrategy": "Always", "template": { "spec": { "domain": {} } } } },
            "virtualMachineBootstrapCheck": { "checkStrategy": "none" },
        }),
    );
    let docker = (
        "v1beta2",
        "Docker",
        json!({ "loadBalancer": { "disable": true } }),
        json!({ "customImage": "kindest/node:v1.31.0", "extraMounts": [{ "containerPath": "/a", "hostPath": "/b" }] }),
    );
    [harvester, nutanix, proxmox, kubevirt, docker]
}

#[tokio::test]
async fn a_valid_object_of_every_kind_is_taken_with_nothing_lost() {
    let plane = plane().await;
    let namespace = plane.namespace().await.unwrap();
    let objects = objects();
    for object in &objects {
        let stored = plane.apply_in(&namespace, &object.to_string()).await.unwrap();
        let spec = &stored.first().unwrap().data["spec"];
        assert!(contains(spec, &object["spec"]), "{spec:#}\nlacks a part of\n{:#}", object["spec"]);
    }

    let api: Api<CustomResourceDefinition> = Api::all(plane.client().await.unwrap());
    let crds = api.list(&Default::default()).await.unwrap();
    let ours =
        crds.iter().filter(|crd| stand_ins::CRDS.iter().any(|(_, text)| text.contains(&crd.name_any())));
    assert_eq!(ours.count(), objects.len(), "every CRD has an object here");
}

#[tokio::test]
async fn an_unknown_field_is_refused_by_every_kind() {
    let plane = plane().await;
    let namespace = plane.namespace().await.unwrap();
    for mut object in objects() {
        object["metadata"]["name"] = json!("mistaken");
        object["spec"]["noSuchField"] = json!(true);
        let refused = plane.apply_in(&namespace, &object.to_string()).await.unwrap_err().to_string();
        assert!(refused.ends_with(".spec.noSuchField: field not declared in schema"), "{refused}");
    }
}

#[tokio::test]
async fn exposure_by_both_ingress_and_gateway_is_refused() {
    let plane = plane().await;
    let spec = json!({ "version": "v1.31.0", "network": {
        "ingress": { "hostname": "a" }, "gateway": { "hostname": "a" },
    }});
    let both = object(CONTROL_PLANE, "StewardControlPlane", spec);
    let refused = plane.apply(&both.to_string()).await.unwrap_err().to_string();
    assert!(refused.contains("using both ingress and gateway is not supported"), "{refused}");
}

#[tokio::test]
async fn status_is_a_subresource_and_control_planes_scale() {
    let plane = plane().await;
    let namespace = plane.namespace().await.unwrap();
    for object in objects().iter().take(3) {
        plane.apply_in(&namespace, &object.to_string()).await.unwrap();
    }
    for (kind, status, column) in [
        ("stcp", json!({ "initialized": true, "ready": true, "version": "v1.31.0", "replicas": 3 }), "true"),
        (
            "tcp",
            json!({
                "controlPlaneEndpoint": "10.0.0.5:6443",
                "kubernetesResources": { "version": { "status": "Ready", "version": "v1.31.0" } },
                "storage": { "setup": { "schema": "t_0123" } },
                "kubeadmPhase": { "bootstrapToken": { "checksum": "abc" } },
            }),
            "10.0.0.5:6443",
        ),
    ] {
        let patch = json!({ "status": status }).to_string();
        let patch =
            ["patch", kind, "one", "-n", &namespace, "--subresource=status", "--type=merge", "-p", &patch];
        plane.kubectl(&patch).await.unwrap().success().unwrap();
        let shown = plane.kubectl(&["get", kind, "-n", &namespace]).await.unwrap().success().unwrap();
        assert!(shown.contains(column), "{shown}");
        let scale = ["scale", kind, "one", "-n", &namespace, "--replicas=1"];
        plane.kubectl(&scale).await.unwrap().success().unwrap();
    }
}

/// Whether everything in `part` is in `whole`, which may hold defaults besides.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            part.iter().all(|(key, value)| whole.get(key).is_some_and(|found| contains(found, value)))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| contains(whole, part))
        }
        _ => whole == part,
    }
}

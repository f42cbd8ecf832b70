//! What kubectl shows reads well.

use butler_bench::ControlPlane;

use crate::platform::{eventually, platform};

const PLATFORM: &str = r#"
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: Team
metadata:
  name: readable
spec:
  displayName: Readable Team
status:
  phase: Ready
  namespace: readable
  clusterCount: 1
  resourceUsage: {clusters: 1, totalNodes: 3, totalCPU: "12", totalMemory: 48Gi}
  quotaStatus: OK
---
apiVersion: butler.butlerlabs.dev/v1alpha1
kind: TenantCluster
metadata:
  name: orders
spec:
  kubernetesVersion: v1.31.4
  teamRef:
    name: readable
  workers:
    replicas: 3
status:
  phase: Updating
  controlPlaneEndpoint: 10.50.0.9:6443
  workerNodes: 3
  workerNodesReady: 2
"#;

#[tokio::test]
async fn explain_reads_well() {
    let plane = platform().await;
    let explain = ["explain", "tenantcluster.spec.workers.machineTemplate.os"];
    // What `explain` knows comes a few moments after the kinds themselves.
    eventually(async || plane.kubectl(&explain).await.unwrap().status.success()).await;
    assert_eq!(kubectl(plane, &explain).await, EXPLAINED);
}

#[tokio::test]
async fn get_and_scale_show_what_people_look_for() {
    let plane = platform().await;
    let namespace = plane.namespace().await.unwrap();
    let create = ["create", "--validate=strict", "-n", &namespace, "-f", "-"];
    plane.kubectl_with_input(&create, PLATFORM).await.unwrap().success().unwrap();
    let replace = ["replace", "--subresource=status", "--validate=strict", "-n", &namespace, "-f", "-"];
    plane.kubectl_with_input(&replace, PLATFORM).await.unwrap().success().unwrap();

    let shown = kubectl(plane, &["get", "tc,team", "-A"]).await;
    let (clusters, teams) = (table(&shown, "tenantcluster"), table(&shown, "team"));
    let header = ["NAMESPACE", "NAME", "PHASE", "K8S VERSION", "WORKERS", "READY", "ENDPOINT", "TEAM"];
    assert_eq!(clusters[0], header);
    let name = "tenantcluster.butler.butlerlabs.dev/orders";
    let row = [&namespace, name, "Updating", "v1.31.4", "3", "2", "10.50.0.9:6443", "readable"];
    assert!(clusters.contains(&row.map(str::to_owned).to_vec()), "{shown}");
    let usage = ["CLUSTERS", "NODES", "CPU", "MEMORY", "QUOTA"];
    let header = [&["NAMESPACE", "NAME", "DISPLAY NAME", "PHASE", "NAMESPACE"][..], &usage].concat();
    assert_eq!(teams[0], header);
    let name = "team.butler.butlerlabs.dev/readable";
    let row = ["", name, "Readable Team", "Ready", "readable", "1", "3", "12", "48Gi", "OK"];
    assert!(teams.contains(&row.map(str::to_owned).to_vec()), "{shown}");

    let shown = kubectl(plane, &["get", "butler", "-A"]).await;
    assert_eq!(table(&shown, "tenantcluster")[0], clusters[0]);
    assert_eq!(table(&shown, "team")[0], teams[0]);

    let scale =
        ["scale", "tenantcluster", "orders", "-n", &namespace, "--current-replicas=3", "--replicas=5"];
    assert_eq!(kubectl(plane, &scale).await, "tenantcluster.butler.butlerlabs.dev/orders scaled\n");
    let path = "jsonpath={.spec.workers.replicas}";
    assert_eq!(kubectl(plane, &["get", "tc", "orders", "-n", &namespace, "-o", path]).await, "5");
    // What an autoscaler reads: how many there should be and how many there are.
    let scale = ["get", "tc", "orders", "-n", &namespace, "--subresource=scale", "-o"];
    let path = "jsonpath={.kind} {.spec.replicas} {.status.replicas}";
    assert_eq!(kubectl(plane, &[&scale[..], &[path]].concat()).await, "Scale 5 3");
}

/// What a command prints, shown to whoever runs the tests with `--nocapture`.
async fn kubectl(plane: &ControlPlane, arguments: &[&str]) -> String {
    let output = plane.kubectl(arguments).await.unwrap().success().unwrap();
    println!("$ kubectl {}\n{output}", arguments.join(" "));
    output
}

/// The table of one kind, without the column of ages. Its columns begin where their headings do.
fn table(shown: &str, kind: &str) -> Vec<Vec<String>> {
    let mut tables = shown.split("\n\n");
    let table = tables.find(|table| table.contains(&format!(" {kind}.butler.butlerlabs.dev/"))).unwrap();
    let header = table.lines().next().unwrap();
    let starts: Vec<usize> = (0..header.len())
        .filter(|at| !header[*at..].starts_with(' ') && (*at == 0 || header[..*at].ends_with("   ")))
        .collect();
    let cells = |line: &str| {
        let bounds = starts.windows(2);
        bounds.map(|bounds| line[bounds[0]..bounds[1]].trim().to_owned()).collect()
    };
    table.lines().map(cells).collect()
}

/// What people read about a field. Tabs and the spaces at the ends of lines are kubectl's.
const EXPLAINED: &str = "\
GROUP:      butler.butlerlabs.dev
KIND:       TenantCluster
VERSION:    v1alpha1

FIELD: os <Object>


DESCRIPTION:
    Operating system of the machines.
   \x20
FIELDS:
  imageRef\t<string>
    Image to boot from, in the provider's own notation, for example
    `default/rocky-95` on Harvester. It beats `version` and the provider's
    default image.

  schematicID\t<string>
    Image Factory schematic to build the image from. Left out, it is the
    platform's default schematic, if there is one.

  sshAuthorizedKey\t<string>
    Public SSH key that may log in to the machines. Left out, it is the
    platform's key. Talos has no SSH and uses neither.

  talos\t<Object>
    Settings that only Talos has.

  type\t<string>
  enum: talos, rocky, flatcar, bottlerocket, ....
    Which operating system. Left out, it is Talos, or Rocky on the provider
    `local`.
   \x20
    - `talos`: Immutable and managed through an API, without a shell; the
    default.
    - `rocky`: Rocky Linux, joined with kubeadm; Kubernetes v1.30.2 at most.
    - `flatcar`: Flatcar Container Linux, immutable, set up by Ignition.
    - `bottlerocket`: Minimal and made for containers; not yet proven end to
    end.
    - `kairos`: Immutable, built by its community; not yet proven end to end.

  version\t<string>
    Version of the operating system, for example `9.5` for Rocky Linux. Left
    out, it is the newest one that Butler knows to work.


";

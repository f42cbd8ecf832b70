//! The webhook of a developer's platform. It runs in this process, under the rights that the manifests give it, and
//! answers nobody but the API server.

use std::{
    fs::File,
    io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Mutex,
    time::{Duration, Instant},
};

use butler_api::{ButlerConfig, ButlerConfigSpec, TenantCluster, TenantClusterSpec};
use butler_bench::control_plane::{ControlPlane, free_port};
use butler_program::ProgramOptions;
use butler_webhook::{
    Options,
    log::filter,
    registration::{self, Target},
};
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::{Client, api::PostParams};
use serde_json::{Value, json};
use tracing_subscriber::{
    Layer as _,
    filter::{LevelFilter, Targets},
    fmt::layer,
    layer::SubscriberExt as _,
    util::SubscriberInitExt as _,
};

use crate::failure::Failure;

const NAMESPACE: &str = include_str!("../../../manifests/webhook/namespace.yaml");
const RIGHTS: &str = include_str!("../../../manifests/webhook/rbac.yaml");
const POLICY_SERVICE: &str = include_str!("../../../manifests/webhook/policy-service.yaml");
/// The user that the ServiceAccount of the manifests is.
const ACCOUNT: &str = "system:serviceaccount:butler-system:butler-webhook";
pub(super) const GROUPS: [&str; 2] = ["system:serviceaccounts", "system:serviceaccounts:butler-system"];
/// The name in the certificate that the API server shows to webhooks.
const CALLER: &str = "kube-apiserver-webhook-client";

/// Facts, certificates and two registrations take a second or two.
const PATIENCE: Duration = Duration::from_secs(60);
const GLANCE: Duration = Duration::from_millis(50);

/// What has to be on the API server before the webhook runs, and how it is to run.
pub(super) async fn prepare(
    control_plane: &ControlPlane,
    policies: Option<PathBuf>,
) -> Result<Options, Failure> {
    control_plane.apply(NAMESPACE).await?;
    control_plane.apply(RIGHTS).await?;
    log_to(control_plane)?;
    let listen = loopback()?;
    Ok(Options {
        listen,
        service_listen: Some(loopback()?),
        program: ProgramOptions {
            metrics_listen: loopback()?,
            kubeconfig: Some(control_plane.user(ACCOUNT, &GROUPS)?.kubeconfig().to_owned()),
        },
        namespace: "butler-system".to_owned(),
        service: registration::NAME.to_owned(),
        certificate_dir: None,
        certificate_name: vec![listen.ip().to_string()],
        registration_url: vec![url(listen)],
        client_ca: Some(control_plane.pki().file("ca.crt")),
        client_name: vec![CALLER.to_owned()],
        policy_dir: policies,
        request_bound: 90,
        max_in_flight: 256,
        // Whoever stops stops the API server too, so nobody calls any more.
        drain_delay: 0,
    })
}

pub(super) fn loopback() -> Result<SocketAddr, Failure> {
    let port = free_port().ok_or_else(|| Failure::new("no port of 127.0.0.1 is free; stop some programs"))?;
    Ok((Ipv4Addr::LOCALHOST, port).into())
}

fn url(listen: SocketAddr) -> String {
    format!("https://{listen}")
}

/// One line for every review, and for every reconcile that changes something, beside the logs of the other programs.
fn log_to(control_plane: &ControlPlane) -> io::Result<()> {
    let file = |program: &str| {
        let path = control_plane.logs().join(format!("{program}.log"));
        File::options().create(true).append(true).open(path).map(Mutex::new)
    };
    let webhook = filter(LevelFilter::INFO).with_target("butler_reconciler", LevelFilter::OFF);
    let webhook = layer().with_ansi(false).with_writer(file("butler-webhook")?).with_filter(webhook);
    let reconciler = Targets::new().with_target("butler_reconciler", LevelFilter::INFO);
    let reconciler = layer().with_ansi(false).with_writer(file("butler-reconciler")?).with_filter(reconciler);
    let subscriber = tracing_subscriber::registry().with(webhook).with(reconciler);
    // Fails only if there is one already, and then somebody has decided where the lines go.
    subscriber.try_init().ok();
    Ok(())
}

/// Registers the webhook, at the address that it has this time, and returns when the API server asks it and understands
/// its answers.
pub(super) async fn register(control_plane: &ControlPlane, options: &Options) -> Result<(), Failure> {
    let client = control_plane.client().await?;
    let target = Target::Url(url(options.listen));
    // One after the other: once the second stage is in force, nothing that reaches it shows whether the first one is.
    control_plane.apply(&serde_saphyr::to_string(&registration::mutating(&target))?).await?;
    until("mutating", async || has_defaults(&client).await).await?;
    control_plane.apply(&serde_saphyr::to_string(&registration::validating(&target))?).await?;
    until("validating", async || refuses_second_settings(&client).await).await?;
    register_service(control_plane, &client, options).await
}

/// Tells the aggregator of the policy service, by a Service that leads to this machine.
async fn register_service(
    control_plane: &ControlPlane,
    client: &Client,
    options: &Options,
) -> Result<(), Failure> {
    let Some(address) = options.service_listen else { return Ok(()) };
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": options.service, "namespace": options.namespace },
        "spec": { "type": "ExternalName", "externalName": "localhost" },
    });
    control_plane.apply(&service.to_string()).await?;
    for mut object in serde_saphyr::from_multiple::<Value>(POLICY_SERVICE)? {
        if let Some(port) = object.pointer_mut("/spec/service/port") {
            *port = address.port().into();
        }
        control_plane.apply(&object.to_string()).await?;
    }
    until("policy", async || is_available(client).await).await
}

/// Whether the aggregator has heard from the policy service.
async fn is_available(client: &Client) -> bool {
    let registered: Result<APIService, _> =
        kube::Api::all(client.clone()).get(butler_webhook::service::API_SERVICE).await;
    let conditions = registered.ok().and_then(|it| it.status).and_then(|status| status.conditions);
    conditions.into_iter().flatten().any(|it| it.type_ == "Available" && it.status == "True")
}

async fn until(stage: &str, mut is_in_force: impl AsyncFnMut() -> bool) -> Result<(), Failure> {
    let started = Instant::now();
    while !is_in_force().await {
        if started.elapsed() > PATIENCE {
            return Err(Failure::new(format_args!(
                "the {stage} stage of the webhook is not in force after {} s; look at logs/butler-webhook.log in the \
                 data directory",
                PATIENCE.as_secs()
            )));
        }
        tokio::time::sleep(GLANCE).await;
    }
    Ok(())
}

/// Tries a cluster that says nothing: the API server takes it only with everything filled in that it requires. In a
/// directory that was used before, it may get as far as the validating stage, which is still registered at its old
/// address or refuses it.
async fn has_defaults(client: &Client) -> bool {
    let cluster = TenantCluster::new("probe", TenantClusterSpec::default());
    let tried = kube::Api::namespaced(client.clone(), "default").create(&dry_run(), &cluster).await;
    tried.map_or_else(|error| error.to_string().contains("\"vtenantcluster.kb.io\""), |_| true)
}

/// Tries a ButlerConfig under a name that no ButlerConfig may have.
async fn refuses_second_settings(client: &Client) -> bool {
    let settings = ButlerConfig::new("probe", ButlerConfigSpec::default());
    let tried = kube::Api::all(client.clone()).create(&dry_run(), &settings).await;
    let denial = "admission webhook \"vbutlerconfig.kb.io\" denied the request";
    tried.is_err_and(|error| error.to_string().contains(denial))
}

fn dry_run() -> PostParams {
    PostParams { dry_run: true, ..PostParams::default() }
}

//! Puts the parts together and takes them apart again.

use std::sync::Arc;
use std::time::Duration;

use butler_certs::{
    Callers, CallersError, Certificates, Events, Files, Proof, Registration, ServerConfigError, Settings,
    server_config,
};
use butler_program::connect::connect;
use butler_program::{ListenError, StartError, bind};
use bytes::Bytes;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use prometheus_client::registry::Registry;
use tokio::task::JoinSet;

use crate::admission::{self, Admission, Reply};
use crate::endpoint::Endpoint;
use crate::facts::{self, ApiServer, Look, Pace, Snapshots};
use crate::options::Options;
use crate::policy_files::{self, Policies, PolicyFiles};
use crate::quota::{self, Quota};
use crate::registration;
use crate::server::{self, AdmissionPort, Drain, Gate, Limits, Readiness};
use crate::service::{self, Service};

/// Why the gate cannot run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum RunError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Callers(#[from] CallersError),
    #[error(transparent)]
    Tls(#[from] ServerConfigError),
}

/// Serves until `stop`, then drains.
///
/// # Errors
/// When it cannot begin. Once it serves, whatever fails is retried and shows in readiness, metrics and the log.
pub async fn run(options: Options, stop: impl Future<Output = ()>) -> Result<(), RunError> {
    let client = connect(options.program.kubeconfig.as_deref()).await.map_err(StartError::from)?;
    let admission_listener = bind(options.listen).await.map_err(StartError::from)?;
    let plain_listener = options.program.listen().await.map_err(StartError::from)?;
    let service_listener = match options.service_listen {
        Some(address) => Some((address, bind(address).await.map_err(StartError::from)?)),
        None => None,
    };
    let mut registry = Registry::default();
    // Everything that never ends by itself; dropped, and so stopped, when this function returns.
    let mut background = JoinSet::new();

    let certificates = certificates(&client, &options);
    let certificate_metrics = certificates.metrics().clone();
    certificate_metrics.register(&mut registry);
    let serving = certificates.serving();
    background.spawn(certificates.run());

    let proof = match &options.client_ca {
        None => Proof::NotAsked,
        Some(authority) => {
            let callers = Callers::from_file(authority, options.client_name.iter().map(String::as_str))?;
            background.spawn(callers.clone().follow(authority.clone(), certificate_metrics));
            Proof::Required(vec![callers])
        }
    };

    let policies = match options.policy_dir {
        Some(_) => Arc::new(Policies::awaited()),
        None => Arc::default(),
    };
    let facts_metrics = facts::Metrics::default();
    facts_metrics.register(&mut registry);
    let snapshots = Arc::new(Snapshots::default());
    let (synced, watching) = facts::watch_with_params(
        client.clone(),
        snapshots.clone(),
        facts_metrics.clone(),
        Pace::default(),
        policies.wanted_params(),
    );
    background.spawn(async { match watching.await {} });

    let admission_metrics = admission::Metrics::default();
    admission_metrics.register(&mut registry);
    if let Some(directory) = &options.policy_dir {
        let metrics = policy_files::Metrics::default();
        metrics.register(&policies, &mut registry);
        let events = Events::reported_by("butler-webhook", client.clone(), our_service(&options));
        let files = PolicyFiles::new(directory, policies.clone(), metrics);
        let files = files.events(events).facts(snapshots.clone());
        background.spawn(async { match files.run().await {} });
    }
    let quota_metrics = quota::Metrics::default();
    quota_metrics.register(&mut registry);
    let bound = Duration::from_secs(options.request_bound.into());
    let quota = Quota::new(client.clone(), snapshots.clone(), quota_metrics, bound);
    background.spawn({
        let quota = quota.clone();
        async { match quota.run().await {} }
    });
    let admission =
        Admission::new(snapshots, ApiServer::new(client.clone(), facts_metrics), admission_metrics)
            .with_policies(policies.clone())
            .with_quota(quota);
    let admission = Arc::new(admission);

    let readiness = {
        let serving = serving.clone();
        let certificate = move || {
            if serving.is_ready() { Ok(()) } else { Err("no certificate is loaded".to_owned()) }
        };
        let facts = move || match synced.missing().as_slice() {
            [] => Ok(()),
            missing => {
                let kinds: Vec<String> = missing.iter().map(ToString::to_string).collect();
                Err(format!("not listed yet: {}", kinds.join(", ")))
            }
        };
        let policies = policies.clone();
        let policies = move || policies.ready();
        let readiness = Readiness::default().check("certificate", certificate).check("facts", facts);
        Arc::new(readiness.check("policies", policies))
    };
    let service_metrics = service::Metrics::default();
    service_metrics.register(&mut registry);
    let limits = Limits { in_flight: options.max_in_flight.into(), ..Limits::default() };
    let server_metrics = server::Metrics::default();
    server_metrics.register(&mut registry);
    let _plain =
        plain_listener.serve(registry, readiness.clone(), limits.connection()).map_err(StartError::from)?;

    // Dropped, and so stopped, when the gate has drained.
    let _service = match service_listener {
        Some((address, listener)) => {
            let service = Service::new(
                client,
                serving.clone(),
                policies,
                admission.clone(),
                readiness.clone(),
                service_metrics,
            )?;
            let unheard = |source| StartError::from(ListenError { address, source });
            Some(service.start(listener).map_err(unheard)?)
        }
        None => None,
    };
    let tls = Arc::new(server_config(serving, proof)?);
    let drain = Drain { notice: Duration::from_secs(options.drain_delay.into()), ..Drain::default() };
    let port = AdmissionPort::new(admission, tls, limits, drain, server_metrics, readiness);
    tracing::info!(listen = %options.listen, metrics = %options.program.metrics_listen, "serving");
    let drained = port.run(admission_listener, stop).await;
    tracing::info!(finished = drained.finished, cut = drained.cut, "drained");
    Ok(())
}

impl<L: Look> Gate for Admission<L> {
    async fn review(&self, endpoint: Endpoint, body: Bytes) -> Reply {
        Admission::review(self, endpoint, &body).await
    }
}

/// What events are about.
fn our_service(options: &Options) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Service".to_owned()),
        name: Some(options.service.clone()),
        namespace: Some(options.namespace.clone()),
        ..ObjectReference::default()
    }
}

fn certificates(client: &Client, options: &Options) -> Certificates {
    match &options.certificate_dir {
        Some(directory) => {
            let events = Events::about(client.clone(), our_service(options));
            Certificates::from_files(Files::in_directory(directory).events(events))
        }
        None => {
            let settings = Settings::for_service(&options.namespace, &options.service)
                .registration(Registration::mutating(registration::NAME))
                .registration(Registration::validating(registration::NAME));
            let settings = match options.service_listen {
                Some(_) => settings.registration(Registration::api_service(service::API_SERVICE)),
                None => settings,
            };
            let settings = options.certificate_name.iter().fold(settings, Settings::name);
            let settings = options.registration_url.iter().fold(settings, Settings::url);
            Certificates::self_managed(client.clone(), settings)
        }
    }
}

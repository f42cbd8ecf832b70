//! Drives self-managed certificates: look, serve, publish, take one step, look again.
//!
//! Why this is safe with any number of replicas and no leader:
//!
//! - The Secret changes only by compare-and-swap, so steps happen one after the other, each decided on the state
//!   it changes.
//! - A look reads the Secret, the registrations, and the Secret again, and counts only if the Secret is the same.
//!   Whatever a bundle is replaced with is therefore at least as new as what made that bundle, and since the
//!   write names the resourceVersion read, a bundle once seen everywhere never loses an authority that is needed.
//! - Replicas serve what is stored, and nothing is stored for serving before every registration trusts it.

mod failure;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt, future, stream};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ObjectReference, Secret};
use kube::api::{Api, DynamicObject, PartialObjectMeta, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use rustls::crypto::CryptoProvider;
use tokio::time::sleep;

use self::failure::{Failure, ask};
use crate::advance::advance;
use crate::decide::{Seen, Step, decide};
use crate::metrics::Metrics;
use crate::mint::Minter;
use crate::pace::{Backoff, Corrections};
use crate::pair::Pair;
use crate::registration::{FIELD_MANAGER, Registered, Registration};
use crate::report::{Events, Report, Topic};
use crate::serving::Serving;
use crate::settings::Settings;
use crate::state::State;
use crate::stored::{self, Fault, Stored};

/// Changes come in bursts: a rotation touches the Secret and every registration.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// A rotation from nothing to rest takes five steps and a few looks. More than this in a row means that what is
/// stored does not come back as it was written, and must not become a flood of requests.
const IN_A_ROW: u32 = 20;
/// Watches are quick and may miss something; this is the net under them.
const SLOW_LOOK: Duration = Duration::from_secs(5 * 60);

/// When to look again.
enum Next {
    AtOnce,
    After(Duration),
}

pub(crate) struct SelfManaged {
    client: Client,
    settings: Settings,
    provider: Arc<CryptoProvider>,
    serving: Arc<Serving>,
    metrics: Metrics,
    report: Report,
    corrections: Corrections,
    faults: Vec<Fault>,
}

impl SelfManaged {
    pub(crate) fn new(
        client: Client,
        settings: Settings,
        provider: Arc<CryptoProvider>,
        serving: Arc<Serving>,
        metrics: Metrics,
    ) -> Self {
        let about = ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Secret".to_owned()),
            namespace: Some(settings.namespace.clone()),
            name: Some(settings.secret.clone()),
            ..ObjectReference::default()
        };
        let report = Report::new(Some(Events::about(client.clone(), about)));
        let (corrections, faults) = Default::default();
        Self { client, settings, provider, serving, metrics, report, corrections, faults }
    }

    /// Goes on until it is dropped. Dropping it at any moment is safe: every change is one request.
    pub(crate) async fn run(mut self) {
        let mut changes = Box::pin(changes(&self.client, &self.settings));
        let mut backoff = Backoff::default();
        let mut in_a_row = 0;
        loop {
            let delay = match self.look().await {
                Ok(Next::AtOnce) if in_a_row < IN_A_ROW => {
                    in_a_row += 1;
                    continue;
                }
                Ok(Next::AtOnce) => backoff.next(),
                Ok(Next::After(delay)) => {
                    in_a_row = 0;
                    backoff.reset();
                    delay
                }
                Err(failure) if failure.is_conflict() => Duration::ZERO,
                Err(failure) => {
                    self.metrics.failed(failure.label());
                    tracing::warn!(reason = failure.label(), "certificates: {failure}; trying again");
                    backoff.next()
                }
            };
            tokio::select! {
                () = sleep(delay) => {}
                _ = changes.next() => {
                    sleep(DEBOUNCE).await;
                    // Whatever else came meanwhile is seen by the same look.
                    while let Some(Some(())) = futures::FutureExt::now_or_never(changes.next()) {}
                }
            }
        }
    }

    async fn look(&mut self) -> Result<Next, Failure> {
        let before = self.read_secret().await?;
        let registrations = self.read_registrations().await;
        let secret = self.read_secret().await?;
        if before.as_ref().map(version) != secret.as_ref().map(version) {
            return Ok(Next::AtOnce);
        }
        // Read after the bundles were: the settling of one that was seen begins now, not before it was written.
        let now = Timestamp::now();
        let Stored { state, faults } =
            secret.as_ref().map(|secret| stored::read(secret, &self.provider)).unwrap_or_default();
        self.note_faults(faults).await;
        self.serve(&state, now);

        let Published { outcome: published, refused } = self.publish(&registrations, &state).await;

        let names = &self.settings.names;
        let lifetimes = &self.settings.lifetimes;
        let step = decide(&state, &seen(&registrations, &refused), names, lifetimes, now);
        if let Step::Rest { until } = step {
            let due = until.map(|until| Duration::try_from(until.duration_since(now)).unwrap_or_default());
            let delay = due.unwrap_or(SLOW_LOOK).min(SLOW_LOOK);
            return Ok(match published {
                Outcome::Something => Next::AtOnce,
                Outcome::Nothing => Next::After(delay),
                Outcome::Later(wait) => Next::After(delay.min(wait)),
            });
        }
        if let (Step::Announce { .. }, None) = (&step, &state.signing)
            && let Some(blind) = registrations.iter().find(|(_, registered)| registered.is_err())
        {
            return Err(Failure::Blind(blind.0.clone()));
        }
        let mut minter = Minter { lifetimes: *lifetimes };
        let state = advance(state, &step, names, lifetimes, now, &mut minter)?;
        self.store(secret, &state).await?;
        self.metrics.stepped(step.name());
        tracing::info!(step = step.name(), "changed the stored certificates");
        Ok(Next::AtOnce)
    }

    /// Takes the stored certificate into use, if it is good and another than the one in use.
    fn serve(&self, state: &State, now: Timestamp) {
        if let Some(signing) = &state.signing {
            self.metrics.authority_ends(signing.trusted.validity.until);
        }
        let Some(leaf) = state.serving.as_ref().filter(|leaf| !self.serving.serves(leaf.id)) else { return };
        let pair = Pair::parse(leaf.certificate.as_bytes(), leaf.key.pem().as_bytes(), &self.provider)
            .and_then(|pair| pair.valid_at(now));
        match pair {
            Ok(pair) => self.serving.load(pair),
            // A replica whose clock is ahead made it: it becomes valid in a moment, and the slow look takes it.
            // One that is over is about to be replaced.
            Err(refusal) => self.serving.refuse(refusal),
        }
    }

    async fn note_faults(&mut self, faults: Vec<Fault>) {
        if faults == self.faults {
            return;
        }
        for fault in &faults {
            match fault {
                Fault::Serving(refusal) => self.serving.refuse(*refusal),
                Fault::Trusted | Fault::Key(_) => {
                    self.metrics.refused("Authority");
                    tracing::warn!("the stored certificates are damaged: {fault}");
                }
            }
        }
        if !faults.is_empty() {
            let all: Vec<String> = faults.iter().map(ToString::to_string).collect();
            let note = format!(
                "{}; the certificate in use goes on, and what is damaged is made anew",
                all.join("; ")
            );
            self.report.warn(Topic::SECRET_DAMAGED, note).await;
        }
        self.faults = faults;
    }

    /// Writes the bundle wherever another one is. One registration that fails keeps neither the others from being
    /// written nor a certificate from being renewed; it is tried again soon.
    async fn publish(&mut self, registrations: &Registrations, state: &State) -> Published {
        let bundle = state.bundle();
        let mut published = Published { outcome: Outcome::Nothing, refused: Vec::new() };
        for (registration, registered) in registrations {
            let Ok(Some(registered)) = registered else { continue };
            if bundle.is_empty() {
                continue;
            }
            if !registered.differs_from(&bundle) {
                // A write was cut short, ours or another replica's. Whoever is faster does it.
                if registered.is_owned() {
                    let _ = registration.disown(&self.client, &registered.metadata).await;
                }
                continue;
            }
            if let Some(wait) = self.corrections.wait(registration, &bundle, Instant::now()) {
                published.outcome = published.outcome.or_later(wait);
                continue;
            }
            let request = registration.publish(&self.client, registered, &bundle);
            match ask(format!("write caBundle of {registration}"), request).await {
                Ok(()) => {
                    self.corrections.note(registration, &bundle, Instant::now());
                    self.metrics.corrected();
                    tracing::info!(%registration, "wrote caBundle");
                    published.outcome = Outcome::Something;
                }
                Err(failure) if failure.is_conflict() => published.outcome = Outcome::Something,
                Err(failure) => {
                    self.note_stuck(&failure).await;
                    published.outcome = published.outcome.or_later(RETRY);
                    if failure.is_refusal() {
                        published.refused.push(registration.clone());
                    }
                }
            }
        }
        published
    }

    async fn note_stuck(&self, failure: &Failure) {
        self.metrics.failed(failure.label());
        tracing::warn!(reason = failure.label(), "certificates: {failure}");
        if failure.is_refusal() {
            let note = format!("{failure}; authorities cannot rotate until this works: check our rights");
            self.report.warn(Topic::REGISTRATION_NOT_UPDATED, note).await;
        }
    }

    async fn read_secret(&self) -> Result<Option<Secret>, Failure> {
        let request = self.secrets();
        ask(self.about("read"), request.get_opt(&self.settings.secret)).await
    }

    async fn read_registrations(&self) -> Registrations {
        let read = self.settings.registrations.iter().map(async |registration| {
            let request = registration.read(&self.client, &self.settings.ours);
            let registered = ask(format!("read {registration}"), request).await;
            if let Err(failure) = &registered {
                self.note_stuck(failure).await;
            }
            (registration.clone(), registered)
        });
        future::join_all(read).await
    }

    /// Compare-and-swap: replaces the Secret that was read, or creates the one that was not there.
    async fn store(&self, secret: Option<Secret>, state: &State) -> Result<(), Failure> {
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        let name = &self.settings.secret;
        let secrets = self.secrets();
        match secret {
            Some(mut secret) => {
                stored::write(&mut secret, state);
                ask(self.about("replace"), secrets.replace(name, &params, &secret)).await?;
            }
            None => {
                let mut secret = Secret::default();
                secret.metadata.name = Some(name.clone());
                stored::write(&mut secret, state);
                ask(self.about("create"), secrets.create(&params, &secret)).await?;
            }
        }
        Ok(())
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.settings.namespace)
    }

    fn about(&self, verb: &str) -> String {
        format!("{verb} Secret `{}/{}`", self.settings.namespace, self.settings.secret)
    }
}

/// A registration that could not be written is tried again after this.
const RETRY: Duration = Duration::from_secs(5);

struct Published {
    outcome: Outcome,
    /// What the API server did not let us write.
    refused: Vec<Registration>,
}

enum Outcome {
    Nothing,
    /// Somebody wrote something: look again.
    Something,
    Later(Duration),
}

impl Outcome {
    fn or_later(self, wait: Duration) -> Self {
        match self {
            Self::Something => Self::Something,
            Self::Nothing => Self::Later(wait),
            Self::Later(other) => Self::Later(other.min(wait)),
        }
    }
}

type Registrations = Vec<(Registration, Result<Option<Registered>, Failure>)>;

/// A registration that cannot be read trusts nobody, as far as anybody knows.
fn seen(registrations: &Registrations, refused: &[Registration]) -> Vec<Seen> {
    let of = |(registration, registered): &(Registration, _)| match registered {
        Ok(Some(Registered { bundles, .. })) => {
            let is_refused = refused.contains(registration);
            bundles.iter().map(|bundle| Seen { trusted: bundle.trusted(), is_refused }).collect()
        }
        Ok(None) => Vec::new(),
        Err(_) => vec![Seen::default()],
    };
    registrations.iter().flat_map(of).collect()
}

fn version(secret: &Secret) -> (Option<String>, Option<String>) {
    (secret.uid(), secret.resource_version())
}

/// An item for every change of the Secret or a registration. Metadata only: a bell needs no contents.
fn changes(client: &Client, settings: &Settings) -> impl futures::Stream<Item = ()> + Send + use<> {
    let named = |name: &str| watcher::Config::default().fields(&format!("metadata.name={name}"));
    let secrets: Api<PartialObjectMeta<Secret>> = Api::namespaced(client.clone(), &settings.namespace);
    let secret = watcher(secrets, named(&settings.secret)).default_backoff().map(ring).boxed();
    let registrations = settings.registrations.iter().map(|registration| {
        let api: Api<PartialObjectMeta<DynamicObject>> =
            Api::all_with(client.clone(), &registration.resource());
        watcher(api, named(registration.name())).default_backoff().map(ring).boxed()
    });
    stream::select_all(registrations.chain([secret]))
}

/// A watch that breaks rings too: whatever it has missed is seen by a look.
fn ring<K>(event: watcher::Result<watcher::Event<K>>) {
    if let Err(error) = event {
        tracing::warn!("certificates: a watch broke: {error}; watching again");
    }
}

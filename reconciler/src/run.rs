//! Puts the parts together and takes them apart again.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use butler_program::{ConnectError, ConnectionLimits, Readiness, StartError, connect};
use kube::Client;
use prometheus_client::registry::Registry;
use tokio::sync::watch;

use crate::butler_config::ButlerConfigs;
use crate::frame::lease::{Candidate, Settings, Term};
use crate::frame::{Cache, Controller, Driver, Events, Metrics, Pace, Turns, Watches};
use crate::known::Known;
use crate::options::Options;
use crate::provider_config::{self, ProviderConfigs};
use crate::team::Teams;
use crate::turns::Queues;

/// Longer than a watch lasts: then a server that takes requests and says nothing is found out.
const SILENCE: Duration = Duration::from_secs(75);

/// Works until `stop`, then ends what it is doing and gives the lease up.
///
/// # Errors
/// When it cannot begin. Once it runs, whatever fails is tried again and shows in conditions, metrics and the log.
pub async fn run(options: Options, stop: impl Future<Output = ()>) -> Result<(), StartError> {
    let client = client(&options).await?;
    let listener = options.program.listen().await?;
    let mut registry = Registry::default();
    let metrics = Metrics::default();
    metrics.register(&mut registry);
    let providers = provider_config::Metrics::default();
    providers.register(&mut registry);

    // Also while somebody else writes: whoever takes over knows everything already.
    let known = Known::default();
    let queues = Queues::new(known.clone());
    let mut watches = Watches::new(client.clone(), metrics.clone());
    queues.fill(&mut watches);
    let missing = watches.missing();
    let readiness = Readiness::default().check("watches", move || match missing().as_slice() {
        [] => Ok(()),
        kinds => Err(format!("not listed yet: {}", kinds.join(", "))),
    });
    let readiness = Arc::new(readiness);
    let _plain = listener.serve(registry, readiness.clone(), ConnectionLimits::default())?;

    let settings = settings(&options);
    tracing::info!(metrics = %options.program.metrics_listen, identity = %settings.identity, "running");
    let engine = Engine {
        options,
        client: client.clone(),
        known,
        queues,
        metrics: metrics.clone(),
        providers,
        identity: settings.identity.clone(),
    };
    engine.work_until(stop, Candidate::new(client, settings, metrics), &readiness).await;
    drop(watches);
    tracing::info!("ended");
    Ok(())
}

struct Engine {
    options: Options,
    client: Client,
    known: Known,
    queues: Queues,
    metrics: Metrics,
    providers: provider_config::Metrics,
    identity: String,
}

impl Engine {
    /// Waits until everything is known, then for the lease, works for as long as it is held, and begins anew when it is
    /// lost: everything that a term has begun ends with it and is waited for, so there is nothing that a new process would
    /// do better. The lease is given up only after that, too.
    async fn work_until(
        &self,
        stop: impl Future<Output = ()>,
        mut candidate: Candidate,
        readiness: &Readiness,
    ) {
        let (stopping, is_stopping) = watch::channel(false);
        let mut stop = std::pin::pin!(stop);
        loop {
            // Who knows nothing yet could only keep the lease from those who do.
            let informed = async {
                self.known.synced().await;
                candidate.acquire().await
            };
            let mut held = tokio::select! {
                () = stop.as_mut() => return,
                held = informed => held,
            };
            let mut work = std::pin::pin!(self.controllers(held.term(), &is_stopping));
            tokio::select! {
                () = stop.as_mut() => {}
                // The term is over, and so what was begun in it ends at once.
                () = candidate.keep(&mut held) => {
                    work.await;
                    continue;
                }
                // They noticed first that the term is over. A sign that is on its way must not make it last: nobody works
                // in it any more.
                () = work.as_mut() => {
                    candidate.lose(&held, "it could not be renewed in time");
                    continue;
                }
            }
            readiness.drain();
            stopping.send_replace(true);
            tokio::select! {
                () = work.as_mut() => {}
                () = candidate.keep(&mut held) => return work.await,
            }
            return candidate.release(held).await;
        }
    }

    /// Every controller, until the term is over or they are asked to stop.
    async fn controllers(&self, term: Term, stopping: &watch::Receiver<bool>) {
        let (client, known, queues) = (&self.client, &self.known, &self.queues);
        let configs = self.driver(ButlerConfigs::new(known.clone()), &known.configs, &queues.configs);
        let providers = ProviderConfigs::new(client.clone(), known.clone(), self.providers.clone());
        let providers = self.driver(providers, &known.providers, &queues.providers);
        let teams = self.driver(Teams::new(client.clone(), known.clone()), &known.teams, &queues.teams);
        tokio::join!(
            configs.run(term.clone(), stopping.clone()),
            providers.run(term.clone(), stopping.clone()),
            teams.run(term, stopping.clone()),
        );
    }

    fn driver<C: Controller>(
        &self,
        controller: C,
        cache: &Cache<C::Object>,
        turns: &Arc<Turns>,
    ) -> Driver<C> {
        let resync = Duration::from_secs(self.options.resync_seconds.into());
        Driver {
            controller: Arc::new(controller),
            cache: cache.clone(),
            turns: turns.clone(),
            workers: self.options.workers.into(),
            pace: Pace { resync, ..Pace::default() },
            metrics: self.metrics.clone(),
            events: Events::new(self.client.clone(), &self.identity),
            client: self.client.clone(),
        }
    }
}

async fn client(options: &Options) -> Result<Client, StartError> {
    let mut config = connect::config(options.program.kubeconfig.as_deref()).await?;
    config.read_timeout = Some(SILENCE);
    config.reset_reader_on_write = true;
    Ok(Client::try_from(config).map_err(ConnectError::from)?)
}

fn settings(options: &Options) -> Settings {
    // A pod that is restarted keeps its name, and must not take itself for the one before.
    let random = RandomState::new().hash_one(std::process::id()) & 0xffff_ffff;
    Settings {
        namespace: options.namespace.clone(),
        name: options.lease.clone(),
        identity: format!("{}_{random:08x}", options.identity),
        duration: Duration::from_secs(options.lease_seconds.into()),
    }
}

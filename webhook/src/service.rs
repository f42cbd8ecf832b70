//! The policy service: what the gate knows, as an API of its own that plain kubectl reads.
//!
//! kube-apiserver's aggregator proxies `policy.butler.butlerlabs.dev/v1alpha1` to us. Follow a request by opening the
//! modules in this order: `port` takes it off the wire, on a thread of its own, `request` leads it through the rest,
//! `asked` reads what it wants, `authenticate` and `authorize` say who asks and whether they may, `negotiate` in which form
//! they want it. `resources` is the table of what there is; each resource has a module of its name. `collection` holds what
//! can be listed and watched, `list` and `watch` answer from it, `selector` chooses, `table` prints, and `status` is every
//! answer that is a no. `discovery` and `openapi` describe all of it to clients.
//!
//! Nothing here is on the way of a review at admission: the service has one thread, which the scheduler runs after all
//! others, budgets of its own, and a port of its own. Where it is flooded, it is the service that turns callers away.
//!
//! Rights that this needs, besides those of the gate:
//!
//! | API group | Resources | Verbs | What for |
//! |---|---|---|---|
//! | core, in `kube-system` | `configmaps/extension-apiserver-authentication` | `get`, `list`, `watch` | how the front proxy is recognised |
//! | `authentication.k8s.io` | `tokenreviews` | `create` | who comes directly |
//! | `authorization.k8s.io` | `subjectaccessreviews` | `create` | who may do what |

mod asked;
mod authenticate;
mod authorize;
mod body;
mod collection;
mod discovery;
mod list;
mod metrics;
mod negotiate;
mod openapi;
mod policies;
mod port;
mod request;
mod resources;
mod reviews;
mod selector;
mod status;
mod table;
mod watch;

use std::sync::Arc;

use butler_certs::{Proof, ServerConfigError, Serving, server_config};
use butler_program::{Budget, PortThread, Readiness};
use kube::Client;
use rustls::ServerConfig;
use tokio::net::TcpListener;

use self::authenticate::Authenticator;
use self::authorize::Authorizer;
use self::collection::Collection;
pub use self::metrics::Metrics;
use self::openapi::Documents;
use crate::admission::Admission;
use crate::facts::ApiServer;
use crate::policy_files::Policies;

/// The group that is served.
pub const GROUP: &str = "policy.butler.butlerlabs.dev";
/// Its version.
pub const VERSION: &str = "v1alpha1";
/// Both, as objects have them.
pub const API_VERSION: &str = "policy.butler.butlerlabs.dev/v1alpha1";
/// The APIService by which the aggregator knows of us.
pub const API_SERVICE: &str = "v1alpha1.policy.butler.butlerlabs.dev";

/// In what we can write.
const MEDIA_TYPES: &str = "application/json, application/yaml";

/// Requests for objects that are worked on at the same time. Each takes a moment of the one thread that there is.
const REQUESTS: usize = 32;
/// Requests for anything else: discovery, which the aggregator asks for even while there is a flood of the others.
const PAGES: usize = 32;
/// Watches that are open at the same time. Each is a few hundred bytes and the memory of its connection.
const WATCHES: usize = 1000;
/// A body. kube-apiserver takes objects of up to this size, and no larger body from its callers either.
const BODY: usize = 3 << 20;
/// All bodies that are being read or judged.
const BODIES: usize = 16 << 20;
/// Open connections. The aggregator of each API server has a few and sends many requests over each.
const CONNECTIONS: usize = 512;
/// How far behind all others the scheduler puts the service's thread. 19 would be as far as can be, and would starve it.
const NICENESS: i32 = 10;

/// The service, before it serves.
#[derive(Debug)]
pub struct Service {
    shared: Arc<Shared>,
    tls: Arc<ServerConfig>,
    in_force: Arc<Policies>,
}

/// What every request needs.
#[derive(Debug)]
struct Shared {
    authenticator: Authenticator,
    authorizer: Authorizer,
    policies: Collection,
    admission: Arc<Admission<ApiServer>>,
    documents: Documents,
    readiness: Arc<Readiness>,
    metrics: Metrics,
    requests: Arc<Budget>,
    pages: Arc<Budget>,
    watches: Arc<Budget>,
    bodies: Arc<Budget>,
    connections: Arc<Budget>,
}

impl Service {
    /// Shows these policies, and rehearses with this gate. The certificate is the one that the gate serves with, and so is the readiness.
    ///
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new(
        client: Client,
        serving: Arc<Serving>,
        policies: Arc<Policies>,
        admission: Arc<Admission<ApiServer>>,
        readiness: Arc<Readiness>,
        metrics: Metrics,
    ) -> Result<Self, ServerConfigError> {
        // Whose certificate counts changes while we run, and who has none may have a token.
        let tls = Arc::new(server_config(serving, Proof::Shown)?);
        let shared = Arc::new(Shared {
            authenticator: Authenticator::new(client.clone()),
            authorizer: Authorizer::new(client),
            policies: Collection::new(policies::RESOURCE.plural),
            admission,
            documents: Documents::new(),
            readiness,
            requests: Budget::new(REQUESTS, metrics.requests.clone()),
            pages: Budget::new(PAGES, metrics.pages.clone()),
            watches: Budget::new(WATCHES, metrics.watches.clone()),
            bodies: Budget::new(BODIES, metrics.bodies.clone()),
            connections: Budget::new(CONNECTIONS, metrics.connections.clone()),
            metrics,
        });
        Ok(Self { shared, tls, in_force: policies })
    }

    /// Begins to serve, on a thread of its own. Dropped, that thread ends: watches are told where to go on, what is in
    /// flight gets a second.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn start(self, listener: TcpListener) -> std::io::Result<PortThread> {
        let Self { shared, tls, in_force } = self;
        PortThread::start("policy-service", listener, step_back, async move |listener, stopped| {
            tokio::select! {
                () = port::run(shared.clone(), tls, listener, stopped) => {}
                // Both go on for ever.
                () = shared.authenticator.run() => {}
                () = policies::follow(in_force, &shared.policies) => {}
            }
        })
    }
}

/// Lets all other threads go first. Linux keeps this for each thread; where it fails, the service is only less polite.
fn step_back() {
    if let Err(error) = rustix::process::nice(NICENESS) {
        tracing::warn!("the policy service cannot give way to admission: {error}");
    }
}

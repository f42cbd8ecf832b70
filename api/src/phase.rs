//! The phase of a TenantCluster: one word for people, derived from its conditions and never remembered by itself.
//!
//! Conditions come in two groups.
//! **Gates** must be passed before anything is built: Accepted, QuotaSatisfied, ProviderAccessGranted, NetworkReady,
//! ImageReady. A gate that is absent does not apply to this cluster.
//! **Essentials** are the cluster itself: InfrastructureReady, ControlPlaneReady, WorkersReady, AddonsReady. One that is
//! absent has not been reached yet, so whoever writes conditions reports all four (`NotRequired` for a cluster
//! without addons).
//! All other conditions, Ready, Progressing and Degraded among them, have no say.
//!
//! A condition is *open* when it is Unknown, or False for a reason that ends by itself, or speaks of an older generation
//! of the spec; it *fails* when it is False for a reason of [`Class::Failure`]. The first row that fits decides:
//!
//! | Deletion | Ready before | Gates | Essentials | Phase |
//! |---|---|---|---|---|
//! | requested | | | | Deleting |
//! | | never | none reported | none reported | Pending |
//! | | never | one fails | | Failed |
//! | | never | | one fails | Failed |
//! | | never | one open | | Provisioning |
//! | | never | | infrastructure, control plane or workers not True | Provisioning |
//! | | never | | addons not True | Installing |
//! | | never | all True | all True | Ready |
//! | | yes | | one fails | Failed |
//! | | yes | | one not True | Updating |
//! | | yes, an older generation | one not True | all True | Updating |
//! | | yes | | all True | Ready |
//!
//! So Failed lasts exactly as long as its cause. A cluster that has been Ready is never called Failed because of a gate:
//! a limit that was lowered or a pool that ran dry does not break what runs, it only holds back a change. And once Ready, a
//! cluster that drifts from its spec (a node died) is Updating while it is brought back, just as after a change.

#[cfg(test)]
mod tests;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condition::reason::{self, Class};
use crate::condition::{self, ConditionStatus, tenant_cluster};

/// Where a TenantCluster is in its life.
///
/// - `Pending`: created, nothing done yet
/// - `Provisioning`: control plane and workers are being made
/// - `Installing`: addons are being installed
/// - `Ready`: everything asked for is in place
/// - `Updating`: a change is being rolled out, or a deviation repaired
/// - `Deleting`: being taken down
/// - `Failed`: something is in the way; the conditions say what, and the phase changes once it is gone
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum ClusterPhase {
    /// Created, nothing done yet.
    Pending,
    /// Control plane and workers are being made.
    Provisioning,
    /// Addons are being installed.
    Installing,
    /// Everything asked for is in place.
    Ready,
    /// A change is being rolled out, or a deviation repaired.
    Updating,
    /// Being taken down.
    Deleting,
    /// Something is in the way.
    Failed,
}

/// The conditions that must hold before anything is built, in the order they are checked.
pub const GATES: [&str; 5] = [
    tenant_cluster::ACCEPTED,
    tenant_cluster::QUOTA_SATISFIED,
    tenant_cluster::PROVIDER_ACCESS_GRANTED,
    tenant_cluster::NETWORK_READY,
    tenant_cluster::IMAGE_READY,
];

/// The conditions that make up a working cluster, in the order they come true.
pub const ESSENTIALS: [&str; 4] = [
    tenant_cluster::INFRASTRUCTURE_READY,
    tenant_cluster::CONTROL_PLANE_READY,
    tenant_cluster::WORKERS_READY,
    tenant_cluster::ADDONS_READY,
];

/// What a phase depends on besides the conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseFacts {
    /// The object carries a deletion timestamp.
    pub deletion_requested: bool,
    /// `metadata.generation`.
    pub generation: i64,
    /// The generation of the spec at which the cluster was last Ready, if it ever was.
    pub ready_generation: Option<i64>,
}

/// One condition, or the worst of several, as far as the phase is concerned; worse is larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Holds,
    Absent,
    Open,
    Fails,
}

impl State {
    fn of(conditions: &[Condition], name: &str, generation: i64) -> Self {
        let Some(present) = condition::get(conditions, name) else { return Self::Absent };
        if present.observed_generation.is_some_and(|observed| observed < generation) {
            return Self::Open;
        }
        match ConditionStatus::from_wire(&present.status) {
            ConditionStatus::True => Self::Holds,
            ConditionStatus::Unknown => Self::Open,
            ConditionStatus::False => match reason::class(&present.reason) {
                Class::Progress => Self::Open,
                Class::Failure => Self::Fails,
            },
        }
    }
}

impl ClusterPhase {
    /// The one phase that fits; see the table at the head of this file.
    pub fn derive(conditions: &[Condition], facts: PhaseFacts) -> Self {
        let state = |name: &str| State::of(conditions, name, facts.generation);
        let gates = GATES.map(state);
        let [infrastructure, control_plane, workers, addons] = ESSENTIALS.map(state);
        let built = infrastructure.max(control_plane).max(workers);
        // An absent gate asks for nothing, so it counts as passed; but when all is absent, nothing has begun.
        let worst_gate = gates.into_iter().filter(|gate| *gate != State::Absent).max();
        let begun =
            worst_gate.is_some() || ESSENTIALS.iter().any(|name| condition::get(conditions, name).is_some());
        let gate = worst_gate.unwrap_or(State::Holds);

        if facts.deletion_requested {
            return Self::Deleting;
        }
        match facts.ready_generation {
            None => Self::before_first_ready(begun, gate, built, addons),
            Some(ready) => Self::after_first_ready(ready < facts.generation, gate, built.max(addons)),
        }
    }

    fn before_first_ready(begun: bool, gate: State, built: State, addons: State) -> Self {
        if !begun {
            Self::Pending
        } else if gate.max(built).max(addons) == State::Fails {
            Self::Failed
        } else if gate != State::Holds || built != State::Holds {
            Self::Provisioning
        } else if addons != State::Holds {
            Self::Installing
        } else {
            Self::Ready
        }
    }

    fn after_first_ready(change_is_due: bool, gate: State, cluster: State) -> Self {
        match cluster {
            State::Fails => Self::Failed,
            State::Absent | State::Open => Self::Updating,
            State::Holds if change_is_due && gate != State::Holds => Self::Updating,
            State::Holds => Self::Ready,
        }
    }

    /// The phase as it stands in the status.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Provisioning => "Provisioning",
            Self::Installing => "Installing",
            Self::Ready => "Ready",
            Self::Updating => "Updating",
            Self::Deleting => "Deleting",
            Self::Failed => "Failed",
        }
    }
}

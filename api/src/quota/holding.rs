//! What one cluster takes of what is limited, and where it counts.

use std::sync::Arc;

use crate::TenantCluster;
use crate::names::bounded;
use crate::quantity::{Amount, Quantity};
use crate::quota::dimension::Dimension;
use crate::quota::limit::Scope;
use crate::reference::NsRef;
use crate::tenant_cluster::workers::{DEFAULT_CPU, DEFAULT_DISK, DEFAULT_MEMORY, DEFAULT_REPLICAS};

/// The most characters of an owner's name that are kept. Longer ones end in a digest, so that they stay different.
const LONGEST_OWNER: usize = 128;

/// More bytes than the largest [`Amount`], which no limit is above, and still so few that a sum of 2^16 of them fits.
pub const MOST_BYTES: u128 = 1 << 111;

/// What one cluster takes, and where it counts.
///
/// Numbers are whole and exact: as many workers, of as many cores, as there are numbers for in a spec fit 64 bits, and bytes
/// have 128. Only what is more than any limit can be ([`MOST_BYTES`]) counts as that much, so that no sum ever wraps.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holding {
    /// Worker machines.
    pub nodes: u64,
    /// Cores of all workers.
    pub cpu: u64,
    /// Bytes of memory of all workers.
    pub memory: u128,
    /// Bytes of disk of all workers.
    pub storage: u128,
    /// The environment of its team that it is in.
    pub environment: Option<Arc<str>>,
    /// The person that it counts for in its environment, in lower case. Outside of environments nobody asks.
    pub owner: Option<Arc<str>>,
    /// The ProviderConfig that it runs on, as `namespace/name`.
    pub provider: Option<Arc<str>>,
}

impl Holding {
    /// What a cluster takes. Its provider may be a default, which only its team and the platform's settings tell.
    pub fn of(cluster: &TenantCluster, provider: Option<&NsRef>) -> Self {
        let workers = cluster.spec.workers.as_ref();
        let template = workers.map(|workers| &workers.machine_template);
        let nodes = workers.and_then(|workers| workers.replicas).unwrap_or(DEFAULT_REPLICAS);
        let nodes = u64::try_from(nodes).unwrap_or(0);
        let cpu = template.and_then(|template| template.cpu).unwrap_or(DEFAULT_CPU);
        let bytes = |quantity: Option<&Quantity>, default: &str| {
            let amount = quantity.map_or_else(|| default.parse(), Quantity::amount);
            // A text that is no amount is denied at the gate. One that got past it is more than anybody may have.
            let each = amount.as_ref().map_or(MOST_BYTES, whole);
            u128::from(nodes).saturating_mul(each).min(MOST_BYTES)
        };
        let environment: Option<Arc<str>> = cluster.environment().map(Arc::from);
        let owner = cluster.owner().filter(|_| environment.is_some());
        Self {
            nodes,
            cpu: nodes.saturating_mul(u64::try_from(cpu).unwrap_or(0)),
            memory: bytes(template.and_then(|it| it.memory()), DEFAULT_MEMORY),
            storage: bytes(template.and_then(|it| it.disk_size()), DEFAULT_DISK),
            environment,
            owner: owner.map(|owner| bounded(&owner.to_lowercase(), LONGEST_OWNER).into()),
            provider: provider.map(|at| format!("{}/{}", at.namespace, at.name).into()),
        }
    }

    /// Whether a cluster that was allowed to take this much may take `other`. The provider is not looked at, because it
    /// never changes: an older cluster that has it by default only seems to move when the default does.
    pub fn covers(&self, other: &Self) -> bool {
        self.amounts().iter().zip(other.amounts()).all(|(own, other)| *own >= other)
            && self.environment == other.environment
            && self.owner == other.owner
    }

    /// Whether a change to this takes more of anything than `old`, which is nothing for a new cluster.
    pub fn raises(&self, old: Option<&Self>) -> bool {
        old.is_none_or(|old| !old.covers(self) || old.provider != self.provider)
    }

    /// The larger of the two in everything that is a number; elsewhere this one.
    pub fn joined(mut self, other: &Self) -> Self {
        self.nodes = self.nodes.max(other.nodes);
        self.cpu = self.cpu.max(other.cpu);
        self.memory = self.memory.max(other.memory);
        self.storage = self.storage.max(other.storage);
        self
    }

    /// Whether both count in the same places.
    pub fn is_beside(&self, other: &Self) -> bool {
        (&self.environment, &self.owner, &self.provider)
            == (&other.environment, &other.owner, &other.provider)
    }

    /// How much of that it takes there; nothing where it does not count.
    pub fn amount(&self, scope: &Scope, dimension: Dimension) -> u128 {
        if !self.is_in(scope) {
            return 0;
        }
        match dimension {
            Dimension::Clusters => 1,
            Dimension::Nodes => self.nodes.into(),
            Dimension::Cpu => self.cpu.into(),
            Dimension::Memory => self.memory,
            Dimension::Storage => self.storage,
        }
    }

    /// Every sum that it is part of. Nothing limits more than these, and each cluster by itself.
    pub fn sums(&self) -> Vec<(Scope, Dimension)> {
        let mut sums: Vec<(Scope, Dimension)> =
            Dimension::ALL.into_iter().map(|dimension| (Scope::Team, dimension)).collect();
        if let Some(environment) = &self.environment {
            sums.push((Scope::Environment(Arc::clone(environment)), Dimension::Clusters));
            if let Some(owner) = &self.owner {
                let (environment, owner) = (Arc::clone(environment), Arc::clone(owner));
                sums.push((Scope::Member { environment, owner }, Dimension::Clusters));
            }
        }
        if let Some(provider) = &self.provider {
            sums.push((Scope::Provider(Arc::clone(provider)), Dimension::Clusters));
            sums.push((Scope::Provider(Arc::clone(provider)), Dimension::Nodes));
        }
        sums
    }

    fn is_in(&self, scope: &Scope) -> bool {
        match scope {
            Scope::Cluster | Scope::Team => true,
            Scope::Environment(name) => self.environment.as_ref() == Some(name),
            Scope::Member { environment, owner } => {
                self.environment.as_ref() == Some(environment) && self.owner.as_ref() == Some(owner)
            }
            Scope::Provider(name) => self.provider.as_ref() == Some(name),
        }
    }

    fn amounts(&self) -> [u128; 4] {
        [self.nodes.into(), self.cpu.into(), self.memory, self.storage]
    }
}

/// Whole bytes, rounded up so that nothing is had for free; less than nothing is nothing.
fn whole(amount: &Amount) -> u128 {
    u128::try_from(amount.ceil_units()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn cluster(value: Value) -> TenantCluster {
        let mut object = json!({"apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
            "metadata": {"name": "orders"}, "spec": {}});
        let (Value::Object(object_fields), Value::Object(fields)) = (&mut object, value) else { panic!() };
        object_fields.extend(fields);
        serde_json::from_value(object).expect("cluster")
    }

    fn sized(replicas: Value, cpu: Value, memory: Value, disk: Value) -> Holding {
        let template = json!({"cpu": cpu, "memory": memory, "diskSize": disk});
        let spec = json!({"workers": {"replicas": replicas, "machineTemplate": template}});
        Holding::of(&cluster(json!({"spec": spec})), None)
    }

    fn amounts(holding: &Holding) -> [u128; 4] {
        holding.amounts()
    }

    #[test]
    fn a_cluster_takes_its_workers_times_its_machine() {
        let holding = sized(json!(3), json!(4), json!("16Gi"), json!("100Gi"));
        assert_eq!(amounts(&holding), [3, 12, 48 << 30, 300 << 30]);
    }

    #[test]
    fn what_is_left_out_counts_as_its_default() {
        let bare = Holding::of(&cluster(json!({})), None);
        assert_eq!(bare, sized(json!(3), json!(4), json!("16Gi"), json!("100Gi")));
        assert_eq!(bare, sized(json!(null), json!(null), json!("0"), json!(null)));
    }

    #[test]
    fn what_makes_no_sense_makes_no_room_either() {
        let most = i32::MAX;
        assert_eq!(
            amounts(&sized(json!(most), json!(most), json!("9e18Ei"), json!("1.5"))),
            [2_147_483_647, 4_611_686_014_132_420_609, MOST_BYTES, 4_294_967_294]
        );
        assert_eq!(
            amounts(&sized(json!(2), json!(1), json!("-16Gi"), json!("nonsense"))),
            [2, 2, 0, MOST_BYTES]
        );
        assert_eq!(amounts(&sized(json!(-5), json!(-1), json!("1Gi"), json!("1Gi"))), [0, 0, 0, 0]);
        assert_eq!(amounts(&sized(json!(3), json!(1), json!("1e15"), json!("1500m")))[3], 6);
    }

    /// Two clusters that differ in one byte stay different, however large they are, and no sum of them wraps.
    #[test]
    fn what_is_larger_than_64_bits_is_counted_exactly() {
        let large = sized(json!(5), json!(1), json!("16Ei"), json!("16Ei"));
        assert_eq!(amounts(&large)[2], 5 << 64);
        let larger = sized(json!(5), json!(1), json!("18446744073709551617"), json!("16Ei"));
        assert_eq!(amounts(&larger)[2] - amounts(&large)[2], 5);
        assert!(larger.raises(Some(&large)) && !large.raises(Some(&larger)));
        let largest = Amount::from_nanos(i128::MAX);
        assert!(whole(&largest) < MOST_BYTES && MOST_BYTES.checked_mul(1 << 16).is_some());
    }

    #[test]
    fn an_owner_counts_in_an_environment_only_and_whatever_its_case() {
        let owned = |labels: Value| {
            let annotations = json!({"butler.butlerlabs.dev/owner": "Ana@Example.org"});
            Holding::of(&cluster(json!({"metadata": {"labels": labels, "annotations": annotations}})), None)
        };
        let inside = owned(json!({"butler.butlerlabs.dev/environment": "dev"}));
        assert_eq!(inside.owner.as_deref(), Some("ana@example.org"));
        assert_eq!(owned(json!({})).owner, None);
        let member = Scope::Member { environment: "dev".into(), owner: "ana@example.org".into() };
        assert_eq!(inside.amount(&member, Dimension::Clusters), 1);
        assert_eq!(inside.amount(&Scope::Environment("prod".into()), Dimension::Clusters), 0);
    }

    #[test]
    fn a_move_raises_and_a_decrease_does_not() {
        let small = sized(json!(2), json!(4), json!("16Gi"), json!("100Gi"));
        let large = sized(json!(3), json!(4), json!("16Gi"), json!("100Gi"));
        let traded = sized(json!(1), json!(4), json!("64Gi"), json!("100Gi"));
        assert!(large.raises(Some(&small)) && !small.raises(Some(&large)) && !small.raises(Some(&small)));
        assert!(traded.raises(Some(&small)) && small.raises(None));
        let moved = Holding { environment: Some("prod".into()), ..small.clone() };
        assert!(moved.raises(Some(&small)) && small.raises(Some(&moved)));
    }
}

//! The address ranges of a cluster are well formed, apart from each other, and large enough.
//!
//! Fields: `spec.networking.podCIDR`, `.serviceCIDR`, `.loadBalancerPool` (or the older
//! `spec.addons.loadBalancer.addressPool`), `.lbPoolSize`. Allowed: canonical CIDRs of one family; a pool whose start is not
//! after its end; no overlap of pods, Services, load balancer addresses and the NetworkPools of the provider; a pod range
//! with a /24 (IPv4) or /64 (IPv6) for every worker; a Service range of at least 16 and at most 2^20 addresses, which is
//! what the API server takes; nothing that is loopback, link-local, multicast or unspecified; no more load balancer addresses than
//! a pool of the provider hands out. Overlaps show up weeks later as connections that go nowhere.

use std::sync::LazyLock;

use butler_api::TenantCluster;
use butler_api::address::{AddressFamily, AddressRange, Cidr};
use butler_api::provider_config::{NetworkMode, ProviderNetwork};
use butler_api::reference::{NsRef, SYSTEM_NAMESPACE};

use super::network_pool::handed_out;
use super::{Case, canonical_cidr};
use crate::facts::{FactKey, Lookup};
use crate::finding::{Fault, Finding, Findings};

const POD: &str = "spec.networking.podCIDR";
const SERVICE: &str = "spec.networking.serviceCIDR";
const POOL: &str = "spec.networking.loadBalancerPool";
const OLDER_POOL: &str = "spec.addons.loadBalancer.addressPool";

/// The text is not a range, or not in its one spelling.
const NOT_A_RANGE: &str = "NotARange";
/// Two ranges share addresses.
const OVERLAP: &str = "Overlap";
/// Two ranges are of different families.
const MIXED_FAMILIES: &str = "MixedFamilies";
/// The range is too small or too large for what it is for.
const SIZE: &str = "Size";
/// Addresses that mean something else than a machine, a pod or a Service.
const SPECIAL: &str = "Special";
/// There are no pools to allocate from.
const NO_POOLS: &str = "NoPools";

/// The API server keeps Service addresses in a bitmap of at most this many bits.
const SERVICE_BITS: u32 = 20;
const LEAST_SERVICE_BITS: u32 = 4;

pub(super) fn check(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    let networking = &case.object.spec.networking;
    let pods = cidr(POD, networking.pod_cidr(), findings);
    let services = cidr(SERVICE, networking.service_cidr(), findings);
    let pool_path = if networking.load_balancer_pool.is_some() { POOL } else { OLDER_POOL };
    let pool = case.object.spec.load_balancer_range().and_then(|span| match span.range() {
        Ok(range) => Some(range),
        Err(error) => {
            findings.invalid(NOT_A_RANGE, pool_path, error.to_string());
            None
        }
    });
    let given =
        [(POD, pods.map(AddressRange::from)), (SERVICE, services.map(AddressRange::from)), (pool_path, pool)];
    for (path, range) in given {
        if let Some(range) = range {
            check_special(path, range, findings);
        }
    }
    if let (Some(pods), Some(services)) = (pods, services) {
        if pods.family() != services.family() {
            let message = format!(
                "`{services}` is {}, but podCIDR `{pods}` is {}; use one family for both",
                services.family(),
                pods.family()
            );
            findings.invalid(MIXED_FAMILIES, SERVICE, message);
        } else if pods.overlaps(services) {
            findings.invalid(OVERLAP, SERVICE, overlap(services.into(), "podCIDR", pods.into()));
        }
    }
    for (name, range) in [("podCIDR", pods), ("serviceCIDR", services)] {
        if let (Some(pool), Some(range)) = (pool, range)
            && pool.overlaps(range)
        {
            findings.invalid(OVERLAP, pool_path, overlap(pool, name, range.into()));
        }
    }
    if let Some(pods) = pods {
        check_pod_size(case, pods, findings);
    }
    if let Some(services) = services {
        let bits = services.family().bits() - u32::from(services.prefix_length());
        let (least, most) =
            (services.family().bits() - LEAST_SERVICE_BITS, services.family().bits() - SERVICE_BITS);
        if !(LEAST_SERVICE_BITS..=SERVICE_BITS).contains(&bits) {
            let message = format!(
                "`{services}` has a prefix of /{}, which the API server does not take for Services; use one from /{most} to \
                 /{least}",
                services.prefix_length()
            );
            findings.invalid(SIZE, SERVICE, message);
        }
    }
    check_provider_pools(case, pods, services, findings);
}

fn cidr(path: &'static str, text: &str, findings: &mut Findings) -> Option<Cidr> {
    match canonical_cidr(text) {
        Ok(cidr) => Some(cidr),
        Err(message) => {
            findings.invalid(NOT_A_RANGE, path, message);
            None
        }
    }
}

/// Hosts never send packets to these addresses over a network.
static SPECIAL_RANGES: LazyLock<Vec<(&str, AddressRange)>> = LazyLock::new(|| {
    let ranges = [
        ("unspecified", "0.0.0.0/8"),
        ("loopback", "127.0.0.0/8"),
        ("link-local", "169.254.0.0/16"),
        ("multicast", "224.0.0.0/4"),
        ("unspecified", "::/128"),
        ("loopback", "::1/128"),
        ("link-local", "fe80::/10"),
        ("multicast", "ff00::/8"),
    ];
    ranges.into_iter().filter_map(|(name, range)| Some((name, range.parse::<Cidr>().ok()?.into()))).collect()
});

fn check_special(path: &'static str, range: AddressRange, findings: &mut Findings) {
    if let Some((name, special)) = SPECIAL_RANGES.iter().find(|(_, special)| range.overlaps(special)) {
        let message = format!(
            "`{}` includes {name} addresses (`{}`), which nothing on a network can have; choose a private range such as \
             `10.244.0.0/16` or `fd00:1::/48`",
            shown(range),
            shown(*special)
        );
        findings.invalid(SPECIAL, path, message);
    }
}

fn shown(range: AddressRange) -> String {
    range.as_cidr().map_or_else(|| range.to_string(), |cidr| cidr.to_string())
}

fn overlap(own: AddressRange, other: &str, range: AddressRange) -> String {
    format!("`{}` overlaps {other} `{}`; choose a range apart from it", shown(own), shown(range))
}

/// Each node gets a part of the pod range: a /24 in IPv4, a /64 in IPv6.
fn check_pod_size(case: &Case<'_, TenantCluster>, pods: Cidr, findings: &mut Findings) {
    let node_prefix: u32 = match pods.family() {
        AddressFamily::V4 => 24,
        AddressFamily::V6 => 64,
    };
    let replicas = u128::try_from(case.object.spec.replicas().unwrap_or(1).max(1)).unwrap_or(1);
    let free_bits = node_prefix.checked_sub(u32::from(pods.prefix_length()));
    let nodes = free_bits.map_or(0, |bits| 1_u128.checked_shl(bits).unwrap_or(u128::MAX));
    if nodes < replicas {
        let message = format!(
            "`{pods}` has room for {nodes} nodes, each with a /{node_prefix}, but the cluster has {replicas} workers; {}",
            // The range of a cluster that exists cannot change.
            if case.old().is_some() {
                "use fewer, or create another cluster"
            } else {
                "use a larger range, or fewer workers"
            }
        );
        findings.add(
            Finding::deny(Fault::Invalid, SIZE, POD, message)
                .measuring(i128::try_from(replicas.saturating_sub(nodes)).unwrap_or(i128::MAX)),
        );
    }
}

/// A cluster gets its load balancer addresses in one piece of one pool.
fn check_pool_size(case: &Case<'_, TenantCluster>, network: &ProviderNetwork, findings: &mut Findings) {
    const PATH: &str = "spec.networking.lbPoolSize";
    let wanted = case.object.spec.networking.lb_pool_size.and_then(|size| u128::try_from(size).ok());
    let Some(wanted) = wanted else { return };
    let places = network
        .pool_refs
        .iter()
        .map(|pool| NsRef { name: pool.name.clone(), namespace: SYSTEM_NAMESPACE.to_owned() });
    let places: Vec<NsRef> = places.collect();
    let mut pools = Vec::new();
    for at in &places {
        match case.facts.pool(at) {
            Lookup::Found(pool) => pools.push(pool),
            Lookup::Absent => {}
            // Said below, and one that nobody knows of may be large enough.
            Lookup::Unknown => return,
        }
    }
    let largest = pools.into_iter().filter_map(|pool| handed_out(pool).largest());
    let Some(largest) = largest.max_by_key(|range| range.size().unwrap_or(u128::MAX)) else { return };
    if !largest.has_at_least(wanted) {
        let most = largest.size().unwrap_or(u128::MAX);
        let message = format!(
            "`{wanted}` is more than the provider's pools hand out in one piece; write at most {most}, or ask the platform's \
             administrators for a larger pool"
        );
        let finding = Finding::deny(Fault::Invalid, SIZE, PATH, message)
            .measuring(i128::try_from(wanted).unwrap_or(i128::MAX));
        let finding = case.provider_fact().into_iter().fold(finding, Finding::resting_on);
        findings.add(places.into_iter().map(FactKey::Pool).fold(finding, Finding::resting_on));
    }
}

/// Where the provider hands out addresses, nodes and load balancers live in its pools.
fn check_provider_pools(
    case: &Case<'_, TenantCluster>,
    pods: Option<Cidr>,
    services: Option<Cidr>,
    findings: &mut Findings,
) {
    let Some(provider) = case.provider() else { return };
    let network = &provider.spec.network;
    if network.mode() != NetworkMode::Ipam {
        return;
    }
    if network.pool_refs.is_empty() {
        let message = format!(
            "the ProviderConfig `{}` allocates addresses but names no NetworkPool; ask the platform's administrators to add \
             one to `spec.network.poolRefs`",
            super::name_of(&provider.metadata)
        );
        let finding = Finding::deny(Fault::Invalid, NO_POOLS, "spec.providerConfigRef", message);
        findings.add(case.provider_fact().into_iter().fold(finding, Finding::resting_on));
    }
    check_pool_size(case, network, findings);
    for pool_ref in &network.pool_refs {
        let at = NsRef { name: pool_ref.name.clone(), namespace: SYSTEM_NAMESPACE.to_owned() };
        let pool = match case.facts.pool(&at) {
            Lookup::Found(pool) => pool,
            // That there is none is said where the ProviderConfig is written.
            Lookup::Absent => continue,
            Lookup::Unknown => {
                findings.unknown("spec.providerConfigRef", FactKey::Pool(at));
                continue;
            }
        };
        let Ok(range) = pool.spec.cidr.parse::<Cidr>() else { continue };
        for (path, own) in [(POD, pods), (SERVICE, services)] {
            if let Some(own) = own.filter(|own| own.overlaps(range)) {
                let other = format!("NetworkPool `{}` with", pool_ref.name);
                let message = overlap(own.into(), &other, range.into());
                findings.add(
                    Finding::deny(Fault::Invalid, OVERLAP, path, message)
                        .resting_on(FactKey::Pool(at.clone())),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests;

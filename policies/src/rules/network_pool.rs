//! A NetworkPool is a range of its own, divided without holes in the logic, and never taken from under its users.
//!
//! Fields: `spec.cidr` (canonical; may grow, not shrink; apart from every other pool), `spec.reserved[].cidr` (inside the
//! pool), `spec.tenantAllocation.ranges` or `start`/`end` (inside the pool, ascending, apart from each other, not cut in two by
//! a reserved part), at least one address that is not reserved, at most 2^20 addresses, which is what the allocator keeps track of. Addresses that clusters hold stay
//! inside what the pool hands out. In use, the pool cannot be deleted.

use butler_api::NetworkPool;
use butler_api::address::{AddressRange, Cidr, RangeSet};
use butler_api::ip_allocation::AllocationPhase;
use butler_api::reference::NsRef;
use butler_api::wire::given;

use super::{Case, canonical_cidr, listed, name_of, place_of};
use crate::facts::{FactKey, Facts};
use crate::finding::{Fault, Finding, Findings};
use crate::review::Review;

/// The text is not a range, or not in its one spelling.
const NOT_A_RANGE: &str = "NotARange";
/// A part lies outside of the pool.
const OUTSIDE: &str = "Outside";
/// Two ranges share addresses, or are out of order.
const OVERLAP: &str = "Overlap";
/// The pool has more addresses than can be kept track of.
const TOO_LARGE: &str = "TooLarge";
/// Nothing is left to hand out.
const NOTHING_LEFT: &str = "NothingLeft";
/// The pool shrinks.
const SHRINKS: &str = "Shrinks";
/// Addresses that clusters hold would no longer be handed out.
const IN_USE: &str = "InUse";

/// The allocator keeps track of this many addresses at most.
const MOST_ADDRESSES: u128 = 1 << 20;

pub(super) fn check(case: &Case<'_, NetworkPool>, findings: &mut Findings) {
    let spec = &case.object.spec;
    let cidr = match canonical_cidr(&spec.cidr) {
        Ok(cidr) => cidr,
        Err(message) => return findings.invalid(NOT_A_RANGE, "spec.cidr", message),
    };
    let reserved = check_reserved(case.object, cidr, findings);
    let ranges = check_ranges(case.object, cidr, &reserved, findings);
    let spans: Vec<AddressRange> = if ranges.is_empty() { vec![cidr.into()] } else { ranges };
    if spans.iter().any(|span| span.has_at_least(MOST_ADDRESSES + 1)) {
        let message = format!(
            "`{cidr}` hands out more than {MOST_ADDRESSES} addresses in one piece, which nobody can keep track of; use \
             `spec.tenantAllocation.ranges` to hand out less"
        );
        findings.invalid(TOO_LARGE, "spec.cidr", message);
    }
    let kept: RangeSet = reserved.iter().map(|part| AddressRange::from(*part)).collect();
    if spans.iter().copied().collect::<RangeSet>().subtract(&kept).is_empty() {
        let message =
            "every address that could be handed out is reserved; reserve less, or hand out other addresses";
        findings.invalid(NOTHING_LEFT, "spec.reserved", message);
    }
    check_others(case, cidr, findings);
    if let Some(old) = case.old()
        && let Ok(before) = old.spec.cidr.parse::<Cidr>()
        && !cidr.contains_cidr(before)
    {
        let message = format!(
            "`{cidr}` leaves out addresses of `{before}`, and a pool only grows; keep those in, or create another pool"
        );
        findings.forbidden(SHRINKS, "spec.cidr", message);
    }
    // Also of a pool as it stands: an update that leaves such addresses as they are must not be blamed for them.
    if !case.is_create() {
        check_held(case, &spans, &reserved, findings);
    }
}

/// The addresses that clusters can get. What is not well formed hands out nothing.
pub(super) fn handed_out(pool: &NetworkPool) -> RangeSet {
    let ranges = pool.spec.tenant_allocation.ranges();
    let spans: RangeSet = if ranges.is_empty() {
        pool.spec.cidr.parse::<Cidr>().ok().map(AddressRange::from).into_iter().collect()
    } else {
        ranges.iter().filter_map(|span| span.range().ok()).collect()
    };
    let reserved = pool.spec.reserved.iter().filter_map(|part| part.cidr.parse::<Cidr>().ok());
    spans.subtract(&reserved.map(AddressRange::from).collect())
}

fn check_reserved(pool: &NetworkPool, cidr: Cidr, findings: &mut Findings) -> Vec<Cidr> {
    let mut parts = Vec::new();
    for (place, part) in pool.spec.reserved.iter().enumerate() {
        let path = format!("spec.reserved[{place}].cidr");
        match canonical_cidr(&part.cidr) {
            Ok(part) if cidr.contains_cidr(part) => parts.push(part),
            Ok(part) => {
                let message = format!("`{part}` is not inside of the pool `{cidr}`; reserve a part of it");
                findings.invalid(OUTSIDE, path, message);
            }
            Err(message) => findings.invalid(NOT_A_RANGE, path, message),
        }
    }
    parts
}

fn check_ranges(
    pool: &NetworkPool,
    cidr: Cidr,
    reserved: &[Cidr],
    findings: &mut Findings,
) -> Vec<AddressRange> {
    let allocation = &pool.spec.tenant_allocation;
    let older = allocation.ranges.is_empty();
    if !older && (given(&allocation.start).is_some() || given(&allocation.end).is_some()) {
        let message = "is not read beside `spec.tenantAllocation.ranges`; remove `start` and `end`";
        findings.invalid(OVERLAP, "spec.tenantAllocation.start", message);
    }
    match (given(&allocation.start), given(&allocation.end)) {
        (Some(_), None) if older => {
            let message = "is missing beside `start`; write the last address to hand out";
            findings.add(Finding::deny(Fault::Required, NOT_A_RANGE, "spec.tenantAllocation.end", message));
            return Vec::new();
        }
        (None, Some(_)) if older => {
            let message = "is missing beside `end`; write the first address to hand out";
            findings.add(Finding::deny(Fault::Required, NOT_A_RANGE, "spec.tenantAllocation.start", message));
            return Vec::new();
        }
        _ => {}
    }
    let mut ranges: Vec<AddressRange> = Vec::new();
    for (place, span) in allocation.ranges().iter().enumerate() {
        let path = if older {
            "spec.tenantAllocation".to_owned()
        } else {
            format!("spec.tenantAllocation.ranges[{place}]")
        };
        let range = match span.range() {
            Ok(range) => range,
            Err(error) => {
                findings.invalid(NOT_A_RANGE, path, error.to_string());
                continue;
            }
        };
        if !AddressRange::from(cidr).contains(range) {
            let message = format!("`{range}` is not inside of the pool `{cidr}`; hand out a part of it");
            findings.invalid(OUTSIDE, path, message);
            continue;
        }
        if let Some(before) = ranges.last()
            && (before.overlaps(range) || *before > range)
        {
            let message = format!(
                "`{range}` does not come after `{before}`; list ranges in ascending order, each address once"
            );
            findings.invalid(OVERLAP, path, message);
            continue;
        }
        for part in reserved {
            let shared = range.intersect(*part);
            if shared.is_some_and(|shared| shared != AddressRange::from(*part)) {
                let message =
                    format!("the reserved part `{part}` lies half in `{range}`; move one of the two");
                findings.invalid(OVERLAP, path.clone(), message);
            }
        }
        ranges.push(range);
    }
    ranges
}

fn check_others(case: &Case<'_, NetworkPool>, cidr: Cidr, findings: &mut Findings) {
    let own = &case.object.metadata;
    let mut others: Vec<(&str, Cidr)> = case
        .facts
        .pools()
        .filter(|other| (&other.metadata.name, &other.metadata.namespace) != (&own.name, &own.namespace))
        .filter_map(|other| Some((name_of(&other.metadata), other.spec.cidr.parse::<Cidr>().ok()?)))
        .filter(|(_, other)| other.overlaps(cidr))
        .collect();
    others.sort_unstable();
    if let Some((name, other)) = others.first() {
        let message = format!(
            "`{cidr}` overlaps `{other}` of the NetworkPool `{name}`, so that two clusters could get one address; choose a range apart \
             from it"
        );
        findings.invalid(OVERLAP, "spec.cidr", message);
    }
}

fn check_held(
    case: &Case<'_, NetworkPool>,
    spans: &[AddressRange],
    reserved: &[Cidr],
    findings: &mut Findings,
) {
    let mut outside: Vec<String> = case
        .facts
        .allocations_of_pool(&place(case.object))
        .filter_map(|allocation| {
            let status = allocation.status.as_ref()?;
            let held =
                AddressRange::parse_ends(status.start_address.as_deref()?, status.end_address.as_deref()?)
                    .ok()?;
            let handed_out = spans.iter().any(|span| span.contains(held));
            let kept = reserved.iter().any(|part| held.overlaps(*part));
            let is_held = status.phase == Some(AllocationPhase::Allocated);
            (is_held && (!handed_out || kept)).then(|| name_of(&allocation.metadata).to_owned())
        })
        .collect();
    outside.sort_unstable();
    if !outside.is_empty() {
        let message = format!(
            "addresses of {} would no longer be handed out although clusters hold them; leave them in, or delete those \
             clusters first",
            listed(outside.iter().map(String::as_str))
        );
        let finding = Finding::deny(Fault::Forbidden, IN_USE, "spec.tenantAllocation", message);
        findings.add(finding.measuring(i128::try_from(outside.len()).unwrap_or(i128::MAX)));
    }
}

fn place(pool: &NetworkPool) -> NsRef {
    place_of(&pool.metadata)
}

/// Keeps a pool from being deleted while clusters hold its addresses or a provider allocates from it.
pub(super) fn protect(review: &Review<'_>, facts: &Facts, findings: &mut Findings) {
    let at = NsRef { name: review.name.to_string(), namespace: review.namespace.to_string() };
    let held = facts.allocations_of_pool(&at).filter(|allocation| {
        allocation.status.as_ref().is_none_or(|status| status.phase != Some(AllocationPhase::Released))
    });
    let mut held: Vec<(&str, FactKey)> = held
        .map(|allocation| {
            let name = name_of(&allocation.metadata);
            (name, FactKey::Allocation(NsRef { name: name.to_owned(), namespace: at.namespace.clone() }))
        })
        .collect();
    held.sort();
    if !held.is_empty() {
        let names = listed(held.iter().map(|(name, _)| *name));
        let message = format!("clusters hold addresses of it ({names}); delete those clusters first");
        let finding = Finding::deny(Fault::Forbidden, IN_USE, "metadata.name", message);
        findings.add(held.into_iter().map(|(_, key)| key).fold(finding, Finding::resting_on));
    }
    let mut providers: Vec<(&str, FactKey)> = facts
        .providers_of_pool(&at.name)
        .filter(|provider| provider.metadata.deletion_timestamp.is_none())
        .map(|provider| {
            let name = name_of(&provider.metadata);
            let namespace = provider.metadata.namespace.clone().unwrap_or_default();
            (name, FactKey::Provider(NsRef { name: name.to_owned(), namespace }))
        })
        .collect();
    providers.sort();
    if !providers.is_empty() {
        let names = listed(providers.iter().map(|(name, _)| *name));
        let message = format!(
            "ProviderConfigs allocate from it ({names}); remove it from their `spec.network.poolRefs` first"
        );
        let finding = Finding::deny(Fault::Forbidden, IN_USE, "metadata.name", message);
        findings.add(providers.into_iter().map(|(_, key)| key).fold(finding, Finding::resting_on));
    }
}

#[cfg(test)]
mod tests;

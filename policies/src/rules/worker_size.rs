//! Worker machines have a size that can exist.
//!
//! Fields: `spec.workers.replicas` (1 to 5000, the number of nodes that Kubernetes itself is tested with),
//! `spec.workers.machineTemplate.cpu` (1 to 1024), `.memory` (1Gi to 64Ti) and `.diskSize` (10Gi to 1Pi), both in whole
//! bytes. Smaller machines are created and then never become nodes; larger ones are built by nobody, so such a number is a slip
//! of the unit.

use butler_api::TenantCluster;
use butler_api::quantity::{Amount, Quantity};

use super::Case;
use crate::finding::{Fault, Finding, Findings};

/// The most nodes that Kubernetes is tested with.
const MOST_NODES: i32 = 5000;
const GIB: i64 = 1 << 30;
/// More processor cores than any machine that is sold has.
const MOST_CPU: i32 = 1024;
const LEAST_MEMORY: Amount = Amount::from_units(GIB);
const MOST_MEMORY: Amount = Amount::from_units(64 * 1024 * GIB);
const LEAST_DISK: Amount = Amount::from_units(10 * GIB);
const MOST_DISK: Amount = Amount::from_units(1024 * 1024 * GIB);

/// There is no number of workers and no default for it.
const REPLICAS_REQUIRED: &str = "ReplicasRequired";
/// The value is below or above what is possible.
const OUT_OF_RANGE: &str = "OutOfRange";
/// The text is not an amount.
const NOT_A_QUANTITY: &str = "NotAQuantity";

pub(super) fn check(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    const REPLICAS: &str = "spec.workers.replicas";
    let workers = case.object.spec.workers.as_ref();
    match workers.and_then(|workers| workers.replicas) {
        None => {
            let message =
                "there is no default for it here; write how many machines you want, for example `3`";
            findings.add(Finding::deny(Fault::Required, REPLICAS_REQUIRED, REPLICAS, message));
        }
        Some(replicas) if replicas < 1 => {
            let message = format!(
                "`{replicas}` is too few, because a cluster without workers runs nothing; write at least 1, or delete the \
                 cluster"
            );
            let finding = Finding::deny(Fault::Invalid, OUT_OF_RANGE, REPLICAS, message);
            findings.add(finding.measuring(-i128::from(replicas)));
        }
        Some(replicas) if replicas > MOST_NODES => {
            let message = format!(
                "`{replicas}` is too many for one cluster; write at most {MOST_NODES}, or create several clusters"
            );
            findings.add(Finding::deny(Fault::Invalid, OUT_OF_RANGE, REPLICAS, message).measuring(replicas));
        }
        Some(_) => {}
    }
    let Some(template) = workers.map(|workers| &workers.machine_template) else { return };
    if let Some(cpu) = template.cpu.filter(|cpu| *cpu < 1) {
        let message = format!("`{cpu}` is too few; write at least 1");
        findings.invalid(OUT_OF_RANGE, "spec.workers.machineTemplate.cpu", message);
    }
    if let Some(cpu) = template.cpu.filter(|cpu| *cpu > MOST_CPU) {
        let message = format!("`{cpu}` is more than any machine has; write at most {MOST_CPU}");
        let finding =
            Finding::deny(Fault::Invalid, OUT_OF_RANGE, "spec.workers.machineTemplate.cpu", message);
        findings.add(finding.measuring(cpu));
    }
    let memory = (LEAST_MEMORY, MOST_MEMORY);
    check_bytes("spec.workers.machineTemplate.memory", template.memory(), memory, findings);
    let disk = (LEAST_DISK, MOST_DISK);
    check_bytes("spec.workers.machineTemplate.diskSize", template.disk_size(), disk, findings);
}

fn check_bytes(
    path: &'static str,
    quantity: Option<&Quantity>,
    (least, most): (Amount, Amount),
    findings: &mut Findings,
) {
    let Some(quantity) = quantity else { return };
    match quantity.amount() {
        Err(error) => findings.invalid(NOT_A_QUANTITY, path, error.to_string()),
        Ok(amount) if amount < least => {
            let message = format!("`{quantity}` is too little; write at least `{}`", least.bytes());
            findings.invalid(OUT_OF_RANGE, path, message);
        }
        Ok(amount) if amount > most => {
            let message =
                format!("`{quantity}` is more than any machine has; write at most `{}`", most.bytes());
            let finding = Finding::deny(Fault::Invalid, OUT_OF_RANGE, path, message);
            findings.add(finding.measuring(amount.ceil_units()));
        }
        Ok(amount) if amount.to_units_exact().is_none() => {
            let message =
                format!("`{quantity}` has a fraction of a byte; write whole bytes, for example `16Gi`");
            findings.invalid(NOT_A_QUANTITY, path, message);
        }
        Ok(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::fixtures::*;

    #[test]
    fn machines_have_a_size_that_can_exist() {
        let template = |field: &str, value: Value| json!({"workers": {"machineTemplate": {field: value}}});
        let table: [(Value, &[&str]); 20] = [
            (json!({}), &[]),
            (json!({"workers": {"replicas": 1}}), &[]),
            (json!({"workers": {"replicas": 5000}}), &[]),
            (
                json!({"workers": {"replicas": null}}),
                &[
                    "spec.workers.replicas: there is no default for it here; write how many machines you want, for example \
                   `3`",
                ],
            ),
            (
                json!({"workers": {"replicas": 0}}),
                &[
                    "spec.workers.replicas: `0` is too few, because a cluster without workers runs nothing; write at least \
                   1, or delete the cluster",
                ],
            ),
            (
                json!({"workers": {"replicas": 5001}}),
                &[
                    "spec.workers.replicas: `5001` is too many for one cluster; write at most 5000, or create several \
                   clusters",
                ],
            ),
            (
                template("cpu", json!(0)),
                &["spec.workers.machineTemplate.cpu: `0` is too few; write at least 1"],
            ),
            (template("cpu", json!(1024)), &[]),
            (
                template("cpu", json!(1025)),
                &[
                    "spec.workers.machineTemplate.cpu: `1025` is more than any machine has; write at most 1024",
                ],
            ),
            (template("memory", json!("64Ti")), &[]),
            (
                template("memory", json!("16Pi")),
                &[
                    "spec.workers.machineTemplate.memory: `16Pi` is more than any machine has; write at most `64Ti`",
                ],
            ),
            (template("diskSize", json!("1Pi")), &[]),
            (
                template("diskSize", json!("1025Ti")),
                &[
                    "spec.workers.machineTemplate.diskSize: `1025Ti` is more than any machine has; write at most `1Pi`",
                ],
            ),
            (template("memory", json!("1Gi")), &[]),
            (template("memory", json!("0")), &[]),
            (
                template("memory", json!("512Mi")),
                &["spec.workers.machineTemplate.memory: `512Mi` is too little; write at least `1Gi`"],
            ),
            (
                template("memory", json!("-16Gi")),
                &["spec.workers.machineTemplate.memory: `-16Gi` is too little; write at least `1Gi`"],
            ),
            (
                template("memory", json!("2000000000.5")),
                &[
                    "spec.workers.machineTemplate.memory: `2000000000.5` has a fraction of a byte; write whole bytes, for \
                   example `16Gi`",
                ],
            ),
            (
                template("diskSize", json!("9Gi")),
                &["spec.workers.machineTemplate.diskSize: `9Gi` is too little; write at least `10Gi`"],
            ),
            (
                template("diskSize", json!("big")),
                &[
                    "spec.workers.machineTemplate.diskSize: `big` is not a quantity; write a number with an optional suffix, \
                   such as `4`, `500m` or `16Gi`",
                ],
            ),
        ];
        for (spec, expected) in table {
            assert_eq!(on_create(check, &cluster(json!({"spec": spec})), &facts()), expected, "{spec}");
        }
    }
}

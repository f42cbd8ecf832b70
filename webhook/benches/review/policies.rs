//! Ten policies as platform teams write them, all of which hold, and as many others as wanted that are about something
//! else.

use butler_policies::policy::{PolicySet, SourceFile};

/// How many are about the review.
pub(crate) const MATCHING: usize = 10;
/// How many there are at most.
pub(crate) const MANY: usize = 1_000;

/// Variables, if any, and validations.
const WRITTEN: [(&str, &str, &[&str]); MATCHING] = [
    (
        "cost-centre",
        "variables: [{name: centre, expression: \"object.metadata.?labels[?'example.org/cost-centre'].orValue('')\"}]",
        &["variables.centre.matches('^[0-9]{4}$')"],
    ),
    (
        "contact",
        "",
        &[
            "object.metadata.?annotations[?'example.org/contact'].orValue('').endsWith('@example.org')",
            "isURL(object.metadata.annotations['example.org/runbook'])",
        ],
    ),
    (
        "names",
        "",
        &[
            "!format.dns1123Label().validate(object.metadata.name).hasValue()",
            "object.metadata.name.size() <= 30",
        ],
    ),
    (
        "end-of-life",
        "variables: [{name: version, expression: \"semver(object.spec.kubernetesVersion, true)\"}]",
        &["variables.version.major() == 1 && variables.version.minor() >= 30"],
    ),
    (
        "workers",
        "",
        &[
            "object.spec.?workers.?replicas.orValue(3) >= 3",
            "object.spec.workers.machineTemplate.cpu in [2, 4, 8, 16]",
        ],
    ),
    (
        "memory",
        "variables: [{name: memory, expression: \"quantity(object.spec.workers.machineTemplate.memory)\"}]",
        &[
            "variables.memory.compareTo(quantity('64Gi')) <= 0 && variables.memory.isGreaterThan(quantity('4Gi'))",
        ],
    ),
    (
        "ranges",
        "",
        &[
            "cidr('10.0.0.0/8').containsCIDR(object.spec.networking.podCIDR)",
            "!cidr(object.spec.networking.podCIDR).containsIP(object.spec.networking.loadBalancerPool.start)",
        ],
    ),
    (
        "exposure",
        "",
        &[
            "object.spec.controlPlane.serviceType in ['LoadBalancer', 'ClusterIP']",
            "object.spec.controlPlane.certSANs.all(name, name.endsWith('.example.org'))",
        ],
    ),
    (
        "addons",
        "variables: [{name: addons, expression: \"object.spec.?addons.orValue({})\"}]",
        &[
            "['cni', 'storage', 'ingress'].all(name, name in variables.addons && has(variables.addons[name].version))",
        ],
    ),
    (
        "callers",
        "",
        &[
            "request.userInfo.groups.exists(group, group.startsWith('oidc:'))",
            "request.operation != 'UPDATE' || oldObject.metadata.name == object.metadata.name",
        ],
    ),
];

/// What those are about that the review is not.
const ELSEWHERE: [(&str, &str, &str); 5] = [
    ("butler.butlerlabs.dev", "tenantaddons", "CREATE, UPDATE"),
    ("butler.butlerlabs.dev", "teams", "CREATE, UPDATE"),
    ("butler.butlerlabs.dev", "networkpools", "CREATE, UPDATE"),
    ("butler.butlerlabs.dev", "tenantclusters", "DELETE"),
    ("apps", "deployments", "CREATE, UPDATE"),
];

/// The policies, and as many more as make it that many.
pub(crate) fn set(count: usize) -> PolicySet {
    let mut files: Vec<SourceFile> = Vec::new();
    for number in 0..count {
        let (name, variables, validations) = WRITTEN[number % MATCHING];
        let (group, resource, operations) = match number < MATCHING {
            true => ("butler.butlerlabs.dev", "tenantclusters", "CREATE, UPDATE"),
            false => ELSEWHERE[number % ELSEWHERE.len()],
        };
        let validations: String = validations
            .iter()
            .map(|one| format!("  - expression: \"{one}\"\n    message: not so\n"))
            .collect();
        let text = format!(
            "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\n\
             metadata: {{name: {name}-{number}}}\nspec:\n  matchConstraints:\n    resourceRules:\n    \
             - {{apiGroups: [{group}], apiVersions: ['*'], operations: [{operations}], resources: [{resource}]}}\n  \
             {variables}\n  validations:\n{validations}---\napiVersion: admissionregistration.k8s.io/v1\n\
             kind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: {name}-{number}}}\n\
             spec: {{policyName: {name}-{number}, validationActions: [Deny]}}\n"
        );
        files.push(SourceFile { path: format!("{number:04}.yaml"), text });
    }
    PolicySet::load(&files).map(|loaded| loaded.set).unwrap_or_else(|problems| {
        let rendered: Vec<String> = problems.iter().take(3).map(|problem| problem.render(&files)).collect();
        panic!("{}", rendered.join("\n"))
    })
}

//! What else is worth knowing of expressions: whether they fit the kinds that their policy is about, and what they can
//! cost. Nothing of it keeps a policy from being loaded, in Kubernetes neither.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::compile::declarations;
use super::fields::Written;
use super::matching::one_or_all;
use super::problem::Problems;
use super::read::RawPolicy;
use crate::cel::{Composition, Declarations, Diagnostic, EXPRESSION_LIMIT, POLICY_LIMIT, Program, Type};
use crate::review::Kind;

/// The schemas of all kinds that are judged.
static SCHEMAS: LazyLock<Vec<(Kind, serde_json::Value)>> = LazyLock::new(|| {
    let definitions = butler_api::crd::all();
    let schema = |kind: &Kind| {
        let definition = definitions.iter().find(|definition| definition.spec.names.kind == kind.as_str())?;
        let schema = definition.spec.versions.first()?.schema.as_ref()?.open_api_v3_schema.as_ref()?;
        Some((*kind, serde_json::to_value(schema).ok()?))
    };
    Kind::ALL.iter().filter_map(schema).collect()
});

/// What each expression comes to for each kind, by the place of the expression in the policy.
type Results = BTreeMap<usize, Vec<(Kind, Result<u64, Vec<Diagnostic>>)>>;

/// Warns of expressions that fit none of the kinds that a policy is about, or that can cost more than they may. Gives what
/// all of them can cost together, if the policy is about any kind that is known.
pub(crate) fn inspect(policy: &RawPolicy, source: &str, problems: &mut Problems) -> Option<u64> {
    let expressions = expressions(policy);
    let mut results = Results::new();
    for (kind, schema) in SCHEMAS.iter().filter(|(kind, _)| is_about(policy, *kind)) {
        let plain = declarations(policy.param_kind.is_some());
        // Of one type, so that what was there can be compared with what is to be.
        let plain = plain.described("object", schema).alike("oldObject", "object");
        let (composed, mut failed) = variables(policy, &plain);
        let mutating = composed.clone().mutation();
        for (place, (written, sees)) in expressions.iter().enumerate() {
            let seen = match sees {
                Sees::Conditions => &plain,
                Sees::Variables => &composed,
                Sees::Mutations => &mutating,
            };
            let result = match failed.remove(written.path.as_str()) {
                Some(diagnostics) => Err(diagnostics),
                None => Program::estimate(&written.text, seen),
            };
            results.entry(place).or_default().push((*kind, result));
        }
    }
    let mut together = None;
    for (place, results) in results {
        if let Some((written, _)) = expressions.get(place) {
            tell(written, &results, source, problems);
        }
        let most = results.iter().filter_map(|(_, result)| result.as_ref().ok()).max();
        // One that would cost more is stopped there.
        let most = most.copied().unwrap_or(0).min(EXPRESSION_LIMIT);
        together = Some(together.unwrap_or(0) + most);
    }
    if let Some(together) = together.filter(|together| *together > POLICY_LIMIT) {
        let message =
            format!("all expressions together can cost up to {together}; {POLICY_LIMIT} are allowed");
        let help = "make two policies of it, or look at less";
        problems.warn(&policy.name.place, "cost", message, help);
    }
    together
}

/// What an expression may use.
#[derive(Clone, Copy)]
enum Sees {
    Conditions,
    Variables,
    Mutations,
}

fn expressions(policy: &RawPolicy) -> Vec<(&Written, Sees)> {
    let conditions = policy.conditions.iter().map(|written| (written, Sees::Conditions));
    let variables = policy.variables.iter().map(|(_, written)| (written, Sees::Variables));
    let validations = policy.validations.iter().flat_map(|validation| {
        let message = validation.message_expression.as_ref();
        [Some(&validation.expression), message]
            .into_iter()
            .flatten()
            .map(|written| (written, Sees::Variables))
    });
    let annotations = policy.audit_annotations.iter().map(|(_, written)| (written, Sees::Variables));
    let mutations = policy.mutations.iter().map(|(_, written)| (written, Sees::Mutations));
    conditions.chain(variables).chain(validations).chain(annotations).chain(mutations).collect()
}

/// The declarations with the policy's variables; those that do not fit are known to be something.
fn variables<'p>(
    policy: &'p RawPolicy,
    plain: &Declarations,
) -> (Declarations, BTreeMap<&'p str, Vec<Diagnostic>>) {
    let mut composed = plain.clone().composed();
    let mut composition = Composition::default();
    let mut failed = BTreeMap::new();
    for (name, expression) in &policy.variables {
        if let Err(diagnostics) = composition.add(&name.text, &expression.text, &mut composed) {
            composed.add_field("kubernetes.variables", &name.text, Type::Dyn);
            failed.insert(expression.path.as_str(), diagnostics);
        }
    }
    (composed, failed)
}

fn is_about(policy: &RawPolicy, kind: Kind) -> bool {
    policy.matching.rules.iter().any(|rule| {
        one_or_all(&rule.groups, butler_api::GROUP)
            && one_or_all(&rule.versions, butler_api::VERSION)
            && rule.resources.iter().any(|(resource, subresource)| {
                (resource == "*" || resource == kind.resource()) && matches!(subresource.as_str(), "" | "*")
            })
    })
}

fn tell(
    written: &Written,
    results: &[(Kind, Result<u64, Vec<Diagnostic>>)],
    source: &str,
    problems: &mut Problems,
) {
    let kinds: Vec<&str> = results.iter().map(|(kind, _)| kind.as_str()).collect();
    let most = results.iter().filter_map(|(_, result)| result.as_ref().ok()).max();
    let first = results.iter().find_map(|(_, result)| result.as_ref().err());
    match (most, first) {
        // It may look at the kind before it looks at what only that kind has.
        (None, Some(diagnostics)) => {
            for diagnostic in diagnostics {
                let span = written.at_fault(diagnostic);
                let place = written.locate(source, &span);
                let message =
                    format!("{}: {} in a {}", written.path, diagnostic.message, kinds.join(" or a "));
                problems.warn(
                    &place,
                    "schema",
                    message,
                    "the expression would be an error for such an object",
                );
            }
        }
        (Some(most), _) if *most > EXPRESSION_LIMIT => {
            let place = written.locate(source, &(0..written.text.trim_end().len()));
            let most = if *most >= u64::MAX / 2 { "any amount".to_owned() } else { format!("up to {most}") };
            let message = format!("{}: can cost {most}; {EXPRESSION_LIMIT} are allowed", written.path);
            let help =
                "with the largest object that a request can have; look at less of it, or at fewer items";
            problems.warn(&place, "cost", message, help);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::PolicySet;
    use crate::policy::fixtures::{FILE, files, told, tweaked};

    fn warnings(text: &str) -> Vec<String> {
        let files = files(text);
        told(&PolicySet::check(&files).unwrap().problems, &files)
    }

    #[test]
    fn an_expression_that_fits_no_kind_is_told() {
        assert_eq!(warnings(FILE), Vec::<String>::new());
        let typo = tweaked(FILE, "spec.workers.replicas <= 5", "spec.worker.replicas <= 5");
        let expected = "13:29 warning schema: spec.validations[0].expression: undefined field 'worker' in a TenantCluster (the expression would be an error for such an object)";
        assert_eq!(warnings(&typo), [expected]);
        let text = tweaked(FILE, "replicas <= 5", "replicas == 'five'");
        assert_eq!(warnings(&text).len(), 1, "{:?}", warnings(&text));
        let wide = tweaked(&typo, "[tenantclusters]", "[tenantclusters, teams]");
        assert!(warnings(&wide)[0].contains("in a TenantCluster or a Team"), "{:?}", warnings(&wide));
    }

    #[test]
    fn parts_of_the_old_object_can_be_compared_with_those_of_the_new_one() {
        for expression in [
            "oldObject == null || object.spec.workers != oldObject.spec.workers",
            "object.?spec == oldObject.?spec",
        ] {
            let text = tweaked(FILE, "object.spec.workers.replicas <= 5", &format!("'{expression}'"));
            assert_eq!(warnings(&text), Vec::<String>::new(), "{expression}");
        }
    }

    #[test]
    fn an_expression_that_can_cost_too_much_is_told() {
        let object =
            "object.spec.timeServers.all(a, object.spec.timeServers.all(b, a == b || a.contains(b)))";
        let text = tweaked(FILE, "object.spec.workers.replicas <= 5", object);
        let told = warnings(&text);
        assert!(
            told[0].starts_with("13:17 warning cost: spec.validations[0].expression: can cost "),
            "{told:?}"
        );
    }

    #[test]
    fn variables_have_types_too() {
        let variables = "  variables:\n  - {name: size, expression: object.spec.workers.replica}\n  - {name: kept, expression: object.spec.workers.replicas}\n  validations:";
        let text = tweaked(FILE, "  validations:", variables);
        let text = tweaked(
            &text,
            "object.spec.workers.replicas <= 5",
            "variables.size <= 5 && variables.kept == 'x'",
        );
        let told = warnings(&text);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("undefined field 'replica'"), "{told:?}");
    }
}

//! What a review is about, and as whom it is asked.

use butler_policies::review::{Kind, Operation};
use k8s_openapi::api::authorization::v1::ResourceAttributes;
use serde_json::Value;

use super::Subject;
use super::object::ReviewSpec;
use crate::service::Shared;
use crate::service::authenticate::User;
use crate::service::authorize::Attributes;
use crate::service::resources::Resource;
use crate::service::status::Refusal;
use crate::service::table::at;

/// Reads it from the objects of a review.
pub(super) fn read(resource: &Resource, namespace: &str, spec: &ReviewSpec) -> Result<Subject, Refusal> {
    let invalid = |field: &str, why: String| Refusal::invalid(resource.kind, field, &why);
    let (operation, has_object, has_old) = match spec.operation.as_str() {
        "CREATE" => (Operation::Create, true, false),
        "UPDATE" => (Operation::Update, true, true),
        "DELETE" => (Operation::Delete, false, true),
        other => {
            let why = format!("`{other}` is none of `CREATE`, `UPDATE` and `DELETE`");
            return Err(invalid("spec.operation", why));
        }
    };
    for (field, object, is_wanted) in
        [("spec.object", &spec.object, has_object), ("spec.oldObject", &spec.old_object, has_old)]
    {
        match (object, is_wanted) {
            (None, true) => return Err(invalid(field, format!("{} needs one", spec.operation))),
            (Some(_), false) => return Err(invalid(field, format!("{} has none", spec.operation))),
            (Some(object), true) if !object.is_object() => {
                return Err(invalid(field, "is no object".to_owned()));
            }
            _ => {}
        }
    }
    let (field, object) = match &spec.object {
        Some(object) => ("spec.object", object),
        None => ("spec.oldObject", spec.old_object.as_ref().unwrap_or(&Value::Null)),
    };
    let text = |place: &str| at(object, place).as_str().unwrap_or_default();
    let (api_version, kind) = (text("/apiVersion"), text("/kind"));
    let known = Kind::ALL.into_iter().find(|known| known.as_str() == kind);
    let is_ours = api_version == format!("{}/{}", butler_api::GROUP, butler_api::VERSION);
    let Some(known) = known.filter(|_| is_ours) else {
        let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
        let why = format!(
            "`{kind}` of `{api_version}` is not judged here; there are {} of `{}/{}`",
            kinds.join(", "),
            butler_api::GROUP,
            butler_api::VERSION
        );
        return Err(invalid(&format!("{field}.kind"), why));
    };
    if let Some(old) = spec.object.as_ref().and(spec.old_object.as_ref()) {
        for place in ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"] {
            if at(old, place) != at(object, place) {
                let path = place.replace('/', ".");
                let why = "is another one than that of `spec.object`".to_owned();
                return Err(invalid(&format!("spec.oldObject{path}"), why));
            }
        }
    }
    let place = place(resource, namespace, known, text("/metadata/namespace"));
    let namespace = place.map_err(|why| invalid(&format!("{field}.metadata.namespace"), why))?;
    Ok(Subject { kind: known, operation, namespace, name: text("/metadata/name").to_owned() })
}

/// Where the object is.
fn place(resource: &Resource, asked_in: &str, kind: Kind, written: &str) -> Result<String, String> {
    match (is_namespaced(kind), resource.is_namespaced) {
        (false, true) => Err(format!("a {} is in no namespace; create a Review", kind.as_str())),
        (false, false) => Ok(String::new()),
        (true, true) if written.is_empty() || written == asked_in => Ok(asked_in.to_owned()),
        (true, true) => Err(format!("`{written}` is another namespace than `{asked_in}`, which is asked in")),
        (true, false) if written.is_empty() => {
            Err(format!("a {} is in a namespace; write which", kind.as_str()))
        }
        (true, false) => Ok(written.to_owned()),
    }
}

fn is_namespaced(kind: Kind) -> bool {
    match kind {
        Kind::TenantCluster | Kind::TenantAddon | Kind::ProviderConfig | Kind::NetworkPool => true,
        Kind::Team | Kind::ButlerConfig | Kind::AddonDefinition | Kind::ClusterCreationPolicy => false,
    }
}

/// As whom it is asked: who asks, or somebody whom they may impersonate, by the same rights as `kubectl --as`.
pub(super) async fn asker(shared: &Shared, user: &User, spec: &ReviewSpec) -> Result<User, Refusal> {
    if spec.user.is_empty() && spec.groups.is_empty() {
        return Ok(user.clone());
    }
    if spec.user.is_empty() {
        return Err(Refusal::bad_request("spec.groups: are those of `spec.user`, which is not there"));
    }
    let impersonate = |resource: &str, namespace: Option<&str>, name: &str| ResourceAttributes {
        resource: Some(resource.to_owned()),
        verb: Some("impersonate".to_owned()),
        namespace: namespace.map(str::to_owned),
        name: Some(name.to_owned()),
        ..ResourceAttributes::default()
    };
    let account = spec.user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    let mut wanted = vec![match account {
        Some((namespace, name)) => impersonate("serviceaccounts", Some(namespace), name),
        None => impersonate("users", None, &spec.user),
    }];
    wanted.extend(spec.groups.iter().map(|group| impersonate("groups", None, group)));
    for attributes in &wanted {
        shared.authorizer.authorize(user, Attributes::Resource(attributes)).await?;
    }
    let mut groups = spec.groups.clone();
    if let (Some((namespace, _)), true) = (account, groups.is_empty()) {
        groups = vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
    }
    Ok(User::known(spec.user.clone(), groups))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{EVERYWHERE, LOCAL};
    use super::*;

    fn cluster(namespace: &str) -> Value {
        json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "TenantCluster",
            "metadata": { "name": "a", "namespace": namespace } })
    }

    fn team() -> Value {
        json!({ "apiVersion": "butler.butlerlabs.dev/v1alpha1", "kind": "Team", "metadata": { "name": "t" } })
    }

    fn spec(operation: &str, object: Option<Value>, old_object: Option<Value>) -> ReviewSpec {
        ReviewSpec {
            operation: operation.to_owned(),
            object,
            old_object,
            user: String::new(),
            groups: Vec::new(),
        }
    }

    #[test]
    fn a_local_review_is_about_its_namespace_and_any_other_about_any() {
        let read = |resource: &Resource, namespace: &str, object| {
            read(resource, namespace, &spec("CREATE", Some(object), None)).map(|subject| subject.namespace)
        };
        assert_eq!(read(&LOCAL, "team-a", cluster("team-a")), Ok("team-a".to_owned()));
        assert_eq!(read(&LOCAL, "team-a", cluster("")), Ok("team-a".to_owned()));
        assert_eq!(read(&EVERYWHERE, "", cluster("team-a")), Ok("team-a".to_owned()));
        assert_eq!(read(&EVERYWHERE, "", team()), Ok(String::new()));
        for (resource, namespace, object) in [
            (&LOCAL, "team-a", cluster("team-b")),
            (&LOCAL, "team-a", team()),
            (&EVERYWHERE, "", cluster("")),
        ] {
            assert_eq!(read(resource, namespace, object).unwrap_err().code.as_u16(), 422);
        }
    }

    #[test]
    fn each_operation_has_the_objects_that_it_needs_and_no_others() {
        let (new, old) = (|| Some(cluster("x")), || Some(cluster("x")));
        let cases = [
            ("CREATE", new(), None, true),
            ("CREATE", new(), old(), false),
            ("UPDATE", new(), old(), true),
            ("UPDATE", new(), None, false),
            ("DELETE", None, old(), true),
            ("DELETE", new(), old(), false),
            ("CONNECT", new(), None, false),
            ("CREATE", Some(json!("text")), None, false),
            ("UPDATE", new(), Some(cluster("y")), false),
            ("CREATE", Some(json!({ "apiVersion": "v1", "kind": "Pod" })), None, false),
        ];
        for (operation, object, old_object, is_good) in cases {
            let read = read(&EVERYWHERE, "", &spec(operation, object.clone(), old_object));
            assert_eq!(read.is_ok(), is_good, "{operation} {object:?}");
        }
    }
}

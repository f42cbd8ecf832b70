//! What a list or a watch may be asked for, and the list.

use std::ops::Bound;

use serde_json::{Value, json};

use super::asked::{Query, Target};
use super::collection::{Content, History, Stored, Version};
use super::selector::Selector;
use super::status::Refusal;

/// How many objects a page has at most, whatever is asked for, so that an answer stays small.
const LARGEST_PAGE: usize = 500;

/// What a list or watch is asked for, checked.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) namespace: String,
    pub(super) selector: Selector,
    /// Nothing if any will do.
    pub(super) version: Option<Version>,
    is_exact: bool,
    limit: Option<usize>,
    resume: Option<Continue>,
}

/// Where a list goes on: after that object, in that content.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Continue {
    version: Version,
    namespace: String,
    name: String,
}

impl Wanted {
    pub(super) fn read(target: &Target, query: &Query) -> Result<Self, Refusal> {
        let selector = Selector::read(query.get("fieldSelector"), query.get("labelSelector"))?;
        let version = match query.get("resourceVersion") {
            None | Some("0") => None,
            Some(text) => Some(text.parse().map_err(|_| {
                Refusal::bad_request(format!("resourceVersion: Invalid value: {text:?}: it is a number"))
            })?),
        };
        let is_exact = match query.get("resourceVersionMatch") {
            None | Some("NotOlderThan") => false,
            Some("Exact") => true,
            Some(other) => {
                let why =
                    format!("Unsupported value: {other:?}: supported values: \"Exact\", \"NotOlderThan\"");
                return Err(Refusal::invalid_options("resourceVersionMatch", &why));
            }
        };
        let has_match = query.get("resourceVersionMatch").is_some();
        let is_watch = target.verb == "watch";
        let initial = query.get("sendInitialEvents").is_some();
        if has_match && !is_watch && query.get("resourceVersion").is_none() {
            let why = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided";
            return Err(Refusal::invalid_options("resourceVersionMatch", why));
        }
        if is_exact && (version.is_none() || is_watch) {
            let why = "Forbidden: resourceVersionMatch \"Exact\" is forbidden for resourceVersion \"0\" and for watches";
            return Err(Refusal::invalid_options("resourceVersionMatch", why));
        }
        if is_watch && has_match != initial {
            let why = if initial {
                "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            } else {
                "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            };
            return Err(Refusal::invalid_options("resourceVersionMatch", why));
        }
        if initial && !is_watch {
            let why = "Forbidden: sendInitialEvents is forbidden for list";
            return Err(Refusal::invalid_options("sendInitialEvents", why));
        }
        let resume = match query.get("continue") {
            None => None,
            Some(_) if version.is_some() || has_match => {
                let why = "specifying resource version is not allowed when using continue";
                return Err(Refusal::bad_request(why));
            }
            Some(token) => Some(Continue::read(token)?),
        };
        let limit = match query.get("limit") {
            None | Some("0") => None,
            Some(text) => Some(text.parse().map_err(|_| {
                Refusal::bad_request(format!("limit: Invalid value: {text:?}: it is a number"))
            })?),
        };
        Ok(Self { namespace: target.namespace.clone(), selector, version, is_exact, limit, resume })
    }

    /// Whether an object is among those asked for.
    pub(super) fn has(&self, stored: &Stored) -> bool {
        let selected = stored.selected();
        (self.namespace.is_empty() || self.namespace == selected.namespace) && self.selector.selects(selected)
    }
}

/// A page of a list: its metadata and its objects.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) metadata: Value,
    pub(super) objects: Vec<Value>,
}

/// The list that is asked for.
pub(super) fn list(history: &History, wanted: &Wanted) -> Result<Page, Refusal> {
    let content = content(history, wanted)?;
    let start = match &wanted.resume {
        None => Bound::Unbounded,
        Some(resume) => Bound::Excluded((resume.namespace.clone(), resume.name.clone())),
    };
    let limit = wanted.limit.map_or(usize::MAX, |limit| limit.min(LARGEST_PAGE));
    let range = content.objects.range((start, Bound::Unbounded));
    let mut matching = range.map(|(_, stored)| stored).filter(|stored| wanted.has(stored));
    let page: Vec<_> = matching.by_ref().take(limit).collect();
    let left = matching.count();

    let mut metadata = json!({ "resourceVersion": content.version.to_string() });
    if let (Some(last), true, Some(fields)) = (page.last(), left > 0, metadata.as_object_mut()) {
        let selected = last.selected();
        let resume = Continue {
            version: content.version,
            namespace: selected.namespace.to_owned(),
            name: selected.name.to_owned(),
        };
        fields.insert("continue".to_owned(), resume.token().into());
        // As in Kubernetes: with a selector nobody is promised a number.
        if wanted.selector.is_empty() {
            fields.insert("remainingItemCount".to_owned(), left.into());
        }
    }
    Ok(Page { metadata, objects: page.iter().map(|stored| stored.at(content.version)).collect() })
}

/// The content that is to be listed. What is asked to be as new as a version that is not remembered may be older than
/// that, so nobody can promise it.
fn content<'h>(history: &'h History, wanted: &Wanted) -> Result<&'h Content, Refusal> {
    if let Some(resume) = &wanted.resume {
        return history.content(resume.version).map(AsRef::as_ref).ok_or_else(Refusal::list_expired);
    }
    match wanted.version {
        Some(version) if wanted.is_exact => {
            history.content(version).map(AsRef::as_ref).ok_or_else(|| Refusal::expired(&version.to_string()))
        }
        Some(version) if history.place(version).is_none() => Err(Refusal::expired(&version.to_string())),
        _ => Ok(history.now()),
    }
}

impl Continue {
    /// Of characters that a URL takes as they are. Nobody but us reads it.
    fn token(&self) -> String {
        format!("{}_{}_{}", self.version, self.namespace, self.name)
    }

    fn read(token: &str) -> Result<Self, Refusal> {
        let refusal = || Refusal::bad_request("continue key is not valid");
        let mut parts = token.splitn(3, '_');
        let (Some(version), Some(namespace), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(refusal());
        };
        let version = version.parse().map_err(|_| refusal())?;
        Ok(Self { version, namespace: namespace.to_owned(), name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::collection::Collection;
    use super::*;

    fn stored(name: &str, color: &str) -> Stored {
        Stored::new(json!({ "metadata": { "name": name, "labels": { "color": color } } }))
    }

    fn collection() -> Collection {
        let collection = Collection::new("things");
        collection.replace(["a", "b", "c", "d", "e"].map(|name| stored(name, "red")));
        collection
    }

    fn wanted(verb: &'static str, query: &str) -> Result<Wanted, Refusal> {
        let uri = format!("/x?{query}").parse().unwrap();
        let target = Target {
            verb,
            resource: "things".to_owned(),
            subresource: String::new(),
            namespace: String::new(),
            name: String::new(),
        };
        Wanted::read(&target, &Query::of(&uri))
    }

    fn listed(collection: &Collection, query: &str) -> Result<(Vec<String>, Value), Refusal> {
        let page = list(&collection.now(), &wanted("list", query)?)?;
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
        Ok((page.objects.iter().map(name).collect(), page.metadata))
    }

    #[test]
    fn pages_are_of_one_content_whatever_happens_between_them() {
        let collection = collection();
        let (first, metadata) = listed(&collection, "limit=2").unwrap();
        assert_eq!(
            (first, &metadata["remainingItemCount"]),
            (vec!["a".to_owned(), "b".to_owned()], &json!(3))
        );
        collection.replace([stored("a", "red"), stored("z", "red")]);
        let next = format!("limit=2&continue={}", metadata["continue"].as_str().unwrap());
        let (second, metadata_then) = listed(&collection, &next).unwrap();
        assert_eq!(second, ["c", "d"]);
        assert_eq!(metadata_then["resourceVersion"], metadata["resourceVersion"]);
        let last = format!("limit=2&continue={}", metadata_then["continue"].as_str().unwrap());
        let (third, metadata) = listed(&collection, &last).unwrap();
        assert_eq!((third, metadata.get("continue")), (vec!["e".to_owned()], None));
        for number in 0..20 {
            collection.replace([stored("a", &format!("{number}"))]);
        }
        assert_eq!(listed(&collection, &next).unwrap_err(), Refusal::list_expired());
        assert!(listed(&collection, "continue=x").is_err());
    }

    #[test]
    fn a_list_is_as_new_as_asked_for_or_expired() {
        let collection = collection();
        let old = collection.now().now().version;
        collection.replace([stored("a", "blue")]);
        let now = collection.now().now().version;
        let count = |query: &str| listed(&collection, query).map(|(names, _)| names.len());
        assert_eq!(count(""), Ok(1));
        assert_eq!(count("resourceVersion=0"), Ok(1));
        assert_eq!(count(&format!("resourceVersion={old}")), Ok(1));
        assert_eq!(count(&format!("resourceVersion={now}&resourceVersionMatch=NotOlderThan")), Ok(1));
        assert_eq!(count(&format!("resourceVersion={old}&resourceVersionMatch=Exact")), Ok(5));
        let unknown = now ^ 1;
        let expired = Refusal::expired(&unknown.to_string());
        assert_eq!(count(&format!("resourceVersion={unknown}")), Err(expired.clone()));
        assert_eq!(count(&format!("resourceVersion={unknown}&resourceVersionMatch=Exact")), Err(expired));
        assert_eq!(count("labelSelector=color%3Dred"), Ok(0));
        assert_eq!(count("fieldSelector=metadata.name%3Da"), Ok(1));
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (verb, query, code) in [
            ("list", "resourceVersion=abc", 400),
            ("list", "limit=many", 400),
            ("list", "limit=-1", 400),
            ("list", "resourceVersionMatch=Exact", 422),
            ("list", "resourceVersion=0&resourceVersionMatch=Exact", 422),
            ("list", "resourceVersion=1&resourceVersionMatch=Newest", 422),
            ("list", "sendInitialEvents=true", 422),
            ("watch", "sendInitialEvents=true", 422),
            ("watch", "resourceVersion=1&resourceVersionMatch=NotOlderThan", 422),
            ("list", "resourceVersion=1&continue=1__a", 400),
        ] {
            let refused = wanted(verb, query).unwrap_err();
            assert_eq!(refused.code.as_u16(), code, "{verb} {query}");
        }
        assert!(wanted("watch", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan").is_ok());
    }
}

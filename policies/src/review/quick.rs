//! The quick way into a review: one walk over the body, which reads only what is looked at.
//!
//! It takes what the API server sends. Whatever is unusual about a body, and whatever is wrong with it, is left to
//! [`super::envelope`], which says what.

use std::borrow::Cow;

use super::Kind;
use super::envelope::{Operation, Request, Resource, UserInfo};
use super::scan::Scan;
use super::spans::{Object, Read, once};

/// The request of a review, or nothing if it has to be read more carefully.
pub(super) fn request(text: &str) -> Option<Request<'_>> {
    let mut scan = Scan::new(text);
    let (mut version, mut kind, mut request) = (None, None, None);
    scan.object(|scan, name| match name {
        "apiVersion" => once(&mut version, scan.plain()?),
        "kind" => once(&mut kind, scan.plain()?),
        "request" => once(&mut request, walk(scan)?),
        _ => scan.value().map(drop),
    })?;
    scan.end()?;
    request.filter(|_| (version, kind) == (Some("admission.k8s.io/v1"), Some("AdmissionReview")))
}

fn walk<'a>(scan: &mut Scan<'a>) -> Option<Request<'a>> {
    let (mut uid, mut resource, mut sub_resource, mut operation) = (None, None, None, None);
    let (mut namespace, mut name, mut user_info, mut dry_run) = (None, None, None, None);
    let (mut object, mut old_object) = (None, None);
    let mut read = (Read::default(), Read::default());
    let start = scan.place()?;
    scan.object(|scan, field| match field {
        "uid" => once(&mut uid, scan.plain()?),
        "resource" => once(&mut resource, walk_resource(scan)?),
        "subResource" => once(&mut sub_resource, scan.plain()?),
        "operation" => once(&mut operation, operation_of(scan.plain()?)?),
        "namespace" => once(&mut namespace, scan.plain()?),
        "name" => once(&mut name, scan.plain()?),
        "userInfo" => once(&mut user_info, walk_user(scan)?),
        "object" => once(&mut object, Object::walk(scan, reads(&resource).then_some(&mut read.0))?),
        "oldObject" => once(&mut old_object, Object::walk(scan, reads(&resource).then_some(&mut read.1))?),
        "dryRun" => once(&mut dry_run, bool_of(scan.value()?)?),
        _ => scan.value().map(drop),
    })?;
    Some(Request {
        uid: Cow::Borrowed(uid?),
        resource: resource?,
        sub_resource: sub_resource.map(Cow::Borrowed),
        operation: operation?,
        namespace: Cow::Borrowed(namespace.unwrap_or_default()),
        name: Cow::Borrowed(name.unwrap_or_default()),
        user_info: user_info.unwrap_or_default(),
        object: object.flatten(),
        old_object: old_object.flatten(),
        dry_run,
        text: scan.since(start)?,
        read,
    })
}

/// Whether the spec of the object is read in passing: of clusters, which most reviews are of.
fn reads(resource: &Option<Resource<'_>>) -> bool {
    resource.as_ref().is_some_and(|resource| {
        resource.group == butler_api::GROUP && resource.resource == Kind::TenantCluster.resource()
    })
}

fn walk_resource<'a>(scan: &mut Scan<'a>) -> Option<Resource<'a>> {
    let (mut group, mut version, mut resource) = (None, None, None);
    scan.object(|scan, name| match name {
        "group" => once(&mut group, scan.plain()?),
        "version" => once(&mut version, scan.plain()?),
        "resource" => once(&mut resource, scan.plain()?),
        _ => scan.value().map(drop),
    })?;
    let borrowed = |text: Option<&'a str>| Cow::Borrowed(text.unwrap_or_default());
    Some(Resource { group: borrowed(group), version: borrowed(version), resource: borrowed(resource) })
}

fn walk_user<'a>(scan: &mut Scan<'a>) -> Option<UserInfo<'a>> {
    let (mut username, mut groups) = (None, None);
    scan.object(|scan, name| match name {
        "username" => once(&mut username, scan.plain()?),
        "groups" => {
            let mut all = Vec::new();
            scan.list(|scan| {
                all.push(Cow::Borrowed(scan.plain()?));
                Some(())
            })?;
            once(&mut groups, all)
        }
        _ => scan.value().map(drop),
    })?;
    Some(UserInfo {
        username: Cow::Borrowed(username.unwrap_or_default()),
        groups: groups.unwrap_or_default(),
    })
}

fn operation_of(text: &str) -> Option<Operation> {
    let all = [Operation::Create, Operation::Update, Operation::Delete, Operation::Connect];
    all.into_iter().find(|operation| operation.as_str() == text)
}

fn bool_of(text: &str) -> Option<bool> {
    match text {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

//! One request, from its head to its answer.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use http::header::{CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, RETRY_AFTER, WWW_AUTHENTICATE};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::asked::{Asked, Health, Page, Query, Target};
use super::authorize::Attributes;
use super::list::{Wanted, list};
use super::negotiate::{self, Format, Shape};
use super::port::Connection;
use super::resources::Resource;
use super::status::Refusal;
use super::table::{Include, at, metadata_of, table};
use super::watch::{Shown, Watch};
use super::{API_VERSION, Shared, body, discovery, reviews};

/// From a request's head to the head of its answer: both questions to the API server, and some.
const PATIENCE: Duration = Duration::from_secs(15);

pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Answers, whatever comes.
pub(super) async fn answer(
    shared: &Shared,
    connection: &Connection,
    request: Request<Incoming>,
) -> Response<Body> {
    // A watch goes on after its head, and takes this along.
    let asking = connection.activity.ask();
    let (head, body) = request.into_parts();
    let query = Query::of(&head.uri);
    let asked = Asked::of(&head.method, &head.uri, &query);
    let resource = match &asked {
        Asked::Resource(target) => Resource::named(&target.resource).map_or("unknown", |it| it.plural),
        Asked::Path(_) => "page",
        Asked::Health(_) => "health",
    };
    // A panic can leave nothing of ours half-changed: what is shared is replaced as a whole.
    let answering = AssertUnwindSafe(find(shared, connection, &head, body, &query, asked)).catch_unwind();
    let found = match timeout(PATIENCE, answering).await {
        Ok(Ok(found)) => found,
        Ok(Err(_)) => {
            Err(Refusal::internal("the request failed inside the policy service; its log says where"))
        }
        Err(_) => Err(Refusal::timeout()),
    };
    let response = found.and_then(|found| write(shared, connection, &head, &query, found, asking));
    let response = response.unwrap_or_else(|refusal| refused(&head, &refusal));
    if response.status().is_client_error() {
        connection.activity.refuse();
    }
    shared.metrics.answered(resource, response.status());
    response
}

/// What there is to answer.
enum Found {
    Text(StatusCode, String),
    Page(Value, Option<String>),
    Object(&'static Resource, Value),
    Created(&'static Resource, Value),
    List(&'static Resource, super::list::Page),
    Watch(&'static Resource, Wanted),
}

async fn find(
    shared: &Shared,
    connection: &Connection,
    head: &Parts,
    body: Incoming,
    query: &Query,
    asked: Asked,
) -> Result<Found, Refusal> {
    let (budget, attributes) = match &asked {
        Asked::Health(health) => return Ok(self::health(shared, *health)),
        Asked::Path(_) => (&shared.pages, Attributes::Path(lower(&head.method), head.uri.path())),
        Asked::Resource(target) => (&shared.requests, Attributes::Target(target)),
    };
    let _slot = budget.take(1).ok_or_else(Refusal::too_many_requests)?;
    if head.headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
        // The API server has taken these off what it proxies; who comes directly is taken for nobody else.
        let message = "impersonation is the API server's: ask through it, and not directly";
        return Err(Refusal::bad_request(message));
    }
    let user = shared.authenticator.authenticate(&connection.chain, &head.headers).await?;
    shared.authorizer.authorize(&user, attributes).await?;
    match asked {
        Asked::Resource(target) => {
            let resource = resource(&target)?;
            if target.verb == "create" {
                has_only_dry_runs(query)?;
                let body = body::read(shared, head, body).await?;
                let created = reviews::create(shared, &user, resource, &target, body).await?;
                return Ok(Found::Created(resource, created));
            }
            objects(shared, resource, &target, query)
        }
        Asked::Path(page) => self::page(shared, head, page),
        Asked::Health(health) => Ok(self::health(shared, health)),
    }
}

/// Kubernetes has the verbs of paths in lower case.
fn lower(method: &Method) -> &'static str {
    match *method {
        Method::GET => "get",
        Method::HEAD => "head",
        Method::POST => "post",
        Method::PUT => "put",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        Method::OPTIONS => "options",
        _ => "",
    }
}

fn health(shared: &Shared, health: Health) -> Found {
    let (is_well, lines) = match health {
        Health::Live => (true, "ok".to_owned()),
        Health::Ready => shared.readiness.report(),
    };
    match is_well {
        true => Found::Text(StatusCode::OK, "ok".to_owned()),
        // As Kubernetes' own servers have it.
        false => Found::Text(StatusCode::INTERNAL_SERVER_ERROR, lines),
    }
}

fn page(shared: &Shared, head: &Parts, page: Page) -> Result<Found, Refusal> {
    let documents = &shared.documents;
    let (value, tag) = match page {
        Page::Nothing => return Err(Refusal::no_such_path()),
        Page::Index => (discovery::index(), None),
        Page::Version => (discovery::version(), None),
        Page::Groups if negotiate::is_aggregated(&head.headers) => {
            // Discovery is the program's, and so is its tag.
            (discovery::aggregated(), Some(documents.hash.clone()))
        }
        Page::Groups => (discovery::groups(), None),
        Page::Group => (discovery::group(), None),
        Page::Resources => (discovery::resources(), None),
        Page::OpenApiV2 => (documents.v2.clone(), Some(documents.hash.clone())),
        Page::OpenApiV3 => (documents.v3_index.clone(), None),
        Page::OpenApiV3Group => (documents.v3.clone(), Some(documents.hash.clone())),
    };
    if !matches!(head.method, Method::GET | Method::HEAD) {
        return Err(Refusal::method_not_allowed());
    }
    Ok(Found::Page(value, tag))
}

/// The resource that is asked for, if it is there and can be asked that.
fn resource(target: &Target) -> Result<&'static Resource, Refusal> {
    let resource = Resource::named(&target.resource).filter(|resource| is_there(resource, target));
    let resource = resource.ok_or_else(Refusal::no_such_path)?;
    if resource.has(target.verb) { Ok(resource) } else { Err(Refusal::method_not_allowed()) }
}

/// Nothing is ever stored, so that every create is a dry run, and one that says so is no other.
fn has_only_dry_runs(query: &Query) -> Result<(), Refusal> {
    match query.get("dryRun") {
        None | Some("All") => Ok(()),
        Some(other) => {
            let message = format!("dryRun: Unsupported value: {other:?}: supported values: \"All\"");
            Err(Refusal::bad_request(message))
        }
    }
}

fn objects(
    shared: &Shared,
    resource: &'static Resource,
    target: &Target,
    query: &Query,
) -> Result<Found, Refusal> {
    let collection = &shared.policies;
    match target.verb {
        "get" => {
            let history = collection.now();
            let content = history.now();
            let key = (target.namespace.clone(), target.name.clone());
            let found = content.objects.get(&key).map(|stored| stored.at(content.version));
            let missing = || Refusal::not_found(resource.plural, &target.name);
            Ok(Found::Object(resource, found.ok_or_else(missing)?))
        }
        "list" => {
            let wanted = Wanted::read(target, query)?;
            Ok(Found::List(resource, list(&collection.now(), &wanted)?))
        }
        _ => Ok(Found::Watch(resource, Wanted::read(target, query)?)),
    }
}

/// Whether a path of that shape leads to the resource: what is in no namespace is not found in one, and nothing of ours
/// has parts.
fn is_there(resource: &Resource, target: &Target) -> bool {
    let is_in_place = match (resource.is_namespaced, target.namespace.is_empty()) {
        (false, is_nowhere) => is_nowhere,
        (true, false) => true,
        // All of them, wherever they are.
        (true, true) => matches!(target.verb, "list" | "watch"),
    };
    is_in_place && target.subresource.is_empty()
}

fn write(
    shared: &Shared,
    connection: &Connection,
    head: &Parts,
    query: &Query,
    found: Found,
    asking: butler_program::connection::Asking,
) -> Result<Response<Body>, Refusal> {
    let include = || Include::read(query.get("includeObject"));
    let is_new = matches!(found, Found::Created(..));
    match found {
        Found::Text(code, text) => Ok(text_response(code, text)),
        Found::Page(value, tag) => page_response(head, query, &value, tag),
        Found::Object(resource, object) | Found::Created(resource, object) => {
            let code = if is_new { StatusCode::CREATED } else { StatusCode::OK };
            let (format, shape) = negotiate::objects(&head.headers)?;
            let value = match shape {
                Shape::Whole => object,
                Shape::Metadata => metadata_of(&object),
                Shape::Table => {
                    let metadata = json!({ "resourceVersion": at(&object, "/metadata/resourceVersion") });
                    table(resource.columns, true, include()?, metadata, &[object])
                }
            };
            Ok(response(code, format, query, &value))
        }
        Found::List(resource, page) => {
            let (format, shape) = negotiate::objects(&head.headers)?;
            let value = listed(resource, page, shape, include()?);
            Ok(response(StatusCode::OK, format, query, &value))
        }
        Found::Watch(resource, wanted) => {
            let (format, shape) = negotiate::objects(&head.headers)?;
            if format != Format::Json {
                // A stream of YAML has no lines to tell one event from the next.
                return Err(Refusal::not_acceptable());
            }
            let place = shared.watches.take(1).ok_or_else(Refusal::too_many_requests)?;
            let shown = Shown { kind: resource.kind, shape, include: include()?, columns: resource.columns };
            let finishing = connection.finishing.clone();
            let watch = Watch::begin(&shared.policies, wanted, query, shown, finishing, (place, asking))?;
            let mut response = Response::new(StreamBody::new(watch.stream()).boxed_unsync());
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            Ok(response)
        }
    }
}

fn listed(resource: &Resource, page: super::list::Page, shape: Shape, include: Include) -> Value {
    let super::list::Page { metadata, objects } = page;
    match shape {
        Shape::Table => table(resource.columns, true, include, metadata, &objects),
        Shape::Whole => json!({
            "kind": resource.list_kind(),
            "apiVersion": API_VERSION,
            "metadata": metadata,
            "items": objects,
        }),
        Shape::Metadata => json!({
            "kind": "PartialObjectMetadataList",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "items": objects.iter().map(metadata_of).collect::<Vec<_>>(),
        }),
    }
}

/// Discovery and descriptions, which who has them already does not need again.
fn page_response(
    head: &Parts,
    query: &Query,
    value: &Value,
    tag: Option<String>,
) -> Result<Response<Body>, Refusal> {
    let is_aggregated =
        head.uri.path().trim_end_matches('/') == "/apis" && negotiate::is_aggregated(&head.headers);
    let format = if is_aggregated { Format::Json } else { negotiate::plain(&head.headers)? };
    let tag = tag.and_then(|tag| HeaderValue::from_str(&format!("\"{tag}\"")).ok());
    if tag.is_some() && head.headers.get(IF_NONE_MATCH) == tag.as_ref() {
        let mut response = Response::new(Full::default().boxed_unsync());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    let mut response = response(StatusCode::OK, format, query, value);
    if is_aggregated {
        let kind = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    if let Some(tag) = tag {
        response.headers_mut().insert(ETAG, tag);
    }
    Ok(response)
}

fn response(code: StatusCode, format: Format, query: &Query, value: &Value) -> Response<Body> {
    let (text, media_type) = match format {
        Format::Json if query.is_true("pretty") => (format!("{value:#}\n"), "application/json"),
        Format::Json => (format!("{value}\n"), "application/json"),
        // Every value of ours can be written so.
        Format::Yaml => (serde_saphyr::to_string(value).unwrap_or_default(), "application/yaml"),
    };
    let mut response = Response::new(Full::from(text).boxed_unsync());
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

fn text_response(code: StatusCode, text: String) -> Response<Body> {
    let mut response = Response::new(Full::from(text).boxed_unsync());
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// A no, in the form that the caller reads, and in JSON for who reads none of ours.
fn refused(head: &Parts, refusal: &Refusal) -> Response<Body> {
    let format = negotiate::objects(&head.headers).map_or(Format::Json, |(format, _)| format);
    let mut response = response(refusal.code, format, &Query::default(), &refusal.status());
    let headers = response.headers_mut();
    if let Some(seconds) = refusal.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if refusal.code == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

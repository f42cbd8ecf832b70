//! The hosted control plane is one that can be built and reached.
//!
//! Fields: `spec.controlPlane.replicas` (1 to 3), `.serviceType` (Ingress needs the platform's `hostname`, Gateway also its
//! `gatewayRef`), `.certSANs` (DNS names or addresses, each once), `.resources` (requests not above limits). A control plane
//! without a host name is created and never gets an address.

use std::collections::HashSet;

use butler_api::address::parse_address;
use butler_api::control_plane_resources::ComponentResources;
use butler_api::excerpt::excerpt;
use butler_api::exposure::ServiceType;
use butler_api::names::dns_subdomain;
use butler_api::quantity::Quantity;
use butler_api::{ButlerConfigSpec, TenantCluster};

use super::Case;
use crate::facts::FactKey;
use crate::finding::{Fault, Finding, Findings};

/// The number of copies is not possible.
const REPLICAS: &str = "Replicas";
/// The platform lacks what the way of exposure needs.
const EXPOSURE_NOT_CONFIGURED: &str = "ExposureNotConfigured";
/// A name for the certificate is neither a DNS name nor an address.
const NOT_A_NAME: &str = "NotAName";
/// A name for the certificate is there twice.
const DUPLICATE_NAME: &str = "DuplicateName";
/// Requests or limits make no sense.
const RESOURCES: &str = "Resources";

pub(super) fn check(case: &Case<'_, TenantCluster>, findings: &mut Findings) {
    let control_plane = &case.object.spec.control_plane;
    let replicas = control_plane.replicas();
    if !(1..=3).contains(&replicas) {
        let message = format!("`{replicas}` is not possible; write 1, 2 or 3");
        findings.invalid(REPLICAS, "spec.controlPlane.replicas", message);
    }
    check_exposure(control_plane.service_type(case.config()), case.config(), findings);
    check_names(&control_plane.cert_sans, findings);
    let resources = &control_plane.resources;
    let components = [
        ("apiServer", &resources.api_server),
        ("controllerManager", &resources.controller_manager),
        ("scheduler", &resources.scheduler),
    ];
    for (name, component) in components {
        if let Some(component) = component {
            check_component(name, component, findings);
        }
    }
}

fn check_exposure(service_type: ServiceType, config: Option<&ButlerConfigSpec>, findings: &mut Findings) {
    const PATH: &str = "spec.controlPlane.serviceType";
    let exposure = config.map(|config| &config.control_plane_exposure);
    let missing = match service_type {
        ServiceType::LoadBalancer | ServiceType::NodePort | ServiceType::ClusterIP => None,
        ServiceType::Ingress | ServiceType::Gateway
            if exposure.and_then(|exposure| exposure.hostname()).is_none() =>
        {
            Some("hostname")
        }
        ServiceType::Gateway if exposure.and_then(|exposure| exposure.gateway()).is_none() => {
            Some("gatewayRef")
        }
        ServiceType::Ingress | ServiceType::Gateway => None,
    };
    if let Some(missing) = missing {
        let message = format!(
            "`{service_type:?}` needs `spec.controlPlaneExposure.{missing}` of the ButlerConfig, which is not set; choose \
             `LoadBalancer`, or ask the platform's administrators to set it"
        );
        findings.add(
            Finding::deny(Fault::NotSupported, EXPOSURE_NOT_CONFIGURED, PATH, message)
                .resting_on(FactKey::Config),
        );
    }
}

fn check_names(names: &[String], findings: &mut Findings) {
    let mut earlier = HashSet::new();
    for (place, name) in names.iter().enumerate() {
        let path = format!("spec.controlPlane.certSANs[{place}]");
        let host = name.strip_prefix("*.").unwrap_or(name);
        if parse_address(name).is_err() && dns_subdomain(host).is_err() {
            let message = format!(
                "`{}` is neither a DNS name nor an address; write one such as `api.example.org` or `10.40.0.10`",
                excerpt(name)
            );
            findings.invalid(NOT_A_NAME, path, message);
        } else if !earlier.insert(name) {
            let message = format!("`{}` is there twice; remove one", excerpt(name));
            findings.add(Finding::deny(Fault::Duplicate, DUPLICATE_NAME, path, message));
        }
    }
}

fn check_component(name: &str, component: &ComponentResources, findings: &mut Findings) {
    let none = None;
    let of = |list: Option<&Option<Quantity>>| list.unwrap_or(&none).clone();
    let (requests, limits) = (component.requests.as_ref(), component.limits.as_ref());
    let rows = [
        ("cpu", of(requests.map(|list| &list.cpu)), of(limits.map(|list| &list.cpu))),
        ("memory", of(requests.map(|list| &list.memory)), of(limits.map(|list| &list.memory))),
    ];
    for (resource, request, limit) in rows {
        let path = |list: &str| format!("spec.controlPlane.resources.{name}.{list}.{resource}");
        let mut amount = |list: &str, quantity: &Option<Quantity>| match quantity.as_ref()?.amount() {
            Ok(amount) if amount.is_negative() => {
                let message = format!("`{}` is below zero; write a positive quantity", quantity.as_ref()?);
                findings.invalid(RESOURCES, path(list), message);
                None
            }
            Ok(amount) => Some(amount),
            Err(error) => {
                findings.invalid(RESOURCES, path(list), error.to_string());
                None
            }
        };
        let (requested, allowed) = (amount("requests", &request), amount("limits", &limit));
        if let (Some(requested), Some(allowed), Some(request), Some(limit)) =
            (requested, allowed, request, limit)
            && requested > allowed
        {
            let message =
                format!("`{request}` is above the limit of `{limit}`; lower it, or raise the limit");
            findings.invalid(RESOURCES, path("requests"), message);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::check;
    use crate::fixtures::*;

    #[test]
    fn a_control_plane_can_be_built() {
        let resources = |list: Value| json!({"resources": {"apiServer": list}});
        let table: [(Value, &[&str]); 11] = [
            (json!({"replicas": 3}), &[]),
            (json!({"replicas": 0}), &["spec.controlPlane.replicas: `0` is not possible; write 1, 2 or 3"]),
            (json!({"replicas": 4}), &["spec.controlPlane.replicas: `4` is not possible; write 1, 2 or 3"]),
            (json!({"serviceType": "NodePort"}), &[]),
            (
                json!({"serviceType": "Ingress"}),
                &[
                    "spec.controlPlane.serviceType: `Ingress` needs `spec.controlPlaneExposure.hostname` of the \
                   ButlerConfig, which is not set; choose `LoadBalancer`, or ask the platform's administrators to set it",
                ],
            ),
            (json!({"certSANs": ["api.example.org", "*.example.org", "10.40.0.10", "fd00::1"]}), &[]),
            (
                json!({"certSANs": ["api example"]}),
                &[
                    "spec.controlPlane.certSANs[0]: `api example` is neither a DNS name nor an address; write one such as \
                   `api.example.org` or `10.40.0.10`",
                ],
            ),
            (
                json!({"certSANs": ["a.example.org", "a.example.org"]}),
                &["spec.controlPlane.certSANs[1]: `a.example.org` is there twice; remove one"],
            ),
            (resources(json!({"requests": {"cpu": "1"}, "limits": {"cpu": "1000m"}})), &[]),
            (
                resources(json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})),
                &[
                    "spec.controlPlane.resources.apiServer.requests.cpu: `2` is above the limit of `1`; lower it, or raise \
                   the limit",
                ],
            ),
            (
                resources(json!({"limits": {"memory": "-1Gi"}})),
                &[
                    "spec.controlPlane.resources.apiServer.limits.memory: `-1Gi` is below zero; write a positive quantity",
                ],
            ),
        ];
        for (control_plane, expected) in table {
            let cluster = cluster(json!({"spec": {"controlPlane": control_plane}}));
            assert_eq!(on_create(check, &cluster, &facts()), expected, "{control_plane}");
        }
    }

    #[test]
    fn a_gateway_needs_a_host_name_and_the_gateway() {
        let gateway = cluster(json!({"spec": {"controlPlane": {"serviceType": "Gateway"}}}));
        let exposure =
            |exposure: Value| facts_with(&[config(json!({"spec": {"controlPlaneExposure": exposure}}))]);
        let half = exposure(json!({"hostname": "*.k8s.example.org"}));
        assert_eq!(
            on_create(check, &gateway, &half),
            [
                "spec.controlPlane.serviceType: `Gateway` needs `spec.controlPlaneExposure.gatewayRef` of the ButlerConfig, \
              which is not set; choose `LoadBalancer`, or ask the platform's administrators to set it"
            ]
        );
        let whole = exposure(json!({"hostname": "*.k8s.example.org", "gatewayRef": "edge/shared"}));
        assert_eq!(on_create(check, &gateway, &whole), [""; 0]);
    }
}

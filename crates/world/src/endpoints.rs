//! Endpoints and EndpointSlices of services.
//!
//! | service | gets |
//! |---|---|
//! | with a selector | Endpoints of its name and one EndpointSlice, with the addresses of its pods that run |
//! | pod ready | among the addresses |
//! | pod not ready | among the addresses that are not ready |
//! | port by name | the number that the pod's containers give it |
//! | without a selector, or `ExternalName` | nothing |

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_api::meta::{Object, ObjectMeta};
use kueue_runtime::client::{Client, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{self, Next, Reconciler};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use crate::feeds::{Feeds, Line, View};
use crate::kinds::{EndpointSlice, Endpoints, Pod, Service, ServicePort, owned_by};
use crate::{AT_ONCE, MANAGER, Parts, Start};

const CHANGED: &str = "endpoints.kubernetes.io/last-change-trigger-time";

struct Addresses {
    client: Client,
    clock: Clock,
    services: View<Service>,
    pods: View<Pod>,
    endpoints: View<Endpoints>,
    slices: View<EndpointSlice>,
}

/// Listens to services and pods; returns what begins to look after them.
pub(crate) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let line = Line::default();
    feeds.services.line_up(&line);
    let (concerned, services) = (Arc::clone(&line), feeds.services.view());
    feeds.pods.listen(move |delta| {
        let sides = || delta.old.iter().chain(&delta.new).map(|side| &side.object);
        let tells = |pod: &Pod| (address(pod), pod.metadata.labels.clone());
        if let (Some(old), Some(new)) = (&delta.old, &delta.new)
            && tells(&old.object) == tells(&new.object)
        {
            return;
        }
        for service in services.store.all() {
            if sides().any(|pod| is_behind(&service, pod)) {
                concerned.add(Key::of(&*service));
            }
        }
    });
    let addresses = Addresses {
        client: parts.client.clone(),
        clock: parts.clock,
        services: feeds.services.view(),
        pods: feeds.pods.view(),
        endpoints: feeds.endpoints.view(),
        slices: feeds.endpoint_slices.view(),
    };
    Box::new(move |tasks: &mut JoinSet<()>| drop(tasks.spawn(reconciler::run(line, Arc::new(addresses), AT_ONCE))))
}

fn is_behind(service: &Service, pod: &Pod) -> bool {
    let selector = &service.spec.selector;
    !selector.is_empty()
        && service.spec.r#type != "ExternalName"
        && service.metadata.namespace == pod.metadata.namespace
        && selector.iter().all(|(key, value)| pod.metadata.labels.get(key) == Some(value))
}

/// Address and readiness of a pod that has one.
fn address(pod: &Pod) -> Option<(String, bool, bool)> {
    let has_one = !pod.status.pod_ip.is_empty() && !pod.is_terminal();
    has_one.then(|| (pod.status.pod_ip.clone(), pod.is_ready(), pod.is_going()))
}

/// The number behind a port of a service.
fn port(port: &ServicePort, pod: &Pod) -> Option<i64> {
    match &port.target_port {
        Value::String(name) => {
            let ports = pod.spec.containers.iter().filter_map(|container| container.rest.get("ports")?.as_array());
            ports.flatten().find(|port| port["name"] == name.as_str())?["containerPort"].as_i64()
        }
        Value::Number(number) => number.as_i64(),
        _ => Some(port.port),
    }
}

type Port = (String, String, Option<String>, Option<i64>);

fn ports(service: &Service, pod: &Pod) -> Vec<Port> {
    let told = |known: &ServicePort| {
        let protocol = if known.protocol.is_empty() { "TCP".to_owned() } else { known.protocol.clone() };
        (known.name.clone(), protocol, known.app_protocol.clone(), port(known, pod))
    };
    service.spec.ports.iter().map(told).collect()
}

fn reference(pod: &Pod) -> Value {
    let meta = &pod.metadata;
    json!({"kind": "Pod", "namespace": meta.namespace, "name": meta.name, "uid": meta.uid})
}

/// Pods with the same ports form a subset.
fn subsets(service: &Service, pods: &[Arc<Pod>]) -> Vec<Value> {
    let mut by_ports: BTreeMap<Vec<Port>, (Vec<Value>, Vec<Value>)> = BTreeMap::new();
    for pod in pods {
        let Some((ip, is_ready, is_going)) = address(pod).filter(|(_, _, is_going)| !is_going) else { continue };
        let (ready, waiting) = by_ports.entry(ports(service, pod)).or_default();
        let told = json!({"ip": ip, "nodeName": pod.spec.node_name, "targetRef": reference(pod)});
        let is_told_ready = (is_ready && !is_going) || service.spec.publish_not_ready_addresses;
        if is_told_ready { ready.push(told) } else { waiting.push(told) }
    }
    let subset = |(ports, (ready, waiting)): (Vec<Port>, (Vec<Value>, Vec<Value>))| {
        let mut subset = Map::new();
        for (key, list) in [("addresses", ready), ("notReadyAddresses", waiting)] {
            if !list.is_empty() {
                subset.insert(key.to_owned(), list.into());
            }
        }
        subset.insert("ports".to_owned(), ports.iter().map(|port| Value::Object(shown(port, false))).collect());
        Value::Object(subset)
    };
    by_ports.into_iter().map(subset).collect()
}

/// A slice names even what is empty.
fn shown((name, protocol, app_protocol, number): &Port, is_of_slice: bool) -> Map<String, Value> {
    let mut port = Map::new();
    if is_of_slice || !name.is_empty() {
        port.insert("name".to_owned(), name.as_str().into());
    }
    port.insert("protocol".to_owned(), protocol.as_str().into());
    if let Some(number) = number {
        port.insert("port".to_owned(), (*number).into());
    }
    if let Some(app_protocol) = app_protocol {
        port.insert("appProtocol".to_owned(), app_protocol.as_str().into());
    }
    port
}

fn endpoint(pod: &Pod) -> Option<Value> {
    let (ip, is_ready, is_going) = address(pod)?;
    Some(json!({
        "addresses": [ip], "nodeName": pod.spec.node_name, "targetRef": reference(pod),
        "conditions": {"ready": is_ready && !is_going, "serving": is_ready, "terminating": is_going},
    }))
}

impl Reconciler<Key> for Addresses {
    fn name(&self) -> &'static str {
        "endpoints"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let service = self.services.get(key).filter(|service| service.metadata.deletion_timestamp.is_none());
        let Some(service) = service.filter(|service| !service.spec.selector.is_empty()) else { return Ok(Next::Done) };
        let pods: Vec<Arc<Pod>> = self.pods.store.all().into_iter().filter(|pod| is_behind(&service, pod)).collect();
        self.write_endpoints(key, &service, &pods).await?;
        self.write_slice(&service, &pods).await?;
        Ok(Next::Done)
    }
}

impl Addresses {
    async fn write_endpoints(&self, key: &Key, service: &Service, pods: &[Arc<Pod>]) -> Result<(), Failure> {
        let known = self.endpoints.get(key);
        let mut wanted = known.as_deref().cloned().unwrap_or_default();
        wanted.subsets = subsets(service, pods);
        wanted.metadata.labels.clone_from(&service.metadata.labels);
        let manager = ("endpoints.kubernetes.io/managed-by".to_owned(), "endpoint-controller".to_owned());
        wanted.metadata.labels.extend([manager]);
        if known.as_deref() == Some(&wanted) {
            return Ok(());
        }
        wanted.metadata.annotations.insert(CHANGED.to_owned(), self.clock.time().to_string());
        self.write(&self.endpoints, known.as_deref(), wanted, &service.metadata, &key.name).await
    }

    async fn write_slice(&self, service: &Service, pods: &[Arc<Pod>]) -> Result<(), Failure> {
        let name = format!("{}-pods", service.metadata.name);
        let known = self.slices.get(&Key::new(service.metadata.namespace.as_str(), name.as_str()));
        let mut wanted = known.as_deref().cloned().unwrap_or_default();
        wanted.address_type = "IPv4".to_owned();
        wanted.endpoints = pods.iter().filter_map(|pod| endpoint(pod)).collect();
        let ports = pods.first().map(|pod| ports(service, pod)).unwrap_or_default();
        wanted.ports = ports.iter().map(|port| shown(port, true)).collect();
        let labels = [
            ("kubernetes.io/service-name", service.metadata.name.as_str()),
            ("endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"),
        ];
        wanted.metadata.labels.extend(labels.map(|(key, value)| (key.to_owned(), value.to_owned())));
        wanted.metadata.owner_references = vec![owned_by(service)];
        if known.as_deref() == Some(&wanted) {
            return Ok(());
        }
        self.write(&self.slices, known.as_deref(), wanted, &service.metadata, &name).await
    }

    /// Makes or changes what a service has.
    async fn write<T: Object>(
        &self,
        view: &View<T>,
        known: Option<&T>,
        mut wanted: T,
        service: &ObjectMeta,
        name: &str,
    ) -> Result<(), Failure> {
        let written = match known {
            Some(known) => match Patch::between(known, &wanted, MANAGER) {
                Some(patch) => self.client.change::<T>(&Key::of(known), &patch).await?,
                None => return Ok(()),
            },
            None => {
                let meta = wanted.metadata_mut();
                (meta.name, meta.namespace) = (name.to_owned(), service.namespace.clone());
                self.client.make(&wanted).await?
            }
        };
        view.until_seen(&written.version).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, ip: &str, ready: &str) -> Arc<Pod> {
        Arc::new(
            serde_json::from_value(json!({
                "metadata": {"name": name, "namespace": "n", "uid": name, "labels": {"app": "x"}},
                "spec": {"nodeName": "a", "containers": [{"name": "c", "ports": [{"name": "web", "containerPort": 80}]}]},
                "status": {"podIP": ip, "conditions": [{"type": "Ready", "status": ready}]}}))
            .unwrap(),
        )
    }

    fn service(target: &Value) -> Service {
        serde_json::from_value(json!({"metadata": {"name": "s", "namespace": "n"}, "spec": {
            "selector": {"app": "x"}, "ports": [{"port": 8080, "targetPort": target}]}}))
        .unwrap()
    }

    #[test]
    fn ready_pods_are_addresses_and_others_wait() {
        let pods = [pod("up", "10.0.0.1", "True"), pod("down", "10.0.0.2", "False"), pod("new", "", "False")];
        let subsets = subsets(&service(&json!(9443)), &pods);
        assert_eq!(subsets[0]["addresses"][0]["targetRef"]["name"], "up");
        assert_eq!(subsets[0]["notReadyAddresses"][0]["ip"], "10.0.0.2");
        assert_eq!(subsets[0]["ports"], json!([{"port": 9443, "protocol": "TCP"}]));
        assert_eq!(subsets.len(), 1, "who has no address is not told");
        assert_eq!(endpoint(&pods[1]).unwrap()["conditions"]["ready"], false);
        assert_eq!(endpoint(&pods[2]), None);
    }

    #[test]
    fn ports_are_found_by_number_or_name() {
        let pod = pod("up", "10.0.0.1", "True");
        for (target, number) in
            [(json!("web"), Some(80)), (json!(7), Some(7)), (Value::Null, Some(8080)), (json!("x"), None)]
        {
            assert_eq!(ports(&service(&target), &pod)[0].3, number, "{target}");
        }
    }

    #[test]
    fn a_service_selects_by_labels_in_its_namespace() {
        assert!(is_behind(&service(&Value::Null), &pod("up", "", "True")));
        let mut none = service(&Value::Null);
        none.spec.selector.clear();
        assert!(!is_behind(&none, &pod("up", "", "True")));
    }
}

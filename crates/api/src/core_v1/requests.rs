//! What a pod asks for as a whole.

use kueue_core::resource::{CPU, MEMORY};
use kueue_core::resource_list::{Keep, ResourceList, merge};

use super::pod::{Container, PodSpec};

impl PodSpec {
    /// The requests that a scheduler counts: the greater of what the running containers sum up to and what any moment of
    /// initialisation takes, replaced by requests for the pod as a whole where it has them, plus the overhead.
    pub fn requests(&self) -> ResourceList {
        let mut running = ResourceList::new();
        for container in &self.containers {
            merge(&mut running, &container.resources.requests, Keep::Sum);
        }
        // A sidecar is an init container that stays: it adds to everything after it.
        let mut sidecars = ResourceList::new();
        let mut starting = ResourceList::new();
        for container in &self.init_containers {
            let mut moment = sidecars.clone();
            merge(&mut moment, &container.resources.requests, Keep::Sum);
            if container.is_sidecar() {
                merge(&mut running, &container.resources.requests, Keep::Sum);
                sidecars.clone_from(&moment);
            }
            merge(&mut starting, &moment, Keep::Larger);
        }
        merge(&mut running, &starting, Keep::Larger);
        self.apply_pod_level(&mut running);
        merge(&mut running, &self.overhead, Keep::Sum);
        running
    }

    /// Only cpu, memory and huge pages can be asked for by the pod as a whole.
    fn apply_pod_level(&self, requests: &mut ResourceList) {
        let pod_level = self.resources.iter().flat_map(|resources| &resources.requests);
        let supported = pod_level.filter(|(name, _)| is_pod_level(name));
        requests.extend(supported.map(|(name, quantity)| (name.clone(), quantity.clone())));
    }
}

impl Container {
    /// Whether an init container keeps running beside the others.
    fn is_sidecar(&self) -> bool {
        self.restart_policy.as_deref() == Some("Always")
    }
}

fn is_pod_level(resource: &str) -> bool {
    resource == CPU || resource == MEMORY || resource.starts_with("hugepages-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core_v1::ResourceRequirements;

    /// One line per part of the pod, `container cpu=1 memory=1Gi`, and what it asks for in all.
    fn check(pod: &str, total: &str) {
        let mut spec = PodSpec::default();
        for line in pod.lines() {
            let (part, list) = line.trim().split_once(' ').unwrap();
            let list = quantities(list);
            match part {
                "container" => spec.containers.push(container(list)),
                "init" => spec.init_containers.push(container(list)),
                "sidecar" => spec
                    .init_containers
                    .push(Container { restart_policy: Some("Always".to_owned()), ..container(list) }),
                "overhead" => spec.overhead = list,
                "pod" => {
                    spec.resources = Some(ResourceRequirements { requests: list, ..ResourceRequirements::default() });
                }
                other => panic!("no such part: {other}"),
            }
        }
        let requests = spec.requests();
        let shown: Vec<String> = requests.iter().map(|(name, quantity)| format!("{name}={quantity}")).collect();
        assert_eq!(shown.join(" "), total);
    }

    fn quantities(list: &str) -> ResourceList {
        let pair = |pair: &str| pair.split_once('=').map(|(name, text)| (name.to_owned(), text.parse().unwrap()));
        list.split(' ').map(|text| pair(text).unwrap()).collect()
    }

    fn container(requests: ResourceList) -> Container {
        let resources = ResourceRequirements { requests, ..ResourceRequirements::default() };
        Container { resources, ..Container::default() }
    }

    #[test]
    fn containers_add_up_and_overhead_comes_on_top() {
        check(
            "container cpu=1 memory=1Gi
             container cpu=500m gpu=2
             overhead cpu=100m disk=1",
            "cpu=1600m disk=1 gpu=2 memory=1Gi",
        );
    }

    #[test]
    fn the_greediest_init_container_sets_the_least() {
        check(
            "container cpu=2
             init cpu=3
             init cpu=1 memory=1",
            "cpu=3 memory=1",
        );
    }

    #[test]
    fn sidecars_count_while_running_and_for_the_init_containers_after_them() {
        check(
            "container cpu=2
             init cpu=4
             sidecar cpu=1
             init cpu=4",
            "cpu=5",
        );
    }

    #[test]
    fn requests_of_the_pod_as_a_whole_replace_those_of_its_containers() {
        check(
            "container cpu=2 gpu=1 memory=1Gi
             pod cpu=1 gpu=7 hugepages-2Mi=4Mi
             overhead cpu=1",
            "cpu=2 gpu=1 hugepages-2Mi=4Mi memory=1Gi",
        );
    }
}

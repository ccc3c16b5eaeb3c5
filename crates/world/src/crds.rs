//! The APIs of KubeRay and of cluster autoscalers, for clusters that have neither: as small as users of them allow.

use serde_json::Value;

const FILES: [&str; 2] = [include_str!("../crds/provisioningrequests.yaml"), include_str!("../crds/ray.yaml")];

/// The CustomResourceDefinitions.
pub fn crds() -> Vec<Value> {
    let documents = FILES.into_iter().flat_map(|file| file.split("\n---\n"));
    documents.map(|text| serde_saphyr::from_str(text).expect("the files of this crate are YAML")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_is_played_has_its_definition() {
        let names: Vec<String> =
            crds().iter().map(|crd| crd["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect();
        let wanted =
            ["provisioningrequests.autoscaling.x-k8s.io", "rayclusters.ray.io", "rayjobs.ray.io", "rayservices.ray.io"];
        assert_eq!(names, wanted);
    }
}

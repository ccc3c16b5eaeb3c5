//! The samples: one file per kind and version, which together use every field.

use std::path::Path;

use kueue_api::kueue::kinds::KINDS;
use serde_json::Value;

fn documents(kind: &str, version: &str) -> Vec<Value> {
    let name = format!("{}.{version}.yaml", kind.to_lowercase());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_saphyr::from_multiple(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_field_of_a_sample_survives_decoding_and_encoding() {
    for info in KINDS {
        for document in documents(info.kind, info.version) {
            let printed = (info.recode)(document.clone())
                .unwrap_or_else(|error| panic!("{}.{}: {error}", info.kind, info.version));
            assert_eq!(printed, document, "{}.{}", info.kind, info.version);
        }
    }
}

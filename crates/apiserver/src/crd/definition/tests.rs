use super::*;
use crate::json::{Value, json};

fn definition() -> Value {
    json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "conversion": {"strategy": "None"},
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
        "status": {"acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]},
    })
}

fn say(definition: &Value, old: Option<&Value>) -> Vec<String> {
    validate(definition, old).iter().map(ToString::to_string).collect()
}

/// What is said of a definition with the value at a JSON pointer replaced.
fn with(at: &str, value: Value) -> Vec<String> {
    let mut new = definition();
    set(&mut new, at, value);
    say(&new, None)
}

fn set(target: &mut Value, at: &str, value: Value) {
    let (parent, last) = at.rsplit_once('/').unwrap();
    target.pointer_mut(parent).unwrap()[last] = value;
}

/// What is said of a schema of the field `a` in `spec`, without where that is.
fn of_field(schema: &Value) -> Vec<String> {
    let root = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": schema}}}});
    let found = with("/spec/versions/0/schema/openAPIV3Schema", root);
    let prefix = "spec.validation.openAPIV3Schema.properties[spec].properties[a]";
    found.iter().map(|text| text.strip_prefix(prefix).unwrap_or(text).to_owned()).collect()
}

#[test]
fn a_plain_definition_is_fine() {
    assert_eq!(say(&definition(), None), Vec::<String>::new());
}

#[test]
fn names_groups_and_versions_have_their_rules() {
    let dns = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
               character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation \
               is '[a-z]([-a-z0-9]*[a-z0-9])?')";
    let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {"type": "object"}}});
    let versions = |all: Value| {
        with("/spec/versions", all.clone())
            .into_iter()
            .map(|text| text.replace(&all.to_string(), "X"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        with("/metadata/name", json!("wrong")),
        ["metadata.name: Invalid value: \"wrong\": must be spec.names.plural+\".\"+spec.group"]
    );
    assert_eq!(with("/spec/scope", json!("")), ["spec.scope: Required value"]);
    assert_eq!(
        with("/spec/scope", json!("X")),
        ["spec.scope: Unsupported value: \"X\": supported values: \"Cluster\", \"Namespaced\""]
    );
    assert_eq!(with("/spec/names/singular", json!("A")), [format!("spec.names.singular: Invalid value: \"A\": {dns}")]);
    assert_eq!(
        with("/spec/names/kind", json!("1A")),
        [format!("spec.names.kind: Invalid value: \"1A\": may have mixed case, but should otherwise match: {dns}")]
    );
    assert_eq!(
        with("/spec/names/listKind", json!("Widget")),
        ["spec.names.listKind: Invalid value: \"Widget\": kind and listKind may not be the same"]
    );
    assert_eq!(
        with("/spec/names/shortNames", json!(["A"])),
        [format!("spec.names.shortNames[0]: Invalid value: \"A\": {dns}")]
    );
    assert_eq!(with("/spec/names/kind", json!("")), ["spec.names.kind: Required value"]);
    assert_eq!(
        versions(json!([version("v1", true), version("v1", false)])),
        ["spec.versions: Invalid value: X: must contain unique version names"]
    );
    assert_eq!(
        versions(json!([version("v1", false)])),
        ["spec.versions: Invalid value: X: must have exactly one version marked as storage version"]
    );
    assert_eq!(
        with("/spec/versions/0/schema", Value::Null),
        ["spec.versions[0].schema.openAPIV3Schema: Required value"]
    );
    let group = with("/spec/group", json!("x"));
    assert!(
        group.contains(&"spec.group: Invalid value: \"x\": should be a domain with at least one dot".to_owned()),
        "{group:?}"
    );
    assert_eq!(
        with("/spec/preserveUnknownFields", json!(true)),
        [
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        ]
    );
}

#[test]
fn parts_of_a_version_have_their_rules() {
    let at = |name: &str| format!("/spec/versions/0/{name}");
    let column = |column: Value| with(&at("additionalPrinterColumns"), json!([column]));
    assert_eq!(column(json!({"name": "A", "type": "string", "jsonPath": ".a"})), Vec::<String>::new());
    assert_eq!(
        column(json!({"type": "odd", "jsonPath": "a", "format": "f"})),
        [
            "spec.additionalPrinterColumns[0].name: Required value",
            "spec.additionalPrinterColumns[0].type: Invalid value: \"odd\": must be one of boolean,date,integer,number,string",
            "spec.additionalPrinterColumns[0].format: Invalid value: \"f\": must be one of byte,date,date-time,double,float,int32,int64,password",
            "spec.additionalPrinterColumns[0].JSONPath: Invalid value: \"a\": must be a simple json path starting with .",
        ]
    );
    let scale = |scale: Value| with(&at("subresources"), json!({"scale": scale}));
    assert_eq!(
        scale(json!({"specReplicasPath": ".a", "statusReplicasPath": ""})),
        [
            "spec.subresources.scale.specReplicasPath: Invalid value: \".a\": should be a json path under .spec",
            "spec.subresources.scale.statusReplicasPath: Required value",
        ]
    );
    assert_eq!(
        with(&at("deprecationWarning"), json!("x")),
        ["spec.versions[0].deprecationWarning: Invalid value: \"x\": can only be set for deprecated versions"]
    );
    let selectable = |path: &str| with(&at("selectableFields"), json!([{"jsonPath": path}]));
    assert_eq!(
        selectable(".none"),
        [
            "spec.selectableFields[0].jsonPath: Invalid value: \".none\": is an invalid path: does not refer to a valid field"
        ]
    );
    assert_eq!(selectable(""), ["spec.selectableFields[0].jsonPath: Required value"]);
    let status = json!({"type": "object", "required": ["a"], "oneOf": [{"required": ["a"]}]});
    let mut new = definition();
    set(&mut new, "/spec/versions/0/schema/openAPIV3Schema", status);
    set(&mut new, "/spec/versions/0/subresources", json!({"status": {}}));
    let found = say(&new, None);
    assert!(
        found[0].contains("only [Description Type Format Title")
            && found[0].ends_with("fields are allowed at the root of the schema if the status subresource is enabled")
    );
}

#[test]
fn conversion_has_its_rules() {
    let conversion = |conversion: Value| with("/spec/conversion", conversion);
    assert_eq!(
        conversion(json!({"strategy": "X"})),
        ["spec.conversion.strategy: Unsupported value: \"X\": supported values: \"None\", \"Webhook\""]
    );
    assert_eq!(
        conversion(json!({"strategy": "Webhook"})),
        [
            "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
            "spec.conversion.conversionReviewVersions: Required value",
        ]
    );
    let webhook = |config: Value, versions: Value| {
        conversion(
            json!({"strategy": "Webhook", "webhook": {"clientConfig": config, "conversionReviewVersions": versions}}),
        )
    };
    assert_eq!(
        webhook(json!({}), json!(["v1"])),
        ["spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required"]
    );
    assert_eq!(
        webhook(json!({"url": "http://x"}), json!(["v9"])),
        [
            "spec.conversion.webhookClientConfig.url: Invalid value: \"http://x\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
            "spec.conversion.conversionReviewVersions: Invalid value: [\"v9\"]: must include at least one of v1, v1beta1",
        ]
    );
    assert_eq!(
        webhook(json!({"service": {"name": "n", "namespace": "s", "path": "x"}}), json!(["v1"])),
        ["spec.conversion.webhookClientConfig.service.path: Invalid value: \"x\": must start with a '/'"]
    );
    assert_eq!(
        conversion(json!({"strategy": "None", "webhook": {"clientConfig": {"url": "https://x"}}})),
        ["spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook"]
    );
}

#[test]
fn schemas_are_structural() {
    let cases = [
        (json!({}), vec![".type: Required value: must not be empty for specified object fields"]),
        (json!({"type": "array"}), vec![".items: Required value: must be specified"]),
        (
            json!({"type": "string", "pattern": "("}),
            vec![
                ".pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): `(`",
            ],
        ),
        (
            json!({"anyOf": [{"type": "string"}]}),
            vec![
                ".anyOf[0].type: Forbidden: must be empty to be structural",
                ".type: Required value: must not be empty for specified object fields",
            ],
        ),
        (json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}), vec![]),
        (
            json!({"x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true}),
            vec![
                ".x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
            ],
        ),
        (
            json!({"type": "object", "x-kubernetes-embedded-resource": true}),
            vec![
                ".properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
            ],
        ),
        (
            json!({"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            vec![".additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
        ),
    ];
    for (schema, wanted) in cases {
        assert_eq!(of_field(&schema), wanted, "{schema}");
    }
    let root = |schema: Value| with("/spec/versions/0/schema/openAPIV3Schema", schema);
    assert_eq!(
        root(json!({"type": "string"})),
        ["spec.validation.openAPIV3Schema.type: Invalid value: \"string\": must be object at the root"]
    );
    assert_eq!(
        root(
            json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}})
        ),
        [
            "spec.validation.openAPIV3Schema.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified"
        ]
    );
    assert_eq!(
        root(json!({"type": "object", "not": {"required": ["x"], "properties": {"x": {}}}})),
        [
            "spec.validation.openAPIV3Schema.properties[x]: Required value: because it is defined in spec.validation.openAPIV3Schema.not.properties[x]"
        ]
    );
    assert_eq!(
        root(json!({"type": "object", "nullable": true})),
        ["spec.validation.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root"]
    );
    assert_eq!(
        root(json!({"type": "object", "properties": {"kind": {"type": "string", "default": "x"}}})),
        ["spec.validation.openAPIV3Schema.properties[kind].default: Forbidden: must not be set in top-level kind"]
    );
}

#[test]
fn lists_defaults_and_rules_fit_together() {
    let object = || json!({"type": "object", "properties": {"n": {"type": "string"}}});
    let list = |kind: &str, keys: Value, items: Value| json!({"type": "array", "x-kubernetes-list-type": kind, "x-kubernetes-list-map-keys": keys, "items": items});
    let cases = [
        (
            list("map", json!([]), object()),
            vec![".x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map"],
        ),
        (
            list("map", json!(["n"]), object()),
            vec![
                ".items.properties[n].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
            ],
        ),
        (
            list("map", json!(["z"]), object()),
            vec![".x-kubernetes-list-map-keys: Invalid value: [\"z\"]: entries must all be names of item properties"],
        ),
        (
            list("set", json!([]), object()),
            vec![
                ".items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
            ],
        ),
        (
            list("odd", json!([]), object()),
            vec![".x-kubernetes-list-type: Unsupported value: \"odd\": supported values: \"atomic\", \"set\", \"map\""],
        ),
        (
            list("atomic", json!(["n"]), object()),
            vec![
                ".x-kubernetes-list-type: Invalid value: \"atomic\": must be map if x-kubernetes-list-map-keys is non-empty",
            ],
        ),
        (
            json!({"type": "string", "x-kubernetes-list-type": "set"}),
            vec![".type: Invalid value: \"string\": must be array if x-kubernetes-list-type is specified"],
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
            vec![
                ".uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            ],
        ),
        (
            json!({"type": "string", "default": 5}),
            vec![".default: Invalid value: \"integer\":  in body must be of type string: \"integer\""],
        ),
        (
            json!({"type": "object", "properties": {"x": {"type": "string"}}, "default": {"x": 1}}),
            vec![".default.x: Invalid value: \"integer\": x in body must be of type string: \"integer\""],
        ),
        (
            json!({"type": "object", "properties": {"x": {"type": "string"}}, "default": {"y": 1}}),
            vec![".default: Invalid value: {\"y\":1}: must not have unknown fields"],
        ),
        (
            json!({"type": "string", "default": "a", "x-kubernetes-validations": [{"rule": "self != 'a'", "message": "not a"}]}),
            vec![".default: Invalid value: \"a\": not a"],
        ),
        (
            json!({"type": "string", "x-kubernetes-validations": [{"rule": ""}]}),
            vec![".x-kubernetes-validations[0].rule: Required value: rule is not specified"],
        ),
        (
            json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "message": "a\nb"}]}),
            vec![".x-kubernetes-validations[0].message: Invalid value: \"a\\nb\": must not contain line breaks"],
        ),
        (
            json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "reason": "Odd"}]}),
            vec![
                ".x-kubernetes-validations[0].reason: Unsupported value: \"Odd\": supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\"",
            ],
        ),
        (
            json!({"type": "string", "x-kubernetes-validations": [{"rule": "true", "optionalOldSelf": true}]}),
            vec![
                ".x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
            ],
        ),
        (
            json!({"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}),
            vec![
                ".items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": oldSelf cannot be used on the uncorrelatable portion of the schema within spec.validation.openAPIV3Schema.properties[spec].properties[a]",
            ],
        ),
    ];
    for (schema, wanted) in cases {
        assert_eq!(of_field(&schema), wanted, "{schema}");
    }
}

#[test]
fn loops_in_loops_need_bounds() {
    let rule = json!([{"rule": "self.all(x, x.all(y, self.all(z, z.all(q, q == y))))"}]);
    let list = |bound: Value| {
        let mut list = json!({"type": "array", "items": {"type": "array", "items": {"type": "string"}}});
        list["x-kubernetes-validations"] = rule.clone();
        if !bound.is_null() {
            list["maxItems"] = bound.clone();
            list["items"]["maxItems"] = bound;
        }
        of_field(&list)
    };
    let found = list(Value::Null);
    assert!(found[0].starts_with(
        ".x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x"
    ));
    assert_eq!(found.len(), 3);
    assert_eq!(list(json!(8)), Vec::<String>::new());
}

#[test]
fn what_stores_objects_cannot_change() {
    let mut old = definition();
    set(&mut old, "/status/conditions", json!([{"type": "Established", "status": "True"}]));
    let change = |at: &str, value: Value| {
        let mut new = old.clone();
        set(&mut new, at, value);
        say(&new, Some(&old))
    };
    assert_eq!(change("/spec/scope", json!("Cluster")), ["spec.scope: Invalid value: \"Cluster\": field is immutable"]);
    assert_eq!(
        change("/spec/group", json!("other.com")),
        ["spec.group: Invalid value: \"other.com\": field is immutable"]
    );
    assert_eq!(
        change("/status/storedVersions", json!(["v0", "v1"])),
        [
            "status.storedVersions[0]: Invalid value: \"v0\": missing from spec.versions; v0 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v0 and removes v0 from status.storedVersions"
        ]
    );
}

#[test]
fn groups_of_the_community_need_approval() {
    let mut new = definition();
    set(&mut new, "/spec/group", json!("a.k8s.io"));
    set(&mut new, "/metadata/name", json!("widgets.a.k8s.io"));
    assert_eq!(
        say(&new, None),
        [
            "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111"
        ]
    );
    for (given, is_fine) in [("https://example.com/pull/1", true), ("unapproved, testing", true), ("yes", false)] {
        set(&mut new, "/metadata/annotations", json!({"api-approved.kubernetes.io": given}));
        assert_eq!(say(&new, None).is_empty(), is_fine, "{given}");
    }
}

#[test]
fn a_name_is_given_once_in_a_group() {
    let wanted = json!({"plural": "others", "singular": "other", "kind": "Widget", "listKind": "WidgetList", "shortNames": ["o"]});
    let mut taken = NamesIn::default();
    let (names, refused) = accept_names(&wanted, &Value::Null, &taken);
    assert_eq!((names, refused), (wanted.clone(), None));
    taken.add(&json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}));
    let (names, refused) = accept_names(&wanted, &json!({"plural": "", "kind": ""}), &taken);
    assert_eq!(names, json!({"plural": "others", "singular": "other", "kind": "", "shortNames": ["o"]}));
    assert_eq!(refused, Some(("ListKindConflict", "\"WidgetList\" is already in use".to_owned())));
    let (_, refused) = accept_names(&wanted, &wanted, &taken);
    assert_eq!(refused, None, "what is had is kept");
}

#[test]
fn our_own_definitions_are_accepted() {
    let text = include_str!("../../../../../dist/manifests.yaml");
    let mut count = 0;
    for document in text.split("\n---\n").filter(|document| document.contains("kind: CustomResourceDefinition")) {
        let mut value: Value = serde_saphyr::from_str(document).unwrap();
        let stored = value["spec"]["versions"].as_array().unwrap().iter().find(|version| version["storage"] == true);
        value["status"] = json!({"storedVersions": [stored.unwrap()["name"]]});
        assert_eq!(say(&value, None), Vec::<String>::new(), "{}", value["metadata"]["name"]);
        count += 1;
    }
    assert!(count > 5, "only {count} definitions found");
}

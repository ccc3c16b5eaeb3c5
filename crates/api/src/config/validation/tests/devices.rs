//! Device classes mapped to resources.

use expect_test::expect;

use super::{check_file, check_with, outcome};

#[test]
fn device_class_mappings() {
    check_file(
        "resources:
  deviceClassMappings:
  - name: '@wrong'
    deviceClassNames: []
  - name: first
    deviceClassNames: [gpu.example.com, gpu.example.com, '']
  - name: second
    deviceClassNames: [gpu.example.com]
  - name: second
    deviceClassNames: [a, b, c, d, e, f, g, h, i]
",
        &expect![[r#"
            line 3: resources.deviceClassMappings[0].name: Invalid value: "@wrong": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
            line 4: resources.deviceClassMappings[0].deviceClassNames: Required value: at least one device class name is required
            line 6: resources.deviceClassMappings[1].deviceClassNames[1]: Duplicate value: "gpu.example.com"
            line 6: resources.deviceClassMappings[1].deviceClassNames[2]: Invalid value: "": name part must be non-empty; name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
            line 8: resources.deviceClassMappings[2].deviceClassNames[0]: Invalid value: "gpu.example.com": device class already mapped to resource first
            line 9: resources.deviceClassMappings[3].name: Duplicate value: "second"
            line 10: resources.deviceClassMappings[3].deviceClassNames: Too many: 9: must have at most 8 items
        "#]],
    );
    let many: String = (0..17).map(|n| format!("  - {{name: r{n}, deviceClassNames: [c{n}]}}\n")).collect();
    check_file(
        &format!("resources:\n  deviceClassMappings:\n{many}"),
        &expect![[r#"
        line 2: resources.deviceClassMappings: Too many: 17: must have at most 16 items
    "#]],
    );
    let long = format!("{0}/{1}", "d".repeat(200), "n".repeat(60));
    let text = format!("resources: {{deviceClassMappings: [{{name: {long}, deviceClassNames: [c]}}]}}\n");
    expect![[r#"
        line 1: resources.deviceClassMappings[0].name: Invalid value: "<261 bytes>": must not exceed 253 characters
    "#]]
    .assert_eq(&outcome("", &text).replace(&long, "<261 bytes>"));
}

#[test]
fn device_class_counters() {
    let counter = |resource: &str, counter: &str, driver: &str, cel: &str| {
        format!(
            "  - name: {resource}\n    deviceClassNames: [mig.example.com]\n    sources:\n    - counter: {{name: {counter}, \
             driver: {driver}, deviceSelector: {{cel: {{expression: {cel}}}}}}}\n"
        )
    };
    let file = |mappings: &[String]| format!("resources:\n  deviceClassMappings:\n{}", mappings.concat());
    let memory = counter("memory", "memory", "gpu.example.com", "device.driver");
    let compute = counter("compute", "compute", "gpu.example.com", "device.driver");
    check_file(
        &file(&[memory.clone(), compute]),
        &expect![[r#"
        fine
    "#]],
    );
    check_file(
        &file(&[memory.clone(), counter("again", "memory", "gpu.example.com", "x")]),
        &expect![[r#"
        line 8: resources.deviceClassMappings[1].deviceClassNames[0]: Invalid value: "mig.example.com": device class already has a counter source for counter "memory"
    "#]],
    );
    check_file(
        &file(&[memory.clone(), "  - {name: whole, deviceClassNames: [mig.example.com]}\n".into()]),
        &expect![[r#"
        line 7: resources.deviceClassMappings[1].deviceClassNames[0]: Invalid value: "mig.example.com": device class already mapped to resource memory
    "#]],
    );
    check_with(
        "KueueDRAIntegrationPartitionableDevices=false",
        &file(&[memory]),
        &expect![[r#"
        line 6: resources.deviceClassMappings[0].sources[0].counter: Invalid value: true: counter sources require KueueDRAIntegrationPartitionableDevices to be enabled
    "#]],
    );
    check_file(
        &file(&[counter("r", "Not_A_Label", "UPPER.com", "'!'")]),
        &expect![[r#"
        line 6: resources.deviceClassMappings[0].sources[0].counter.name: Invalid value: "Not_A_Label": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')
        line 6: resources.deviceClassMappings[0].sources[0].counter.driver: Invalid value: "UPPER.com": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
        line 6: resources.deviceClassMappings[0].sources[0].counter.deviceSelector.cel.expression: Invalid value: "!": CEL compilation failed: ERROR: <input>:1:1: Syntax error
    "#]],
    );
    check_file(
        &file(&[counter("r", "''", "''", "''")]),
        &expect![[r#"
        line 6: resources.deviceClassMappings[0].sources[0].counter.name: Required value
        line 6: resources.deviceClassMappings[0].sources[0].counter.driver: Required value
        line 6: resources.deviceClassMappings[0].sources[0].counter.deviceSelector.cel.expression: Required value
    "#]],
    );
    check_file(
        &file(&[counter("r", "m", &format!("{}.com", "d".repeat(63)), "x")]),
        &expect![[r#"
        line 6: resources.deviceClassMappings[0].sources[0].counter.driver: Invalid value: "ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd.com": must not exceed 63 characters
    "#]],
    );
}

#[test]
fn device_class_capacities() {
    let file = |sources: &str| {
        format!(
            "resources:\n  deviceClassMappings:\n  - name: vgpu\n    deviceClassNames: [vgpu.example.com]\n    sources:\n{sources}"
        )
    };
    let source = |sort: &str, name: &str| {
        format!("    - {sort}: {{name: {name}, driver: d.example.com, deviceSelector: {{cel: {{expression: x}}}}}}\n")
    };
    const ON: &str = "KueueDRAIntegrationConsumableCapacity=true";
    check_file(
        &file(&source("capacity", "memory")),
        &expect![[r#"
        line 6: resources.deviceClassMappings[0].sources[0].capacity: Invalid value: true: capacity sources require KueueDRAIntegrationConsumableCapacity to be enabled
    "#]],
    );
    check_with(
        ON,
        &file(&source("capacity", "GPU.example.com/Memory_Bytes")),
        &expect![[r#"
        fine
    "#]],
    );
    let wrong: String =
        ["''", "9lives", "/memory", "gpu.example.com/", "-a/b-c"].map(|name| source("capacity", name)).concat();
    check_with(
        ON,
        &file(&wrong),
        &expect![[r#"
        line 6: resources.deviceClassMappings[0].sources[0].capacity.name: Invalid value: "": a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')
        line 7: resources.deviceClassMappings[0].sources[1].capacity.name: Invalid value: "9lives": a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')
        line 8: resources.deviceClassMappings[0].sources[2].capacity.name: Invalid value: "": the domain must not be empty
        line 9: resources.deviceClassMappings[0].sources[3].capacity.name: Invalid value: "": the name must not be empty
        line 10: resources.deviceClassMappings[0].sources[4].capacity.name: Invalid value: "-a": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
        line 10: resources.deviceClassMappings[0].sources[4].capacity.name: Invalid value: "b-c": a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')
    "#]],
    );
    let (domain, identifier) = ("d".repeat(64), "i".repeat(33));
    check_with(
        ON,
        &file(&source("capacity", &format!("{domain}/{identifier}"))),
        &expect![[r#"
        line 6: resources.deviceClassMappings[0].sources[0].capacity.name: Too long: may not be more than 63 bytes
        line 6: resources.deviceClassMappings[0].sources[0].capacity.name: Too long: may not be more than 32 bytes
    "#]],
    );
    check_with(
        ON,
        &file(&(source("capacity", "a") + &source("counter", "b"))),
        &expect![[r#"
        line 5: resources.deviceClassMappings[0].sources: Invalid value: 2: cannot mix counter and capacity sources in the same mapping
    "#]],
    );
    check_with(
        ON,
        &file("    - {}\n    - {counter: {}, capacity: {}}\n"),
        &expect![[r#"
        line 6: resources.deviceClassMappings[0].sources[0]: Required value: exactly one source type must be set per entry
        line 7: resources.deviceClassMappings[0].sources[1]: Invalid value: "counter+capacity": exactly one source type must be set per entry
    "#]],
    );
}

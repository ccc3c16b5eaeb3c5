//! How Go writes a field of an API type: what for one that is not set, and under which number in protobuf.
//!
//! Both are read from the tags in the sources. OpenAPI does not tell a pointer (an explicit zero is kept) from a plain
//! value (a zero is left out, or always written), and knows nothing of protobuf.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;

use crate::problem::{Problem, Result};
use crate::recipe::Program;
use crate::toolchain;

/// The packages of API types, read when asked for.
#[derive(Debug)]
pub struct Sources {
    /// Folders of the modules, by the part of the OpenAPI name that stands for each.
    modules: BTreeMap<&'static str, PathBuf>,
    packages: RefCell<BTreeMap<String, Rc<Package>>>,
}

/// The structs of one Go package, and which of its names are structs at all.
#[derive(Debug, Default)]
struct Package {
    structs: BTreeMap<String, Struct>,
}

#[derive(Debug, Default, Clone)]
struct Struct {
    fields: BTreeMap<String, Field>,
    inlined: Vec<Inlined>,
}

/// A type whose fields are written as if they were the struct's: in JSON, but not in protobuf.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Inlined {
    go_type: String,
    number: Option<u32>,
}

/// One field as its source line tells it.
#[derive(Debug, Default, Clone)]
pub struct Field {
    go_type: String,
    omits_empty: bool,
    omits_zero: bool,
    /// Whether a plain value of the type is a struct: `omitempty` does not leave those out.
    is_struct: bool,
    /// Where protobuf has it: its number, after those of the messages that JSON writes inline. Empty when it has not.
    pub numbers: Vec<u32>,
}

impl Field {
    /// `always`: its zero value is written; `null`: `null` is; `pointer`: left out, but an explicit zero is kept.
    /// Nothing to say when a zero is left out.
    pub fn unset(&self) -> Option<&'static str> {
        let is_reference = ["*", "[]", "map["].iter().any(|start| self.go_type.starts_with(start));
        if self.omits_zero {
            None
        } else if is_reference && !self.omits_empty {
            Some("null")
        } else if self.go_type.starts_with('*') {
            Some("pointer")
        } else if !self.omits_empty || self.is_struct && !is_reference {
            Some("always")
        } else {
            None
        }
    }
}

const MODULES: [(&str, &str); 4] = [
    ("api", "k8s.io/api"),
    ("apimachinery", "k8s.io/apimachinery"),
    ("apiextensions-apiserver", "k8s.io/apiextensions-apiserver"),
    ("kube-aggregator", "k8s.io/kube-aggregator"),
];

impl Sources {
    /// Where Go keeps the modules that the API server is built from.
    pub fn find() -> Result<Sources> {
        let go = toolchain::find_go()?;
        let recipe = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testbed/kubernetes");
        let mut modules = BTreeMap::new();
        for (part, module) in MODULES {
            let output = Command::new(&go)
                .args(["list", "-m", "-f", "{{.Dir}}", module])
                .current_dir(recipe)
                .output()
                .map_err(|error| Problem::file("run", &go, &error))?;
            let folder = String::from_utf8_lossy(&output.stdout).trim().to_string();
            if folder.is_empty() {
                return Err(Problem::new(format!("the sources of {module} are not in Go's module cache"))
                    .next(format!("cd testbed/{} && go mod download", Program::ApiServer.module().name)));
            }
            modules.insert(part, PathBuf::from(folder));
        }
        Ok(Sources { modules, packages: RefCell::default() })
    }

    /// The field of a type with its OpenAPI name (`io.k8s.api.core.v1.PodSpec`).
    pub fn field(&self, openapi_name: &str, field: &str) -> Result<Field> {
        let (package, name) = openapi_name.rsplit_once('.').unwrap_or(("", openapi_name));
        let unknown = || Problem::new(format!("the Go sources have no {openapi_name}.{field}"));
        self.find_field(package, name, field)?.ok_or_else(unknown)
    }

    fn find_field(&self, package: &str, name: &str, field: &str) -> Result<Option<Field>> {
        let found = self.package(package)?;
        let Some(of) = found.structs.get(name) else { return Ok(None) };
        if let Some(field) = of.fields.get(field) {
            let is_struct = self.is_struct(package, &field.go_type)?;
            return Ok(Some(Field { is_struct, ..field.clone() }));
        }
        for inlined in &of.inlined {
            let (package, name) = locate(package, &inlined.go_type);
            if let Some(mut field) = self.find_field(&package, &name, field)? {
                match inlined.number {
                    Some(number) => field.numbers.insert(0, number),
                    // The type is told beside the message, not in it.
                    None => field.numbers.clear(),
                }
                return Ok(Some(field));
            }
        }
        Ok(None)
    }

    fn is_struct(&self, package: &str, go_type: &str) -> Result<bool> {
        if go_type.starts_with(['[', '*']) || go_type.starts_with("map[") {
            return Ok(false);
        }
        let (package, name) = locate(package, go_type);
        Ok(self.package(&package)?.structs.contains_key(&name))
    }

    fn package(&self, name: &str) -> Result<Rc<Package>> {
        if let Some(package) = self.packages.borrow().get(name) {
            return Ok(Rc::clone(package));
        }
        let package = Rc::new(self.read(name)?);
        self.packages.borrow_mut().insert(name.to_string(), Rc::clone(&package));
        Ok(package)
    }

    fn read(&self, name: &str) -> Result<Package> {
        let mut package = Package::default();
        let Some((module, rest)) = name.strip_prefix("io.k8s.").and_then(|name| name.split_once('.')) else {
            return Ok(package);
        };
        let Some(folder) = self.modules.get(module) else { return Ok(package) };
        let folder = folder.join(rest.replace('.', "/"));
        let failed = |error: std::io::Error| Problem::file("read", &folder, &error);
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|extension| extension == "go") {
                read_structs(&std::fs::read_to_string(&path).map_err(failed)?, &mut package.structs);
            }
        }
        Ok(package)
    }
}

/// The package and name of a type as it is written in a source of `package`.
fn locate(package: &str, go_type: &str) -> (String, String) {
    match go_type.split_once('.') {
        None => (package.to_string(), go_type.to_string()),
        Some(("metav1", name)) => ("io.k8s.apimachinery.pkg.apis.meta.v1".into(), name.to_string()),
        Some(("v1" | "corev1", name)) => ("io.k8s.api.core.v1".into(), name.to_string()),
        Some(("resource", name)) => ("io.k8s.apimachinery.pkg.api.resource".into(), name.to_string()),
        Some(("intstr", name)) => ("io.k8s.apimachinery.pkg.util.intstr".into(), name.to_string()),
        Some(("runtime", name)) => ("io.k8s.apimachinery.pkg.runtime".into(), name.to_string()),
        Some((_, name)) => (String::new(), name.to_string()),
    }
}

fn read_structs(source: &str, structs: &mut BTreeMap<String, Struct>) {
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("type ").and_then(|rest| rest.strip_suffix(" struct {")) else { continue };
        let mut read = Struct::default();
        for line in lines.by_ref().take_while(|line| *line != "}") {
            read_field(line.trim(), &mut read);
        }
        structs.insert(name.to_string(), read);
    }
}

fn read_field(line: &str, read: &mut Struct) {
    let Some((declared, tags)) = line.split_once('`') else { return };
    let Some((_, tag)) = tags.split_once("json:\"") else { return };
    let mut parts = tag.split('"').next().unwrap_or_default().split(',');
    let name = parts.next().unwrap_or_default();
    let options: Vec<&str> = parts.collect();
    let go_type = declared.split_whitespace().last().unwrap_or_default().to_string();
    let number = tags.split_once("protobuf:\"").and_then(|(_, tag)| tag.split(',').nth(1)?.parse().ok());
    if name.is_empty() {
        read.inlined.push(Inlined { go_type, number });
    } else if !line.starts_with("//") {
        let has = |option: &str| options.contains(&option);
        let (omits_empty, omits_zero) = (has("omitempty"), has("omitzero"));
        let field = Field { go_type, omits_empty, omits_zero, is_struct: false, numbers: number.into_iter().collect() };
        read.fields.insert(name.to_string(), field);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_go_writes_for_an_unset_field_follows_from_its_tag() {
        let source = "type A struct {\n\tB `json:\",inline\"`\n\tP *int32 `json:\"p,omitempty\"`\n\tN *B `json:\"n\"`\n\
                      \tS string `json:\"s\" protobuf:\"x\"`\n\tO string `json:\"o,omitempty\"`\n}\n";
        let mut structs = BTreeMap::new();
        read_structs(source, &mut structs);
        let unset = |name: &str| structs["A"].fields[name].unset();
        assert_eq!(
            [unset("p"), unset("n"), unset("s"), unset("o")],
            [Some("pointer"), Some("null"), Some("always"), None]
        );
        assert_eq!(structs["A"].inlined, [Inlined { go_type: "B".into(), number: None }]);
        let nested = Field { go_type: "B".into(), omits_empty: true, is_struct: true, ..Field::default() };
        assert_eq!(nested.unset(), Some("always"), "omitempty does not leave out a struct");
    }

    #[test]
    fn the_number_in_protobuf_follows_from_the_tag() {
        let source = "type A struct {\n\tB `json:\",inline\" protobuf:\"bytes,2,opt,name=b\"`\n\
                      \tP *int32 `json:\"p,omitempty\" protobuf:\"varint,7,opt,name=p\"`\n\tK string `json:\"kind\"`\n}\n";
        let mut structs = BTreeMap::new();
        read_structs(source, &mut structs);
        assert_eq!(structs["A"].inlined, [Inlined { go_type: "B".into(), number: Some(2) }]);
        assert_eq!(structs["A"].fields["p"].numbers, [7]);
        assert!(structs["A"].fields["kind"].numbers.is_empty());
    }
}

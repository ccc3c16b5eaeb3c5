//! `resources.deviceClassMappings`: what devices of dynamic resource allocation count as.

use std::collections::{BTreeMap, BTreeSet};

use kueue_core::field::{Error, Errors, Path};
use kueue_core::gates::{Gate, Gates};
use kueue_core::name;

use super::{CompileCel, label_key_error, one_error};
use crate::config::v1beta2::{Configuration, DeviceClassMapping, DeviceClassSource, DeviceQuantity};

const MAPPINGS_MAX: usize = 16;
const CLASSES_MAX: usize = 8;
const NAME_BYTES_MAX: usize = 253;
const DRIVER_BYTES_MAX: usize = 63;
const DOMAIN_BYTES_MAX: usize = 63;
const IDENTIFIER_BYTES_MAX: usize = 32;

/// Every mistake in the device class mappings.
pub fn validate_device_class_mappings(
    configuration: &Configuration,
    gates: Gates,
    compile_cel: CompileCel<'_>,
) -> Errors {
    let Some(resources) = &configuration.resources else { return Errors::new() };
    let mappings = &resources.device_class_mappings;
    let at = Path::new("resources").child("deviceClassMappings");
    let mut errors = Errors::new();
    if mappings.len() > MAPPINGS_MAX {
        errors.push(Error::too_many(&at, mappings.len(), MAPPINGS_MAX));
    }
    let mut names = BTreeSet::new();
    let mut claims = Claims::default();
    for (index, mapping) in mappings.iter().enumerate() {
        let at = at.index(index);
        errors.extend(validate_name(&mapping.name, &at.child("name")));
        if !names.insert(&mapping.name) {
            errors.push(Error::duplicate(&at.child("name"), mapping.name.as_str()));
        }
        errors.extend(validate_classes(mapping, &at.child("deviceClassNames"), &mut claims));
        errors.extend(validate_sources(&mapping.sources, &at.child("sources"), gates, compile_cel));
    }
    errors
}

fn validate_name(name: &str, at: &Path) -> Errors {
    let mut errors: Errors = label_key_error(at, name).into_iter().collect();
    if name.len() > NAME_BYTES_MAX {
        errors.push(Error::invalid(at, name, format!("must not exceed {NAME_BYTES_MAX} characters")));
    }
    errors
}

fn validate_classes<'c>(mapping: &'c DeviceClassMapping, at: &Path, claims: &mut Claims<'c>) -> Errors {
    let classes = &mapping.device_class_names;
    let mut errors = Errors::new();
    if classes.is_empty() {
        errors.push(Error::required(at, "at least one device class name is required"));
    }
    if classes.len() > CLASSES_MAX {
        errors.push(Error::too_many(at, classes.len(), CLASSES_MAX));
    }
    for (index, class) in classes.iter().enumerate() {
        let at = at.index(index);
        errors.extend(validate_name(class, &at));
        if classes[..index].contains(class) {
            errors.push(Error::duplicate(&at, class.as_str()));
        }
        if let Err(why) = claims.claim(class, mapping) {
            errors.push(Error::invalid(&at, class.as_str(), why));
        }
    }
    errors
}

/// Which mapping a device class was first used in, and the counters that mappings read of it.
#[derive(Default)]
struct Claims<'c> {
    by_class: BTreeMap<&'c str, (&'c str, BTreeSet<&'c str>)>,
}

impl<'c> Claims<'c> {
    /// Further mappings may use a class only if every one reads another counter.
    fn claim(&mut self, class: &'c str, mapping: &'c DeviceClassMapping) -> Result<(), String> {
        let first_source = mapping.sources.first().and_then(|source| source.counter.as_ref());
        let counter = first_source.map(|counter| counter.name.as_str()).filter(|name| !name.is_empty());
        let Some((resource, counters)) = self.by_class.get_mut(class) else {
            self.by_class.insert(class, (&mapping.name, counter.into_iter().collect()));
            return Ok(());
        };
        if *resource == mapping.name {
            return Ok(());
        }
        match counter.filter(|_| !counters.is_empty()) {
            None => Err(format!("device class already mapped to resource {resource}")),
            Some(counter) if counters.insert(counter) => Ok(()),
            Some(counter) => Err(format!("device class already has a counter source for counter {counter:?}")),
        }
    }
}

fn validate_sources(sources: &[DeviceClassSource], at: &Path, gates: Gates, compile_cel: CompileCel<'_>) -> Errors {
    let mut errors = Errors::new();
    let (mut has_counter, mut has_capacity) = (false, false);
    for (index, source) in sources.iter().enumerate() {
        let at = at.index(index);
        let needs = |gate: Gate, sort: &str| {
            let why = format!("{sort} sources require {gate} to be enabled");
            (!gates.enabled(gate)).then(|| Error::invalid(&at.child(sort), true, why))
        };
        match (&source.counter, &source.capacity) {
            (None, None) => errors.push(Error::required(&at, "exactly one source type must be set per entry")),
            (Some(_), Some(_)) => {
                errors.push(Error::invalid(&at, "counter+capacity", "exactly one source type must be set per entry"));
            }
            (Some(counter), None) => {
                has_counter = true;
                match needs(Gate::KueueDRAIntegrationPartitionableDevices, "counter") {
                    Some(error) => errors.push(error),
                    None => {
                        let at = at.child("counter");
                        errors.extend(validate_counter_name(&counter.name, &at.child("name")));
                        errors.extend(validate_devices(counter, &at, compile_cel));
                    }
                }
            }
            (None, Some(capacity)) => {
                has_capacity = true;
                match needs(Gate::KueueDRAIntegrationConsumableCapacity, "capacity") {
                    Some(error) => errors.push(error),
                    None => {
                        let at = at.child("capacity");
                        errors.extend(validate_capacity_name(&capacity.name, &at.child("name")));
                        errors.extend(validate_devices(capacity, &at, compile_cel));
                    }
                }
            }
        }
    }
    if has_counter && has_capacity {
        let why = "cannot mix counter and capacity sources in the same mapping";
        errors.push(Error::invalid(at, sources.len(), why));
    }
    errors
}

fn validate_counter_name(counter: &str, at: &Path) -> Option<Error> {
    match counter {
        "" => Some(Error::required(at, "")),
        counter => one_error(at, counter, &name::dns1123_label(counter), ","),
    }
}

fn validate_devices(quantity: &DeviceQuantity, at: &Path, compile_cel: CompileCel<'_>) -> Errors {
    let mut errors = Errors::new();
    let driver = quantity.driver.as_str();
    let driver_at = at.child("driver");
    if driver.is_empty() {
        errors.push(Error::required(&driver_at, ""));
    } else if driver.len() > DRIVER_BYTES_MAX {
        errors.push(Error::invalid(&driver_at, driver, format!("must not exceed {DRIVER_BYTES_MAX} characters")));
    } else {
        errors.extend(one_error(&driver_at, driver, &name::dns1123_subdomain(driver), ","));
    }
    let expression_at = at.child("deviceSelector").child("cel").child("expression");
    match quantity.device_selector.cel.as_ref().map_or("", |cel| cel.expression.as_str()) {
        "" => errors.push(Error::required(&expression_at, "")),
        expression => {
            if let Err(why) = compile_cel(expression) {
                errors.push(Error::invalid(&expression_at, expression, format!("CEL compilation failed: {why}")));
            }
        }
    }
    errors
}

/// `name` or `domain/name`. The API server lets more than one slash pass, so Kueue does too.
fn validate_capacity_name(name: &str, at: &Path) -> Errors {
    let parts: Vec<&str> = name.split('/').collect();
    match parts.as_slice() {
        [identifier] => validate_c_identifier(identifier, at),
        [domain, identifier] => {
            let mut errors = match *domain {
                "" => vec![Error::invalid(at, "", "the domain must not be empty")],
                domain => validate_domain(domain, at),
            };
            match *identifier {
                "" => errors.push(Error::invalid(at, "", "the name must not be empty")),
                identifier => errors.extend(validate_c_identifier(identifier, at)),
            }
            errors
        }
        _ => Errors::new(),
    }
}

fn validate_domain(domain: &str, at: &Path) -> Errors {
    let mut errors = Errors::new();
    if domain.len() > DOMAIN_BYTES_MAX {
        errors.push(Error::too_long(at, DOMAIN_BYTES_MAX));
    }
    let messages = name::dns1123_subdomain(&domain.to_lowercase());
    errors.extend(messages.into_iter().map(|why| Error::invalid(at, domain, why)));
    errors
}

fn validate_c_identifier(identifier: &str, at: &Path) -> Errors {
    let mut errors = Errors::new();
    if identifier.len() > IDENTIFIER_BYTES_MAX {
        errors.push(Error::too_long(at, IDENTIFIER_BYTES_MAX));
    }
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if identifier.is_empty() || identifier.as_bytes()[0].is_ascii_digit() || !identifier.bytes().all(is_word) {
        let why = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric \
                   characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is \
                   '[A-Za-z_][A-Za-z0-9_]*')";
        errors.push(Error::invalid(at, identifier, why));
    }
    errors
}

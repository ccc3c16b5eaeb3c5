//! What the name of a resource says about how it is counted and shown.

use std::collections::BTreeSet;

use crate::quantity::Quantity;

/// The one resource counted in thousandths.
pub const CPU: &str = "cpu";
pub const MEMORY: &str = "memory";
pub const EPHEMERAL_STORAGE: &str = "ephemeral-storage";
/// `hugepages-2Mi`, `hugepages-1Gi`, …
const HUGE_PAGES_PREFIX: &str = "hugepages-";
/// Names below this belong to Kubernetes itself.
const NATIVE_PREFIX: &str = "kubernetes.io/";

/// Whether the resource is a vendor's (`nvidia.com/gpu`), and not one Kubernetes knows by itself.
pub fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.starts_with(NATIVE_PREFIX) && !name.starts_with(HUGE_PAGES_PREFIX)
}

/// The quantity as an integer in the base unit of the resource: thousandths for CPU, units for everything else.
/// Fractions are rounded up; what does not fit is clamped.
pub fn base_units(name: &str, quantity: &Quantity) -> i64 {
    if name == CPU { quantity.milli_value() } else { quantity.value() }
}

/// Turns base units back into quantities, with the suffixes that users expect of each resource.
#[derive(Clone, Debug, Default)]
pub struct Formatter {
    /// Resources in bytes that their name does not give away.
    in_bytes: BTreeSet<String>,
}

impl Formatter {
    /// From now on the resource is shown with binary suffixes.
    pub fn show_in_bytes(&mut self, name: &str) {
        self.in_bytes.insert(name.to_owned());
    }

    /// The inverse of [`base_units`].
    pub fn quantity(&self, name: &str, base_units: i64) -> Quantity {
        if name == CPU {
            Quantity::from_milli(base_units)
        } else if self.is_in_bytes(name) {
            Quantity::from_bytes(base_units)
        } else {
            Quantity::from_units(base_units)
        }
    }

    fn is_in_bytes(&self, name: &str) -> bool {
        matches!(name, MEMORY | EPHEMERAL_STORAGE)
            || name.starts_with(HUGE_PAGES_PREFIX)
            || self.in_bytes.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_resources_have_a_foreign_domain() {
        let extended: Vec<&str> =
            ["cpu", "pods", "kubernetes.io/batch", "hugepages-1Gi/x", "a.example/b", "x.kubernetes.io/y", ""]
                .into_iter()
                .filter(|name| is_extended(name))
                .collect();
        assert_eq!(extended, ["a.example/b", "x.kubernetes.io/y"]);
    }

    #[test]
    fn only_cpu_counts_in_thousandths() {
        let quantity = "2.0001".parse().unwrap();
        assert_eq!((base_units("cpu", &quantity), base_units("memory", &quantity)), (2001, 3));
        let huge = "-1e30".parse().unwrap();
        assert_eq!((base_units("cpu", &huge), base_units("memory", &huge)), (i64::MIN, i64::MIN));
    }

    #[test]
    fn bytes_are_shown_with_binary_suffixes_where_one_fits() {
        let mut formatter = Formatter::default();
        formatter.show_in_bytes("gpu.memory");
        for (name, units, text) in [
            ("cpu", 1500, "1500m"),
            ("memory", 3 << 30, "3Gi"),
            ("memory", 3000, "3k"),
            ("memory", 3001, "3001"),
            ("memory", 0, "0"),
            ("memory", -2048, "-2Ki"),
            ("hugepages-2Mi", 4 << 20, "4Mi"),
            ("ephemeral-storage", 5 << 40, "5Ti"),
            ("gpu.memory", 1 << 20, "1Mi"),
            ("gpu", 1 << 20, "1048576"),
            ("gpu", 2000, "2k"),
        ] {
            assert_eq!(formatter.quantity(name, units).to_string(), text, "{name} {units}");
        }
    }
}

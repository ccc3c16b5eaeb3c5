//! Where the priority of a workload comes from.

use std::num::ParseIntError;

use kueue_core::gates::{Gate, Gates};

use crate::core_v1::PriorityClass;
use crate::kueue::names::{DEFAULT_WORKLOAD_PRIORITY_CLASS, annotation};
use crate::kueue::v1beta2::{PriorityClassGroup, PriorityClassKind, PriorityClassRef, Workload, WorkloadPriorityClass};
use crate::lookup::NotFound;

/// The priority of workloads that have none.
pub const DEFAULT: i32 = 0;

/// A priority and the class that gave it.
#[derive(Clone, Debug, PartialEq)]
pub struct Priority {
    pub value: i32,
    /// `None` for the default when no class is the default one.
    pub class: Option<PriorityClassRef>,
}

/// The priority the workload was created with.
pub fn base(workload: &Workload) -> i32 {
    workload.spec.priority.unwrap_or(DEFAULT)
}

/// What the workload's annotation adds to its priority; nothing when it is missing or empty.
pub fn boost(workload: &Workload, gates: Gates) -> Result<i32, ParseIntError> {
    match workload.metadata.annotations.get(annotation::PRIORITY_BOOST) {
        Some(text) if gates.enabled(Gate::PriorityBoost) && !text.is_empty() => text.parse(),
        _ => Ok(0),
    }
}

/// The priority by which the workload is queued. A boost that cannot be read is none: the webhook refuses those.
pub fn effective(workload: &Workload, gates: Gates) -> i64 {
    i64::from(base(workload)) + i64::from(boost(workload, gates).unwrap_or(0))
}

/// The priority of pods that name this class, or none.
///
/// Of several global defaults, which Kubernetes admits in a race, the lowest counts.
pub fn of_pod_class<'c>(
    name: &str,
    classes: impl IntoIterator<Item = &'c PriorityClass>,
) -> Result<Priority, NotFound> {
    let mut classes = classes.into_iter();
    let class = if name.is_empty() {
        classes.filter(|class| class.global_default).min_by_key(|class| class.value)
    } else {
        Some(classes.find(|class| class.metadata.name == name).ok_or_else(|| NotFound::of::<PriorityClass>(name))?)
    };
    Ok(match class {
        None => Priority { value: DEFAULT, class: None },
        Some(class) => Priority {
            value: class.value,
            class: Some(PriorityClassRef {
                group: PriorityClassGroup::Pod,
                kind: PriorityClassKind::PriorityClass,
                name: class.metadata.name.clone(),
            }),
        },
    })
}

/// The priority of jobs that name this WorkloadPriorityClass.
pub fn of_workload_class<'c>(
    name: &str,
    classes: impl IntoIterator<Item = &'c WorkloadPriorityClass>,
) -> Result<Priority, NotFound> {
    let class = classes.into_iter().find(|class| class.metadata.name == name);
    let class = class.ok_or_else(|| NotFound::of::<WorkloadPriorityClass>(name))?;
    Ok(Priority {
        value: class.value,
        class: Some(PriorityClassRef {
            group: PriorityClassGroup::Workload,
            kind: PriorityClassKind::WorkloadPriorityClass,
            name: class.metadata.name.clone(),
        }),
    })
}

/// Whether jobs that name no class get the WorkloadPriorityClass `default`.
pub fn has_default_workload_class<'c>(classes: impl IntoIterator<Item = &'c WorkloadPriorityClass>) -> bool {
    classes.into_iter().any(|class| class.metadata.name == DEFAULT_WORKLOAD_PRIORITY_CLASS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(priority: Option<i32>, boost: &str) -> Workload {
        let mut workload = Workload::default();
        workload.spec.priority = priority;
        workload.metadata.annotations.insert(annotation::PRIORITY_BOOST.to_owned(), boost.to_owned());
        workload
    }

    #[test]
    fn a_boost_is_added_beyond_the_range_of_priorities() {
        let gates = Gates::default().with(Gate::PriorityBoost, true);
        for (priority, boost, sum) in [
            (Some(200), "50", 250),
            (Some(200), "+50", 250),
            (None, "-100", -100),
            (Some(200), "", 200),
            (Some(200), "fast", 200),
            (Some(200), "2147483648", 200),
            (Some(i32::MAX), "1", 2_147_483_648),
            (Some(i32::MIN), "-1", -2_147_483_649),
        ] {
            assert_eq!(effective(&workload(priority, boost), gates), sum, "{priority:?} {boost}");
        }
        assert!(boost(&workload(None, "fast"), gates).is_err());
        assert!(boost(&workload(None, ""), gates).is_ok());
    }

    #[test]
    fn boosts_count_only_with_the_gate() {
        let gates = Gates::default().with(Gate::PriorityBoost, false);
        assert_eq!(effective(&workload(Some(200), "50"), gates), 200);
        assert_eq!(boost(&workload(None, "fast"), gates), Ok(0));
    }

    fn pod_class(name: &str, value: i32, global_default: bool) -> PriorityClass {
        let mut class = PriorityClass { value, global_default, ..PriorityClass::default() };
        class.metadata.name = name.to_owned();
        class
    }

    #[test]
    fn a_pod_without_a_class_gets_the_lowest_global_default() {
        let classes = [pod_class("a", 90, true), pod_class("b", 20, true), pod_class("c", 10, false)];
        let found = of_pod_class("", &classes).unwrap();
        assert_eq!((found.value, found.class.unwrap().name.as_str()), (20, "b"));
        assert_eq!(of_pod_class("", &classes[2..]), Ok(Priority { value: 0, class: None }));
    }

    #[test]
    fn a_class_that_does_not_exist_is_named() {
        let pod = of_pod_class("x", &[pod_class("a", 1, true)]).unwrap_err();
        assert_eq!(pod.to_string(), r#"priorityclasses.scheduling.k8s.io "x" not found"#);
        let workload = of_workload_class("x", &[]).unwrap_err();
        assert_eq!(workload.to_string(), r#"workloadpriorityclasses.kueue.x-k8s.io "x" not found"#);
    }
}

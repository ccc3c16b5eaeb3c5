//! Saturating arithmetic, checked where it matters: on requests.

use kueue_core::quantity::Quantity;
use kueue_core::requests::{Requests, ResourceId, ResourceNames};

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[
    ("TestSafeValue", |case| equal(&case.arg("want")?, &case.arg::<Quantity>("q")?.value())),
    ("TestSaturatingMul", |case| check(case, |a, b, id| a.multiply(b.get(id)))),
    ("TestSaturatingSub", |case| check(case, |a, b, _| a.subtract(b))),
];

fn check(case: &Case, change: fn(&mut Requests, &Requests, ResourceId)) -> Result<(), Failure> {
    let id = ResourceNames::default().intern("cpu");
    let mut requests = Requests::from_iter([(id, case.arg("a")?)]);
    change(&mut requests, &Requests::from_iter([(id, case.arg("b")?)]), id);
    equal(&case.arg("want")?, &requests.get(id))
}

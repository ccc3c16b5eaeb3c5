//! Quota amounts and resource requests. Kueue has two implementations of requests, we have one that serves both.

use std::collections::BTreeMap;

use kueue_core::amount::Amount;
use kueue_core::quantity::Quantity;
use kueue_core::requests::{Fit, Requests, ResourceNames};
use kueue_core::resource::{Formatter, base_units};
use kueue_core::resource_list::ResourceList;
use serde::Deserialize;
use serde_json::Value;

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[
    ("TestAmountAsApproximateFloat64", amount_as_f64),
    ("TestAmountFromQuantity", amount_from_quantity),
    ("TestCountIn", |case| count_in(case, "requests", "wantResult", None)),
    ("TestCountInWithLimitingResource", |case| count_in(case, "requests", "wantCount", Some("wantLimitingResource"))),
    ("TestFloorToZero", |case| changed(case, "requests", |requests, _| requests.floor_to_zero())),
    ("TestGreaterKeys", |case| greater_keys(case, "a", "b")),
    ("TestMapRequestsGetValue", |case| value_of(case, "resource")),
    ("TestMapRequestsIsEmpty", |case| equal(&case.arg("want")?, &Fixture::new(case, "req")?.requests().is_empty())),
    ("TestMapRequestsLen", |case| equal(&case.arg("want")?, &Fixture::new(case, "req")?.requests().len())),
    ("TestMapRequestsSet", set_one),
    ("TestRequestsEqual", requests_equal),
    ("TestResourceQuantityRoundTrips", quantity_round_trips),
    ("TestResourceValueClampsOutsideInt64", base_units_clamp),
    ("TestSliceRequests_AddAndSub", |case| {
        let subtract = case.arg::<String>("op")? == "sub";
        combine(case, "base", "operand", subtract)
    }),
    ("TestSliceRequests_Conversion", |case| changed(case, "input", |_, _| {})),
    ("TestSliceRequests_CountIn", |case| count_in(case, "request", "wantCnt", Some("wantRes"))),
    ("TestSliceRequests_Divide", |case| scale(case, "divisor", Requests::divide)),
    ("TestSliceRequests_GetValue", |case| value_of(case, "res")),
    ("TestSliceRequests_GreaterKeys", |case| greater_keys(case, "req", "other")),
    ("TestSliceRequests_GreaterKeysRL", greater_keys_of_list),
    ("TestSliceRequests_LenAndIsEmpty", length),
    ("TestSliceRequests_Mul", |case| scale(case, "factor", Requests::multiply)),
    ("TestSliceRequests_SaturationMatchesMapRequests", |case| combine(case, "start", "other", case.arg("sub")?)),
    ("TestSliceRequests_ScaledDown", |case| scale(case, "factor", Requests::divide)),
    ("TestSliceRequests_ScaledUp", |case| scale(case, "factor", Requests::multiply)),
    ("TestSliceRequests_Set", set_several),
    ("TestSliceRequests_ToResourceList", to_resource_list),
    ("TestToMap", |case| changed(case, "req", |_, _| {})),
];

type Values = BTreeMap<String, i64>;

/// The requests of a case, with the names they are made of. `None` is Go's nil.
struct Fixture {
    names: ResourceNames,
    requests: Option<Requests>,
}

impl Fixture {
    fn new(case: &Case, field: &str) -> Result<Self, Failure> {
        let mut names = ResourceNames::default();
        let requests = case.get::<Values>(field)?.map(|values| intern(&values, &mut names));
        Ok(Self { names, requests })
    }

    fn requests(&self) -> Requests {
        self.requests.clone().unwrap_or_default()
    }

    fn other(&mut self, case: &Case, field: &str) -> Result<Requests, Failure> {
        Ok(intern(&case.arg(field)?, &mut self.names))
    }

    /// Nothing can be changed in requests that are nil.
    fn change(&mut self, change: impl FnOnce(&mut Requests, &mut ResourceNames)) {
        if let Some(requests) = &mut self.requests {
            change(requests, &mut self.names);
        }
    }

    fn values(&self) -> Values {
        self.requests().iter().map(|(id, value)| (self.names.name(id).to_owned(), value)).collect()
    }
}

fn intern(values: &Values, names: &mut ResourceNames) -> Requests {
    values.iter().map(|(name, value)| (names.intern(name), *value)).collect()
}

fn amount_as_f64(case: &Case) -> Result<(), Failure> {
    let want = match case.raw("want") {
        Value::String(infinite) if infinite == "+Inf" => f64::INFINITY,
        number => number.as_f64().unwrap_or_default(),
    };
    equal(&want, &Amount::new(case.arg("amount")?).as_f64(&case.arg::<String>("resource")?))
}

fn amount_from_quantity(case: &Case) -> Result<(), Failure> {
    let want = match case.arg("wantUnlimited")? {
        true => Amount::UNLIMITED,
        false => Amount::new(case.arg("wantValue")?),
    };
    equal(&want, &Amount::from_quantity(&case.arg::<String>("resource")?, &case.arg("quantity")?))
}

fn count_in(case: &Case, requests: &str, want: &str, want_limiting: Option<&str>) -> Result<(), Failure> {
    let mut fixture = Fixture::new(case, requests)?;
    let capacity = fixture.other(case, "capacity")?;
    let Fit { count, limiting } = fixture.requests().count_in(&capacity, &fixture.names);
    equal(&case.arg(want)?, &count)?;
    match want_limiting {
        Some(field) => equal(&case.arg(field)?, &limiting.map_or("", |id| fixture.names.name(id)).to_owned()),
        None => Ok(()),
    }
}

fn changed(case: &Case, field: &str, change: impl FnOnce(&mut Requests, &mut ResourceNames)) -> Result<(), Failure> {
    let mut fixture = Fixture::new(case, field)?;
    fixture.change(change);
    equal(&case.arg("want")?, &fixture.values())
}

fn scale(case: &Case, factor: &str, change: fn(&mut Requests, i64)) -> Result<(), Failure> {
    let factor = case.arg(factor)?;
    changed(case, "req", |requests, _| change(requests, factor))
}

fn combine(case: &Case, field: &str, other: &str, subtract: bool) -> Result<(), Failure> {
    let other: Values = case.arg(other)?;
    changed(case, field, |requests, names| {
        let other = intern(&other, names);
        if subtract { requests.subtract(&other) } else { requests.add(&other) }
    })
}

fn greater_keys(case: &Case, field: &str, other: &str) -> Result<(), Failure> {
    let mut fixture = Fixture::new(case, field)?;
    let other = fixture.other(case, other)?;
    let greater = fixture.requests().greater_than(&other, &fixture.names).into_iter().map(str::to_owned).collect();
    equal::<Vec<String>>(&case.arg("want")?, &greater)
}

fn greater_keys_of_list(case: &Case) -> Result<(), Failure> {
    let mut fixture = Fixture::new(case, "req")?;
    let other = Requests::from_list(&case.arg("rl")?, &mut fixture.names);
    let greater = fixture.requests().greater_than(&other, &fixture.names).into_iter().map(str::to_owned).collect();
    equal::<Vec<String>>(&case.arg("want")?, &greater)
}

fn value_of(case: &Case, resource: &str) -> Result<(), Failure> {
    let mut fixture = Fixture::new(case, "req")?;
    let id = fixture.names.intern(&case.arg::<String>(resource)?);
    equal(&case.arg("want")?, &fixture.requests().get(id))
}

fn set_one(case: &Case) -> Result<(), Failure> {
    let (name, value) = (case.arg::<String>("setKey")?, case.arg("setValue")?);
    changed(case, "initial", |requests, names| requests.set(names.intern(&name), value))
}

fn set_several(case: &Case) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct Set {
        name: String,
        #[serde(default)]
        val: i64,
    }
    let sets: Vec<Set> = case.arg("sets")?;
    changed(case, "req", |requests, names| {
        for Set { name, val } in &sets {
            requests.set(names.intern(name), *val);
        }
    })
}

fn length(case: &Case) -> Result<(), Failure> {
    let requests = Fixture::new(case, "req")?.requests();
    equal(&(case.arg("wantLen")?, case.arg("wantIsEmpty")?), &(requests.len(), requests.is_empty()))
}

fn requests_equal(case: &Case) -> Result<(), Failure> {
    let mut fixture = Fixture::new(case, "a")?;
    let b = case.get::<Values>("b")?.map(|values| intern(&values, &mut fixture.names));
    equal(&case.arg("want")?, &(fixture.requests == b))
}

fn quantity_round_trips(case: &Case) -> Result<(), Failure> {
    let resource: String = case.arg("resource")?;
    let mut formatter = Formatter::default();
    // The one resource of the table whose unit the name does not give away is registered by the test itself.
    if resource == "gpu.memory" {
        formatter.show_in_bytes(&resource);
    }
    let shown = formatter.quantity(&resource, case.arg("value")?).to_string();
    equal(&case.arg("expected")?, &shown)?;
    let read: Quantity = shown.parse().map_err(|error| Failure(format!("cannot read back {shown}: {error}")))?;
    equal(&shown, &read.to_string())
}

fn base_units_clamp(case: &Case) -> Result<(), Failure> {
    equal(&case.arg("want")?, &base_units(&case.arg::<String>("resource")?, &case.arg("quantity")?))
}

fn to_resource_list(case: &Case) -> Result<(), Failure> {
    let fixture = Fixture::new(case, "req")?;
    equal::<ResourceList>(&case.arg("want")?, &fixture.requests().to_list(&fixture.names, &Formatter::default()))
}

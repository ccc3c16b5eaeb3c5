//! Requests as users would write them, in base units: `cpu=1500 memory=1024`.

use super::*;

/// `cpu=1 memory=2`, in base units.
fn requests(text: &str, names: &mut ResourceNames) -> Requests {
    let pairs = text.split_whitespace().map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(name, value)| (names.intern(name), value.parse().unwrap())).collect()
}

/// Sorted by name, so that it does not depend on the order of interning.
fn text(requests: &Requests, names: &ResourceNames) -> String {
    let mut pairs: Vec<String> = requests.iter().map(|(id, value)| format!("{}={value}", names.name(id))).collect();
    pairs.sort();
    pairs.join(" ")
}

fn after(start: &str, other: &str, change: fn(&mut Requests, &Requests)) -> String {
    let names = &mut ResourceNames::default();
    let mut requests_after = requests(start, names);
    change(&mut requests_after, &requests(other, names));
    text(&requests_after, names)
}

#[test]
fn names_keep_their_id() {
    let mut names = ResourceNames::default();
    let ids = ["m", "c", "x", "m", "a"].map(|name| names.intern(name));
    assert_eq!(ids[0], ids[3]);
    assert_eq!(ids.map(|id| names.name(id).to_owned()), ["m", "c", "x", "m", "a"]);
    assert_eq!(names.intern("x"), ids[2]);
}

#[test]
fn sums_and_differences_cover_the_resources_of_both_sides() {
    assert_eq!(after("a=1 c=3", "b=2 c=4 d=5", Requests::add), "a=1 b=2 c=7 d=5");
    assert_eq!(after("a=1 c=3", "b=2 c=4 d=5", Requests::subtract), "a=1 b=-2 c=-1 d=-5");
    assert_eq!(after("", "b=2", Requests::add), "b=2");
    assert_eq!(after("a=1", "", Requests::subtract), "a=1");
    assert_eq!(after("a=1", "a=1", Requests::subtract), "a=0");
}

#[test]
fn arithmetic_saturates() {
    let (max, min) = (i64::MAX, i64::MIN);
    assert_eq!(after(&format!("a={max}"), "a=1", Requests::add), format!("a={max}"));
    assert_eq!(after(&format!("a={min}"), "a=1", Requests::subtract), format!("a={min}"));
    assert_eq!(after("", &format!("a={min}"), Requests::subtract), format!("a={max}"));
    assert_eq!(after(&format!("a={max} b=-{max} c=2"), "", |all, _| all.multiply(2)), format!("a={max} b={min} c=4"));
}

#[test]
fn division_rounds_towards_zero_and_ignores_a_zero_divisor() {
    assert_eq!(after("a=7 b=-7 c=0", "", |all, _| all.divide(2)), "a=3 b=-3 c=0");
    assert_eq!(after("a=7 c=0", "", |all, _| all.divide(0)), "a=7 c=0");
}

#[test]
fn negative_values_are_floored() {
    assert_eq!(after("a=-7 b=0 c=3", "", |all, _| all.floor_to_zero()), "a=0 b=0 c=3");
}

#[test]
fn the_scarcest_resource_limits_how_often_a_request_fits() {
    for (request, capacity, want) in [
        ("a=2 b=3", "a=10 b=10", "3 b"),
        ("b=1 a=1", "a=4 b=4", "4 a"),
        ("a=2", "b=10", "0 a"),
        ("a=2", "a=-9", "0 a"),
        ("a=0", "a=-9", "2147483647 a"),
        ("a=0 b=4", "b=9", "2 b"),
        ("a=1", "a=5000000000", "2147483647 a"),
        ("a=-1", "a=-9223372036854775808", "0 a"),
        ("", "a=1", "0 -"),
    ] {
        let names = &mut ResourceNames::default();
        let (request, capacity) = (requests(request, names), requests(capacity, names));
        let fit = request.count_in(&capacity, names);
        let got = format!("{} {}", fit.count, fit.limiting.map_or("-", |id| names.name(id)));
        assert_eq!(got, want, "{request:?} in {capacity:?}");
    }
}

#[test]
fn only_resources_of_both_sides_can_be_greater() {
    let names = &mut ResourceNames::default();
    let (a, b) = (requests("z=5 m=5 c=5 only=9", names), requests("c=4 m=5 z=0 other=1", names));
    assert_eq!(a.greater_than(&b, names), ["c", "z"]);
    assert!(b.greater_than(&a, names).is_empty());
}

#[test]
fn resource_lists_convert_both_ways() {
    let names = &mut ResourceNames::default();
    let list: ResourceList = [("cpu", "1500m"), ("memory", "1.5Ki"), ("pods", "0"), ("x.example/y", "0.1")]
        .map(|(name, quantity)| (name.to_owned(), quantity.parse().unwrap()))
        .into();
    let requests = Requests::from_list(&list, names);
    assert_eq!(text(&requests, names), "cpu=1500 memory=1536 pods=0 x.example/y=1");
    let back = requests.to_list(names, &Formatter::default());
    let shown: Vec<String> = back.iter().map(|(name, quantity)| format!("{name}={quantity}")).collect();
    assert_eq!(shown, ["cpu=1500m", "memory=1536", "pods=0", "x.example/y=1"]);
}

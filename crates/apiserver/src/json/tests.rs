use super::*;

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn what_is_read_is_written_with_its_names_in_order() {
    for (given, written) in [
        (r#"{"b":1,"a":[true,null,-2,1.5,"x\"\n\u0001ü"]}"#, r#"{"a":[true,null,-2,1.5,"x\"\n\u0001ü"],"b":1}"#),
        (r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
        ("{}", "{}"),
        ("[]", "[]"),
    ] {
        assert_eq!(parsed(given).to_string(), written);
        assert_eq!(serde_json::to_string(&parsed(given)).unwrap(), written);
        assert_eq!(Value::from(serde_json::Value::from(&parsed(given))), parsed(given));
    }
}

#[test]
fn a_change_copies_only_the_way_to_it() {
    let old = parsed(r#"{"metadata":{"name":"a"},"spec":{"deep":{"list":[1]},"other":{}}}"#);
    let mut new = old.clone();
    assert!(new.is_same_as(&old));
    new["spec"]["deep"]["list"][0] = 2.into();
    assert!(!new.is_same_as(&old) && !new["spec"]["deep"].is_same_as(&old["spec"]["deep"]));
    assert!(new["metadata"].is_same_as(&old["metadata"]) && new["spec"]["other"].is_same_as(&old["spec"]["other"]));
    assert_eq!(old.to_string(), r#"{"metadata":{"name":"a"},"spec":{"deep":{"list":[1]},"other":{}}}"#);
    assert_eq!(new["spec"]["deep"], json!({"list": [2]}));
}

#[test]
fn looking_for_what_is_not_there_copies_nothing() {
    let old = parsed(r#"{"a":{"b":1}}"#);
    let mut new = old.clone();
    let object = new.as_object_mut().unwrap();
    assert_eq!((object.remove("x"), object.get_mut("x")), (None, None));
    object.retain(|_, _| true);
    assert!(new.is_same_as(&old));
}

#[test]
fn fields_are_found_however_many_there_are() {
    for count in [0, 1, 5, 12, 13, 100] {
        let mut map = Map::new();
        for number in (0..count).rev() {
            map.insert(format!("{number:03}"), number.into());
        }
        assert!(map.iter().zip(map.iter().skip(1)).all(|((one, _), (next, _))| one < next));
        assert!((0..count).all(|number| map[format!("{number:03}").as_str()] == number));
        assert_eq!((map.get("x"), map.len()), (None, count));
        assert!((0..count).all(|number| map.remove(&format!("{number:03}")).is_some()) && map.is_empty());
    }
}

#[test]
fn pointers_point_as_the_standard_says() {
    let value = parsed(r#"{"a/b":{"~":[1,2]},"":0}"#);
    let cases = [("/a~1b/~0/1", Some(2)), ("/", Some(0)), ("/a~1b/~0/01", None), ("a", None), ("/a~1b/~0/2", None)];
    for (pointer, found) in cases {
        assert_eq!(value.pointer(pointer).and_then(Value::as_i64), found, "{pointer}");
        assert_eq!(value.clone().pointer_mut(pointer).and_then(|value| value.as_i64()), found, "{pointer}");
    }
}

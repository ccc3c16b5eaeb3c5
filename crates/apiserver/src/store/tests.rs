use super::{Forgotten, Key, Part, Refusal, Snapshot, Store};
use crate::json::{Value, json};

const THINGS: &str = "things";

fn object(data: &str) -> Value {
    json!({"metadata": {}, "data": data})
}

fn key(name: &str) -> Key {
    Key::new("ns", name)
}

fn shown(store: &Store, at: Option<u64>) -> Vec<String> {
    let listed = store.list(THINGS, "ns", at).unwrap();
    listed
        .objects
        .iter()
        .map(|(key, object)| format!("{}={}", key.name, object.value["data"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_write_takes_the_next_revision_and_shows_it() {
    let store = Store::default();
    let one = store.create(THINGS, key("a"), object("1")).unwrap();
    let two = store.create("others", key("a"), object("1")).unwrap();
    assert_eq!(two.revision, one.revision + 1);
    assert_eq!(two.value["metadata"]["resourceVersion"], two.revision.to_string());
}

#[test]
fn only_what_was_read_last_can_be_replaced() {
    let store = Store::default();
    let read = store.create(THINGS, key("a"), object("1")).unwrap();
    assert_eq!(store.create(THINGS, key("a"), object("1")).unwrap_err(), Refusal::Exists);
    store.update(THINGS, key("a"), &read, object("2")).unwrap();
    assert_eq!(store.update(THINGS, key("a"), &read, object("3")).unwrap_err(), Refusal::Changed);
    assert_eq!(store.delete(THINGS, key("a"), &read, object("3")).unwrap_err(), Refusal::Changed);
}

#[test]
fn a_list_shows_an_older_revision_as_it_was() {
    let store = Store::default();
    let a = store.create(THINGS, key("a"), object("1")).unwrap();
    let b = store.create(THINGS, key("b"), object("1")).unwrap();
    let a = store.update(THINGS, key("a"), &a, object("2")).unwrap();
    let then = store.revision();
    store.delete(THINGS, key("a"), &a, object("2")).unwrap();
    store.update(THINGS, key("b"), &b, object("9")).unwrap();
    store.create(THINGS, key("c"), object("1")).unwrap();
    assert_eq!(shown(&store, None), ["b=9", "c=1"]);
    assert_eq!(shown(&store, Some(then)), ["a=2", "b=1"]);
    assert_eq!(shown(&store, Some(b.revision)), ["a=1", "b=1"]);
}

#[test]
fn pages_of_a_revision_are_its_list_whatever_happens_between() {
    let store = Store::default();
    for namespace in ["n", "ns", "z"] {
        for name in ["a", "b", "c", "d", "e", "f", "g"] {
            store.create(THINGS, Key::new(namespace, name), object("0")).unwrap();
        }
    }
    let then = Some(store.revision());
    for namespace in ["", "ns"] {
        let keys = |found: &Snapshot| -> Vec<Key> { found.objects.iter().map(|(key, _)| key.clone()).collect() };
        let all = keys(&store.list(THINGS, namespace, then).unwrap());
        let (mut found, mut after, mut round) = (Vec::new(), None::<Key>, 0);
        loop {
            let part = Part { namespace, after: after.as_ref(), max: 3 };
            let page = store.page(THINGS, then, part, |_, object| object.value["data"] == "0").unwrap();
            found.extend(keys(&page));
            assert_eq!(page.remaining, all.len() - found.len());
            let Some((last, _)) = page.objects.last().filter(|_| page.remaining > 0) else { break };
            after = Some(last.clone());
            // One behind the page goes, one changes, one comes; and the one that the next page begins after goes.
            round += 1;
            for (name, is_kept) in [("g", false), ("f", true), (last.name.as_str(), false)] {
                let key = Key::new(&last.namespace, name);
                if let Some(read) = store.get(THINGS, &key) {
                    match is_kept {
                        true => drop(store.update(THINGS, key, &read, object("1")).unwrap()),
                        false => drop(store.delete(THINGS, key, &read, object("0")).unwrap()),
                    }
                }
            }
            store.create(THINGS, Key::new(&last.namespace, format!("h{namespace}{round}")), object("0")).unwrap();
        }
        assert_eq!(found, all);
    }
}

#[test]
fn a_namespace_is_listed_without_its_neighbours() {
    let store = Store::default();
    for namespace in ["n", "ns", "ns2"] {
        store.create(THINGS, Key::new(namespace, "a"), object(namespace)).unwrap();
    }
    assert_eq!(shown(&store, None), ["a=ns"]);
    assert_eq!(store.list(THINGS, "", None).unwrap().objects.len(), 3);
}

#[test]
fn changes_come_in_order_and_a_deletion_is_newer_than_the_object() {
    let store = Store::default();
    let a = store.create(THINGS, key("a"), object("1")).unwrap();
    store.create("others", key("x"), object("1")).unwrap();
    let last = store.delete(THINGS, key("a"), &a, a.value.clone()).unwrap();
    let changes = store.changes_after(THINGS, a.revision).unwrap();
    assert_eq!(changes.len(), 1);
    assert!(changes[0].new.is_none() && last.revision > a.revision);
    assert_eq!(changes[0].old.as_ref().unwrap().value["metadata"]["resourceVersion"], last.revision.to_string());
}

#[test]
fn a_collection_can_be_left_out_of_what_counts_as_a_change() {
    let store = Store::default();
    assert_eq!(store.changed_beside("leases"), 0);
    let a = store.create(THINGS, key("a"), object("1")).unwrap();
    store.create("leases", key("x"), object("1")).unwrap();
    assert_eq!(store.changed_beside("leases"), a.revision);
    let last = store.delete(THINGS, key("a"), &a, a.value.clone()).unwrap();
    assert_eq!(store.changed_beside("leases"), last.revision);
}

#[test]
fn what_is_too_old_is_forgotten_and_said_so() {
    let store = Store::with_history(4);
    let mut read = store.create(THINGS, key("a"), object("0")).unwrap();
    let first = read.revision;
    for _ in 0..4 {
        read = store.update(THINGS, key("a"), &read, object("1")).unwrap();
    }
    let Forgotten { oldest } = store.changes_after(THINGS, first).unwrap_err();
    assert!(store.changes_after(THINGS, oldest).is_ok());
    assert!(store.list(THINGS, "ns", Some(first)).is_err());
    store.compact(read.revision);
    assert!(store.changes_after(THINGS, read.revision).unwrap().is_empty());
}

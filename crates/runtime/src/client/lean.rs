//! Reads objects without the record of who owns which of their fields: it is as long as the rest, and nobody here looks
//! at it. Passing over it in the text costs a fraction of reading it and throwing it away.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

const METADATA: &str = "metadata";
const MANAGED_FIELDS: &str = "managedFields";

/// Reads one object from JSON.
pub(crate) fn read<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let object = T::deserialize(Lean { inner: &mut json, place: Place::Object })?;
    json.end()?;
    Ok(object)
}

/// Reads an event of a watch with its object in one go; nothing when it has another form, or an object that is none of
/// the kind.
pub(super) fn read_event<T: DeserializeOwned>(line: &[u8]) -> Option<(&str, T)> {
    let mut json = serde_json::Deserializer::from_str(std::str::from_utf8(line).ok()?);
    let event = json.deserialize_map(Event(PhantomData)).ok()?;
    json.end().ok()?;
    Some(event)
}

/// The type of an event, and its object after it.
struct Event<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned> Visitor<'de> for Event<T> {
    type Value = (&'de str, T);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the type of an event and its object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let unusual = || A::Error::custom("another form");
        let r#type = fields.next_entry::<&str, &str>()?.filter(|(name, _)| *name == "type").ok_or_else(unusual)?.1;
        fields.next_key::<&str>()?.filter(|name| *name == "object").ok_or_else(unusual)?;
        let object = fields.next_value_seed(Lean { inner: PhantomData, place: Place::Object })?;
        match fields.next_key::<&str>()? {
            None => Ok((r#type, object)),
            Some(_) => Err(unusual()),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Object,
    Metadata,
}

/// Reads, or is told, what is at that place.
struct Lean<T> {
    inner: T,
    place: Place,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Lean<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(Lean { inner: visitor, place: self.place })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_option(Lean { inner: visitor, place: self.place })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Lean<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Lean { inner: deserializer, place: self.place })
    }
}

/// What is no object is what it is: whoever reads it says what is wrong with it.
impl<'de, V: Visitor<'de>> Visitor<'de> for Lean<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Lean { inner, place: self.place })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Fields { inner: fields, place: self.place, is_metadata: false })
    }
}

struct Fields<A> {
    inner: A,
    place: Place,
    /// Whether the value that comes next is the metadata of the object.
    is_metadata: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, mut seed: K) -> Result<Option<K::Value>, A::Error> {
        loop {
            match self.inner.next_key_seed(Name { seed, place: self.place })? {
                None => return Ok(None),
                Some(Named::Field { key, is_metadata }) => {
                    self.is_metadata = is_metadata;
                    return Ok(Some(key));
                }
                Some(Named::PassedOver(again)) => {
                    self.inner.next_value::<IgnoredAny>()?;
                    seed = again;
                }
            }
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        match self.is_metadata {
            true => self.inner.next_value_seed(Lean { inner: seed, place: Place::Metadata }),
            false => self.inner.next_value_seed(seed),
        }
    }
}

/// The name of a field, for whoever waits for one.
struct Name<K> {
    seed: K,
    place: Place,
}

enum Named<V, K> {
    Field {
        key: V,
        is_metadata: bool,
    },
    /// Nobody was told; the next one will be.
    PassedOver(K),
}

impl<'de, K: DeserializeSeed<'de>> Name<K> {
    fn told<E: Error>(self, name: &str, source: impl Deserializer<'de, Error = E>) -> Result<Named<K::Value, K>, E> {
        if self.place == Place::Metadata && name == MANAGED_FIELDS {
            return Ok(Named::PassedOver(self.seed));
        }
        let is_metadata = self.place == Place::Object && name == METADATA;
        Ok(Named::Field { key: self.seed.deserialize(source)?, is_metadata })
    }
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for Name<K> {
    type Value = Named<K::Value, K>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, K: DeserializeSeed<'de>> Visitor<'de> for Name<K> {
    type Value = Named<K::Value, K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        self.told(name, StrDeserializer::new(name))
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Self::Value, E> {
        self.told(name, BorrowedStrDeserializer::new(name))
    }
}

#[cfg(test)]
mod tests {
    use kueue_api::core_v1::Lease;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_managed_fields_of_metadata_are_passed_over() {
        let object = json!({
            "managedFields": [1], "metadata": {"managedFields": [{"a": "]"}], "name": "n\n", "x": {"managedFields": 1}},
            "spec": {"metadata": {"managedFields": [2]}},
        });
        let mut lean = object.clone();
        lean["metadata"].as_object_mut().unwrap().remove("managedFields");
        assert_eq!(read::<Value>(object.to_string().as_bytes()).unwrap(), lean);
    }

    #[test]
    fn an_event_of_the_usual_form_is_read_in_one_go() {
        let object = json!({"metadata": {"name": "l", "managedFields": [{}]}, "spec": {"holderIdentity": "h"}});
        let line = format!("{{\"type\":\"ADDED\",\"object\":{object}}}\n");
        let (r#type, lease) = read_event::<Lease>(line.as_bytes()).unwrap();
        assert_eq!((r#type, lease.metadata.name.as_str(), lease.metadata.rest.len()), ("ADDED", "l", 0));
        for other in [
            json!({"object": object, "type": "ADDED"}).to_string(),
            line.replace("}}\n", "},\"more\":1}\n"),
            line.replace("\"h\"", "1"),
            line.repeat(2),
            line[..line.len() / 2].to_owned(),
        ] {
            assert!(read_event::<Lease>(other.as_bytes()).is_none(), "{other}");
        }
    }

    #[test]
    fn objects_are_read_as_ever() {
        let lease = json!({"metadata": {"name": "l", "managedFields": [{}], "selfLink": "s", "labels": null},
            "spec": {"holderIdentity": "h", "other": [1]}});
        let mut usual: Lease = serde_json::from_value(lease.clone()).unwrap();
        usual.metadata.rest.remove("managedFields");
        let read: Lease = read(lease.to_string().as_bytes()).unwrap();
        assert_eq!(read, usual);
        for odd in ["{\"metadata\": null}", "{}", "{\"metadata\": []}", "{\"metadata\": 1}", "[]", "{} x", "null"] {
            // Where the reader stood when it noticed may differ.
            let told = |error: serde_json::Error| error.to_string().split(" at line").next().map(str::to_owned);
            let (lean, usual) = (super::read::<Lease>(odd.as_bytes()), serde_json::from_str::<Lease>(odd));
            assert_eq!(lean.map_err(told), usual.map_err(told), "{odd}");
        }
    }
}

//! The `visibility.kueue.x-k8s.io` group: who waits in a queue, answered from memory by the manager.
//!
//! Both versions have the same shape; only `apiVersion` differs.

use std::num::IntErrorKind;

use thiserror::Error;

use crate::meta::ObjectMeta;
use crate::wire::wire_struct;

/// The API group.
pub const GROUP: &str = "visibility.kueue.x-k8s.io";

wire_struct! {
    /// A workload that waits.
    pub struct PendingWorkload {
        /// Name, namespace, owners and age of the Workload.
        pub metadata: ObjectMeta,
        /// Higher goes first.
        pub priority: i32,
        /// The LocalQueue it came through.
        pub local_queue_name: String,
        /// Its place in the ClusterQueue, from 0.
        pub position_in_cluster_queue: i32,
        /// Its place in the LocalQueue, from 0.
        pub position_in_local_queue: i32,
    }
}

macro_rules! version {
    ($version:ident) => {
        #[doc = concat!("`visibility.kueue.x-k8s.io/", stringify!($version), "`.")]
        pub mod $version {
            use super::{GROUP, PendingWorkload};
            use crate::meta::object;

            /// The version's name.
            pub const VERSION: &str = stringify!($version);

            object! {
                /// The workloads that wait in a queue: the `pendingworkloads` of a ClusterQueue or a LocalQueue.
                pub struct PendingWorkloadsSummary in GROUP/VERSION/"pendingworkloads", namespaced: false {
                    /// In the order they are tried.
                    pub items: Vec<PendingWorkload>,
                }
            }
        }
    };
}
version!(v1beta1);
version!(v1beta2);

/// Which part of the list is asked for, as the query of the URL says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingWorkloadOptions {
    /// How many to leave out at the front.
    pub offset: i64,
    /// How many to show.
    pub limit: i64,
}

/// A query parameter is not a number.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("strconv.ParseInt: parsing {text:?}: {problem}")]
pub struct QueryError {
    text: String,
    problem: &'static str,
}

impl PendingWorkloadOptions {
    /// How many are shown unless the query says otherwise.
    pub const DEFAULT_LIMIT: i64 = 1000;
    /// How many are shown at most.
    pub const MAX_LIMIT: i64 = 100_000;

    /// Reads the parameters of a URL. Of a repeated one the first counts; unknown ones are left alone.
    pub fn from_query<'a>(query: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, QueryError> {
        let (mut offset, mut limit) = (None, None);
        for (name, text) in query {
            let parameter = match name {
                "offset" => &mut offset,
                "limit" => &mut limit,
                _ => continue,
            };
            if parameter.is_none() {
                *parameter = Some(parse(text)?);
            }
        }
        let limit = limit.filter(|&limit| limit != 0).unwrap_or(Self::DEFAULT_LIMIT);
        Ok(Self { offset: offset.unwrap_or(0), limit })
    }

    /// The part that is shown: never a negative one, and not more than [`Self::MAX_LIMIT`].
    #[must_use]
    pub fn bounded(self) -> Self {
        Self { offset: self.offset.max(0), limit: self.limit.clamp(0, Self::MAX_LIMIT) }
    }

    /// The same as parameters of a URL.
    pub fn to_query(self) -> [(&'static str, String); 2] {
        [("limit", self.limit.to_string()), ("offset", self.offset.to_string())]
    }
}

/// A number as Go reads it, with Go's words when it is none.
fn parse(text: &str) -> Result<i64, QueryError> {
    text.parse().map_err(|error: std::num::ParseIntError| {
        let problem = match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        QueryError { text: text.to_owned(), problem }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(query: &[(&str, &str)]) -> Result<(i64, i64), String> {
        let options = PendingWorkloadOptions::from_query(query.iter().copied());
        options.map(|options| (options.offset, options.limit)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_of_repeated_parameters_counts_and_zero_is_the_default() {
        assert_eq!(read(&[]), Ok((0, 1000)));
        assert_eq!(read(&[("offset", "5"), ("limit", "0"), ("pretty", "true")]), Ok((5, 1000)));
        assert_eq!(read(&[("limit", "7"), ("limit", "x"), ("offset", "+2")]), Ok((2, 7)));
    }

    #[test]
    fn what_is_not_a_number_is_refused_in_the_words_of_the_api_server() {
        for (text, problem) in
            [("", "invalid syntax"), ("1k", "invalid syntax"), ("9223372036854775808", "value out of range")]
        {
            assert_eq!(read(&[("limit", text)]), Err(format!("strconv.ParseInt: parsing \"{text}\": {problem}")));
        }
    }

    #[test]
    fn a_window_is_never_negative_nor_too_long() {
        let bounded = |offset, limit| {
            let options = PendingWorkloadOptions { offset, limit }.bounded();
            (options.offset, options.limit)
        };
        assert_eq!(bounded(-1, -5), (0, 0));
        assert_eq!(bounded(3, 1_000_000), (3, 100_000));
    }

    #[test]
    fn both_versions_print_the_same_but_for_their_name() {
        let items =
            vec![PendingWorkload { local_queue_name: "q".to_owned(), priority: 3, ..PendingWorkload::default() }];
        let old = v1beta1::PendingWorkloadsSummary { items: items.clone(), ..Default::default() };
        let new = v1beta2::PendingWorkloadsSummary { items, ..Default::default() };
        let mut old = serde_json::to_value(old).unwrap();
        assert_eq!(old["apiVersion"], "visibility.kueue.x-k8s.io/v1beta1");
        old["apiVersion"] = json!("visibility.kueue.x-k8s.io/v1beta2");
        assert_eq!(old, serde_json::to_value(new).unwrap());
        assert_eq!(
            old["items"][0],
            json!({
                "metadata": {}, "priority": 3, "localQueueName": "q",
                "positionInClusterQueue": 0, "positionInLocalQueue": 0,
            })
        );
    }
}

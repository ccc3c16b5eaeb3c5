//! The importer's mapping: which queue a pod that already runs goes to.

use std::collections::BTreeMap;

use crate::wire::wire_struct;

wire_struct! {
    /// One rule of the mapping file.
    pub struct Rule {
        /// Which pods it is for.
        pub r#match: Match,
        /// The LocalQueue they go to.
        pub to_local_queue: String,
        /// Leave them alone instead.
        pub skip: bool,
    }
}

wire_struct! {
    /// Which pods a rule is for: those that all of this holds for.
    pub struct Match {
        /// The pod's priority class; empty is any.
        pub priority_class_name: String,
        /// Labels of the pod. An empty value is also that of a label the pod does not have.
        pub labels: BTreeMap<String, String>,
    }
}

/// The first rule that is for the pod.
pub fn rule_for<'r>(rules: &'r [Rule], priority_class: &str, labels: &BTreeMap<String, String>) -> Option<&'r Rule> {
    rules.iter().find(|rule| rule.r#match.is_for(priority_class, labels))
}

impl Match {
    fn is_for(&self, priority_class: &str, labels: &BTreeMap<String, String>) -> bool {
        let has = |(key, value): (&String, &String)| labels.get(key).map_or("", String::as_str) == value;
        (self.priority_class_name.is_empty() || self.priority_class_name == priority_class)
            && self.labels.iter().all(has)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rules are `class label=value -> queue` or `... -> skip`, pods are `class label=value`.
    fn check(rules: &str, pods: &[(&str, &str)]) {
        let rules: Vec<Rule> = rules.lines().map(|line| rule(line.trim())).collect();
        for (pod, queue) in pods {
            let (class, labels) = class_and_labels(pod);
            let found = rule_for(&rules, &class, &labels);
            let shown = match found {
                None => "no rule",
                Some(Rule { skip: true, .. }) => "skip",
                Some(rule) => &rule.to_local_queue,
            };
            assert_eq!(shown, *queue, "{pod}");
        }
    }

    fn rule(line: &str) -> Rule {
        let (pods, queue) = line.split_once(" -> ").unwrap();
        let (priority_class_name, labels) = class_and_labels(pods);
        let to_local_queue = if queue == "skip" { String::new() } else { queue.to_owned() };
        Rule { r#match: Match { priority_class_name, labels }, to_local_queue, skip: queue == "skip" }
    }

    fn class_and_labels(text: &str) -> (String, BTreeMap<String, String>) {
        let (labels, classes): (Vec<&str>, Vec<&str>) = text.split(' ').partition(|word| word.contains('='));
        let pair = |label: &str| label.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        (classes.join("").replace("any", ""), labels.into_iter().filter_map(pair).collect())
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        check(
            "high team=a -> fast
             any team=a stage=test -> skip
             any team=a -> slow
             any team= -> nobody",
            &[
                ("high team=a", "fast"),
                ("low team=a", "slow"),
                ("low team=a stage=test", "skip"),
                ("high team=b", "no rule"),
                ("high", "nobody"),
            ],
        );
    }
}

//! Making a failing plan small: parts are left out while it still breaks the same rule.

use crate::plan::Plan;
use crate::play::outcome;

/// The parts of a plan without which the rule is not broken.
pub fn shrunk(plan: &Plan, rule: &str) -> Vec<usize> {
    let breaks =
        |kept: &[usize]| outcome(&plan.with_only(kept), false).problem.is_some_and(|problem| problem.rule == rule);
    let mut kept: Vec<usize> = (0..plan.parts()).collect();
    let mut size = kept.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < kept.len() {
            let mut fewer = kept.clone();
            fewer.drain(at..(at + size).min(kept.len()));
            if breaks(&fewer) {
                kept = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    kept
}

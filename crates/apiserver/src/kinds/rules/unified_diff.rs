//! Where two texts differ, as Python's and Go's `difflib` show it: groups of changed lines with three lines around them.

use std::collections::BTreeMap;

const CONTEXT: usize = 3;
/// Texts with so many lines are compared without those that are everywhere.
const LARGE: usize = 200;

/// Lines `a` and `b` have in common, or not: a range of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    is_equal: bool,
    a: (usize, usize),
    b: (usize, usize),
}

/// The difference between two lists of lines, each of which has its end.
pub fn diff(a: &[String], b: &[String]) -> String {
    let mut text = String::new();
    for group in groups(&steps(a, b)) {
        let (first, last) = (group[0], group[group.len() - 1]);
        text.push_str(&format!("@@ -{} +{} @@\n", range(first.a.0, last.a.1), range(first.b.0, last.b.1)));
        for step in group {
            if step.is_equal {
                a[step.a.0..step.a.1].iter().for_each(|line| text.push_str(&format!(" {line}")));
            } else {
                a[step.a.0..step.a.1].iter().for_each(|line| text.push_str(&format!("-{line}")));
                b[step.b.0..step.b.1].iter().for_each(|line| text.push_str(&format!("+{line}")));
            }
        }
    }
    text
}

fn range(start: usize, end: usize) -> String {
    match end - start {
        1 => (start + 1).to_string(),
        0 => format!("{start},0"),
        length => format!("{},{length}", start + 1),
    }
}

fn steps(a: &[String], b: &[String]) -> Vec<Step> {
    let matcher = Matcher::new(a, b);
    let mut blocks = Vec::new();
    matcher.collect((0, a.len()), (0, b.len()), &mut blocks);
    blocks.push((a.len(), b.len(), 0));
    let mut steps = Vec::new();
    let (mut i, mut j) = (0, 0);
    for (ai, bj, size) in merged(&blocks) {
        if i < ai || j < bj {
            steps.push(Step { is_equal: false, a: (i, ai), b: (j, bj) });
        }
        (i, j) = (ai + size, bj + size);
        if size > 0 {
            steps.push(Step { is_equal: true, a: (ai, i), b: (bj, j) });
        }
    }
    steps
}

/// Blocks that touch are one.
fn merged(blocks: &[(usize, usize, usize)]) -> Vec<(usize, usize, usize)> {
    let mut all: Vec<(usize, usize, usize)> = Vec::new();
    for (ai, bj, size) in blocks {
        match all.last_mut() {
            Some((i, j, length)) if *i + *length == *ai && *j + *length == *bj && *length > 0 && *size > 0 => {
                *length += size;
            }
            _ => all.push((*ai, *bj, *size)),
        }
    }
    all
}

/// Changes that are near each other, with the lines around them.
fn groups(steps: &[Step]) -> Vec<Vec<Step>> {
    let mut steps = steps.to_vec();
    if let Some(first) = steps.first_mut().filter(|step| step.is_equal) {
        first.a.0 = first.a.0.max(first.a.1.saturating_sub(CONTEXT));
        first.b.0 = first.b.0.max(first.b.1.saturating_sub(CONTEXT));
    }
    if let Some(last) = steps.last_mut().filter(|step| step.is_equal) {
        last.a.1 = last.a.1.min(last.a.0 + CONTEXT);
        last.b.1 = last.b.1.min(last.b.0 + CONTEXT);
    }
    let (mut groups, mut group) = (Vec::new(), Vec::new());
    for mut step in steps {
        if step.is_equal && step.a.1 - step.a.0 > 2 * CONTEXT {
            let head = Step { a: (step.a.0, step.a.0 + CONTEXT), b: (step.b.0, step.b.0 + CONTEXT), ..step };
            group.push(head);
            groups.push(std::mem::take(&mut group));
            (step.a.0, step.b.0) = (step.a.1 - CONTEXT, step.b.1 - CONTEXT);
        }
        group.push(step);
    }
    groups.push(group);
    groups.retain(|group| group.iter().any(|step| !step.is_equal));
    groups
}

/// Finds the longest runs that two texts share.
struct Matcher<'t> {
    a: &'t [String],
    b: &'t [String],
    /// Where each line of `b` stands; lines that are everywhere are left out.
    places: BTreeMap<&'t str, Vec<usize>>,
}

impl<'t> Matcher<'t> {
    fn new(a: &'t [String], b: &'t [String]) -> Self {
        let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, line) in b.iter().enumerate() {
            places.entry(line).or_default().push(index);
        }
        if b.len() >= LARGE {
            places.retain(|_, found| found.len() <= b.len() / 100 + 1);
        }
        Self { a, b, places }
    }

    /// Every run, from the longest outwards, in the order of the texts.
    fn collect(&self, a: (usize, usize), b: (usize, usize), blocks: &mut Vec<(usize, usize, usize)>) {
        let (i, j, size) = self.longest(a, b);
        if size == 0 {
            return;
        }
        if a.0 < i && b.0 < j {
            self.collect((a.0, i), (b.0, j), blocks);
        }
        blocks.push((i, j, size));
        if i + size < a.1 && j + size < b.1 {
            self.collect((i + size, a.1), (j + size, b.1), blocks);
        }
    }

    fn longest(&self, a: (usize, usize), b: (usize, usize)) -> (usize, usize, usize) {
        let (mut best_i, mut best_j, mut best) = (a.0, b.0, 0);
        let mut runs: BTreeMap<usize, usize> = BTreeMap::new();
        for i in a.0..a.1 {
            let mut next = BTreeMap::new();
            for j in self.places.get(self.a[i].as_str()).into_iter().flatten().copied() {
                if !(b.0..b.1).contains(&j) {
                    continue;
                }
                let length = j.checked_sub(1).and_then(|before| runs.get(&before)).copied().unwrap_or_default() + 1;
                next.insert(j, length);
                if length > best {
                    (best_i, best_j, best) = (i + 1 - length, j + 1 - length, length);
                }
            }
            runs = next;
        }
        // Lines that were left out extend a run on both sides.
        while best_i > a.0 && best_j > b.0 && self.a[best_i - 1] == self.b[best_j - 1] {
            (best_i, best_j, best) = (best_i - 1, best_j - 1, best + 1);
        }
        while best_i + best < a.1 && best_j + best < b.1 && self.a[best_i + best] == self.b[best_j + best] {
            best += 1;
        }
        (best_i, best_j, best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: &str, b: &str, expected: &str) {
        let lines = |text: &str| text.split(' ').map(|line| format!("{line}\n")).collect::<Vec<String>>();
        assert_eq!(diff(&lines(a), &lines(b)).replace('\n', "|"), expected);
    }

    #[test]
    fn changes_are_shown_with_three_lines_around_them() {
        check("1 2 3 4 5 6 7 8 9", "1 2 3 4 x 6 7 8 9", "@@ -2,7 +2,7 @@| 2| 3| 4|-5|+x| 6| 7| 8|");
        check("1 2", "1 2 3", "@@ -1,2 +1,3 @@| 1| 2|+3|");
        check("1 2 3", "1 2 3", "");
        check(
            "1 2 3 4 5 6 7 8 9 a b c",
            "x 2 3 4 5 6 7 8 9 a b y",
            "@@ -1,4 +1,4 @@|-1|+x| 2| 3| 4|@@ -9,4 +9,4 @@| 9| a| b|-c|+y|",
        );
    }
}

//! Sets of completion indexes, as Job statuses write them: `1,3-5,7`.

use std::collections::BTreeSet;

#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct Indexes(BTreeSet<i32>);

impl Indexes {
    /// Reads a text; what makes no sense in it, or is not below `completions`, is left out.
    pub(super) fn read(text: &str, completions: i32) -> Self {
        let mut found = BTreeSet::new();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            if let (Ok(first), Ok(last)) = (first.parse::<i32>(), last.parse::<i32>()) {
                found.extend(first.max(0)..=last.min(completions.saturating_sub(1)));
            }
        }
        Self(found)
    }

    pub(super) fn insert(&mut self, index: i32) -> bool {
        self.0.insert(index)
    }

    pub(super) fn contains(&self, index: i32) -> bool {
        self.0.contains(&index)
    }

    pub(super) fn len(&self) -> i32 {
        i32::try_from(self.0.len()).unwrap_or(i32::MAX)
    }

    pub(super) fn common(&self, other: &Self) -> i32 {
        i32::try_from(self.0.intersection(&other.0).count()).unwrap_or(i32::MAX)
    }

    /// Runs of more than two are written with a dash.
    pub(super) fn write(&self) -> String {
        let mut runs: Vec<(i32, i32)> = Vec::new();
        for &index in &self.0 {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == index => *last = index,
                _ => runs.push((index, index)),
            }
        }
        let text = |(first, last): (i32, i32)| match last - first {
            0 => first.to_string(),
            1 => format!("{first},{last}"),
            _ => format!("{first}-{last}"),
        };
        runs.into_iter().map(text).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_and_written_as_jobs_do() {
        for text in ["", "0", "0,1", "0-2", "1,3-5,7", "0,2,4-6,8,9"] {
            assert_eq!(Indexes::read(text, 10).write(), text);
        }
        assert_eq!(Indexes::read("0-100,x,7-", 3).write(), "0-2", "what is too large or no number is left out");
        assert_eq!(Indexes::read("1-4", 9).common(&Indexes::read("3-8", 9)), 2);
    }
}

//! Lists of indexes as Jobs write them: `1,3-5,7`.

/// How many indexes a list holds, all below `completions`; or what is wrong with it.
pub fn count(text: &str, completions: i64) -> Result<i64, String> {
    let mut total = 0;
    let mut last: Option<i64> = None;
    if text.is_empty() {
        return Ok(0);
    }
    for interval in text.split(',') {
        let (first, end) = parse(interval, completions)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(not_increasing(last, first));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

/// The first index that stands in both lists. What cannot be read is told elsewhere.
pub fn overlap(completed: &str, failed: &str, completions: i64) -> Option<i64> {
    let read = |text: &str| -> Vec<(i64, i64)> {
        text.split(',').filter_map(|interval| parse(interval, completions).ok()).collect()
    };
    let failed = read(failed);
    let shared = |(first, end): (i64, i64)| {
        failed.iter().find(|(from, to)| first <= *to && *from <= end).map(|(from, _)| first.max(*from))
    };
    read(completed).into_iter().find_map(shared)
}

fn parse(interval: &str, completions: i64) -> Result<(i64, i64), String> {
    let parts: Vec<&str> = interval.split('-').collect();
    let index = |text: &str| {
        let number: i64 = text.parse().map_err(|_| format!("cannot convert string to integer for index: {text:?}"))?;
        if number >= completions { Err(format!("too large index: {text:?}")) } else { Ok(number) }
    };
    match parts[..] {
        [only] => index(only).map(|number| (number, number)),
        [first, end] => match (index(first)?, index(end)?) {
            (first, end) if first >= end => Err(not_increasing(first, end)),
            pair => Ok(pair),
        },
        _ => Err(format!(
            "the fragment {interval:?} violates the requirement that an index interval can have at most two parts \
             separated by '-'"
        )),
    }
}

fn not_increasing(previous: i64, current: i64) -> String {
    format!("non-increasing order, previous: {previous}, current: {current}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_refused() {
        let cases = [
            ("", Ok(0)),
            ("1,3-5,7", Ok(5)),
            ("3,1", Err("non-increasing order, previous: 3, current: 1")),
            ("5-3", Err("non-increasing order, previous: 5, current: 3")),
            ("x", Err("cannot convert string to integer for index: \"x\"")),
            ("10", Err("too large index: \"10\"")),
            (
                "1-2-3",
                Err(
                    "the fragment \"1-2-3\" violates the requirement that an index interval can have at most two parts separated by '-'",
                ),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(count(text, 10), expected.map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn no_index_both_completes_and_fails() {
        assert_eq!(overlap("0-2", "3,4", 10), None);
        assert_eq!(overlap("0-2,6", "5-7", 10), Some(6));
    }
}

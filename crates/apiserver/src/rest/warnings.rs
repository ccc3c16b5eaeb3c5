//! Warnings beside an answer: each once, none with control characters, and not too much of them.

/// Together they may have this many characters; beyond that each is cut.
const TOTAL_MAX: usize = 4 * 1024;
const CUT_TO: usize = 256;

/// The warnings that are sent, of those that were given.
pub fn sent(given: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for text in given {
        if !text.is_empty() && !kept.contains(&text) && !text.chars().any(char::is_control) {
            kept.push(text);
        }
    }
    let length = |text: &String| text.chars().count();
    if kept.iter().map(length).sum::<usize>() <= TOTAL_MAX {
        return kept;
    }
    // The one that was too much is still told; what comes after the limit is not.
    let mut whole = 0;
    let until_cut = kept.iter().take_while(|text| {
        whole += length(text);
        whole <= TOTAL_MAX
    });
    let at_once = until_cut.count() + 1;
    let mut written = 0;
    let mut cut = Vec::new();
    for (index, text) in kept.iter().enumerate() {
        if index >= at_once && written >= TOTAL_MAX {
            break;
        }
        let text: String = text.chars().take(CUT_TO).collect();
        written += length(&text);
        cut.push(text);
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_once_and_nothing_that_breaks_a_header() {
        let given = ["a", "b", "a", "", "c\nd"].map(str::to_owned).to_vec();
        assert_eq!(sent(given), ["a", "b"]);
    }

    #[test]
    fn too_many_are_cut_short_and_then_left_out() {
        let long = |number: usize| format!("{number:04}{}", "x".repeat(1000));
        let few: Vec<String> = (0..4).map(long).collect();
        assert_eq!(sent(few.clone()), few);
        let many: Vec<String> = (0..40).map(long).collect();
        let told = sent(many);
        assert_eq!((told.len(), told[0].len(), told[0].starts_with("0000x")), (16, 256, true));
    }
}

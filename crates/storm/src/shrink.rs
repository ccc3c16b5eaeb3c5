//! Making a failing storm small: steps are left out while it still fails.

use crate::Storm;

impl Storm {
    /// A storm with fewer steps that fails as well; the same one if it does not fail.
    #[must_use]
    pub fn shrunk(self) -> Self {
        // The panics of the attempts are not what anybody wants to read.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let small = self.without_needless_steps();
        std::panic::set_hook(hook);
        small
    }

    fn without_needless_steps(mut self) -> Self {
        let Err(why) = self.play() else { return self };
        let mut size = self.words.len().div_ceil(2);
        while size > 0 {
            let mut at = 0;
            while at < self.words.len() {
                let mut fewer = self.clone();
                fewer.words.drain(at..(at + size).min(fewer.words.len()));
                if fewer.play().is_err_and(|other| kind(&other) == kind(&why)) {
                    self = fewer;
                } else {
                    at += size;
                }
            }
            size /= 2;
        }
        self
    }
}

/// The words that say what is wrong, after the name of what it is wrong with.
fn kind(why: &str) -> Vec<&str> {
    why.split_whitespace().skip(1).take(3).collect()
}

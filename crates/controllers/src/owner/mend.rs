//! What happens when the engine breaks one of its own rules.
//!
//! That is a mistake of ours and nothing a user wrote, so the manager goes on: what led there is told, and a new engine
//! is told everything that is known. Decisions pause for a while, longer each time, so that a mistake that comes back at
//! once does not keep the machine busy.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use kueue_engine::{Change, Engine};
use kueue_runtime::watch;
use tokio::time::Instant;
use tracing::{error, warn};

use super::Owner;

/// So many changes are kept to be told.
const RECORDED: usize = 64;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Whoever did not break for so long begins with the first pause again.
const FORGIVEN_AFTER: Duration = Duration::from_secs(600);

/// All that one informer knows, as changes.
pub struct Source(Box<dyn Fn() -> Vec<Change> + Send>);

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Source")
    }
}

impl Source {
    pub fn new(all: impl Fn() -> Vec<Change> + Send + 'static) -> Self {
        Self(Box::new(all))
    }
}

/// What is needed to begin again.
#[derive(Debug)]
pub(super) struct Mending {
    sources: Vec<Source>,
    look_again: watch::Sender<u64>,
    /// What the engine was told lately, the oldest first.
    lately: VecDeque<Change>,
    broken_at: Option<Instant>,
    pause: Duration,
}

impl Mending {
    pub(super) fn new(look_again: watch::Sender<u64>) -> Self {
        Self { sources: Vec::new(), look_again, lately: VecDeque::new(), broken_at: None, pause: FIRST_PAUSE }
    }

    pub(super) fn add(&mut self, source: Source) {
        self.sources.push(source);
    }

    /// How long nothing may be decided yet.
    pub(super) fn wait(&self) -> Option<Duration> {
        let left = (self.broken_at? + self.pause).duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// Lets job reconcilers report everything again.
    pub(super) fn ask_jobs(&self) {
        self.look_again.send_modify(|times| *times += 1);
    }

    pub(super) fn note_break(&mut self) {
        let now = Instant::now();
        let is_first = self.broken_at.is_none_or(|before| now - before > FORGIVEN_AFTER);
        self.pause = if is_first { FIRST_PAUSE } else { (self.pause * 2).min(LONGEST_PAUSE) };
        self.broken_at = Some(now);
    }
}

impl Owner {
    /// Tells the engine something, and remembers it for a while.
    pub(super) fn apply(&mut self, change: Change) {
        if self.mending.lately.len() == RECORDED {
            self.mending.lately.pop_front();
        }
        self.mending.lately.push_back(change.clone());
        self.engine.apply(change, self.clock.time());
    }

    /// Does something that may find the engine broken; nothing comes of it then.
    pub(super) fn guarded<R>(&mut self, doing: impl FnOnce(&mut Self) -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(|| doing(self))) {
            Ok(done) => Some(done),
            Err(panic) => {
                self.mend(&*panic);
                None
            }
        }
    }

    fn mend(&mut self, panic: &(dyn Any + Send)) {
        error!(
            reason = words(panic),
            "the engine broke a rule of its own and begins anew; please report this with what follows"
        );
        for change in std::mem::take(&mut self.mending.lately) {
            match serde_json::to_string(&change) {
                Ok(text) => error!(change = text, "the engine was told"),
                Err(problem) => error!(?change, %problem, "the engine was told"),
            }
        }
        self.mending.note_break();
        let rebuilt = catch_unwind(AssertUnwindSafe(|| self.begin_anew()));
        if let Err(panic) = rebuilt {
            error!(reason = words(&*panic), "what is known breaks the new engine as well; trying again later");
            self.engine = Engine::new(self.settings.clone());
        } else {
            warn!(pause = ?self.mending.pause, "the engine knows everything again, decisions go on after a pause");
        }
    }

    /// A new engine, which is told what informers and the server's answers say.
    fn begin_anew(&mut self) {
        self.engine = Engine::new(self.settings.clone());
        let known: Vec<Change> = self.mending.sources.iter().flat_map(|source| (source.0)()).collect();
        for change in known {
            self.apply(change);
        }
        self.step_down();
    }
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason was given")
}

//! Questions about what the engine knows, from other tasks.

use kueue_engine::Engine;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::Input;

/// A question that is answered when its turn comes.
pub struct Asked(Box<dyn FnOnce(&Engine) + Send>);

impl std::fmt::Debug for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Asked")
    }
}

impl Asked {
    pub(super) fn answer(self, engine: &Engine) {
        (self.0)(engine);
    }
}

/// Asks the owner of the engine.
#[derive(Clone, Debug)]
pub struct Handle(UnboundedSender<Input>);

impl Handle {
    pub fn new(inputs: UnboundedSender<Input>) -> Self {
        Self(inputs)
    }

    /// What the engine says; nothing when its owner is gone.
    pub async fn ask<R: Send + 'static>(&self, question: impl FnOnce(&Engine) -> R + Send + 'static) -> Option<R> {
        let (sender, answer) = oneshot::channel();
        let asked = Asked(Box::new(move |engine| drop(sender.send(question(engine)))));
        self.0.send(Input::Asked(asked)).ok()?;
        answer.await.ok()
    }
}

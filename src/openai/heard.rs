//! What is heard of an answer while it comes in, on its way from the connection to whoever listens.

use tokio::sync::mpsc::UnboundedSender;

use crate::agent::Delta;

/// A piece of an answer. Together they are as large as the answer, which is bounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    Text(String),
    Reasoning(String),
    Call(String),
}

impl Heard {
    pub(super) fn as_delta(&self) -> Delta<'_> {
        match self {
            Self::Text(text) => Delta::Text(text),
            Self::Reasoning(text) => Delta::Reasoning(text),
            Self::Call(name) => Delta::Call(name),
        }
    }
}

/// Takes in what is heard.
#[derive(Debug, Clone)]
pub(super) struct Ear(pub(super) UnboundedSender<Heard>);

impl Ear {
    /// Passes on a piece; nobody has to listen.
    pub(super) fn hear(&self, heard: Heard) {
        let (Heard::Text(text) | Heard::Reasoning(text) | Heard::Call(text)) = &heard;
        if !text.is_empty() {
            let _ = self.0.send(heard);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An ear, and what it has heard so far.
    pub(in crate::openai) fn ear() -> (Ear, impl FnMut() -> String) {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let mut all = Vec::new();
        let hears = move || {
            while let Ok(heard) = receiver.try_recv() {
                all.push(match heard {
                    Heard::Text(text) => format!("says {text}"),
                    Heard::Reasoning(text) => format!("thinks {text}"),
                    Heard::Call(name) => format!("call {name}"),
                });
            }
            all.join("|")
        };
        (Ear(sender), hears)
    }
}

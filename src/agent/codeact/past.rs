//! The earlier blocks of a transcript, with enough data to restore their state.

use std::collections::VecDeque;

use crate::agent::Exit;
use crate::agent::tools::TOO_LATE;
use crate::agent::transcript::{EXECUTE, Item, ToolCall, Transcript};

/// How the result of a block begins if the state was lost after it.
pub(super) const STATE_LOST: &str = "The state of all blocks is lost";
/// How the result of a block begins if the state was lost before it.
pub(super) const RESTARTED: &str = "The state of earlier blocks is lost";

/// A block of the transcript.
#[derive(Debug, Clone)]
pub(super) struct Past {
    pub(super) call: ToolCall,
    /// The calls its code made, in order.
    pub(super) called: VecDeque<Called>,
    /// Its result. `None` if it was interrupted.
    result: Option<String>,
}

/// One call of a block.
#[derive(Debug, Clone)]
pub(super) struct Called {
    pub(super) call: ToolCall,
    /// `None` if it was interrupted.
    pub(super) result: Option<RecordedResult>,
}

/// The recorded answer to a call.
#[derive(Debug, Clone)]
pub(super) struct RecordedResult {
    pub(super) text: String,
    pub(super) exit: Option<Exit>,
    /// Whether a person allowed it.
    pub(super) granted: bool,
}

/// Every block whose state would still exist, in order; the last one may still be running.
pub(super) fn blocks(transcript: &Transcript) -> Vec<Past> {
    let mut blocks: Vec<Past> = Vec::new();
    for item in transcript.items() {
        match item {
            Item::Reply(reply) => {
                let calls = reply.calls.iter().filter(|call| call.name == EXECUTE);
                blocks.extend(calls.map(|call| Past {
                    call: call.clone(),
                    called: VecDeque::new(),
                    result: None,
                }));
            }
            Item::Called { within, call } => {
                // Ids are unique only within a reply.
                if let Some(block) = blocks.iter_mut().rfind(|block| block.call.id == *within) {
                    let (call, result) = (call.clone(), None);
                    block.called.push_back(Called { call, result });
                }
            }
            Item::Result {
                call_id,
                text,
                exit,
                granted,
            } => {
                if let Some(at) = blocks.iter().rposition(|block| block.call.id == *call_id) {
                    blocks[at].result = Some(text.clone());
                    if text.starts_with(STATE_LOST) {
                        blocks.drain(..=at);
                    } else if text.starts_with(RESTARTED) {
                        blocks.drain(..at);
                    }
                } else {
                    let called = blocks.iter_mut().rev().flat_map(|block| &mut block.called);
                    if let Some(called) = called.into_iter().find(|called| called.call.id == *call_id) {
                        called.result = Some(RecordedResult {
                            text: text.clone(),
                            exit: exit.clone(),
                            granted: *granted,
                        });
                    }
                }
            }
            _ => {}
        }
    }
    blocks
}

impl Past {
    /// Whether its code ran to the end.
    pub(super) fn ran(&self) -> bool {
        let result = self.result.as_deref();
        result.is_some_and(|text| !text.starts_with(TOO_LATE) || !self.called.is_empty())
    }
}

//! Catches up with a transcript: repeats its edits, and treats everything else in it as done.

use super::model::ToolSpec;
use super::transcript::{Item, ToolCall, Transcript};
use super::{Exit, Shell, prompt, tools};

/// Repeats the edits of the answered calls. Returns the exit if a call of the last reply ended the run.
pub(super) fn catch_up(shell: &mut Shell<'_>, transcript: &Transcript, tools: &[ToolSpec]) -> Option<Exit> {
    shell.rewind();
    let (mut calls, mut ended) = (Vec::new(), None);
    for item in transcript.items() {
        match item {
            Item::Reply(reply) => (calls, ended) = (reply.calls.iter().collect(), None),
            Item::Called { call, .. } => calls.push(call),
            Item::Result {
                call_id,
                text,
                exit,
                granted,
            } => {
                ended = ended.or_else(|| exit.clone());
                if let Some(call) = calls.iter().find(|call| call.id == *call_id) {
                    done(call, (text, *granted), shell, tools);
                }
            }
            Item::Task { .. } | Item::Note(_) => ended = None,
            Item::Compacted { .. } => {}
        }
    }
    ended
}

/// Repeats the edits, except those of some blocks, which make them when they run again.
pub(super) fn edits_but_of(blocks: &[&str], shell: &mut Shell<'_>, transcript: &Transcript, tools: &[ToolSpec]) {
    let mut calls: Vec<&ToolCall> = Vec::new();
    for item in transcript.items() {
        match item {
            Item::Reply(reply) => calls = reply.calls.iter().collect(),
            Item::Called { within, call } if !blocks.contains(&within.as_str()) => calls.push(call),
            Item::Result {
                call_id, text, granted, ..
            } => {
                if let Some(call) = calls.iter().find(|call| call.id == *call_id) {
                    done(call, (text, *granted), shell, tools);
                }
            }
            _ => {}
        }
    }
}

fn done(call: &ToolCall, (text, granted): (&str, bool), shell: &mut Shell<'_>, tools: &[ToolSpec]) {
    if text.starts_with(prompt::REJECTED) {
        shell.turn_down(call);
    } else if !text.starts_with(tools::TOO_LATE) {
        tools::edit_again(call, granted, tools, shell);
    }
}

//! Keeps a history within a model's context: leaves out the oldest tool results, many at once, and records it.
//!
//! Nothing is lost: the transcript keeps every result, and an [`Item::Compacted`] says which of them the model no
//! longer sees. Between two such items the history only grows at its end, so endpoints can cache its beginning.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;

use super::transcript::{Item, Transcript};

/// The estimate of a token's length, for endpoints that do not count.
const BYTES_PER_TOKEN: u64 = 4;
/// The longest part of a call that its replacement line repeats, in characters.
const MAX_SUBJECT: usize = 80;

/// The results to leave out before asking a model with a context of `context` tokens. `None` if the history fits.
pub(super) fn due(transcript: &Transcript, context: u64) -> Option<Item> {
    let size = estimate(transcript.items());
    (size > context).then(|| leave_out(transcript, size - context / 2))?
}

/// The results to leave out after an endpoint refused the history as too long: half of it.
pub(super) fn make_room(transcript: &Transcript) -> Option<Item> {
    leave_out(transcript, estimate(transcript.items()).div_ceil(2))
}

/// The history as a model sees it: one line for each result that was left out, and no calls made by code, because
/// only the code has read their results.
pub fn as_shown(history: &[Item]) -> Vec<Cow<'_, Item>> {
    let results = results(history);
    let mut gone = HashSet::new();
    for (at, item) in history.iter().enumerate() {
        if let Item::Compacted { results: ids } = item {
            let open = results
                .iter()
                .filter(|result| result.at < at && !gone.contains(&result.at));
            let oldest: Vec<usize> = open.take(ids.len()).map(|result| result.at).collect();
            gone.extend(oldest);
        }
    }
    let mut by_code = HashSet::new();
    let mut shown = Vec::new();
    for (at, item) in history.iter().enumerate() {
        match item {
            Item::Called { call, .. } => {
                by_code.insert(call.id.as_str());
            }
            Item::Compacted { .. } => {}
            Item::Result { call_id, .. } if by_code.remove(call_id.as_str()) => {}
            Item::Result { exit, granted, .. } if gone.contains(&at) => {
                let result = results.iter().find(|result| result.at == at);
                shown.push(match result {
                    Some(result) if result.saves() > 0 => Cow::Owned(Item::Result {
                        call_id: result.call_id.into(),
                        text: result.line.clone(),
                        exit: exit.clone(),
                        granted: *granted,
                    }),
                    _ => Cow::Borrowed(item),
                });
            }
            _ => shown.push(Cow::Borrowed(item)),
        }
    }
    shown
}

/// The length of the history in tokens: the endpoint's last count, and an estimate of what came after it.
fn estimate(history: &[Item]) -> u64 {
    let compacted = history.iter().rposition(|item| matches!(item, Item::Compacted { .. }));
    let counted = history.iter().enumerate().rev().find_map(|(at, item)| match item {
        Item::Reply(reply) if reply.usage.prompt_tokens > 0 && Some(at) > compacted => {
            let usage = reply.usage;
            Some((at + 1, usage.prompt_tokens.saturating_add(usage.completion_tokens)))
        }
        _ => None,
    });
    match counted {
        Some((from, tokens)) => tokens.saturating_add(size(as_shown(&history[from..]))),
        None => size(as_shown(history)),
    }
}

fn size(items: Vec<Cow<'_, Item>>) -> u64 {
    let bytes: usize = items
        .iter()
        .map(|item| match &**item {
            Item::Task { instructions, task } => instructions.len() + task.len(),
            Item::Reply(reply) => {
                let calls = reply.calls.iter().map(|call| call.name.len() + call.arguments.len());
                reply.text.as_ref().map_or(0, String::len) + calls.sum::<usize>()
            }
            Item::Result { text, .. } | Item::Note(text) => text.len(),
            Item::Called { .. } | Item::Compacted { .. } => 0,
        })
        .sum();
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}

/// Leaves out the oldest results until this many tokens are saved. Results of the last reply stay, because the model
/// has not read them yet.
fn leave_out(transcript: &Transcript, tokens: u64) -> Option<Item> {
    let items = transcript.items();
    let last_reply = items.iter().rposition(|item| matches!(item, Item::Reply(_)))?;
    let already: usize = items
        .iter()
        .map(|item| match item {
            Item::Compacted { results } => results.len(),
            _ => 0,
        })
        .sum();
    let (mut chosen, mut saved) = (Vec::new(), 0);
    for result in results(items)
        .into_iter()
        .skip(already)
        .filter(|result| result.at < last_reply)
    {
        if saved >= tokens * BYTES_PER_TOKEN {
            break;
        }
        saved += result.saves();
        chosen.push(result.call_id.to_string());
    }
    (saved > 0).then_some(Item::Compacted { results: chosen })
}

/// A result that the model saw.
struct ShownResult<'a> {
    /// Its index in the history. Call ids are unique only within one reply.
    at: usize,
    call_id: &'a str,
    size: usize,
    /// The line that replaces it.
    line: String,
}

impl ShownResult<'_> {
    /// How many bytes the line saves.
    fn saves(&self) -> u64 {
        self.size.saturating_sub(self.line.len()) as u64
    }
}

fn results(history: &[Item]) -> Vec<ShownResult<'_>> {
    let (mut calls, mut by_code, mut seen) = (&[][..], HashSet::new(), Vec::new());
    for (at, item) in history.iter().enumerate() {
        match item {
            Item::Reply(reply) => calls = &reply.calls,
            Item::Called { call, .. } => {
                by_code.insert(call.id.as_str());
            }
            Item::Result { call_id, text, .. } if !by_code.remove(call_id.as_str()) => {
                let call = calls.iter().find(|call| call.id == *call_id);
                let named = call.map_or("a call".into(), |call| label(&call.name, &call.arguments));
                seen.push(ShownResult {
                    at,
                    call_id,
                    size: text.len(),
                    line: format!("[left out: result of {named}; call again if needed]"),
                });
            }
            _ => {}
        }
    }
    seen
}

/// A call's name, and its subject.
fn label(name: &str, arguments: &str) -> String {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let subject = ["path", "pattern", "query", "command"]
        .iter()
        .find_map(|key| arguments.get(key)?.as_str());
    let subject = subject
        .unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let subject: String = subject.chars().take(MAX_SUBJECT).collect();
    format!("{name} {subject}").trim_end().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{Reply, ToolCall, Usage};

    /// A history of reads. Like those of some endpoints, every reply uses the same ids.
    fn read(paths: &[&str], bytes: usize, usage: Usage) -> Transcript {
        let mut transcript = Transcript::new("i", "t");
        for path in paths {
            let call = ToolCall {
                id: "call_0".into(),
                name: "read_file".into(),
                arguments: format!("{{\"path\":\"{path}\"}}"),
            };
            transcript.push(Item::Reply(Reply {
                calls: vec![call],
                usage,
                ..Reply::default()
            }));
            transcript.push(Item::Result {
                call_id: "call_0".into(),
                text: path.repeat(bytes / path.len()),
                exit: None,
                granted: false,
            });
        }
        transcript
    }

    fn shown(transcript: &Transcript) -> Vec<String> {
        let texts = as_shown(transcript.items())
            .into_iter()
            .filter_map(|item| match item.into_owned() {
                Item::Result { text, .. } => Some(text),
                _ => None,
            });
        texts.map(|text| text.chars().take(60).collect()).collect()
    }

    #[test]
    fn a_history_that_fits_is_left_alone() {
        assert_eq!(due(&read(&["aaaa", "bbbb"], 400, Usage::default()), 300), None);
        assert_eq!(due(&Transcript::new("x".repeat(4_000), "t"), 300), None);
        assert_eq!(
            make_room(&read(&["aaaa"], 400, Usage::default())),
            None,
            "nobody has read it yet"
        );
    }

    #[test]
    fn the_oldest_results_go_down_to_half_of_the_bound_in_one_go() {
        let mut transcript = read(&["aaaa", "bbbb", "cccc", "dddd"], 4_000, Usage::default());
        let item = due(&transcript, 3_500).unwrap();
        assert_eq!(
            item,
            Item::Compacted {
                results: vec!["call_0".into(); 3]
            }
        );
        transcript.push(item);
        assert_eq!(due(&transcript, 3_500), None);
        let lines = shown(&transcript);
        assert_eq!(lines[0], "[left out: result of read_file aaaa; call again if needed]");
        assert_eq!(lines[2], "[left out: result of read_file cccc; call again if needed]");
        assert_eq!(lines[3], "dddd".repeat(15));

        // Later results are left out later, no matter what their ids are.
        for item in read(&["eeee", "ffff"], 4_000, Usage::default()).items().iter().skip(1) {
            transcript.push(item.clone());
        }
        assert_eq!(shown(&transcript)[4], "eeee".repeat(15));
        let item = make_room(&transcript).unwrap();
        assert_eq!(
            item,
            Item::Compacted {
                results: vec!["call_0".into(); 2]
            }
        );
        transcript.push(item);
        assert_eq!(make_room(&transcript), None);
        assert_eq!(
            shown(&transcript)[4],
            "[left out: result of read_file eeee; call again if needed]"
        );
        assert_eq!(shown(&transcript)[5], "ffff".repeat(15));
    }

    #[test]
    fn the_count_of_the_endpoint_is_used() {
        let usage = Usage {
            prompt_tokens: 9_000,
            completion_tokens: 500,
            ..Usage::default()
        };
        let transcript = read(&["aaaa", "bbbb"], 400, usage);
        assert!(due(&transcript, 9_700).is_none());
        assert!(due(&transcript, 9_500).is_some());
    }

    #[test]
    fn calls_made_by_code_are_neither_shown_nor_left_out() {
        let mut transcript = read(&["aaaa", "bbbb"], 4_000, Usage::default());
        let call = ToolCall {
            id: "call_0.1".into(),
            name: "search".into(),
            arguments: "{}".into(),
        };
        let within = "call_0".to_string();
        transcript.push(Item::Called { within, call });
        transcript.push(Item::Result {
            call_id: "call_0.1".into(),
            text: "z".repeat(40_000),
            exit: None,
            granted: false,
        });
        assert_eq!(shown(&transcript).len(), 2);
        assert_eq!(due(&transcript, 3_000), None);
    }
}

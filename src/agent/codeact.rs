//! CodeAct, for models that cannot call tools: blocks of code in what they say run in an interpreter in the sandbox,
//! where the tools are functions. State lasts from one block to the next.
//!
//! Such a function does what the tool call of that name does, with the same bounds and the same gates, and is journaled
//! like it. What a block writes to files directly stays in its sandbox. No interpreter is held while a person is asked:
//! afterwards, and after a kill, its state is made again by running the earlier blocks with their calls answered from
//! the transcript.

mod blocks;
mod cells;
mod conversation;
mod feedback;
mod functions;
mod past;

use tokio_util::sync::CancellationToken;

use super::model::{Speech, ToolSpec};
use super::tools::CallResult;
use super::transcript::{Item, Reply, ToolCall};
use super::{Error, Journal, Shell, Transcript, prompt};

/// What a reply without a block is answered with.
const NUDGE: &str = "Nothing was done: only code between <execute> and </execute> counts. Continue with such a block, \
                     or call `submit(summary=...)` in one.";

/// The instructions for a model in a shell, with how it acts if that is by code.
pub(super) fn instructions(instructions: &str, shell: &Shell<'_>, transcript: Option<&Transcript>) -> String {
    match shell.speech {
        Speech::Tools => instructions.into(),
        Speech::Code => {
            let none = Transcript::from(Vec::new());
            let tools = super::tools::offered(shell, transcript.unwrap_or(&none));
            format!("{}\n\n{}", instructions.trim_end(), functions::instructions(&tools))
        }
    }
}

/// What a model is told that turned out to take no tools.
pub fn how_to_act(shell: &Shell<'_>, transcript: &Transcript) -> String {
    format!(
        "There are no tool calls here.\n\n{}",
        functions::instructions(&super::tools::offered(shell, transcript))
    )
}

/// Whether a transcript, as far as it goes, is that of a model which was told to act by code.
pub fn acts_by_code(transcript: &Transcript) -> bool {
    transcript.items().iter().any(|item| match item {
        Item::Task { instructions: text, .. } | Item::Note(text) => text.contains(functions::HEADING),
        _ => false,
    })
}

/// Why a model cannot act in this shell, if it cannot.
pub(super) fn impossible(shell: &Shell<'_>) -> Option<&'static str> {
    (shell.speech == Speech::Code && !shell.may_execute())
        .then_some("the model works only through code blocks, and nothing may be executed here")
}

/// The tools that the endpoint is told of.
pub(super) fn shown(speech: Speech, tools: &[ToolSpec]) -> &[ToolSpec] {
    match speech {
        Speech::Tools => tools,
        Speech::Code => &[],
    }
}

/// What a reply without anything to do is answered with.
pub(super) fn nudge(speech: Speech) -> &'static str {
    match speech {
        Speech::Tools => prompt::NUDGE,
        Speech::Code => NUDGE,
    }
}

/// The reply with what it does as its calls.
pub(super) fn read(reply: Reply, speech: Speech, turn: u32) -> Reply {
    match speech {
        Speech::Tools => reply,
        Speech::Code => blocks::read(reply, turn),
    }
}

/// Does what a call of a reply asks for: runs its block, or the tool.
pub(super) async fn answer(
    call: &ToolCall,
    tools: &[ToolSpec],
    shell: &mut Shell<'_>,
    (transcript, journal): (&mut Transcript, &mut Journal<'_>),
    stop: &CancellationToken,
) -> Result<CallResult, Error> {
    if shell.speech == Speech::Tools {
        return super::tools::answer(call, tools, shell, stop).await;
    }
    match blocks::of(call) {
        Ok(block) => cells::run((call, &block), tools, shell, (transcript, journal), stop).await,
        Err(sentence) => Ok(CallResult::text(sentence)),
    }
}

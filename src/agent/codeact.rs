//! CodeAct, for models that cannot call tools. Blocks of code in their replies run in an interpreter in the sandbox,
//! where the tools are functions. State lasts from one block to the next.
//!
//! Such a function does what the tool of the same name does, within the same bounds and gates, and is journaled like
//! it. Files that a block writes directly stay in its sandbox. No interpreter is kept while greenlight waits for a
//! person. Afterwards, or after a crash, its state is restored: the earlier blocks run again, and their calls are
//! answered from the transcript.

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

/// The answer to a reply without a block.
const NUDGE: &str = "Nothing was done: only code between <execute> and </execute> counts. Continue with such a block, \
                     or call `submit(summary=...)` in one.";

/// The instructions for a model, including how to act through code if it does.
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

/// The note for a model that turned out not to support tools.
pub fn how_to_act(shell: &Shell<'_>, transcript: &Transcript) -> String {
    format!(
        "There are no tool calls here.\n\n{}",
        functions::instructions(&super::tools::offered(shell, transcript))
    )
}

/// Whether a transcript so far is that of a model that was told to act through code.
pub fn acts_by_code(transcript: &Transcript) -> bool {
    transcript.items().iter().any(|item| match item {
        Item::Task { instructions: text, .. } | Item::Note(text) => text.contains(functions::HEADING),
        _ => false,
    })
}

/// Why a model cannot act in this shell. `None` if it can.
pub(super) fn impossible(shell: &Shell<'_>) -> Option<&'static str> {
    (shell.speech == Speech::Code && !shell.may_execute())
        .then_some("the model works only through code blocks, and nothing may be executed here")
}

/// The tools that the endpoint is offered.
pub(super) fn shown(speech: Speech, tools: &[ToolSpec]) -> &[ToolSpec] {
    match speech {
        Speech::Tools => tools,
        Speech::Code => &[],
    }
}

/// The answer to a reply that does nothing.
pub(super) fn nudge(speech: Speech) -> &'static str {
    match speech {
        Speech::Tools => prompt::NUDGE,
        Speech::Code => NUDGE,
    }
}

/// The reply with its actions as calls.
pub(super) fn read(reply: Reply, speech: Speech, turn: u32) -> Reply {
    match speech {
        Speech::Tools => reply,
        Speech::Code => blocks::read(reply, turn),
    }
}

/// Executes a call of a reply: runs its block, or the tool.
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

//! The agent: a loop that asks a model, executes its tool calls and appends the results, until the model submits or a
//! limit is reached.
//!
//! Only tool calls have effects. The rest of a reply is data, and so is the content of files, tests and logs. The
//! loop posts nothing, proves nothing and judges nothing: its caller tests the patch afresh.

mod catch_up;
mod codeact;
mod compact;
mod history;
mod interpreters;
mod limits;
pub mod mode;
mod model;
pub mod prompt;
mod running;
mod shell;
mod tools;
mod transcript;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use self::catch_up::{catch_up, edits_but_of};
pub use self::codeact::{acts_by_code, how_to_act};
pub use self::compact::as_shown;
pub use self::history::{History, Question};
pub use self::limits::{AgentLimits, LimitKind};
pub use self::model::{DEFAULT_CONTEXT, Delta, Live, Model, ModelError, Recorded, Speech, ToolSpec, Turn};
pub use self::shell::Shell;
pub use self::tools::{all as all_tools, carry_out, edits, refusal};
pub use self::transcript::{Item, Reply, ToolCall, Transcript, Usage};
use crate::domain::execution::Deferred;
use crate::domain::explanation::Explanation;
use crate::{checkout, sandbox};

/// How a run of the agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// The model wants to propose the edits in the checkout. The summary is untrusted.
    Submitted {
        summary: String,
        /// The edits change only tests, because the model believes that a test is wrong. Nothing has verified that.
        #[serde(default)]
        test_may_be_wrong: bool,
    },
    /// The model says that there is no fix (then the reason is untrusted), or it cannot work with the tools.
    GaveUp {
        reason: String,
    },
    /// Why the tests fail, with the lines that show it.
    Explained(Box<Explanation>),
    /// A call needs a person's approval. The code that asks for it appends the result, and the run continues.
    Deferred(Box<Deferred>),
    /// The model has to act through code, and was not told so yet.
    NoTools,
    Limit(LimitKind),
    Cancelled,
}

/// Why a run of the agent could not continue. The journal has everything that it did.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Sandbox(#[from] sandbox::Error),
    #[error(transparent)]
    Checkout(#[from] checkout::Error),
    #[error("the journal cannot be written: {0}")]
    Journal(anyhow::Error),
}

/// Stores an item permanently. It is called, and must succeed, before anything relies on the item.
pub type Journal<'a> = dyn FnMut(Item) -> BoxFuture<'a, anyhow::Result<()>> + Send + 'a;

/// Works on the transcript's task until there is an [`Exit`]; the edits are then in `shell.checkout`.
///
/// An interrupted transcript resumes anywhere: its edits are repeated, and everything else that has a result is not
/// requested or executed again. After [`Exit::Submitted`], this may be called once more if an [`Item::Note`] was
/// appended that says what is wrong with the submission.
///
/// # Errors
/// When the model gives no usable answer, the sandbox cannot be used, or the journal cannot be written.
pub async fn run(
    model: &impl Model,
    shell: &mut Shell<'_>,
    transcript: &mut Transcript,
    journal: &mut Journal<'_>,
    cancel: &CancellationToken,
) -> Result<Exit, Error> {
    let stop = cancel.child_token();
    let deadline = shell.deadline;
    let mut work = std::pin::pin!(work(model, shell, transcript, journal, &stop));
    let exit = tokio::select! {
        exit = &mut work => exit?,
        () = tokio::time::sleep_until(deadline) => {
            stop.cancel();
            work.await?
        }
    };
    match exit {
        Exit::Cancelled if !cancel.is_cancelled() => Ok(Exit::Limit(LimitKind::Wall)),
        exit => Ok(exit),
    }
}

/// The loop itself: execute calls, check the limits, ask the model.
async fn work(
    model: &impl Model,
    shell: &mut Shell<'_>,
    transcript: &mut Transcript,
    journal: &mut Journal<'_>,
    stop: &CancellationToken,
) -> Result<Exit, Error> {
    let tools = tools::offered(shell, transcript);
    let mut exit = catch_up(shell, transcript, &tools);
    if let Some(reason) = codeact::impossible(shell) {
        return Ok(Exit::GaveUp { reason: reason.into() });
    }
    loop {
        for call in transcript.unanswered() {
            let answer = match exit {
                None => codeact::answer(&call, &tools, shell, (&mut *transcript, &mut *journal), stop).await,
                Some(_) => Ok(tools::CallResult::text(tools::TOO_LATE)),
            };
            if stop.is_cancelled() {
                // The result of an interrupted call means nothing: it is not recorded, and the call is repeated when
                // the run resumes.
                return Ok(Exit::Cancelled);
            }
            let tools::CallResult { text, exit: ended } = answer?;
            if let Some(Exit::Deferred(_)) = ended {
                return Ok(ended.unwrap_or(Exit::Cancelled));
            }
            exit = exit.or(ended.clone());
            let result = Item::Result {
                call_id: call.id,
                text,
                exit: ended,
                granted: false,
            };
            append(result, transcript, journal).await?;
        }
        if let Some(exit) = exit {
            return Ok(exit);
        }
        if let Some(reason) = limits::out_of_patience(transcript, &tools) {
            return Ok(Exit::GaveUp { reason: reason.into() });
        }
        if let Some(limit) = shell.limits.reached(transcript) {
            return Ok(Exit::Limit(limit));
        }
        if matches!(transcript.items().last(), Some(Item::Reply(_))) {
            append(Item::Note(codeact::nudge(shell.speech).into()), transcript, journal).await?;
        }
        if let Some(left_out) = compact::due(transcript, model.context()) {
            append(left_out, transcript, journal).await?;
        }
        let turn = Turn {
            history: transcript.items(),
            tools: codeact::shown(shell.speech, &tools),
            speech: shell.speech,
            live: shell.live,
            cancel: stop,
        };
        let reply = match model.reply(&turn).await {
            Err(ModelError::Cancelled) => return Ok(Exit::Cancelled),
            Err(ModelError::NoTools) if shell.speech == Speech::Tools => return Ok(Exit::NoTools),
            Err(ModelError::TooLong { message }) => {
                let left_out = compact::make_room(transcript).ok_or(ModelError::TooLong { message })?;
                append(left_out, transcript, journal).await?;
                continue;
            }
            reply => codeact::read(reply?, shell.speech, transcript.turns()).tidied(transcript.turns()),
        };
        append(Item::Reply(reply), transcript, journal).await?;
    }
}

async fn append(item: Item, transcript: &mut Transcript, journal: &mut Journal<'_>) -> Result<(), Error> {
    journal(item.clone()).await.map_err(Error::Journal)?;
    transcript.push(item);
    Ok(())
}

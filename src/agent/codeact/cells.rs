//! Runs blocks in interpreters, over a copy of the edited tree, and executes the tools that their code calls.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::blocks::{self, Block};
use super::conversation::{CallOutcome, Conversation, Live};
use super::past::{self, Past, RESTARTED, STATE_LOST};
use super::{feedback, functions};
use crate::agent::interpreters::Cells;
use crate::agent::model::ToolSpec;
use crate::agent::running::InUse;
use crate::agent::tools::CallResult;
use crate::agent::transcript::ToolCall;
use crate::agent::{Error, Exit, Journal, Shell, Transcript, catch_up, edits_but_of};
use crate::sandbox::{self, Cell, CellOutcome, Language, Session};
use crate::suite;

/// How long a block may take, not counting the functions that it calls.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(120);

/// The outcome of running a block.
enum Ran {
    Cell(Box<Cell>),
    /// One of its calls ended the run, temporarily or for good.
    Ended(Exit),
    /// Its calls differ from those it made before.
    Strange(String),
    /// The run was interrupted.
    Cut,
}

/// Runs the block of a call. If the state of earlier blocks is gone, it runs those first.
pub(super) async fn run(
    (call, block): (&ToolCall, &Block),
    tools: &[ToolSpec],
    shell: &mut Shell<'_>,
    (transcript, journal): (&mut Transcript, &mut Journal<'_>),
    stop: &CancellationToken,
) -> Result<CallResult, Error> {
    let language = match block.language() {
        Ok(language) => language,
        Err(sentence) => return Ok(CallResult::text(sentence)),
    };
    let mut blocks = past::blocks(transcript);
    let at = blocks.iter().rposition(|block| block.call.id == call.id);
    let called = at
        .map(|at| blocks.split_off(at))
        .and_then(|mut rest| rest.swap_remove(0).into());
    let called = called.map(|block: Past| block.called).unwrap_or_default();
    let mut forgotten = None;
    let cells = match shell.cells.take().filter(|_| called.is_empty()) {
        Some(cells) => cells,
        None => match restore((&blocks, &call.id), tools, shell, transcript, stop).await? {
            Ok(cells) => cells,
            Err(why) => {
                catch_up(shell, transcript, tools);
                if stop.is_cancelled() {
                    return Ok(CallResult::text("interrupted."));
                }
                forgotten = Some(why);
                Cells::new(shell).await?
            }
        },
    };
    let mut conversation = Conversation::new(&call.id, called, tools);
    // If the state was lost, the edits were already repeated.
    conversation.edits_again = forgotten.is_none();
    let mut cells = cells;
    let ran = cells
        .run(
            (language, &block.code),
            &mut conversation,
            (shell, Some((&mut *transcript, journal))),
            stop,
        )
        .await?;
    let ran = match ran {
        Ran::Cell(_) if !conversation.is_complete() => Ran::Strange("the code called less than before".into()),
        ran => ran,
    };
    if matches!(ran, Ran::Strange(_) | Ran::Cut) {
        // The block did not get as far as repeating its recorded edits.
        catch_up(shell, transcript, tools);
    }
    let text = match ran {
        Ran::Cell(cell) if keeps_state(&cell) => {
            shell.cells = Some(cells);
            feedback::cell(&cell, language)
        }
        Ran::Cell(cell) => format!("{STATE_LOST}: {}", feedback::cell(&cell, language)),
        Ran::Ended(exit) => {
            let text = String::new();
            return Ok(CallResult { text, exit: Some(exit) });
        }
        Ran::Strange(why) => format!("{STATE_LOST}: after an interruption {why}. Continue in a new block."),
        Ran::Cut => "interrupted.".into(),
    };
    let text = match forgotten {
        Some(why) if !text.starts_with(STATE_LOST) => format!("{RESTARTED}: after an interruption {why}.\n{text}"),
        _ => text,
    };
    Ok(CallResult {
        text: super::super::tools::presentable(&text),
        exit: conversation.exit,
    })
}

/// Whether the block's state is available to the next block.
fn keeps_state(cell: &Cell) -> bool {
    !matches!(cell.outcome, CellOutcome::StateLost(_)) && cell.restarted.is_none()
}

/// Restores the state of earlier blocks, including their edits; the inner error says why that failed.
async fn restore(
    (blocks, under_way): (&[Past], &str),
    tools: &[ToolSpec],
    shell: &mut Shell<'_>,
    transcript: &Transcript,
    stop: &CancellationToken,
) -> Result<Result<Cells, String>, Error> {
    // The edits of blocks that do not run again are repeated here.
    let mut rerun: Vec<&str> = blocks.iter().map(|past| past.call.id.as_str()).collect();
    rerun.push(under_way);
    shell.rewind();
    edits_but_of(&rerun, shell, transcript, tools);
    let mut cells = Cells::new(shell).await?;
    for past in blocks.iter().filter(|past| past.ran()) {
        let Ok(block) = blocks::of(&past.call) else { continue };
        let Ok(language) = block.language() else { continue };
        let mut conversation = Conversation::new(&past.call.id, past.called.clone(), tools);
        let ran = cells
            .run((language, &block.code), &mut conversation, (shell, None), stop)
            .await?;
        let why = match ran {
            Ran::Cell(cell) if !keeps_state(&cell) => "an earlier block ended its interpreter".into(),
            Ran::Cell(_) if !conversation.is_complete() => "an earlier block called less than before".into(),
            Ran::Cell(_) => continue,
            Ran::Strange(why) => why,
            Ran::Ended(_) | Ran::Cut => "the run was interrupted".into(),
        };
        return Ok(Err(why));
    }
    Ok(Ok(cells))
}

impl Cells {
    async fn new(shell: &Shell<'_>) -> Result<Self, Error> {
        let within = shell
            .tests
            .as_ref()
            .map(|suite| suite.workspaces.clone())
            .unwrap_or_default();
        let in_use = InUse {
            patch: shell.checkout.patch(),
            workspace: shell.checkout.fresh_copy(&within).await?,
        };
        let sessions = Vec::new();
        Ok(Self { in_use, sessions })
    }

    /// Runs one block, including the tools that its code calls.
    async fn run(
        &mut self,
        (language, code): (Language, &str),
        conversation: &mut Conversation<'_>,
        (shell, mut live): (&mut Shell<'_>, Option<Live<'_, '_>>),
        stop: &CancellationToken,
    ) -> Result<Ran, Error> {
        let mut session = self.session(language, conversation.tools, shell, stop).await?;
        let (sender, mut calls) = mpsc::channel::<sandbox::CellCall>(1);
        let cell = {
            let mut running = std::pin::pin!(session.execute_with(code, LIMIT, Some(&sender), stop));
            loop {
                tokio::select! {
                    biased;
                    cell = &mut running => break cell?,
                    Some(call) = calls.recv() => {
                        match conversation.hear(&call.text, shell, live.as_mut(), stop).await? {
                            CallOutcome::Text(text) => {
                                self.in_use.follow(&shell.checkout.patch());
                                // The code that called may already have ended.
                                drop(call.answer.send(text));
                            }
                            CallOutcome::Ended(exit) => return Ok(Ran::Ended(exit)),
                            CallOutcome::Strange(why) => return Ok(Ran::Strange(why)),
                            CallOutcome::Cut => return Ok(Ran::Cut),
                        }
                    }
                }
            }
        };
        if stop.is_cancelled() {
            return Ok(Ran::Cut);
        }
        self.sessions.push((language, session));
        Ok(Ran::Cell(Box::new(cell)))
    }

    /// Takes out the interpreter of a language, or starts a new one that knows the functions.
    async fn session(
        &mut self,
        language: Language,
        tools: &[ToolSpec],
        shell: &Shell<'_>,
        stop: &CancellationToken,
    ) -> Result<Session, Error> {
        if let Some(at) = self.sessions.iter().position(|(of, _)| *of == language) {
            return Ok(self.sessions.swap_remove(at).1);
        }
        let Some(suite) = &shell.tests else {
            let why = "nothing may be executed in this run";
            return Err(sandbox::Error::InvalidCommand(why.into()).into());
        };
        let mut policy = suite.policy.clone();
        // At most as long as the run, which ends the interpreter anyway.
        policy.limits.wall = shell.deadline.saturating_duration_since(tokio::time::Instant::now()) + LIMIT;
        let mut place = suite::place(suite, &self.in_use.workspace);
        place.idle = policy.limits.wall;
        let mut session = suite.sandbox.session(language, &place, &policy).await?;
        if language == Language::Python {
            session.execute(&functions::definitions(tools), LIMIT, stop).await?;
        }
        Ok(session)
    }
}

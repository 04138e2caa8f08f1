//! The tools at work: one call after another, each until it ends or is cancelled.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;

use super::super::local::{Chosen, Common};
use super::super::tests::{self, TestsArguments};
use super::super::verify::{self, VerifyArguments};
use super::super::{Exit, explain, fix};
use super::answer;
use super::schema::{self, Call, INSTRUCTIONS, RunTests, VerifyPatch};

/// How many calls may wait or run at the same time.
const MAX_CALLS: usize = 8;
/// How often a client that asks for progress learns that a call still runs. Clients give up if they hear nothing for a
/// minute.
const STILL_RUNS: Duration = Duration::from_secs(10);

/// What a person decided when the server started.
pub(super) struct Decided {
    /// The only checkout that the tools know.
    pub(super) root: PathBuf,
    pub(super) install: bool,
    pub(super) flags: Chosen,
}

pub(super) struct Tools {
    decided: Decided,
    /// Cancelled when the server ends, which stops every call.
    ended: CancellationToken,
    calls: Semaphore,
    /// Held by the call that runs.
    turn: Arc<Mutex<()>>,
}

impl Tools {
    pub(super) fn new(decided: Decided, ended: CancellationToken, turn: Arc<Mutex<()>>) -> Self {
        Self {
            decided,
            ended,
            calls: Semaphore::new(MAX_CALLS),
            turn,
        }
    }

    /// Does the work of one call when no other runs, until it is done or cancelled.
    async fn answer(&self, call: Call, cancelled: &CancellationToken) -> CallToolResult {
        let Ok(_counted) = self.calls.try_acquire() else {
            return answer::wrong("too many calls wait; call again when one of them is done");
        };
        let cancel = self.ended.child_token();
        let _turn = tokio::select! {
            turn = self.turn.lock() => turn,
            () = cancelled.cancelled() => return answer::wrong("cancelled"),
            () = cancel.cancelled() => return answer::wrong("the server ends"),
        };
        let mut work = Box::pin(self.work(call, &cancel));
        let (document, exit) = tokio::select! {
            done = &mut work => done,
            () = cancelled.cancelled() => {
                cancel.cancel();
                work.await
            }
        };
        answer::of(&document, &exit)
    }

    async fn work(&self, call: Call, cancel: &CancellationToken) -> (Value, Exit) {
        let Decided { root, install, flags } = &self.decided;
        let (data, _, sandbox, log) = flags.clone();
        let without_model = (data, sandbox, log);
        let of_local = || Common::only_proposing(root.clone(), *install, flags.clone());
        match call {
            Call::RunTests(RunTests { only }) => {
                let arguments = TestsArguments::of(root.clone(), without_model);
                let (document, exit) = tests::outcome(arguments.for_program(only, *install), cancel).await;
                // What is a flag for a person is an argument here.
                (document, exit.reworded(|text| text.trim_start_matches("--").into()))
            }
            Call::FindFix => fix::propose(of_local(), cancel).await,
            Call::Explain => explain::outcome(of_local(), cancel).await,
            Call::VerifyPatch(VerifyPatch { patch }) => {
                let arguments = VerifyArguments::of_program(root.clone(), patch, *install, without_model);
                verify::outcome(arguments, cancel).await
            }
        }
    }
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let about = Implementation::new("greenlight", env!("CARGO_PKG_VERSION"))
            .with_title("greenlight")
            .with_website_url(env!("CARGO_PKG_REPOSITORY"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(about)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(schema::tools(self.decided.install)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = match Call::of(&request.name, request.arguments) {
            Some(Ok(call)) => call,
            Some(Err(exit)) => return Ok(answer::of(&Value::Null, &exit).into()),
            None => {
                let message = format!("there is no such tool; there are {}", schema::names());
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        let answer = tokio::select! {
            answer = self.answer(call, &context.ct) => answer,
            never = still_runs(&context) => match never {},
        };
        Ok(answer.into())
    }
}

/// Tells a client that asks for progress, now and then, that the call still runs.
async fn still_runs(context: &RequestContext<RoleServer>) -> std::convert::Infallible {
    let Some(token) = context.meta.get_progress_token() else {
        return std::future::pending().await;
    };
    let mut tick = tokio::time::interval(STILL_RUNS);
    tick.tick().await;
    for number in 1_u32.. {
        tick.tick().await;
        let seconds = STILL_RUNS.as_secs().saturating_mul(u64::from(number));
        let progress = ProgressNotificationParam::new(token.clone(), f64::from(number))
            .with_message(format!("still running after {seconds} s"));
        if context.peer.notify_progress(progress).await.is_err() {
            break;
        }
    }
    std::future::pending().await
}

//! `greenlight action`: handles one event of a workflow with the same engine. State that must survive is stored in a
//! git ref.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::path::Path;

use super::{Exit, annotation, app, hidden, terminal};
use crate::config::environment::{Environment, WorkflowStep};
use crate::config::flags::{Flags, FolderFlags, GithubFlags, LogFlags, ModelFlags, RecordFlags};
use crate::config::settings::Settings;
use crate::domain::event::Event;
use crate::domain::reply;
use crate::domain::run::{End, Run};
use crate::engine::{self, Broken};
use crate::github::webhook;
use crate::journal::{Journal, Refs};

/// GitHub caps payloads at 25 MB.
const MAX_EVENT_BYTES: u64 = 25 << 20;
/// GitHub's message for a workflow token that lacks a permission.
const NOT_ALLOWED: &str = "Resource not accessible by integration";

#[derive(Debug, clap::Args)]
pub(super) struct ActionArguments {
    #[command(flatten)]
    github: GithubFlags,
    #[command(flatten)]
    record: RecordFlags,
    #[command(flatten)]
    data: FolderFlags,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    log: LogFlags,
}

pub(super) async fn action(arguments: ActionArguments) -> Exit {
    let environment = Environment::of_this_process();
    if environment.get("GITHUB_ACTIONS").is_none() {
        return try_action(arguments, &environment).await.err().unwrap_or(Exit::Done);
    }
    let silence = annotation::Silence::begin();
    match try_action(arguments, &environment).await {
        Ok(()) => Exit::Done,
        Err(exit) => silence.report(exit),
    }
}

async fn try_action(arguments: ActionArguments, environment: &Environment) -> Result<(), Exit> {
    let ActionArguments {
        github,
        record,
        data,
        model,
        log,
    } = arguments;
    let settings = Settings::new(
        Flags {
            github,
            record,
            storage: data.into(),
            model,
            log,
            ..Flags::default()
        },
        environment,
    )?;
    terminal::start_logging(&settings, None);
    let step = environment.workflow_step()?;
    let Some(event) = event(&step)? else {
        tracing::info!(event = step.event_name, "this event does not concern greenlight");
        return Ok(());
    };
    if !event
        .repository()
        .is_some_and(|repository| repository.may_be(&step.repository))
    {
        return Err(Exit::Usage(format!(
            "the event belongs to a different repository than GITHUB_REPOSITORY ({})",
            step.repository
        )));
    }
    let github = app::github(&settings).await?;
    let client = github
        .client(event.installation, &step.repository)
        .await
        .map_err(|error| Exit::Usage(error.to_string()))?;
    let sandbox = app::sandbox(&settings).await?;
    hidden::tighten(&settings)?;
    let app = app::app(&settings, github, Journal::Refs(Refs::new(client.clone())), sandbox)?;
    engine::handle(&app, event).await.map_err(refused)?;
    // The run that this event was about. If none was loaded for the event, none is loaded now.
    let runs = app
        .journal
        .loaded_runs()
        .await
        .map_err(|error| Exit::Fault(error.to_string()))?;
    if let Some(run) = runs.last()
        && let Some(id) = run.started.pull_request()
    {
        let live = client.pull_request(id).await;
        let branch = live.map_or_else(|_| "the branch".into(), |pull_request| pull_request.head_branch);
        write_outputs(&step, run, &branch)?;
    }
    Ok(())
}

/// The exit for an error; for a token that lacks permissions, it says which.
fn refused(broken: Broken) -> Exit {
    let text = broken.to_string();
    if broken.not_before().is_some() {
        return Exit::Limit(format!("{text}; run this job again after that, and it resumes"));
    }
    if !text.contains(NOT_ALLOWED) {
        return broken.into();
    }
    Exit::Usage(format!(
        "{text}: this step's token is read-only or lacks a permission. greenlight needs `permissions:` with contents: \
         write, pull-requests: write, checks: write and actions: read. For pull requests from forks it also needs the \
         events in workflows/greenlight.yml, because other events get a read-only token"
    ))
}

fn event(step: &WorkflowStep) -> Result<Option<Event>, Exit> {
    let path = step.event_path.display();
    let unreadable = |error: std::io::Error| Exit::Usage(format!("GITHUB_EVENT_PATH ({path}) cannot be read: {error}"));
    let mut payload = Vec::new();
    let file = std::fs::File::open(&step.event_path).map_err(unreadable)?;
    file.take(MAX_EVENT_BYTES)
        .read_to_end(&mut payload)
        .map_err(unreadable)?;
    // It has the same payload, for a workflow with the permissions of the base branch. Webhooks do not use that name.
    let name = match step.event_name.as_str() {
        "pull_request_target" => "pull_request",
        name => name,
    };
    webhook::parse(name, &payload).map_err(|error| {
        Exit::Usage(format!(
            "the payload in GITHUB_EVENT_PATH ({path}) cannot be used: {error}"
        ))
    })
}

/// Writes the outputs and the summary of the step.
fn write_outputs(step: &WorkflowStep, run: &Run, branch: &str) -> Result<(), Exit> {
    let state = reply::state(run);
    let gates = run.open_gates();
    let proposal = gates.first().map(|gate| gate.id.to_string()).unwrap_or_default();
    let waits_for = gates.first().map(|gate| gate.kind.name()).unwrap_or_default();
    let commit = match &run.end {
        Some(End::Landed { commit }) => commit.to_string(),
        _ => String::new(),
    };
    // None of these values contains a line break, so none can begin another output.
    let outputs = format!(
        "run={}\nstate={state}\nwaits-for={waits_for}\nproposal={proposal}\ncommit={commit}\n",
        run.id()
    );
    append(step.output.as_deref(), "GITHUB_OUTPUT", &outputs)?;
    append(
        step.summary.as_deref(),
        "GITHUB_STEP_SUMMARY",
        &(reply::sticky(run, branch) + "\n"),
    )
}

fn append(file: Option<&Path>, name: &str, text: &str) -> Result<(), Exit> {
    let Some(file) = file else { return Ok(()) };
    let written = OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Exit::Fault(format!("{name} ({}) cannot be written: {error}", file.display())))
}

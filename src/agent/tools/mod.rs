//! The tools that a model may call: their names, their arguments as Rust types, and their effects.
//!
//! A result is a text for the model, redacted and bounded, and it says how to read on. If a tool cannot do something,
//! its result says so; only problems that the model cannot solve are errors.

mod apply_patch;
mod ask;
mod carry;
mod diagnostics;
mod edit;
mod finish;
mod history;
mod look;
mod packages;
mod request;
mod run_code;
mod run_tests;
mod search;

pub use carry::{carry_out, edits};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use self::finish::refusal;
use super::history::Question;
use super::model::ToolSpec;
use super::shell::NotWritten;
use super::transcript::{MAX_ARGUMENTS, ToolCall};
use super::{Error, Exit, Shell, Transcript};
use crate::domain::id::RepoPath;
use crate::domain::redact::{bounded, redact, visible};

/// The longest result, in bytes. Tools with more to show stop before that and say how to continue.
const MAX_RESULT: usize = 8 << 10;

/// The answer to a call after one that ended the run.
pub(super) const TOO_LATE: &str = "not done: the run ended with a call before this one.";

/// The result of a call.
pub(super) struct CallResult {
    pub(super) text: String,
    pub(super) exit: Option<Exit>,
}

impl CallResult {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            exit: None,
        }
    }
}

/// A call with parsed arguments.
#[derive(Debug)]
pub(super) enum Action {
    Think,
    ListFiles(look::ListFiles),
    ReadFile(look::ReadFile),
    Search(search::SearchArguments),
    EditFile(edit::EditFile),
    WriteFile(edit::WriteFile),
    ApplyPatch(apply_patch::ApplyPatch),
    Diagnostics(diagnostics::Diagnostics),
    History(Result<Question, String>),
    RunTests(run_tests::RunTests),
    RunCode(run_code::RunCode),
    RequestExecution(request::RequestExecution),
    Submit(finish::Submit),
    Explain(finish::Explain),
}

/// The tools that only execute code.
const EXECUTES: [&str; 2] = ["run_tests", "run_code"];

/// The tools on offer. Those that execute code are left out until execution is allowed; only `request_execution` asks
/// a person for it.
pub(super) fn offered(shell: &Shell<'_>, transcript: &Transcript) -> Vec<ToolSpec> {
    // A model that was offered these tools before is told that nobody can be asked any more.
    let asks = shell.may_ask > 0 || transcript.has_called(&["request_execution", "run_code", "run_tests"]);
    let is_offered = |name: &str| match name {
        "git_log" | "git_blame" | "git_show" => shell.history.is_some(),
        name if EXECUTES.contains(&name) => shell.may_execute(),
        "request_execution" => asks,
        _ => true,
    };
    let mut tools = all();
    tools.retain(|tool| is_offered(tool.name) && !shell.without.contains(&tool.name));
    tools
}

/// All tools, whether or not a run offers them.
pub fn all() -> Vec<ToolSpec> {
    vec![
        spec::<finish::Think>("think", "Note a thought. This has no effect."),
        spec::<look::ListFiles>("list_files", "List the files of the repository, or of one folder."),
        spec::<look::ReadFile>(
            "read_file",
            "Read a text file, or a range of its lines, with line numbers.",
        ),
        spec::<search::SearchArguments>(
            "search",
            "Search all files, or one folder, line by line with a regular expression.",
        ),
        spec::<edit::EditFile>(
            "edit_file",
            "Replace text in a file. The old text must be quoted exactly, and occur once.",
        ),
        spec::<edit::WriteFile>("write_file", "Write a whole file; for new files and very small ones."),
        spec::<apply_patch::ApplyPatch>(
            "apply_patch",
            "Change several places or files at once; all of it is applied or nothing is.",
        ),
        spec::<diagnostics::Diagnostics>(
            "diagnostics",
            "Check edited or named files for errors: syntax, and the project's own checker.",
        ),
        spec::<history::GitLog>("git_log", "List the commits that led here, or that changed a path."),
        spec::<history::GitBlame>("git_blame", "Tell which commit last changed each line of a range."),
        spec::<history::GitShow>("git_show", "Show the message and the changes of one commit."),
        spec::<run_tests::RunTests>(
            "run_tests",
            "Run tests on the edited files, in a sandbox without network.",
        ),
        spec::<run_code::RunCode>(
            "run_code",
            "Run code on a copy of the edited files, in a sandbox without network. What it writes is never proposed.",
        ),
        spec::<request::RequestExecution>(
            "request_execution",
            "Ask a maintainer to allow one execution in the sandbox with network, packages or more time. The work \
             waits \
             for the answer.",
        ),
        spec::<finish::Submit>("submit", "End the work and submit the edits."),
        spec::<finish::Explain>(
            "explain",
            "End the work: explain why the tests fail, and cite the lines that show it.",
        ),
    ]
}

/// Parses a call, or says in a sentence what is wrong with it.
pub(super) fn parse(call: &ToolCall, tools: &[ToolSpec]) -> Result<Action, String> {
    let is_offered = |name: &str| tools.iter().any(|tool| tool.name == name);
    if !is_offered(&call.name) && EXECUTES.contains(&call.name.as_str()) {
        return Err(format!(
            "`{}` is not available: nothing may be executed yet. Think carefully and call `submit`; the patch is \
             tested as soon as a maintainer approves it.",
            call.name
        ));
    }
    if !is_offered(&call.name) {
        let names: Vec<_> = tools.iter().map(|tool| tool.name).collect();
        return Err(format!(
            "there is no tool `{}`; the tools are {}.",
            call.name,
            names.join(", ")
        ));
    }
    Ok(match call.name.as_str() {
        "think" => arguments::<finish::Think>(call).map(|_| Action::Think)?,
        "list_files" => Action::ListFiles(arguments(call)?),
        "read_file" => Action::ReadFile(arguments(call)?),
        "search" => Action::Search(arguments(call)?),
        "edit_file" => Action::EditFile(arguments(call)?),
        "write_file" => Action::WriteFile(arguments(call)?),
        "apply_patch" => Action::ApplyPatch(arguments(call)?),
        "diagnostics" => Action::Diagnostics(arguments(call)?),
        "git_log" => Action::History(arguments::<history::GitLog>(call)?.question()),
        "git_blame" => Action::History(arguments::<history::GitBlame>(call)?.question()),
        "git_show" => Action::History(arguments::<history::GitShow>(call)?.question()),
        "run_tests" => Action::RunTests(arguments(call)?),
        "run_code" => Action::RunCode(arguments(call)?),
        "request_execution" => Action::RequestExecution(arguments(call)?),
        "explain" => Action::Explain(arguments(call)?),
        _ => Action::Submit(arguments(call)?),
    })
}

/// Executes a call.
pub(super) async fn answer(
    call: &ToolCall,
    tools: &[ToolSpec],
    shell: &mut Shell<'_>,
    stop: &CancellationToken,
) -> Result<CallResult, Error> {
    let action = match parse(call, tools) {
        Ok(action) => action,
        Err(sentence) => return Ok(CallResult::text(sentence)),
    };
    let mut answer = match action {
        Action::Think => CallResult::text("noted."),
        Action::ListFiles(wanted) => CallResult::text(look::list_files(&wanted, &shell.checkout)),
        Action::ReadFile(wanted) => CallResult::text(look::read_file(&wanted, &shell.checkout)),
        Action::Search(wanted) => CallResult::text(search::search(wanted, &shell.checkout, stop).await),
        Action::EditFile(wanted) => edited(call, edit::edit_file(&wanted, shell, false), shell),
        Action::WriteFile(wanted) => edited(call, edit::write_file(&wanted, shell, false), shell),
        Action::ApplyPatch(wanted) => edited(call, apply_patch::apply_patch(&wanted, shell, false), shell),
        Action::Diagnostics(wanted) => CallResult::text(diagnostics::diagnostics(&wanted, shell, stop).await?),
        Action::History(question) => CallResult::text(history::ask(question, shell).await),
        Action::RunTests(wanted) => run_tests::run_tests(call, wanted, shell, stop).await?,
        Action::RunCode(wanted) => run_code::run_code(call, wanted, shell, stop).await?,
        Action::RequestExecution(wanted) => request::request_execution(call, wanted, shell),
        Action::Submit(wanted) => finish::submit(&wanted, shell),
        Action::Explain(wanted) => finish::explain(&wanted, shell),
    };
    answer.text = presentable(&answer.text);
    Ok(answer)
}

/// A result that can be kept: without credentials and hidden characters, and bounded.
pub(super) fn presentable(text: &str) -> String {
    bounded(&redact(&visible(text)), MAX_RESULT)
}

/// Reports the result of an edit, or asks a person about it.
fn edited(call: &ToolCall, edited: Result<String, NotWritten>, shell: &mut Shell<'_>) -> CallResult {
    match edited {
        Ok(text) | Err(NotWritten::Never(text)) => CallResult::text(text),
        Err(NotWritten::Beyond(what)) => {
            let beyond = ask::Beyond {
                what: *what,
                network: Vec::new(),
                seconds: 0,
                why: "The model wants to see what the change does.".into(),
            };
            ask::ask(call, beyond, shell)
        }
    }
}

/// Repeats a recorded call if it was an edit; nothing else changes the tree.
pub(super) fn edit_again(call: &ToolCall, granted: bool, tools: &[ToolSpec], shell: &mut Shell<'_>) {
    let again = match parse(call, tools) {
        Ok(Action::EditFile(wanted)) => edit::edit_file(&wanted, shell, granted),
        Ok(Action::WriteFile(wanted)) => edit::write_file(&wanted, shell, granted),
        Ok(Action::ApplyPatch(wanted)) => apply_patch::apply_patch(&wanted, shell, granted),
        _ => return,
    };
    drop(again);
}

fn arguments<T: DeserializeOwned>(call: &ToolCall) -> Result<T, String> {
    let (name, text) = (&call.name, call.arguments.trim());
    if text.len() + 4 > MAX_ARGUMENTS {
        return Err(format!(
            "the arguments of `{name}` are too long; make several smaller calls of at most {} KiB.",
            MAX_ARGUMENTS >> 10
        ));
    }
    let text = if text.is_empty() { "{}" } else { text };
    serde_json::from_str(text).map_err(|error| {
        let error = bounded(&error.to_string(), 200);
        format!("the arguments of `{name}` cannot be read: {error}. Call it again with JSON that fits its schema.")
    })
}

fn spec<T: JsonSchema>(name: &'static str, description: &'static str) -> ToolSpec {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut parameters = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut parameters);
    if let Some(fields) = parameters.as_object_mut() {
        // The tool has a separate description.
        fields.remove("description");
    }
    ToolSpec {
        name,
        description,
        parameters,
    }
}

/// Removes from a schema what some endpoints do not support: titles, number formats and nullable types.
fn simplify(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    for noise in ["title", "format", "default", "minimum"] {
        if fields.get(noise).is_some_and(|value| !value.is_object()) || noise == "default" {
            fields.remove(noise);
        }
    }
    if let Some(Value::Array(types)) = fields.get("type") {
        let first = types.first().cloned().unwrap_or_default();
        fields.insert("type".into(), first);
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(simplify);
    }
    if let Some(items) = fields.get_mut("items") {
        simplify(items);
    }
}

/// A path written by a model, or a sentence that says what is wrong with it.
fn repo_path(path: &str) -> Result<RepoPath, String> {
    let trimmed = path.trim().trim_start_matches("./");
    trimmed.parse().map_err(|error| format!("{error}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_plain_enough_for_every_endpoint() {
        let tools = all();
        let read_file = tools.iter().find(|tool| tool.name == "read_file").unwrap();
        assert_eq!(
            read_file.parameters,
            serde_json::json!({
                "type": "object",
                "required": ["path"],
                "properties": {
                    "path": { "type": "string" },
                    "from": { "type": "integer", "description": "First line, from 1." },
                    "to": { "type": "integer", "description": "Last line." },
                },
            })
        );
        let all: String = tools.iter().map(|tool| tool.parameters.to_string()).collect();
        for noise in ["$schema", "null", "uint", "$ref", "anyOf"] {
            assert!(!all.contains(noise), "{noise}: {all}");
        }
    }
}

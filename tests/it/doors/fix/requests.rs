//! A model asks for permission at the terminal.

use std::ffi::OsStr;

use serde_json::json;

use super::{RED, document, sums};
use crate::doors::Door;
use crate::doors::terminal::Terminal;
use crate::harness::model::{KEY, ScriptedModel, calls};

pub(super) const QUESTION: &str = "Allow exactly this, once? [y]es, [n]o, or why not:";
pub(super) const COMMAND: &str = "echo $((6 * 7)) answers";

pub(super) fn door(model: &ScriptedModel) -> Door {
    Door::new()
        .with("GREENLIGHT_MODEL", "scripted")
        .with("GREENLIGHT_MODEL_BASE_URL", model.base_url())
        .with("GREENLIGHT_MODEL_API_KEY", KEY)
}

async fn asking() -> ScriptedModel {
    let arguments = json!({ "command": COMMAND, "minutes": 1, "why": "To see how it adds." });
    let model = ScriptedModel::start([]).await;
    model
        .reads("sums.py")
        .then(calls("request_execution", arguments))
        .edits("sums.py", "numbers[0] - numbers[1]", "sum(numbers)")
        .submits("The numbers were subtracted.");
    model
}

#[tokio::test]
async fn it_is_shown_exactly_and_done_when_allowed() {
    let (checkout, model) = (sums(RED, &[]), asking().await);
    let arguments = [OsStr::new("fix"), checkout.path().as_os_str()];
    let mut terminal = Terminal::start(door(&model).command(arguments));
    // The person follows the model's progress.
    terminal.shows("reads sums.py").await;
    terminal.shows("the model asks to run this command:").await;
    terminal.shows(&format!("| {COMMAND}")).await;
    terminal.shows("no network; at most 1 min").await;
    terminal.shows("| To see how it adds.").await;
    terminal.shows(QUESTION).await;
    terminal.types("y");
    terminal.shows("edits sums.py").await;
    terminal.shows("Write this to the working tree?").await;
    assert!(model.results()[1].contains("42 answers"), "{:?}", model.results());
    terminal.types("n");
    assert_eq!(terminal.ends().await.0, Some(3));
    model.finish();
}

#[tokio::test]
async fn a_reason_is_told_to_the_model() {
    let (checkout, model) = (sums(RED, &[]), asking().await);
    let arguments = [OsStr::new("fix"), checkout.path().as_os_str()];
    let mut terminal = Terminal::start(door(&model).command(arguments));
    terminal.shows(QUESTION).await;
    terminal.types("look at the tests instead");
    terminal.shows("Write this to the working tree?").await;
    let told = &model.results()[1];
    assert!(
        told.contains("look at the tests instead") && !told.contains("42 answers"),
        "{told}"
    );
    terminal.types("n");
    assert_eq!(terminal.ends().await.0, Some(3));
    model.finish();
}

#[tokio::test]
async fn what_is_allowed_up_front_is_told() {
    let (checkout, model) = (sums(RED, &[]), asking().await);
    let arguments = [
        OsStr::new("fix"),
        "--yes".as_ref(),
        "--json".as_ref(),
        checkout.path().as_os_str(),
    ];
    let fixed = door(&model)
        .run(arguments)
        .await
        .with(0)
        .saying(COMMAND)
        .saying("allowed up front");
    assert_eq!(document(&fixed)["proposal"]["author"], "scripted");
    assert!(model.results()[1].contains("42 answers"), "{:?}", model.results());
    model.finish();
}

#[tokio::test]
async fn where_nobody_is_nothing_is_executed() {
    let checkout = sums(RED, &[]);
    let model = ScriptedModel::start([]).await;
    let arguments = json!({ "command": COMMAND, "minutes": 1, "why": "To see how it adds." });
    model
        .then(calls("request_execution", arguments))
        .edits("sums.py", "numbers[0] - numbers[1]", "sum(numbers)")
        .submits("The numbers were subtracted.");
    let arguments = [OsStr::new("fix"), "--verbose".as_ref(), checkout.path().as_os_str()];
    // In verbose mode it reports what the model does even here.
    let ended = door(&model).run(arguments).await.with(3).saying("edits sums.py");
    assert!(!ended.err.contains("allowed"), "{}", ended.err);
    assert!(!model.results()[0].contains("42 answers"), "{:?}", model.results());
    model.finish();
}

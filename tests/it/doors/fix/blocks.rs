//! `greenlight fix` with a model without tools, which acts through blocks of code.

use std::ffi::OsStr;
use std::path::Path;

use super::requests::{COMMAND, QUESTION, door};
use super::{GREEN, RED, document, sums};
use crate::doors::terminal::Terminal;
use crate::harness::model::{Refuses, ScriptedModel, says};

const LOOK: &str = "I look first.\n<execute>\nprogram = read_file('sums.py')\nprint(run_tests())\n</execute>";
const EDIT: &str = "<execute>\nprint(edit_file('sums.py', 'numbers[0] - numbers[1]', 'numbers[0] + numbers[1]'))\n\
                    </execute>";
const ASK: &str = "<execute>\nanswer = request_execution(command='echo $((6 * 7)) answers', minutes=1, \
                   why='To see how it adds.')\nprint('still here:', 'def total' in program, answer)\n</execute>";
const SUBMIT: &str = "<execute>submit('The numbers were subtracted.')</execute>";

async fn by_code(blocks: &[&str]) -> ScriptedModel {
    let model = ScriptedModel::start(blocks.iter().map(|text| says(text))).await;
    model.refuses(Refuses::Tools);
    model
}

/// Gives this answer to the question about a block, and rejects the fix. Returns what the model was told.
async fn asked(checkout: &Path, answer: &str) -> String {
    let model = by_code(&[LOOK, EDIT, ASK, SUBMIT]).await;
    let mut terminal = Terminal::start(door(&model).command([OsStr::new("fix"), checkout.as_os_str()]));
    terminal.shows("runs a block of code").await;
    terminal.shows("reads sums.py").await;
    terminal.shows("edits sums.py").await;
    terminal.shows("the model asks to run this command:").await;
    terminal.shows(&format!("| {COMMAND}")).await;
    terminal.shows("a copy with its edits of 1 file").await;
    terminal.shows("numbers[0] + numbers[1]").await;
    terminal.shows(QUESTION).await;
    terminal.types(answer);
    terminal.shows("submits its edits").await;
    terminal.shows("Write this to the working tree?").await;
    terminal.types("n");
    assert_eq!(terminal.ends().await.0, Some(3));
    let told = model.told();
    assert!(told.contains("still here: True"), "{told}");
    model.finish();
    told
}

#[tokio::test]
async fn a_model_without_tools_works_it_out() {
    let checkout = sums(RED, &[]);
    let model = by_code(&[LOOK, EDIT, SUBMIT]).await;
    let arguments = [
        OsStr::new("fix"),
        "--yes".as_ref(),
        "--json".as_ref(),
        checkout.path().as_os_str(),
    ];
    let fixed = document(&door(&model).run(arguments).await.with(0));
    assert_eq!(fixed["proposal"]["author"], "scripted");
    assert_eq!(fixed["spent"]["turns"], 3);
    assert_eq!(std::fs::read_to_string(checkout.path().join("sums.py")).unwrap(), GREEN);
    model.finish();
}

#[tokio::test]
async fn what_a_block_asks_for_is_done_when_allowed_and_the_block_goes_on() {
    let checkout = sums(RED, &[]);
    let told = asked(checkout.path(), "y").await;
    assert!(told.contains("42 answers"), "{told}");
}

#[tokio::test]
async fn a_block_goes_on_with_the_reason_against_it() {
    let checkout = sums(RED, &[]);
    let told = asked(checkout.path(), "look at the tests instead").await;
    assert!(told.contains("look at the tests instead"), "{told}");
    assert!(!told.contains("42 answers"), "{told}");
}

#[tokio::test]
async fn a_run_by_code_is_recorded_and_the_same_again() {
    let checkout = sums(RED, &[]);
    let model = by_code(&[LOOK, EDIT, ASK, SUBMIT]).await;
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("run.greenlight");
    let record = [
        OsStr::new("fix"),
        "--yes".as_ref(),
        "--record".as_ref(),
        bundle.as_os_str(),
        checkout.path().as_os_str(),
    ];
    door(&model).run(record).await.with(0);
    let replay = [OsStr::new("replay"), "--json".as_ref(), bundle.as_os_str()];
    let replayed = document(&door(&model).run(replay).await.with(0));
    assert_eq!(replayed["same"], true, "{replayed:#}");
    assert_eq!(model.requests().len(), 4);
    model.finish();
}

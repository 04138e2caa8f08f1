//! `greenlight fix` with a model: which model is asked, what it must not do, and where it ends.

use std::ffi::OsStr;

use serde_json::json;

use super::{GREEN, RED, document, sums};
use crate::doors::{Door, tree};
use crate::harness::model::{KEY, ScriptedModel, Turn, calls, says};

fn door(model: &ScriptedModel) -> Door {
    Door::new()
        .with("GREENLIGHT_MODEL", "scripted")
        .with("GREENLIGHT_MODEL_BASE_URL", model.base_url())
        .with("GREENLIGHT_MODEL_API_KEY", KEY)
}

#[tokio::test]
async fn the_configured_model_works_it_out() {
    let checkout = sums(RED, &[]);
    let model = ScriptedModel::start([]).await;
    model.must_not_see("CANARY-OF-THE-USER");
    model
        .reads("sums.py")
        .edits("sums.py", "numbers[0] - numbers[1]", "sum(numbers)")
        .runs_tests()
        .submits("The numbers were subtracted.");
    let door = door(&model).with("MY_TOKEN", "CANARY-OF-THE-USER");
    let arguments = [
        OsStr::new("fix"),
        "--yes".as_ref(),
        "--json".as_ref(),
        checkout.path().as_os_str(),
    ];
    let fixed = door.run(arguments).await.with(0).saying("the model is working");
    let fixed = document(&fixed);
    assert_eq!(fixed["proposal"]["author"], "scripted");
    assert_eq!(fixed["proposal"]["summary"], "The numbers were subtracted.");
    assert_eq!(fixed["spent"]["turns"], 4);
    assert!(fixed["spent"]["test_runs"].as_u64() > Some(2), "{fixed}");
    assert_eq!(fixed["spent"]["completion_tokens"], 80);
    let written = std::fs::read_to_string(checkout.path().join("sums.py")).unwrap();
    assert_eq!(written, GREEN.replace("numbers[0] + numbers[1]", "sum(numbers)"));
    model.finish();
}

#[tokio::test]
async fn the_built_in_engine_can_be_asked_for_all_the_same() {
    let checkout = sums(RED, &[]);
    let model = ScriptedModel::start([]).await;
    let arguments = [
        OsStr::new("fix"),
        "--yes".as_ref(),
        "--engine".as_ref(),
        "builtin".as_ref(),
        checkout.path().as_os_str(),
    ];
    door(&model).run(arguments).await.with(0).saying("built-in engine");
    assert_eq!(model.requests().len(), 0);
    assert_eq!(std::fs::read_to_string(checkout.path().join("sums.py")).unwrap(), GREEN);
    model.finish();
}

#[tokio::test]
async fn what_takes_no_model_costs_nothing() {
    let checkout = sums(RED, &[]);
    let model = ScriptedModel::start([]).await;
    let arguments = [
        OsStr::new("fix"),
        "--yes".as_ref(),
        "--json".as_ref(),
        checkout.path().as_os_str(),
    ];
    let door = door(&model).without("GREENLIGHT_ENGINE");
    let fixed = document(&door.run(arguments).await.with(0));
    assert!(model.requests().is_empty());
    assert_eq!(fixed["proposal"]["rung"], "search", "{fixed}");
    assert_eq!(
        (&fixed["proposal"]["author"], &fixed["spent"]["turns"]),
        (&json!("builtin"), &json!(0))
    );
    assert!(fixed["search"]["tried"].as_u64() > Some(0), "{fixed}");
    assert_eq!(fixed["search"]["suspects"][0]["path"], "sums.py", "{fixed}");
    assert_eq!(fixed["search"]["unverified"], json!([]));
    model.finish();
}

#[tokio::test]
async fn an_engine_that_there_is_not_is_said() {
    let checkout = sums(RED, &[]);
    let arguments = [OsStr::new("fix"), "--engine=best".as_ref(), checkout.path().as_os_str()];
    let ended = Door::new().run(arguments).await.with(2);
    ended
        .saying("--engine does not name an engine")
        .saying("`auto`, `builtin` or `model`");
}

#[tokio::test]
async fn the_limit_that_was_reached_is_named() {
    let checkout = sums(RED, &[("greenlight.toml", "[limits]\nturns = 2\n")]);
    let before = tree(checkout.path());
    let model = ScriptedModel::start([]).await;
    model.reads("sums.py").reads("test_sums.py");
    let arguments = [
        OsStr::new("fix"),
        "--yes".as_ref(),
        "--json".as_ref(),
        checkout.path().as_os_str(),
    ];
    let ended = door(&model).run(arguments).await.with(4).saying("limit of 2 turns");
    assert_eq!(document(&ended)["outcome"], "limit");
    assert_eq!(tree(checkout.path()), before);
    model.finish();
}

/// No argument changes the rules or the tests, and a file that git ignores is not overwritten unseen.
#[tokio::test]
async fn a_model_that_goes_too_far_writes_nothing() {
    let checkout = sums(
        RED,
        &[
            (".gitignore", ".env\n"),
            (".env", "KEY=mine\n"),
            ("greenlight.toml", "[protect]\npaths = [\"vendor/**\"]\n"),
        ],
    );
    let before = tree(checkout.path());
    let model = ScriptedModel::start([
        calls(
            "write_file",
            json!({ "path": "greenlight.toml", "text": "[protect]\npaths = []\n" }),
        ),
        calls("write_file", json!({ "path": "vendor/x.py", "text": "" })),
        calls(
            "edit_file",
            json!({ "path": "test_sums.py", "old": "3)", "new": "-1)" }),
        ),
        calls(
            "edit_file",
            json!({ "path": "test_sums.py", "old": "-1)", "new": "3)" }),
        ),
        calls("write_file", json!({ "path": "../outside.py", "text": "" })),
        calls("write_file", json!({ "path": ".env", "text": "KEY=theirs\n" })),
    ])
    .await;
    // An edit that nothing needs would be left out.
    let needs_it = "+ len(open('.env').read()) * 0 +";
    model.edits("sums.py", "-", needs_it).submits("Fixed.");
    let arguments = [OsStr::new("fix"), "--yes".as_ref(), checkout.path().as_os_str()];
    door(&model)
        .run(arguments)
        .await
        .with(3)
        .saying(".env, which exists but is ignored by git");
    assert_eq!(tree(checkout.path()), before);
    let results = model.results();
    // Approved in advance for the working copy; the user's own file stayed unchanged.
    assert!(
        results[0].contains("No proposal will contain that change"),
        "{results:#?}"
    );
    assert!(
        results[1].contains("No proposal will contain that change"),
        "{results:#?}"
    );
    model.finish();
}

#[tokio::test]
async fn a_model_that_cannot_be_used_is_a_clear_end() {
    let checkout = sums(RED, &[]);
    let refused = Turn::Raw {
        status: 401,
        headers: vec![],
        body: json!({ "error": { "message": "no such key" } }).to_string(),
    };
    let model = ScriptedModel::start([refused]).await;
    let arguments = [
        OsStr::new("fix"),
        "--yes".as_ref(),
        "--json".as_ref(),
        checkout.path().as_os_str(),
    ];
    let ended = door(&model)
        .run(arguments)
        .await
        .with(2)
        .saying("no such key")
        .saying("GREENLIGHT_MODEL_API_KEY");
    assert_eq!(document(&ended)["outcome"], "usage");
    model.finish();

    let model = ScriptedModel::start((0..3).map(|_| says("I cannot help with that."))).await;
    let ended = door(&model).run(arguments).await.with(1);
    assert_eq!(document(&ended)["outcome"], "no_fix");
}

//! `greenlight fix` with a model of known price: the cost is reported, and a spending limit ends the run.

use std::ffi::OsStr;

use serde_json::{Value, json};

use super::{RED, document, sums};
use crate::doors::{Door, Ended, tree};
use crate::harness::model::{KEY, ScriptedModel, calls};

/// A model with this price in dollars for a million tokens.
async fn fix(model: &ScriptedModel, dollars: u32, config: &str, more: &[&str]) -> (Ended, bool) {
    let checkout = sums(RED, &[("greenlight.toml", config)]);
    let before = tree(checkout.path());
    let door = Door::new()
        .with("GREENLIGHT_MODEL", "scripted")
        .with("GREENLIGHT_MODEL_BASE_URL", model.base_url())
        .with("GREENLIGHT_MODEL_API_KEY", KEY);
    let prices = door.data().join("prices.toml");
    std::fs::write(
        &prices,
        format!("[\"script*\"]\ninput = {dollars}\noutput = {dollars}\n"),
    )
    .unwrap();
    let arguments = [
        OsStr::new("fix"),
        "--yes".as_ref(),
        "--model-prices".as_ref(),
        prices.as_ref(),
    ];
    let more = more.iter().map(AsRef::<OsStr>::as_ref);
    let ended = door
        .run(arguments.into_iter().chain(more).chain([checkout.path().as_os_str()]))
        .await;
    (ended, tree(checkout.path()) != before)
}

#[tokio::test]
async fn a_limit_of_one_cent_is_reached_and_named() {
    let model = ScriptedModel::start([]).await;
    model.reads("sums.py");
    let config = "[limits]\ncost_usd = 0.01\n";
    let (ended, is_changed) = fix(&model, 1_000, config, &["--json"]).await;
    let ended = document(&ended.with(4).saying("limit of $0.01"));
    assert_eq!((&ended["outcome"], is_changed), (&"limit".into(), false));
    assert!(ended["spent"]["cost_usd"].as_f64() > Some(0.01), "{ended}");
    model.finish();
}

#[tokio::test]
async fn what_it_cost_is_said() {
    for more in [&["--json"][..], &[]] {
        let model = ScriptedModel::start([]).await;
        model
            .edits("sums.py", "numbers[0] - numbers[1]", "sum(numbers)")
            .submits("The numbers were subtracted.");
        let (ended, is_changed) = fix(&model, 3, "", more).await;
        let ended = ended.with(0);
        assert!(is_changed);
        if more.is_empty() {
            assert!(
                ended.out.contains("spent:  2 turns") && ended.out.contains(", $0.0"),
                "{}",
                ended.out
            );
        } else {
            let fixed: Value = document(&ended);
            let spent = &fixed["spent"];
            let tokens = ["prompt_tokens", "completion_tokens"].map(|name| spent[name].as_f64().unwrap());
            let cost = (tokens[0] + tokens[1]) * 3e-6;
            let said = spent["cost_usd"].as_f64().unwrap();
            assert!((said - cost).abs() < 1e-5, "{spent}");
            let evidence = &fixed["proposal"]["evidence"]["spent"];
            assert_eq!(evidence["cost_micros"].as_f64().map(|micros| micros / 1e6), Some(said));
        }
        model.finish();
    }
}

/// An answer to a request does not give back the turns that were used before it.
#[tokio::test]
async fn an_answer_gives_no_turns_back() {
    let model = ScriptedModel::start([]).await;
    let request = json!({ "command": "true", "minutes": 1, "why": "To see." });
    model
        .reads("sums.py")
        .then(calls("request_execution", request))
        .reads("sums.py");
    let (ended, is_changed) = fix(&model, 1, "[limits]\nturns = 3\n", &["--json"]).await;
    let ended = document(&ended.with(4).saying("limit of 3 turns"));
    assert_eq!((&ended["spent"]["turns"], is_changed), (&3.into(), false));
    model.finish();
}

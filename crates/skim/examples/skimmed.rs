//! Keeps what matters of a delivery.

use greenlight_skim::{Fields, skim};

const DELIVERY: &str = r#"{
    "action": "synchronize",
    "pull_request": {
        "number": 7, "url": "https://api.github.com/repos/acme/rail/pulls/7",
        "head": { "sha": "6dcb09b", "repo": { "id": 1, "topics": ["trains"] } }
    },
    "labels": [{ "id": 1, "name": "bug" }, { "id": 2, "name": "help wanted" }]
}"#;

fn main() {
    let fields = Fields::new(&["action", "pull_request.head.sha", "labels.name"]);
    let kept = skim(DELIVERY.as_bytes(), &fields).unwrap_or_default();
    show(&String::from_utf8_lossy(&kept));
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn show(text: &str) {
    println!("{text}");
}

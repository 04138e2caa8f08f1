//! JavaScript projects: the `test` script of `package.json`.

use serde::Deserialize;

use super::{Place, needs_shell};
use crate::suite::{Framework, TestCommand};

#[derive(Deserialize)]
struct Package {
    #[serde(default)]
    scripts: Scripts,
}

#[derive(Deserialize, Default)]
struct Scripts {
    test: Option<String>,
}

pub(super) fn find(place: &Place<'_>) -> Option<TestCommand> {
    let script = script(place)?;
    let framework = framework(&script);
    // Node itself can be asked for a machine format and for single tests, which npm cannot pass on.
    if framework == Framework::Node && !needs_shell(&script) {
        let words = shlex::split(&script)?;
        if words.first().is_some_and(|word| word == "node") {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            return place.command(&words, framework, "package.json");
        }
    }
    place.command(&["npm", "test"], framework, "package.json")
}

/// What `npm test` runs at the root.
pub(super) fn script_framework(root: &Place<'_>) -> Framework {
    script(root).map_or(Framework::Other, |script| framework(&script))
}

fn script(place: &Place<'_>) -> Option<String> {
    let package: Package = serde_json::from_str(&place.text("package.json")?).ok()?;
    // What `npm init` writes is no test.
    package
        .scripts
        .test
        .filter(|script| !script.contains("no test specified"))
}

fn framework(script: &str) -> Framework {
    let has = |name: &str| {
        script
            .split(|c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '/' | '"' | '\''))
            .any(|word| word == name)
    };
    if has("jest") {
        Framework::Jest
    } else if has("vitest") {
        Framework::Vitest
    } else if has("mocha") {
        Framework::Mocha
    } else if has("node") && has("--test") {
        Framework::Node
    } else {
        Framework::Other
    }
}

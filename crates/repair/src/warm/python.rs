//! The harness for pytest and unittest: its sources, and the cell that loads them.

use greenlight_sandbox::Language;

use super::lane::Harness;

/// The name of the package, which no project uses.
const PACKAGE: &str = "_greenlight_warm";
/// Its module that takes requests.
const ENTRY: &str = "entry";
/// The code that imports it.
const LOAD: &str = include_str!("python/load.py");

/// The modules of the package by name.
macro_rules! modules {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("python/_greenlight_warm/", $name, ".py")))),*]
    };
}
const MODULES: [(&str, &str); 19] = modules! {
    "__init__" "behaviour" "code_cache" "code_objects" "edits" "entry" "forks" "frameworks" "groups" "hot_swap"
    "imports" "judge" "line_coverage" "module_state" "progress" "reloading" "survey" "tree" "verdicts"
};

pub(super) fn harness() -> Harness {
    // A JSON string is a valid Python string literal.
    let text = |text: &str| serde_json::Value::from(text);
    let modules: serde_json::Map<_, _> = MODULES
        .iter()
        .map(|(name, source)| ((*name).to_owned(), text(source)))
        .collect();
    let code = format!(
        "_greenlight = {{'__name__': 'greenlight_load'}}\n\
         exec(compile({}, '<greenlight load>', 'exec'), _greenlight)\n\
         _greenlight = _greenlight['load']({}, {}, {}).start()\n",
        text(LOAD),
        text(PACKAGE),
        serde_json::Value::from(modules),
        text(ENTRY),
    );
    Harness {
        language: Language::Python,
        code,
    }
}

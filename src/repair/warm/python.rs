//! The harness of pytest and unittest: its sources, and the cell that loads them.

use super::lane::Harness;
use crate::sandbox::Language;

/// In the order in which they are loaded, all into one namespace.
const SOURCES: [(&str, &str); 13] = [
    ("forks", include_str!("python/forks.py")),
    ("tree", include_str!("python/tree.py")),
    ("suites", include_str!("python/suites.py")),
    ("kept", include_str!("python/kept.py")),
    ("groups", include_str!("python/groups.py")),
    ("edits", include_str!("python/edits.py")),
    ("uses", include_str!("python/uses.py")),
    ("trials", include_str!("python/trials.py")),
    ("judge", include_str!("python/judge.py")),
    ("survey", include_str!("python/survey.py")),
    ("follow", include_str!("python/follow.py")),
    ("behave", include_str!("python/behave.py")),
    ("entry", include_str!("python/entry.py")),
];

pub(super) fn harness() -> Harness {
    let mut code = String::from("_space = {'__name__': 'greenlight_harness'}\nfor _name, _text in [\n");
    for (name, text) in SOURCES {
        // What JSON writes as a text is one for Python too.
        let text = serde_json::Value::from(text);
        code.push_str(&format!("  ('<greenlight {name}>', {text}),\n"));
    }
    code.push_str("]:\n  exec(compile(_text, _name, 'exec'), _space)\n_greenlight = _space['_greenlight']\n");
    Harness {
        language: Language::Python,
        code,
    }
}

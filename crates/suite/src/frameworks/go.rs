//! Filters for `go test`.

mod discover;
pub(super) mod filter;
pub(super) mod parse;

use crate::framework::Ecosystem;
use crate::frameworks::spec::{Runtime, Spec};
use crate::reporters::Invocation;
use crate::test_command::TestCommand;

pub(super) const SPEC: Spec = Spec {
    name: "go test",
    ecosystem: Ecosystem::Go,
    is_compiled: true,
    runtime: Some(Runtime::Go),
    installers: &["go"],
    looks_for: Some("`go.mod`"),
    modules: &["go.mod"],
    discover: discover::discover,
    is_program: |line| line.program() == "go" && line.has("test"),
    is_check: |line| line.program() == "gotestsum" || line.program() == "go" && line.subcommand() == "test",
    reporter,
    filter: filter::tests,
    part: filter::package,
    parse: |printed| parse::parse(printed.text),
    marks: &["--- FAIL: ", "\n{\"Time\":", "\n{\"Action\":", "\nok  \t", "\nFAIL\t"],
    readable: parse::without_events,
    ..Spec::NEW
};

fn reporter(_: &TestCommand, mut invocation: Invocation) -> Invocation {
    invocation.after("test", "-json");
    // A cached result is not a run.
    let counts = |word: &String| word.trim_start_matches('-').starts_with("count");
    if !invocation.argv.iter().any(counts) {
        invocation.after("test", "-count=1");
    }
    invocation
}

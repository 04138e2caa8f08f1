//! What npm runs around a script: `pretest` before `test`, and `posttest` after it.

use super::runner::only_looks;
use super::script::{MAX_DEPTH, Package};
use super::told;
use crate::discover::directory::Directory;
use crate::framework::Framework;
use crate::shell::{Word, commands};
use crate::test_command::{TestCommand, leave_out};

/// With it, npm runs a script without the ones around it:
/// <https://docs.npmjs.com/cli/v11/using-npm/config#ignore-scripts>
const IGNORE: &str = "--ignore-scripts";

/// Leaves out what a script of no known framework has around it, if that only checks the code or its dependencies. The
/// script has to start one program: the option would also reach the scripts that it calls.
pub(in crate::discover) fn leave_out_checks(place: &Directory<'_>, command: &mut TestCommand) {
    let words: Vec<&str> = command.argv.iter().map(String::as_str).collect();
    let (["npm", "test"] | ["npm", "run", _]) = words.as_slice() else {
        return;
    };
    let name = words.last().copied().unwrap_or_default();
    let Some(package) = Package::of(place).filter(|_| command.framework == Framework::Other) else {
        return;
    };
    let expanded = |name: &str| package.expand(&["npm", "run", name].map(Word::new), MAX_DEPTH);
    let own = package.script(name).and_then(commands);
    let is_one_program = own.is_some_and(|own| own.len() == 1) && expanded(name).is_some();
    let around = ["pre", "post"].map(|when| format!("{when}{name}"));
    let around: Vec<&String> = around.iter().filter(|hook| package.script(hook).is_some()).collect();
    let found: Option<Vec<_>> = around.iter().map(|hook| expanded(hook)).collect();
    let found = found.unwrap_or_default().concat();
    let checks = |words: &Vec<Word>| only_looks(words) || audits(words);
    if is_one_program && !found.is_empty() && found.iter().all(checks) {
        command.argv.insert(1, IGNORE.into());
        let told = found.iter().filter_map(|words| told(words));
        told.for_each(|line| leave_out(&mut command.left_out, &line));
    }
}

/// Whether a command asks the registry about the dependencies.
fn audits(words: &[Word]) -> bool {
    let plain: Vec<&str> = words.iter().map(|word| word.plain.as_str()).collect();
    matches!(plain.as_slice(), ["npm" | "yarn" | "pnpm", "audit", ..])
}

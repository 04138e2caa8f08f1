//! The arguments of a command that may name tests, and of a script.

use crate::shell::ARGUMENTS;

/// The arguments of a program that are neither options nor values of these options.
pub(super) fn arguments<'a>(argv: &'a [String], valued: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let pairs = argv.iter().skip(1).zip(argv);
    // Go's options may have two dashes.
    let is_option =
        |before: &str| valued.contains(&before) || before.starts_with("--") && valued.contains(&&before[1..]);
    let plain = pairs.filter(move |(word, before)| !word.starts_with('-') && !is_option(before));
    plain.map(|(word, _)| word.as_str())
}

/// The arguments of a script of the tree, by number and all together.
pub(super) fn of_script(argv: &[String]) -> impl Iterator<Item = (String, String)> {
    let script = argv.iter().take(2).position(|word| word.ends_with(".sh"));
    let script = script.or_else(|| argv.first().is_some_and(|word| word.contains('/')).then_some(0));
    let after = argv.get(script.map_or(argv.len(), |at| at + 1)..).unwrap_or_default();
    let by_number = after
        .iter()
        .take(9)
        .enumerate()
        .map(|(number, word)| ((number + 1).to_string(), word.clone()));
    // All together are split into words again.
    let is_plain = |word: &String| !word.is_empty() && !word.contains(char::is_whitespace);
    let all = after
        .iter()
        .all(is_plain)
        .then(|| (ARGUMENTS.to_owned(), after.join(" ")));
    by_number.chain(all)
}

//! The arguments of a command that may name tests.

/// The arguments of a program that are neither options nor values of these options.
pub(super) fn arguments<'a>(argv: &'a [String], valued: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let pairs = argv.iter().skip(1).zip(argv);
    // Go's options may have two dashes.
    let is_option =
        |before: &str| valued.contains(&before) || before.starts_with("--") && valued.contains(&&before[1..]);
    let plain = pairs.filter(move |(word, before)| !word.starts_with('-') && !is_option(before));
    plain.map(|(word, _)| word.as_str())
}

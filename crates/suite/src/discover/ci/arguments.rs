//! The arguments of a command that may name tests.

/// The arguments of a program that are neither options nor values of these options.
pub(super) fn arguments<'a>(argv: &'a [String], valued: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let pairs = argv.iter().skip(1).zip(argv);
    let plain = pairs.filter(|(word, before)| !word.starts_with('-') && !valued.contains(&before.as_str()));
    plain.map(|(word, _)| word.as_str())
}

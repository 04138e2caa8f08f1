//! The arguments of the command `python`.

/// The index of the module's name in the arguments of Python, as in `-W error -m pytest`.
/// <https://docs.python.org/3/using/cmdline.html>
pub(crate) fn python_module<W: AsRef<str>>(arguments: &[W]) -> Option<usize> {
    let at = python_options(arguments);
    let is_module = is_module_option(arguments.get(at)?.as_ref());
    (is_module && at + 1 < arguments.len()).then_some(at + 1)
}

/// The number of arguments of Python before its script, or before the option for a module or for code. It may exceed that
/// of all, if a value is missing.
pub(crate) fn python_options<W: AsRef<str>>(arguments: &[W]) -> usize {
    let mut at = 0;
    while let Some(option) = arguments.get(at).map(AsRef::as_ref) {
        at += match option {
            "-W" | "-X" => 2,
            "-c" => break,
            _ if is_module_option(option) || option.len() < 2 || !option.starts_with('-') => break,
            _ => 1,
        };
    }
    at
}

/// `-m`, or several options in one word of which it is the last, as in `-Im`.
fn is_module_option(word: &str) -> bool {
    let letters = word.strip_prefix('-').and_then(|letters| letters.strip_suffix('m'));
    letters.is_some_and(|letters| letters.bytes().all(|letter| b"bBdEiIOPqsSuv".contains(&letter)))
}

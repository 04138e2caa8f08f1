//! The arguments of the command `python`.

/// The index of the module's name in the arguments of Python, as in `-W error -m pytest`.
/// <https://docs.python.org/3/using/cmdline.html>
pub(crate) fn python_module<W: AsRef<str>>(arguments: &[W]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += match arguments.get(at)?.as_ref() {
            option if is_module_option(option) => return (at + 1 < arguments.len()).then_some(at + 1),
            "-W" | "-X" => 2,
            option if option.len() > 1 && option.starts_with('-') && option != "-c" => 1,
            _ => return None,
        };
    }
}

/// `-m`, or several options in one word of which it is the last, as in `-Im`.
fn is_module_option(word: &str) -> bool {
    let letters = word.strip_prefix('-').and_then(|letters| letters.strip_suffix('m'));
    letters.is_some_and(|letters| letters.bytes().all(|letter| b"bBdEiIOPqsSuv".contains(&letter)))
}

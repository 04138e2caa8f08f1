//! The arguments of a call in Python, as far as they are plain strings.

/// Maximum number of bytes, and of arguments, that are read of one call.
const MAX_CALL: usize = 5_000;
const MAX_ARGUMENTS: usize = 100;
/// Maximum number of lines before a call that are searched for a variable.
const MAX_LINES: usize = 100;

/// A positional argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Argument {
    /// A string without placeholders and escapes.
    Literal(String),
    /// `*session.posargs`, the words after `--`, or these words if there are none:
    /// <https://nox.thea.codes/en/stable/config.html#passing-arguments-into-sessions>
    Given(Vec<String>),
    /// Everything else that would have to be computed.
    Other,
}

/// The positional arguments from behind the opening bracket on, and their text. Keywords, and what is unpacked from
/// elsewhere, are left out.
///
/// `before` is the code of the function up to the call.
pub(super) fn arguments<'t>(text: &'t str, before: &str) -> (Vec<Argument>, &'t str) {
    let mut found = Vec::new();
    let (mut depth, mut start, mut quote) = (0_usize, 0, None::<u8>);
    let mut is_comment = false;
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().copied().enumerate().take(MAX_CALL) {
        match (byte, quote) {
            (b'\n', _) if is_comment => is_comment = false,
            _ if is_comment => {}
            (_, Some(open)) => {
                let is_escaped = at > 0 && bytes[at - 1] == b'\\';
                quote = Some(open).filter(|open| *open != byte || is_escaped);
            }
            (b'"' | b'\'', None) => quote = Some(byte),
            (b'#', None) => is_comment = true,
            (b'(' | b'[' | b'{', None) => depth += 1,
            (b')' | b']' | b'}', None) if depth > 0 => depth -= 1,
            (b')' | b',', None) if depth == 0 => {
                found.extend(argument(&text[start..at], before));
                start = at + 1;
                if byte == b')' || found.len() >= MAX_ARGUMENTS {
                    return (found, &text[..at]);
                }
            }
            _ => {}
        }
    }
    (found, "")
}

/// One argument, without the comments beside it.
fn argument(text: &str, before: &str) -> Option<Argument> {
    let lines = text.lines().map(str::trim);
    let code: Vec<&str> = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let [code] = code.as_slice() else {
        return (!code.is_empty()).then_some(Argument::Other);
    };
    if let Some(unpacked) = code.strip_prefix('*') {
        let value = given(unpacked).or_else(|| given(value_of(unpacked, before)?));
        return value.map(Argument::Given);
    }
    if let Some(word) = literal(code) {
        return Some(Argument::Literal(word));
    }
    // `env={…}`, but neither `a == b` nor `f(x=1)`.
    let name = code.split('=').next().unwrap_or_default().trim();
    let is_keyword = code.contains('=') && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (!is_keyword).then_some(Argument::Other)
}

/// `"word"` without placeholders and escapes.
fn literal(code: &str) -> Option<String> {
    ['"', '\''].into_iter().find_map(|quote| {
        let inside = code.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inside.contains([quote, '\\'])).then(|| inside.to_string())
    })
}

/// The value that a variable was given last, on a line of its function.
fn value_of<'t>(name: &str, before: &'t str) -> Option<&'t str> {
    let mut lines = before.lines().rev().take(MAX_LINES).map(str::trim);
    lines.find_map(|line| {
        let rest = line.strip_prefix(name)?.trim_start();
        let (of_type, value) = rest.split_once('=')?;
        (of_type.is_empty() || of_type.starts_with(':')).then(|| value.trim())
    })
}

/// The words that stand for the given ones in `session.posargs`, `(session.posargs or ["tests"])` and
/// `(session.posargs if session.posargs else ["tests"])`. `None` for another expression.
fn given(code: &str) -> Option<Vec<String>> {
    let code = code
        .strip_prefix('(')
        .and_then(|code| code.strip_suffix(')'))
        .unwrap_or(code);
    let rest = code.trim().strip_prefix("session.posargs")?.trim_start();
    let rest = rest.strip_prefix("if session.posargs").unwrap_or(rest).trim_start();
    if rest.is_empty() {
        return Some(Vec::new());
    }
    let words = rest.strip_prefix("or").or_else(|| rest.strip_prefix("else"))?.trim();
    let inside = ["[]", "()"].iter().find_map(|brackets| {
        let (open, close) = brackets.split_at(1);
        words.strip_prefix(open)?.strip_suffix(close)
    })?;
    let words = inside.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(literal).collect()
}

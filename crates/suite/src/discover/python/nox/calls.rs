//! The arguments of a call in Python, as far as they are plain strings.

/// Maximum number of bytes, and of arguments, that are read of one call.
const MAX_CALL: usize = 5_000;
const MAX_ARGUMENTS: usize = 100;

/// A positional argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Argument {
    /// A string without placeholders and escapes.
    Literal(String),
    /// Everything else that would have to be computed.
    Other,
}

/// The positional arguments from behind the opening bracket on, and their text. Keywords, and what is unpacked from
/// elsewhere, are left out.
pub(super) fn arguments(text: &str) -> (Vec<Argument>, &str) {
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
                found.extend(argument(&text[start..at]));
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
fn argument(text: &str) -> Option<Argument> {
    let lines = text.lines().map(str::trim);
    let code: Vec<&str> = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let [code] = code.as_slice() else {
        return (!code.is_empty()).then_some(Argument::Other);
    };
    if code.starts_with('*') {
        return None;
    }
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        let inside = code.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inside.contains([quote, '\\'])).then(|| inside.to_string())
    });
    if let Some(word) = quoted {
        return Some(Argument::Literal(word));
    }
    // `env={…}`, but neither `a == b` nor `f(x=1)`.
    let name = code.split('=').next().unwrap_or_default().trim();
    let is_keyword = code.contains('=') && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (!is_keyword).then_some(Argument::Other)
}

//! File names in the headers of a diff, quoted or not.

/// The two names of a `diff --git` line. They need no quotes even if they contain spaces: either they are equal
/// except for their prefixes, or `rename from` and `rename to` give the names.
pub(super) fn both(header: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    if header.starts_with(b"\"") {
        let end = quoted_end(header)?;
        return Some((unquoted(&header[..end]), unquoted(header.get(end + 1..)?)));
    }
    if let Some(start) = header.windows(2).position(|two| two == b" \"") {
        return Some((header[..start].to_vec(), unquoted(&header[start + 1..])));
    }
    let spaces = (0..header.len()).filter(|at| header[*at] == b' ');
    let halves = spaces.map(|at| (&header[..at], &header[at + 1..]));
    let has_prefix = |name: &[u8]| bare(name).len() < name.len();
    halves
        .clone()
        .find(|(old, new)| old == new)
        .or_else(|| {
            halves
                .clone()
                .find(|(old, new)| has_prefix(old) && has_prefix(new) && bare(old) == bare(new))
        })
        .map(|(old, new)| (old.to_vec(), new.to_vec()))
}

/// A name without its first component.
pub(super) fn bare(name: &[u8]) -> &[u8] {
    match name.iter().position(|byte| *byte == b'/') {
        Some(at) if at > 0 => &name[at + 1..],
        _ => name,
    }
}

/// The end of a quoted name at the start of the text.
fn quoted_end(text: &[u8]) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// The unquoted form of a name in git's quotes.
/// <https://git-scm.com/docs/git-config#Documentation/git-config.txt-corequotePath>
pub(super) fn unquoted(text: &[u8]) -> Vec<u8> {
    let Some(end) = text.starts_with(b"\"").then(|| quoted_end(text)).flatten() else {
        return text.to_vec();
    };
    let mut name = Vec::new();
    let mut rest = text[1..end - 1].iter().copied().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            name.push(byte);
            continue;
        }
        let Some(escape) = rest.next() else { break };
        name.push(match escape {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            b'0'..=b'7' => {
                let mut value = u32::from(escape - b'0');
                for _ in 0..2 {
                    if let Some(digit) = rest.next_if(|byte| (b'0'..=b'7').contains(byte)) {
                        value = value * 8 + u32::from(digit - b'0');
                    }
                }
                u8::try_from(value & 0xff).unwrap_or_default()
            }
            other => other,
        });
    }
    name
}

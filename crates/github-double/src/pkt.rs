//! Git's pkt-lines: every line is prefixed with its length.
//! <https://git-scm.com/docs/gitprotocol-common>

/// The maximum number of pack bytes in one line, besides the length and the band.
pub(super) const MOST_IN_BAND: usize = 65_515;

/// One line of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PktLine<'a> {
    Text(&'a str),
    Flush,
    Delimiter,
}

impl<'a> PktLine<'a> {
    pub(super) fn as_text(&self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Flush | Self::Delimiter => None,
        }
    }
}

/// Parses all lines, without their line breaks. `None` if a length is wrong.
pub(super) fn read(mut bytes: &[u8]) -> Option<Vec<PktLine<'_>>> {
    let mut lines = Vec::new();
    while !bytes.is_empty() {
        let (length, _) = bytes.split_at_checked(4)?;
        let length = usize::from_str_radix(std::str::from_utf8(length).ok()?, 16).ok()?;
        match length {
            0 => lines.push(PktLine::Flush),
            1 => lines.push(PktLine::Delimiter),
            2 => {}
            3 => return None,
            _ => {
                let text = std::str::from_utf8(bytes.get(4..length)?).ok()?;
                lines.push(PktLine::Text(text.trim_end_matches('\n')));
            }
        }
        bytes = bytes.get(length.max(4)..)?;
    }
    Some(lines)
}

/// Appends one line.
pub(super) fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(format!("{:04x}{text}", text.len() + 4).as_bytes());
}

pub(super) fn flush(bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(b"0000");
}

pub(super) fn delimiter(bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(b"0001");
}

/// Appends a pack on band 1 of the side band.
pub(super) fn side_band(bytes: &mut Vec<u8>, pack: &[u8]) {
    for part in pack.chunks(MOST_IN_BAND) {
        bytes.extend_from_slice(format!("{:04x}\u{1}", part.len() + 5).as_bytes());
        bytes.extend_from_slice(part);
    }
}

/// A complete response that contains only an error.
pub(super) fn error(message: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    text(&mut bytes, &format!("ERR {message}\n"));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_bad_lengths_refused() {
        let read_all = |bytes: &'static str| read(bytes.as_bytes());
        assert_eq!(
            read_all("0009want\n00000001"),
            Some(vec![PktLine::Text("want"), PktLine::Flush, PktLine::Delimiter])
        );
        for bad in ["00", "zzzz", "0003", "00ffshort", "0007\u{0}"] {
            assert_eq!(read_all(bad), None, "{bad:?}");
        }
        let mut bytes = Vec::new();
        text(&mut bytes, "done\n");
        assert_eq!(bytes, b"0009done\n");
    }
}

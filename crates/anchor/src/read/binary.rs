//! Git's own format for changes of binary files: zlib in base 85, as the whole content or as a delta.
//! <https://git-scm.com/docs/gitformat-pack#_deltified_representation>

use std::io::Read as _;

use super::reader::{LineReader, wrong};
use crate::base85;
use crate::error::ReadError as Error;

/// The largest result for one binary file.
const MAX_BYTES: usize = 64 << 20;

/// The forward half of a `GIT binary patch`, still compressed.
#[derive(Debug)]
pub(super) struct Binary {
    /// The line of the diff where it starts, from 1.
    line: usize,
    /// Whether it is the whole content instead of a delta.
    literal: bool,
    /// Its stated uncompressed size in bytes.
    size: usize,
    packed: Vec<u8>,
}

/// Parses the text after `GIT binary patch`, including the optional reverse half.
pub(super) fn parse(reader: &mut LineReader<'_>) -> Result<Binary, Error> {
    let line = reader.number();
    let bad = |reason: &str| wrong("a binary file", line, reason);
    let (literal, size) = header(reader)?.ok_or_else(|| bad("its content is missing"))?;
    let mut packed = Vec::new();
    while let Some(line) = reader.next().filter(|line| !line.is_empty()) {
        base85::decode(line, &mut packed).ok_or_else(|| bad("a line of its content is not git's base 85"))?;
    }
    // The reverse half is skipped, as long as it looks like one.
    if header(reader)?.is_some() {
        let mut unused = Vec::new();
        while let Some(line) = reader.next().filter(|line| !line.is_empty()) {
            unused.clear();
            base85::decode(line, &mut unused).ok_or_else(|| bad("a line of its reverse half is not git's base 85"))?;
        }
    }
    Ok(Binary {
        line,
        literal,
        size,
        packed,
    })
}

/// Whether a half is the whole content, and its size.
fn header(reader: &mut LineReader<'_>) -> Result<Option<(bool, usize)>, Error> {
    let bad = |reason: &str| wrong("a binary file", reader.number(), reason);
    let Some(header) = reader.peek_trimmed() else {
        return Ok(None);
    };
    let (literal, size) = if let Some(size) = header.strip_prefix(b"literal ") {
        (true, size)
    } else if let Some(size) = header.strip_prefix(b"delta ") {
        (false, size)
    } else {
        return Ok(None);
    };
    let size: usize = std::str::from_utf8(size)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| bad("its size cannot be read"))?;
    if size > MAX_BYTES {
        return Err(bad("it is larger than 64 MiB"));
    }
    reader.skip();
    Ok(Some((literal, size)))
}

impl Binary {
    /// The uncompressed size in bytes, of the content or of the delta.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The content after the change. `None` if it exceeds `most` bytes.
    ///
    /// # Errors
    /// When it cannot be uncompressed, or is a delta for a different content.
    pub(super) fn result(&self, before: &[u8], most: usize, path: &str) -> Result<Option<Vec<u8>>, Error> {
        let bad = |reason: &str| wrong(path, self.line, reason);
        if self.literal && self.size > most {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        flate2::read::ZlibDecoder::new(&self.packed[..])
            .take(self.size as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|_| bad("its content cannot be unpacked"))?;
        if bytes.len() != self.size {
            return Err(bad("its content does not have the stated size"));
        }
        if self.literal {
            return Ok(Some(bytes));
        }
        let other = || bad("the binary change is for different content");
        let mut rest = &bytes[..];
        if size(&mut rest) != Some(before.len()) {
            return Err(other());
        }
        let length = size(&mut rest)
            .filter(|length| *length <= MAX_BYTES)
            .ok_or_else(other)?;
        if length > most {
            return Ok(None);
        }
        undelta(rest, before, length).map(Some).ok_or_else(other)
    }
}

/// Applies a delta, whose result has `length` bytes.
fn undelta(mut rest: &[u8], base: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    while let Some((code, tail)) = rest.split_first() {
        rest = tail;
        let part = if code & 0x80 == 0 {
            let (part, tail) = rest.split_at_checked(usize::from(*code)).filter(|_| *code > 0)?;
            rest = tail;
            part
        } else {
            let mut number = |bits: std::ops::Range<u8>| {
                let mut value = 0_usize;
                for (place, bit) in bits.enumerate() {
                    if code & (1 << bit) != 0 {
                        let (byte, tail) = rest.split_first()?;
                        rest = tail;
                        value |= usize::from(*byte) << (8 * place);
                    }
                }
                Some(value)
            };
            let offset = number(0..4)?;
            let count = match number(4..7)? {
                0 => 0x10000,
                count => count,
            };
            base.get(offset..offset.checked_add(count)?)?
        };
        if out.len() + part.len() > length {
            return None;
        }
        out.extend_from_slice(part);
    }
    (out.len() == length).then_some(out)
}

/// A number in groups of seven bits, least significant group first.
fn size(rest: &mut &[u8]) -> Option<usize> {
    let mut value = 0_usize;
    for place in 0..5 {
        let (byte, tail) = rest.split_first()?;
        *rest = tail;
        value |= usize::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

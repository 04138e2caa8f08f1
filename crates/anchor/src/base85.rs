//! Git's base 85 encoding of bytes, line by line.

/// Git's digits, by value. <https://datatracker.ietf.org/doc/html/rfc1924>
const DIGITS: &[u8; 85] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/// How many bytes one line encodes.
pub(crate) const LINE: usize = 52;

/// Appends at most [`LINE`] bytes as one line: a letter for their number, then five digits for every four bytes, most
/// significant digit first.
pub(crate) fn encode(text: &mut String, bytes: &[u8]) {
    // There are at most 52 bytes, so neither sum leaves the alphabet.
    let length = u8::try_from(bytes.len()).unwrap_or(u8::MAX);
    text.push(char::from(if length <= 26 {
        b'A' + length - 1
    } else {
        b'a' + length - 27
    }));
    for bytes in bytes.chunks(4) {
        let mut four = [0; 4];
        four[..bytes.len()].copy_from_slice(bytes);
        let number = u32::from_be_bytes(four);
        for power in (0..5).rev() {
            let digit = number / 85_u32.pow(power) % 85;
            text.push(char::from(DIGITS[digit as usize]));
        }
    }
}

/// Decodes one line: a letter for the number of bytes, then five characters for every four bytes.
pub(crate) fn decode(line: &[u8], into: &mut Vec<u8>) -> Option<()> {
    let (length, text) = line.split_first()?;
    let length = match length {
        b'A'..=b'Z' => usize::from(length - b'A') + 1,
        b'a'..=b'z' => usize::from(length - b'a') + 27,
        _ => return None,
    };
    let mut bytes = Vec::with_capacity(text.len());
    for group in text.chunks(5) {
        let mut value = 0_u32;
        for byte in group {
            let digit = DIGITS.iter().position(|letter| letter == byte)?;
            value = value.checked_mul(85)?.checked_add(u32::try_from(digit).ok()?)?;
        }
        (group.len() == 5).then_some(())?;
        bytes.extend_from_slice(&value.to_be_bytes());
    }
    (bytes.len().div_ceil(4) == length.div_ceil(4)).then_some(())?;
    into.extend_from_slice(bytes.get(..length)?);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_bytes_are_decoded() {
        for length in 1..=LINE {
            let bytes: Vec<u8> = (0..=u8::MAX).rev().take(length).collect();
            let (mut text, mut read) = (String::new(), Vec::new());
            encode(&mut text, &bytes);
            decode(text.as_bytes(), &mut read).unwrap();
            assert_eq!(read, bytes);
        }
    }
}

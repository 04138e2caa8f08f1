//! The part of git's protocol version 2 that a fetch needs: one request, and the answer as it streams in.
//!
//! Pure: bytes in, bytes out. Features that a shallow fetch of known commits does not need are left out: the list of
//! references, rounds of negotiation, filters.
//! <https://git-scm.com/docs/protocol-v2> and <https://git-scm.com/docs/gitprotocol-common>

use bytes::{Buf as _, Bytes, BytesMut};

use super::Error;
use crate::domain::id::CommitSha;

/// The maximum length of a packet, including its four digits of length.
const MAX_PACKET: usize = 65520;

/// One packet: text or bytes, or one of the markers between sections.
#[derive(Debug, PartialEq, Eq)]
enum Packet {
    Flush,
    Delimiter,
    Line(Bytes),
}

/// A part of the server's answer.
#[derive(Debug, PartialEq, Eq)]
pub enum ServerMessage {
    /// The server left out the parents of this commit.
    Shallow(CommitSha),
    /// The next bytes of the pack.
    Pack(Bytes),
    /// The server has sent the whole pack.
    End,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Section {
    #[default]
    Heading,
    Shallow,
    Pack,
    Over,
}

/// The body of a request for `wants`, each without its history, from a client that has the trees of `haves`.
pub(super) fn request(wants: &[CommitSha], haves: &[CommitSha]) -> Vec<u8> {
    let mut body = Vec::new();
    push_line(&mut body, "command=fetch");
    push_line(&mut body, concat!("agent=greenlight/", env!("CARGO_PKG_VERSION")));
    body.extend_from_slice(b"0001");
    for argument in ["ofs-delta", "no-progress", "deepen 1"] {
        push_line(&mut body, argument);
    }
    if !haves.is_empty() {
        // Without it, a server sends all trees of a commit whose history it cannot see.
        push_line(&mut body, "thin-pack");
    }
    for have in haves {
        push_line(&mut body, &format!("shallow {have}"));
    }
    for want in wants {
        push_line(&mut body, &format!("want {want}"));
    }
    for have in haves {
        push_line(&mut body, &format!("have {have}"));
    }
    push_line(&mut body, "done");
    body.extend_from_slice(b"0000");
    body
}

fn push_line(body: &mut Vec<u8>, text: &str) {
    body.extend_from_slice(format!("{:04x}{text}\n", text.len() + 5).as_bytes());
}

/// Parses the answer while it arrives. Never holds more than one packet and one network chunk.
#[derive(Debug, Default)]
pub struct PackParser {
    received: BytesMut,
    section: Section,
}

impl PackParser {
    pub fn new() -> Self {
        Self {
            received: BytesMut::new(),
            section: Section::Heading,
        }
    }

    /// Adds a chunk from the network.
    pub fn push(&mut self, chunk: &[u8]) {
        self.received.extend_from_slice(chunk);
    }

    /// The next part, or `None` until more has been pushed.
    ///
    /// # Errors
    /// When the server reports an error, or does not speak this protocol.
    pub fn part(&mut self) -> Result<Option<ServerMessage>, Error> {
        while self.section != Section::Over {
            let Some(packet) = self.packet()? else { return Ok(None) };
            match (self.section, packet) {
                (_, Packet::Line(line)) if line.starts_with(b"ERR ") => return Err(reported(&line[4..])),
                (Section::Heading, Packet::Line(line)) => {
                    self.section = match line.trim_ascii_end() {
                        b"shallow-info" => Section::Shallow,
                        b"packfile" => Section::Pack,
                        other => return Err(unexpected(other)),
                    }
                }
                (Section::Shallow, Packet::Delimiter) => self.section = Section::Heading,
                (Section::Shallow, Packet::Line(line)) => {
                    let line = String::from_utf8_lossy(line.trim_ascii_end());
                    if let Some(sha) = line.strip_prefix("shallow ") {
                        let sha = sha.parse().map_err(|_| unexpected(line.as_bytes()))?;
                        return Ok(Some(ServerMessage::Shallow(sha)));
                    }
                }
                (Section::Pack, Packet::Flush) => {
                    self.section = Section::Over;
                    return Ok(Some(ServerMessage::End));
                }
                (Section::Pack, Packet::Line(mut line)) => match line.try_get_u8() {
                    Ok(1) => return Ok(Some(ServerMessage::Pack(line))),
                    Ok(2) => {}
                    Ok(3) => return Err(reported(&line)),
                    _ => return Err(Error::Server("it sent a packet on no known band".into())),
                },
                (_, packet) => return Err(Error::Server(format!("it sent {packet:?} out of place"))),
            }
        }
        Ok(None)
    }

    /// Splits one complete packet off the received bytes.
    fn packet(&mut self) -> Result<Option<Packet>, Error> {
        let Some(digits) = self.received.get(..4) else {
            return Ok(None);
        };
        let length = std::str::from_utf8(digits)
            .ok()
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|digits| usize::from_str_radix(digits, 16).ok());
        match length {
            Some(0) => {
                self.received.advance(4);
                Ok(Some(Packet::Flush))
            }
            Some(1) => {
                self.received.advance(4);
                Ok(Some(Packet::Delimiter))
            }
            Some(length @ 4..=MAX_PACKET) if self.received.len() < length => Ok(None),
            Some(length @ 4..=MAX_PACKET) => {
                let mut packet = self.received.split_to(length).freeze();
                packet.advance(4);
                Ok(Some(Packet::Line(packet)))
            }
            _ => Err(unexpected(&self.received[..self.received.len().min(80)])),
        }
    }
}

/// The server's error message.
fn reported(message: &[u8]) -> Error {
    let message = super::printable(message);
    match message.split_once("not our ref ") {
        Some((_, sha)) => Error::Missing(sha.trim().to_string()),
        None => Error::Server(format!("it says: {message}")),
    }
}

fn unexpected(bytes: &[u8]) -> Error {
    Error::Server(format!("{:?} is not part of a fetch", super::printable(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(answer: &[u8], chunk: usize) -> Result<Vec<ServerMessage>, Error> {
        let mut reader = PackParser::new();
        let mut parts = Vec::new();
        for chunk in answer.chunks(chunk) {
            reader.push(chunk);
            while let Some(part) = reader.part()? {
                parts.push(part);
            }
        }
        Ok(parts)
    }

    fn sha(digit: &str) -> CommitSha {
        digit.repeat(40).parse().unwrap()
    }

    #[test]
    fn a_request_is_framed_as_the_protocol_wants() {
        let body = String::from_utf8(request(&[sha("a")], &[sha("b")])).unwrap();
        assert!(body.starts_with("0012command=fetch\n"), "{body}");
        assert!(body.contains(&format!("0001000eofs-delta\n0010no-progress\n000ddeepen 1\n000ethin-pack\n0035shallow {0}\n0032want {1}\n0032have {0}\n0009done\n0000", sha("b"), sha("a"))), "{body}");
    }

    #[test]
    fn an_answer_is_the_same_however_the_network_cuts_it() {
        let answer = format!(
            "0011shallow-info\n{:04x}shallow {}\n0001000dpackfile\n0009\u{1}PACK0007\u{2}hi0006\u{1}!0000trailing",
            4 + 9 + 40,
            sha("c")
        );
        let expected = [
            ServerMessage::Shallow(sha("c")),
            ServerMessage::Pack("PACK".into()),
            ServerMessage::Pack("!".into()),
            ServerMessage::End,
        ];
        for chunk in [1, 2, 3, 7, 1000] {
            assert_eq!(parts(answer.as_bytes(), chunk).unwrap(), expected, "chunks of {chunk}");
        }
    }

    #[test]
    fn errors_of_the_server_are_passed_on() {
        let missing = format!("{:04x}ERR upload-pack: not our ref {}", 4 + 29 + 40, sha("d"));
        assert!(matches!(parts(missing.as_bytes(), 5), Err(Error::Missing(which)) if which == sha("d").as_str()));
        let error = parts(b"000dpackfile\n000f\x03disk full\x1b", 3).unwrap_err();
        assert!(error.to_string().contains("disk full"), "{error}");
        assert!(!error.to_string().contains('\u{1b}'));
    }

    #[test]
    fn other_answers_are_refused() {
        for garbage in [
            &b"<!DOCTYPE html>"[..],
            b"0003",
            b"fff1",
            b"+123x",
            b"000awhat?\n",
            b"0000",
            b"000dpackfile\n0005\x09",
            b"000dpackfile\n0004",
            b"000dpackfile\n0001",
        ] {
            assert!(parts(garbage, 4).is_err(), "{:?}", String::from_utf8_lossy(garbage));
        }
    }
}

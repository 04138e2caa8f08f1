//! Passes open files from one process to another over a Unix socket, with one byte for each message.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

/// The maximum number of files in one message.
const MOST: usize = 2;

const SPACE: usize = rustix::cmsg_space!(ScmRights(MOST));

/// Sends copies of open files, at most two.
pub(crate) fn send(socket: impl AsFd, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); SPACE];
    let mut message = SendAncillaryBuffer::new(&mut space);
    if !message.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    match sendmsg(socket, &[IoSlice::new(b"f")], &mut message, SendFlags::NOSIGNAL)? {
        1 => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Receives exactly this many open files.
///
/// # Errors
/// When the other side is gone, or sent something else.
pub(crate) fn receive<const COUNT: usize>(socket: impl AsFd) -> io::Result<[OwnedFd; COUNT]> {
    let mut space = [MaybeUninit::uninit(); SPACE];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let received = recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut byte)],
        &mut message,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut files = Vec::new();
    for part in message.drain() {
        if let RecvAncillaryMessage::ScmRights(more) = part {
            files.extend(more);
        }
    }
    files.try_into().map_err(|_| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn an_open_file_arrives() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        send(&here, &[writer.as_fd()]).unwrap();
        drop(writer);
        let [received] = receive(&there).unwrap();
        std::fs::File::from(received).write_all(b"hello").unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello");
    }

    #[test]
    fn a_message_without_files_is_refused() {
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(b"xx").unwrap();
        assert_eq!(receive::<1>(&there).unwrap_err().kind(), io::ErrorKind::InvalidData);
        send(&here, &[here.as_fd(), here.as_fd()]).unwrap();
        let _rest = receive::<0>(&there).unwrap();
        assert_eq!(receive::<1>(&there).unwrap_err().kind(), io::ErrorKind::InvalidData);
        drop(here);
        assert_eq!(receive::<1>(&there).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}

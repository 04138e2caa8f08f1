//! Standard input and output, taken away from everything else in this process: only messages of the protocol are read
//! from one and written to the other.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;

use tokio::io::{AsyncWriteExt as _, ReadHalf, SimplexStream, WriteHalf};
use tokio_util::sync::CancellationToken;

/// How much is read at once, in bytes.
const CHUNK: usize = 64 << 10;

/// Takes standard input and output. From then on nothing can be read from standard input, and standard output is standard
/// error: no text that is printed, by anybody, breaks a message. The token is cancelled at the end of the input.
///
/// # Errors
/// When the process has no standard input or output.
pub(super) fn take(ended: &CancellationToken) -> io::Result<(ReadHalf<SimplexStream>, tokio::fs::File)> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    let (reader, writer) = tokio::io::simplex(CHUNK);
    let (runtime, ended) = (tokio::runtime::Handle::current(), ended.clone());
    // A separate thread, because the runtime would wait for its own threads at the end, until somebody closes the input.
    std::thread::spawn(move || {
        pass_on(input, writer, &runtime);
        ended.cancel();
    });
    Ok((reader, tokio::fs::File::from_std(output)))
}

/// Passes everything on, no faster than it is read there. An unreadable input has ended.
fn pass_on(mut input: File, mut writer: WriteHalf<SimplexStream>, runtime: &tokio::runtime::Handle) {
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = match input.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => break,
            Ok(read) => read,
        };
        let part = chunk.get(..read).unwrap_or_default();
        if runtime.block_on(writer.write_all(part)).is_err() {
            break;
        }
    }
    // The last messages count even if nothing follows them.
    let _nobody_reads = runtime.block_on(writer.shutdown());
}

//! Reads a patch from a file that was named on the command line, or from standard input.

use std::io::Read as _;
use std::path::Path;

use super::Exit;

/// Nobody reviews a longer patch.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// The content of a file, or of standard input for `-`.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, Exit> {
    let unreadable = |error: std::io::Error| Exit::Usage(format!("{}: {error}", file.display()));
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes)
    } else {
        let opened = std::fs::File::open(file).map_err(unreadable)?;
        opened.take(MAX_BYTES + 1).read_to_end(&mut bytes)
    }
    .map_err(unreadable)?;
    let name = match file == Path::new("-") {
        true => "standard input".into(),
        false => file.display().to_string(),
    };
    check(&name, &bytes)?;
    Ok(bytes)
}

/// Refuses a patch that is empty, or too long.
pub(super) fn check(name: &str, patch: &[u8]) -> Result<(), Exit> {
    if patch.len() as u64 > MAX_BYTES {
        return Err(Exit::Usage(format!("{name}: longer than {} MiB", MAX_BYTES >> 20)));
    }
    if patch.is_empty() {
        return Err(Exit::Usage(format!(
            "{name} is empty; expected a patch as `git diff` prints it"
        )));
    }
    Ok(())
}

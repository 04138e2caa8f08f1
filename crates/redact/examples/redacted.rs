//! Copies standard input without what has the shape of a credential, and without hidden characters.

use std::io::{self, Read as _, Write as _};

use greenlight_redact::{redact, visible};

fn main() -> io::Result<()> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    io::stdout().write_all(redact(&visible(&text)).as_bytes())
}

//! Prints the test commands of a directory, the most fitting one first; nothing runs.

use std::path::PathBuf;

use greenlight_suite::{Hints, TestSettings, find_all};
use greenlight_tree::checkout::Checkout;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::args_os().nth(1).map_or_else(|| ".".into(), PathBuf::from);
    let checkout = Checkout::open(&root)?;
    for command in find_all(&checkout, &TestSettings::default(), &Hints::default()) {
        show(&format!("{command} (because of {})", command.source));
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn show(text: &str) {
    println!("{text}");
}

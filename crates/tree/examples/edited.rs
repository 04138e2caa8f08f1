//! Edits a tree in memory, copies it for untrusted code, and shows the edit as a patch.

use std::path::Path;

use greenlight_tree::checkout::Checkout;
use greenlight_tree::files::{FileError, read_result};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let (root, copies) = (folder.path().join("tree"), folder.path().join("copies"));
    std::fs::create_dir(&root)?;
    std::fs::write(root.join("fares.py"), "def fare(age):\n    return 4\n")?;

    let mut checkout = Checkout::open(&root)?;
    checkout.edit_text("fares.py".parse()?, "def fare(age):\n    return 2 if age < 12 else 4\n");
    let workspace = checkout.workspace(&copies)?;
    // What code in there could do to those who read its report.
    std::os::unix::fs::symlink("/etc/passwd", workspace.path().join("report.xml"))?;
    let report = read_result(workspace.path(), Path::new("report.xml"), 1_000);
    show(match report {
        Err(FileError::NotOrdinary) => "the report is a link, and is not read",
        _ => "the report was read",
    });
    show(&checkout.patch().unified());
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example prints")]
fn show(text: &str) {
    println!("{text}");
}

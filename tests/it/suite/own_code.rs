//! What a Rust tree compiles to is reused for exactly this tree, and neither its tests nor another tree can change it.

use super::*;

const LIBRARY: &str = "pub fn double(n: u32) -> u32 {\n    n * 2\n}\n";
/// A test that spoils all build output that it can write to.
const HOSTILE: &str = "\
#[test]
fn doubles() {
    assert_eq!(sample::double(2), 4);
}

#[test]
fn spoils() {
    for root in [\"target\", \"/compiled-tree\"] {
        spoil(root.as_ref());
    }
}

fn spoil(directory: &std::path::Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            spoil(&path);
        } else if std::fs::remove_file(&path).is_ok() {
            assert!(!path.starts_with(\"/compiled-tree\"), \"removed {path:?}\");
            let _ = std::fs::write(&path, \"spoiled\");
        }
    }
}
";

async fn sample(more: &[(&str, &str)]) -> (World, tempfile::TempDir) {
    let manifest = "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\ndoctest = false\n";
    let lock = "version = 4\n\n[[package]]\nname = \"sample\"\nversion = \"0.1.0\"\n";
    let files = [("Cargo.toml", manifest), ("Cargo.lock", lock), ("src/lib.rs", LIBRARY)];
    let files: Vec<_> = files.into_iter().chain(more.iter().copied()).collect();
    let (mut world, kept) = (
        world(&files, &TestSettings::default()).await,
        tempfile::tempdir().unwrap(),
    );
    in_another_process(&mut world, &kept);
    (world, kept)
}

fn in_another_process(world: &mut World, kept: &tempfile::TempDir) {
    world.suite.prebuilt = Prebuilt::kept_in(Stores {
        repository: kept.path().into(),
        ..crate::harness::stores()
    });
}

#[tokio::test]
async fn a_tree_is_compiled_once_whatever_its_tests_leave_behind() {
    let (mut world, kept) = sample(&[("tests/hostile.rs", HOSTILE)]).await;
    let first = world.run(&[]).await;
    assert_eq!((first.outcome, first.passed), (Outcome::Passed, 2), "{}", first.tail);
    assert_eq!(first.saved_ms, 0);
    for _ in 0..2 {
        in_another_process(&mut world, &kept);
        let again = world.run(&[]).await;
        assert_eq!((again.outcome, again.passed), (Outcome::Passed, 2), "{}", again.tail);
        assert!(!again.tail.contains("Compiling sample"), "{}", again.tail);
        assert!(again.saved_ms > 0 && again.duration_from_scratch().as_millis() > u128::from(again.duration_ms));
    }
    let part = world.run(&["doubles"]).await;
    assert_eq!((part.passed, part.failed), (1, 0), "{}", part.tail);
    assert!(part.saved_ms > 0);
}

#[tokio::test]
async fn an_edited_tree_is_compiled_again() {
    let (mut world, _kept) = sample(&[("tests/hostile.rs", HOSTILE)]).await;
    assert_eq!(world.run(&[]).await.passed, 2);
    // As long as before.
    world.edit("src/lib.rs", "n * 2", "n * 3");
    let red = world.run(&[]).await;
    assert_eq!((red.passed, red.failed, red.saved_ms), (1, 1, 0), "{}", red.tail);
    world.edit("src/lib.rs", "n * 3", "n * 2");
    let green = world.run(&[]).await;
    assert_eq!((green.passed, green.failed), (2, 0), "{}", green.tail);
    assert!(green.saved_ms > 0);
    // An edit in a copy that began with the output.
    let workspace = world.checkout.workspace(&world.suite.workspaces).unwrap();
    let stop = CancellationToken::new();
    let only = ["doubles".to_owned()];
    assert_eq!(run(&world.suite, &workspace, &only, &stop).await.unwrap().passed, 1);
    world.edit("src/lib.rs", "n * 2", "n * 3");
    let edited = "src/lib.rs".parse().unwrap();
    workspace.put(&edited, &world.checkout.read(&edited).unwrap()).unwrap();
    let red = run(&world.suite, &workspace, &only, &stop).await.unwrap();
    assert_eq!((red.passed, red.failed), (0, 1), "{}", red.tail);
}

#[tokio::test]
async fn a_build_that_writes_among_the_sources_is_repeated() {
    let build = "fn main() {\n    println!(\"cargo::rerun-if-changed=build.rs\");\n    \
                 std::fs::write(\"src/made.rs\", \"pub const MADE: u32 = 1;\\n\").unwrap();\n}\n";
    let test = "include!(\"../src/made.rs\");\n\n#[test]\nfn is_made() {\n    assert_eq!(MADE, 1);\n}\n";
    let (world, _kept) = sample(&[("build.rs", build), ("tests/made.rs", test)]).await;
    for _ in 0..2 {
        let green = world.run(&[]).await;
        assert_eq!((green.outcome, green.passed), (Outcome::Passed, 1), "{}", green.tail);
        assert_eq!(green.saved_ms, 0);
    }
}

#[tokio::test]
async fn output_that_belongs_to_the_tree_is_not_trusted() {
    let committed = ("target/debug/.fingerprint/sample-1/x", "made elsewhere");
    let (mut world, kept) = sample(&[("tests/hostile.rs", HOSTILE), committed]).await;
    for _ in 0..2 {
        in_another_process(&mut world, &kept);
        let green = world.run(&["doubles"]).await;
        assert_eq!((green.passed, green.failed), (1, 0), "{}", green.tail);
        let whole = world.run(&[]).await;
        assert_eq!((whole.passed, whole.saved_ms), (2, 0), "{}", whole.tail);
    }
}

#[tokio::test]
async fn a_build_that_makes_links_is_repeated() {
    let build = "fn main() {\n    println!(\"cargo::rerun-if-changed=build.rs\");\n    \
                 let out = std::env::var(\"OUT_DIR\").unwrap();\n    \
                 std::fs::write(format!(\"{out}/made.txt\"), \"made\").unwrap();\n    \
                 std::os::unix::fs::symlink(\"made.txt\", format!(\"{out}/link.txt\")).unwrap();\n}\n";
    let test = "#[test]\nfn follows() {\n    let link = concat!(env!(\"OUT_DIR\"), \"/link.txt\");\n    \
                assert_eq!(std::fs::read_to_string(link).unwrap(), \"made\");\n}\n";
    let (world, _kept) = sample(&[("build.rs", build), ("tests/made.rs", test)]).await;
    for _ in 0..2 {
        let green = world.run(&[]).await;
        assert_eq!((green.outcome, green.saved_ms), (Outcome::Passed, 0), "{}", green.tail);
    }
}

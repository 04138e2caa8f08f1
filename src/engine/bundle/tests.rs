//! Bundles are read as they were written, and hostile ones are refused.

use std::collections::BTreeMap;

use super::*;

fn manifest(tree: &Checkout) -> Manifest {
    let (version, greenlight) = Manifest::of_this_version();
    Manifest {
        version,
        journal: journal::FORMAT,
        greenlight,
        mode: Mode::Debug,
        head: "a".repeat(40).parse().unwrap(),
        tree: git::tree_name(tree).unwrap(),
        model: None,
        speech: Speech::Tools,
        context: 64_000,
        config: String::new(),
        command: "pytest".into(),
        changed: BTreeMap::from([("src/a.py".parse().unwrap(), vec![1..=3])]),
        proposed_tree: None,
        memory: Memory::default(),
        asks_nobody: false,
    }
}

fn tree(root: &Path) -> Checkout {
    std::fs::create_dir_all(root.join("src")).unwrap();
    std::fs::write(root.join("src/a.py"), "a = 1\n").unwrap();
    std::fs::write(root.join("run.sh"), "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(root.join("run.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("src/a.py", root.join("link")).unwrap();
    Checkout::exported(root, &[]).unwrap()
}

#[test]
fn a_bundle_is_read_as_it_was_written() {
    let place = tempfile::tempdir().unwrap();
    let mut tree = tree(&place.path().join("tree"));
    let manifest = manifest(&tree);
    // Edits are recorded in the journal, not in the tree.
    tree.edit_text("src/a.py".parse().unwrap(), "a = 2\n");
    let steps = vec![Step::Announced, Step::Said(serde_json::json!({ "note": "x" }))];
    let file = place.path().join("run.zip");
    write(&file, &manifest, &steps, &tree).unwrap();
    let (read_manifest, read_steps, read_tree) = read(&file, &place.path().join("again")).unwrap();
    assert_eq!((read_manifest, read_steps), (manifest, steps));
    assert_eq!(read_tree.read_text("src/a.py").as_deref(), Some("a = 1\n"));
    assert_eq!(read_tree.paths().len(), 3);
}

/// A newer manifest may differ in any other field.
#[test]
fn a_bundle_of_a_newer_greenlight_is_refused() {
    for versions in [r#""version":2"#, r#""version":1,"journal":99"#] {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("run.zip");
        let mut writer = ZipWriter::new(File::create(&file).unwrap());
        writer.start_file(MANIFEST, SimpleFileOptions::default()).unwrap();
        write!(writer, r#"{{{versions},"greenlight":"9.1.0"}}"#).unwrap();
        writer.finish().unwrap();
        let refused = read(&file, &place.path().join("again")).unwrap_err();
        assert!(matches!(&refused, Error::Newer(by) if by == "9.1.0"), "{refused}");
    }
}

#[test]
fn a_changed_tree_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let tree = tree(&place.path().join("tree"));
    let other = Manifest {
        tree: "0".repeat(40),
        ..manifest(&tree)
    };
    let file = place.path().join("run.zip");
    write(&file, &other, &[], &tree).unwrap();
    let refused = read(&file, &place.path().join("again")).unwrap_err();
    assert!(matches!(refused, Error::OtherTree { .. }), "{refused}");
}

#[test]
fn a_path_out_of_the_tree_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let tree = tree(&place.path().join("tree"));
    for name in ["tree/../../evil", "tree//etc/evil", "tree/.git/config"] {
        let file = place.path().join("run.zip");
        let mut writer = ZipWriter::new(File::create(&file).unwrap());
        let options = SimpleFileOptions::default();
        writer.start_file(MANIFEST, options).unwrap();
        serde_json::to_writer(&mut writer, &manifest(&tree)).unwrap();
        writer.start_file(JOURNAL, options).unwrap();
        writer.start_file(name, options).unwrap();
        writer.write_all(b"x").unwrap();
        writer.finish().unwrap();
        assert!(read(&file, &place.path().join("again")).is_err(), "{name}");
        assert!(!place.path().join("evil").exists());
    }
    // In any order, nothing is written below a link.
    let outside = place.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let file = place.path().join("run.zip");
    let mut writer = ZipWriter::new(File::create(&file).unwrap());
    let options = SimpleFileOptions::default();
    writer.start_file(MANIFEST, options).unwrap();
    serde_json::to_writer(&mut writer, &manifest(&tree)).unwrap();
    writer.start_file(JOURNAL, options).unwrap();
    writer
        .add_symlink("tree/a", outside.to_str().unwrap(), options)
        .unwrap();
    writer.add_symlink("tree/a/evil", "/etc/passwd", options).unwrap();
    writer.add_symlink("tree/a/deep/evil", "x", options).unwrap();
    writer.finish().unwrap();
    assert!(read(&file, &place.path().join("linked")).is_err());
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    std::fs::write(place.path().join("no.zip"), "no").unwrap();
    assert!(matches!(
        read(&place.path().join("no.zip"), place.path()),
        Err(Error::Foreign(_))
    ));
}

/// A bundle that is valid except for its journal.
fn with_journal(file: &Path, tree: &Checkout, journal: &mut dyn io::Read) {
    let mut writer = ZipWriter::new(File::create(file).unwrap());
    let options = SimpleFileOptions::default();
    writer.start_file(MANIFEST, options).unwrap();
    serde_json::to_writer(&mut writer, &manifest(tree)).unwrap();
    writer.start_file(JOURNAL, options).unwrap();
    io::copy(journal, &mut writer).unwrap();
    writer.finish().unwrap();
}

#[test]
fn a_journal_that_expands_is_read_up_to_its_bounds() {
    let place = tempfile::tempdir().unwrap();
    let tree = tree(&place.path().join("tree"));
    let file = place.path().join("run.zip");
    let check = |journal: &mut dyn io::Read, expected: &str| {
        with_journal(&file, &tree, journal);
        assert!(file.metadata().unwrap().len() < 1 << 20);
        let refused = read(&file, &place.path().join("again")).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    };
    let announced = b"\"announced\"\n".repeat(1 << 10);
    let many = (0..1 << 10).flat_map(|_| announced.iter().copied());
    check(&mut io::Cursor::new(many.collect::<Vec<_>>()), "more than 20000 steps");
    check(
        &mut io::repeat(b' ').take(MAX_LINE + 2),
        "a step in its journal is larger than 16 MiB",
    );
    let line = [
        b" ".repeat((MAX_LINE - 20).try_into().unwrap()),
        b"\"announced\"\n".to_vec(),
    ]
    .concat();
    check(
        &mut io::Cursor::new(line.repeat(5)),
        "its journal is larger than 64 MiB",
    );
}

#[test]
fn a_bundle_that_could_not_be_read_is_not_written() {
    let place = tempfile::tempdir().unwrap();
    let tree = tree(&place.path().join("tree"));
    let steps = vec![Step::Announced; MAX_STEPS + 1];
    let refused = write(&place.path().join("run.zip"), &manifest(&tree), &steps, &tree).unwrap_err();
    assert!(matches!(refused, Error::TooManySteps), "{refused}");
}

#[test]
fn only_its_owner_can_read_a_bundle() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = tempfile::tempdir().unwrap();
    let tree = tree(&place.path().join("tree"));
    let file = place.path().join("owner/name/run.zip");
    write(&file, &manifest(&tree), &[], &tree).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(
        [&file, &place.path().join("owner/name"), &place.path().join("owner")].map(|path| mode(path)),
        [0o600, 0o700, 0o700]
    );
}

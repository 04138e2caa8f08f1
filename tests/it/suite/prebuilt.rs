//! What is compiled once for all runs, and cannot be changed by any of them.

use std::collections::BTreeMap;

use super::*;

const GO: [(&str, &str); 3] = [
    (
        "go.mod",
        "module example.com/sum\n\ngo 1.20\n\nrequire example.org/Dep v1.0.0\n",
    ),
    (
        "sum.go",
        "package sum\n\nimport (\n\t\"strings\"\n\n\tdep \"example.org/Dep\"\n)\n\n\
         func Words(text string) int { return dep.Double(len(strings.Fields(text))) / 2 }\n",
    ),
    (
        "sum_test.go",
        // Writes to each entry of the cache that it finds, through the links.
        "package sum\n\nimport (\n\t\"io/fs\"\n\t\"os\"\n\t\"path/filepath\"\n\t\"testing\"\n)\n\n\
         func TestWords(t *testing.T) {\n\tif Words(\"a b\") != 2 {\n\t\tt.Fatal(Words(\"a b\"))\n\t}\n}\n\n\
         func TestPoison(t *testing.T) {\n\tfor _, root := range []string{os.Getenv(\"GOCACHE\"), \"/go-library\"} {\n\
         \t\tfilepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {\n\
         \t\t\tif err == nil && entry.Type()&fs.ModeSymlink == 0 && root != \"/go-library\" {\n\t\t\t\treturn nil\n\t\t\t}\n\
         \t\t\tif file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0); err == nil {\n\
         \t\t\t\tfile.Close()\n\t\t\t\tt.Error(\"wrote \", path)\n\t\t\t}\n\t\t\treturn nil\n\t\t})\n\t}\n}\n",
    ),
];

/// Every file below a folder, with its content.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.symlink_metadata().unwrap().is_dir() {
                true => folders.push(path),
                false => drop(files.insert(path.clone(), fs::read(&path).unwrap_or_default())),
            }
        }
    }
    files
}

/// The same without what single trees were compiled to.
fn shared(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = contents(folder);
    files.retain(|path, _| {
        !path
            .strip_prefix(folder)
            .unwrap()
            .to_string_lossy()
            .starts_with("tree-")
    });
    files
}

/// This folder for a repository, and for everyone what all tests share.
fn only(repository: &Path) -> Stores {
    Stores {
        repository: repository.into(),
        ..crate::harness::stores()
    }
}

/// A Go module with a function and its test.
fn go_module(imports: &str) -> [(&'static str, String); 2] {
    let test = format!("package own\n\nimport (\n\t\"testing\"\n{imports})\n\nfunc TestOwn(t *testing.T) {{}}\n");
    [
        ("go.mod", "module example.com/own\n\ngo 1.20\n".into()),
        ("own_test.go", test),
    ]
}

/// How many files the build cache of a run links to, and how many the run compiled.
async fn cache_of(world: &World) -> (usize, usize) {
    let workspace = world.checkout.workspace(&world.suite.workspaces).unwrap();
    let done = run(&world.suite, &workspace, &[], &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(done.outcome, Outcome::Passed, "{}", done.tail);
    let files = contents(&workspace.path().join(".greenlight-cache/go"));
    let linked = files.keys().filter(|path| path.is_symlink()).count();
    (linked, files.len() - linked)
}

#[tokio::test]
async fn gos_library_is_compiled_once_for_all_repositories_and_none_has_a_say_in_it() {
    let everyone = tempfile::tempdir().unwrap();
    let new = async |imports: &str| {
        let (files, repository) = (go_module(imports), tempfile::tempdir().unwrap());
        let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
        let mut world = world(&files, &TestSettings::default()).await;
        world.suite.prebuilt = Prebuilt::kept_in(Stores {
            repository: repository.path().into(),
            everyone: everyone.path().into(),
        });
        (world, repository)
    };
    let kept = || contents(everyone.path());
    // Its variables compile another library, which only its own runs find.
    let (mut hostile, _folder) = new("").await;
    let flags = ("GOFLAGS".to_owned(), "-gcflags=all=-N".to_owned());
    hostile.suite.installed.env.extend([flags]);
    // Nor do its limits count: Go would not say that there is no room for what it compiled.
    hostile.suite.policy.limits.disk = 32 << 20;
    let _fails_without_room = hostile.run(&[]).await;

    let compiled = kept();
    assert!(compiled.len() > 500, "{}", compiled.len());
    for _ in 0..2 {
        let (world, folder) = new("").await;
        let (linked, own) = cache_of(&world).await;
        assert!(linked > 100 && own < 40, "{linked} linked, {own} compiled");
        assert!(shared(folder.path()).is_empty(), "nothing is kept for one repository");
    }
    assert!(compiled == kept(), "nothing was compiled again");

    let (more, _folder) = new("\t_ \"container/ring\"\n").await;
    let (_, own) = cache_of(&more).await;
    assert!(own < 40, "{own} compiled");
    let results = fs::read_dir(everyone.path()).unwrap().flatten();
    assert_eq!(results.filter(|entry| entry.path().is_dir()).count(), 2);
    assert!(
        compiled.keys().all(|path| path.exists()),
        "runs may still use the first"
    );
}

#[tokio::test]
async fn what_a_go_module_imports_is_compiled_once_and_tests_cannot_change_it() {
    let code = (&*format!("{OTHER_MODULE}/dep.go"), OTHER_CODE);
    let manifest = format!("{OTHER_MODULE}/go.mod");
    let sums = format!(
        "example.org/Dep v1.0.0 {}\nexample.org/Dep v1.0.0/go.mod {}\n",
        go_sum(&[code, (&manifest, OTHER_MANIFEST)]),
        go_sum(&[("go.mod", OTHER_MANIFEST)])
    );
    let files: Vec<(&str, &str)> = GO.into_iter().chain([("go.sum", &*sums)]).collect();
    let mut world = world(&files, &TestSettings::default()).await;
    let (kept, cache) = (tempfile::tempdir().unwrap(), module_cache());
    world.suite.installed.env.insert("GOMODCACHE".into(), "/modules".into());
    world.suite.installed.mounts.push(Mount {
        source: cache.path().into(),
        target: "/modules".into(),
        access: Access::ReadOnly,
    });
    world.suite.prebuilt = Prebuilt::kept_in(only(kept.path()));
    let green = world.run(&[]).await;
    assert_eq!((green.outcome, green.passed), (Outcome::Passed, 2), "{}", green.tail);
    let compiled = shared(kept.path());
    assert!(compiled.len() > 50, "{}", compiled.len());
    let has_other = |content: &Vec<u8>| has_name(content, b"example.org/Dep");
    assert!(compiled.values().any(has_other), "{:?}", compiled.keys());

    // A second process finds it. Its next run only compiles the module.
    world.suite.prebuilt = Prebuilt::kept_in(only(kept.path()));
    assert_eq!(world.run(&[]).await.outcome, Outcome::Passed);
    world.edit("sum.go", "strings.Fields(text)", "strings.Split(text, \",\")");
    let workspace = world.checkout.workspace(&world.suite.workspaces).unwrap();
    let red = run(&world.suite, &workspace, &[], &CancellationToken::new())
        .await
        .unwrap();
    let counts = (red.outcome, red.passed, red.failed);
    assert_eq!(counts, (Outcome::Failed, 1, 1), "{}", red.tail);
    let cache = workspace.path().join(".greenlight-cache/go");
    let (linked, own): (Vec<PathBuf>, Vec<PathBuf>) = contents(&cache)
        .into_keys()
        .partition(|path| path.symlink_metadata().unwrap().is_symlink());
    assert!(
        linked.len() > 50 && own.len() < 40,
        "{} linked, {} compiled",
        linked.len(),
        own.len()
    );
    assert!(compiled == shared(kept.path()), "the library is as it was compiled");
}

const WITH_DEPENDENCY: [(&str, &str); 4] = [
    (
        "Cargo.toml",
        "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2021\"\nbuild = \"make.rs\"\n\n\
         [dependencies]\nhex = \"0.4\"\n",
    ),
    (
        "Cargo.lock",
        "version = 4\n\n[[package]]\nname = \"hex\"\nversion = \"0.4.3\"\n\
         source = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
         checksum = \"7f24254aa9a54b5c858eaee2f5bccdb46aaf0e486a595ed5fd8f86ba55232a70\"\n\n\
         [[package]]\nname = \"sample\"\nversion = \"0.1.0\"\ndependencies = [\n \"hex\",\n]\n",
    ),
    (
        // Writes to everything that was compiled before, if it can.
        "make.rs",
        "fn main() {\n    for root in [\"/crates\", \"target\"] {\n        spoil(root.as_ref());\n    }\n}\n\n\
         fn spoil(directory: &std::path::Path) {\n    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {\n\
         \x20       let path = entry.path();\n        let is_link = entry.file_type().unwrap().is_symlink();\n\
         \x20       if entry.file_type().unwrap().is_dir() {\n            spoil(&path);\n\
         \x20       } else if is_link || path.starts_with(\"/crates\") {\n\
         \x20           assert!(std::fs::write(&path, \"spoiled\").is_err(), \"wrote {path:?}\");\n        }\n    }\n}\n",
    ),
    (
        "src/lib.rs",
        "pub fn shown(bytes: &[u8]) -> String {\n    hex::encode(bytes)\n}\n\n\
         #[cfg(test)]\nmod tests {\n    #[test]\n    fn shows() {\n        assert_eq!(super::shown(&[10]), \"0a\");\n    }\n}\n",
    ),
];

/// The files of a compiled crate in a workspace: how many are links, and how many were compiled there.
fn files_of(krate: &str, workspace: &Path) -> (usize, usize) {
    let all = contents(&workspace.join("target/debug/deps"));
    let of_crate = all.keys().filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.trim_start_matches("lib").starts_with(&format!("{krate}-"))
    });
    let (linked, own): (Vec<&PathBuf>, Vec<&PathBuf>) = of_crate.partition(|path| path.is_symlink());
    (linked.len(), own.len())
}

#[tokio::test]
async fn the_crates_of_a_rust_project_are_compiled_once_and_its_code_cannot_change_them() {
    let mut world = world(&WITH_DEPENDENCY, &TestSettings::default()).await;
    let kept = tempfile::tempdir().unwrap();
    world.suite.prebuilt = Prebuilt::kept_in(only(kept.path()));
    world.edit("src/lib.rs", "hex::encode(bytes)", "hex::encode_upper(bytes)");
    let red = world.run(&[]).await;
    assert_eq!((red.outcome, red.failed), (Outcome::Failed, 1), "{}", red.tail);
    let compiled = shared(kept.path());
    let is_own = |path: &&PathBuf| path.to_string_lossy().contains("sample");
    assert!(
        compiled.len() > 10 && compiled.keys().find(is_own).is_none(),
        "{compiled:?}"
    );

    // Another process finds them for other code, and compiles nothing but that.
    world.edit("src/lib.rs", "hex::encode_upper(bytes)", "hex::encode(bytes)");
    world.suite.prebuilt = Prebuilt::kept_in(only(kept.path()));
    let workspace = world.checkout.workspace(&world.suite.workspaces).unwrap();
    let stop = CancellationToken::new();
    let green = run(&world.suite, &workspace, &[], &stop).await.unwrap();
    assert_eq!((green.outcome, green.passed), (Outcome::Passed, 1), "{}", green.tail);
    assert!(matches!(files_of("hex", workspace.path()), (2.., 0)));
    assert!(matches!(files_of("sample", workspace.path()), (0, 2..)));
    assert!(compiled == shared(kept.path()), "the crates are as they were compiled");

    // Another dependency is another result, and a proof may want none.
    world.edit(
        "Cargo.toml",
        "hex = \"0.4\"",
        "hex = { version = \"0.4\", default-features = false, features = [\"alloc\"] }",
    );
    world.suite.prebuilt = Prebuilt::kept_in(only(kept.path()));
    assert_eq!(world.run(&[]).await.outcome, Outcome::Passed);
    let results = fs::read_dir(kept.path())
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().is_dir() && entry.file_name().to_string_lossy().starts_with("crates-"));
    assert_eq!(results.count(), 2);
    world.suite.cold_proof = true;
    let workspace = world.checkout.workspace(&world.suite.workspaces).unwrap();
    let cold = run(&world.suite.for_proof(), &workspace, &[], &stop).await.unwrap();
    assert_eq!(cold.outcome, Outcome::Passed, "{}", cold.tail);
    assert!(matches!(files_of("hex", workspace.path()), (0, 2..)));
}

const OTHER_MODULE: &str = "example.org/Dep@v1.0.0";
const OTHER_MANIFEST: &str = "module example.org/Dep\n\ngo 1.20\n";
const OTHER_CODE: &str = "package dep\n\nfunc Double(n int) int { return 2 * n }\n";

/// The hash of files in `go.sum`: <https://pkg.go.dev/golang.org/x/mod/sumdb/dirhash#Hash1>.
fn go_sum(files: &[(&str, &str)]) -> String {
    use base64::Engine as _;
    use sha2::{Digest as _, Sha256};
    let line = |(name, text): &(&str, &str)| format!("{}  {name}\n", hex::encode(Sha256::digest(text)));
    let lines: String = files.iter().map(line).collect();
    let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(lines));
    format!("h1:{hash}")
}

/// Go's cache of modules with one that nobody published. Capitals in names are written with an exclamation mark there.
fn module_cache() -> tempfile::TempDir {
    let cache = tempfile::tempdir().unwrap();
    let code = (&*format!("{OTHER_MODULE}/dep.go"), OTHER_CODE);
    let hash = go_sum(&[code, (&format!("{OTHER_MODULE}/go.mod"), OTHER_MANIFEST)]);
    for (path, text) in [
        ("example.org/!dep@v1.0.0/go.mod", OTHER_MANIFEST),
        ("example.org/!dep@v1.0.0/dep.go", OTHER_CODE),
        ("cache/download/example.org/!dep/@v/v1.0.0.mod", OTHER_MANIFEST),
        (
            "cache/download/example.org/!dep/@v/v1.0.0.info",
            "{\"Version\":\"v1.0.0\"}",
        ),
        ("cache/download/example.org/!dep/@v/v1.0.0.ziphash", &hash),
    ] {
        let path = cache.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for path in contents(cache.path()).into_keys().chain([cache.path().to_path_buf()]) {
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    cache
}

fn has_name(content: &[u8], name: &[u8]) -> bool {
    content.windows(name.len()).any(|part| part == name)
}

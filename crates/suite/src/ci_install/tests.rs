//! Lines of CI's scripts, and what they install and build.

use super::*;

#[track_caller]
fn of(directory: Option<&str>, script: &str) -> CiInstall {
    let script = CiScript {
        script: script.into(),
        directory: directory.map(|path| path.parse().unwrap()),
        env: BTreeMap::from([("CFLAGS".into(), "-O2".into()), ("CC".into(), "clang-99".into())]),
    };
    let mut found = CiInstall::default();
    found.add(&script, &BTreeMap::from([("DJANGO".into(), "5.1".into())]));
    found
}

/// A shell runs the lines, so that a name must be one.
#[test]
fn the_variables_of_a_step_reach_what_it_builds() {
    let script = CiScript {
        script: "export B='2 3'\nC=$NOWHERE ./configure --x\nmake -j2\n".into(),
        directory: None,
        env: ["CFLAGS", "CC", "PATH", "A;id", "LD_PRELOAD", "API_TOKEN"]
            .map(|name| (name.to_owned(), "-O2;id".to_owned()))
            .into(),
    };
    let mut found = CiInstall::default();
    found.add(&script, &BTreeMap::new());
    let lines: Vec<String> = found.builds.iter().map(BuildCommand::line).collect();
    let variables = "B='2 3' CFLAGS='-O2;id'";
    assert_eq!(
        lines,
        [format!("{variables} ./configure --x"), format!("{variables} make -j2")]
    );
}

#[test]
fn lines_of_pip_say_what_is_needed() {
    let script = "python -m pip install --upgrade pip setuptools tox\n\
                  pip install -U pytest 'hypothesis>=6' -r requirements/test.txt -c../constraints.txt --index-url https://x.y/z \\\n  \
                  \"django~=$DJANGO.0\" \"$UNKNOWN\" git+https://github.com/a/b ./dist/a.whl\n\
                  cd sub && pip install --requirement=dev.txt -e '.[test, cli]' --group tests\n";
    let found = of(Some("py"), script);
    assert_eq!(found.requirements, ["pytest", "hypothesis>=6", "django~=5.1.0"]);
    assert_eq!(
        found.files.iter().map(RepoPath::as_str).collect::<Vec<_>>(),
        ["py/requirements/test.txt", "py/sub/dev.txt"]
    );
    assert_eq!(
        (found.extras.join(" "), found.groups.join(" ")),
        ("test cli".into(), "tests".into())
    );
}

#[test]
fn lines_of_other_tools_name_groups_and_extras() {
    let found = of(
        None,
        "uv sync --frozen --group test --extra=cli\npoetry install --with dev,docs -E mysql\npython -m uv run --group unit pytest --group x",
    );
    assert_eq!(found.groups, ["test", "dev", "docs", "unit"]);
    assert_eq!(found.extras, ["cli", "mysql"]);
    assert!(of(None, "uv sync --all-groups").all);
    let pdm = of(None, "pdm sync -G :all,test\npython -Im pip install six");
    assert!(
        pdm.all && pdm.groups == ["test"] && pdm.requirements == ["six"],
        "{pdm:?}"
    );
    assert_eq!(
        of(None, "npm ci --legacy-peer-deps --evil").npm_flags,
        ["--legacy-peer-deps"]
    );
}

#[test]
fn nothing_leads_out_of_the_tree_or_past_the_bounds() {
    assert!(of(None, "pip install -r ../../etc/passwd -r /etc/passwd -e ../other").is_empty());
    let many: String = (0..1_000).map(|n| format!(" p{n}")).collect();
    let mut services = CiInstall::default();
    services.add_services(&["postgres:16".into(), "x".repeat(MAX_WORD + 1), "postgres:16".into()]);
    assert_eq!(services.services, ["postgres:16"]);
    assert_eq!(of(None, &format!("pip install{many}")).requirements.len(), MAX_WORDS);
    assert!(
        of(
            None,
            "pip install -e '.[--index-url=x]'; uv sync --extra=--offline --group '$(x)'"
        )
        .is_empty()
    );
    assert!(!installs("echo pip install x", &BTreeMap::new()));
    assert!(installs("set -e\npip3 install x", &BTreeMap::new()));
}

//! Scripts from workflows, and the commands found in them.

use super::*;

#[track_caller]
fn find(script: &str, env: &[(&str, &str)], shows: Option<&str>) -> Option<TestCommand> {
    let tree = tempfile::tempdir().unwrap();
    for file in ["py/tests/test_a.py", "docs/a.md", "web/package.json", "setup.py"] {
        let path = tree.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "{\"scripts\": {\"test\": \"jest\"}}").unwrap();
    }
    let checkout = Checkout::open(tree.path()).unwrap();
    let step = CiStep {
        workflow: ".github/workflows/ci.yml".parse().unwrap(),
        job: "test".into(),
        name: "Tests".into(),
        script: script.into(),
        directory: None,
        env: env
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect(),
        own_env: BTreeSet::new(),
        shows: shows.map(Into::into),
        before: Vec::new(),
        versions: BTreeMap::new(),
        services: Vec::new(),
        is_aside: false,
    };
    command(&checkout, &step)
}

#[track_caller]
fn check(script: &str, expected: Option<(&str, Framework)>) {
    let found = find(script, &[("LEVEL", "2"), ("PATH", "/evil")], None);
    let found = found.map(|command| {
        let env: Vec<String> = command
            .env
            .iter()
            .map(|(name, value)| format!("{name}={value} "))
            .collect();
        assert!(
            env.iter().any(|set| set == "LEVEL=2 ") && !env.iter().any(|set| set.contains("evil")),
            "{env:?}"
        );
        let own = env.into_iter().filter(|set| set != "LEVEL=2 ");
        let plain = TestCommand {
            env: BTreeMap::new(),
            ..command.clone()
        };
        (format!("{}{plain}", own.collect::<String>()), command.framework)
    });
    assert_eq!(
        found,
        expected.map(|(line, framework)| (line.to_string(), framework)),
        "{script}"
    );
}

#[test]
fn groups_and_paths_of_the_checkout_are_followed() {
    use Framework::Pytest;
    check("(cd py && pytest -x)\npytest", Some(("cd py && pytest -x", Pytest)));
    check("(cd py; exit)\n{ A=b; pytest; }", Some(("pytest", Pytest)));
    check("(cd py; exit)\n{ export A=b; pytest; }", Some(("A=b pytest", Pytest)));
    check("true || (cd py && pytest)", None);
    check(
        "git diff --quiet && { echo same; exit 0; }\npytest",
        Some(("pytest", Pytest)),
    );
    check(
        "{ cd py; pytest -x; } | tee log\npytest",
        Some(("cd py && pytest -x", Pytest)),
    );
    check("export PYTHONPATH=$PWD/src\ncd py\npytest", None);
    check(
        "export PYTHONPATH=$PWD/src\npytest",
        Some(("PYTHONPATH=./src pytest", Pytest)),
    );
    check(
        "cd py && PYTHONPATH=$PWD/src:$GITHUB_WORKSPACE OUT=$PWD pytest $GITHUB_WORKSPACE/py/tests",
        Some(("PYTHONPATH=./src:.. cd py && pytest ./tests", Pytest)),
    );
    check(
        "PYTHONPATH=\"$PWD/src\" pytest",
        Some(("PYTHONPATH=./src pytest", Pytest)),
    );
}

#[test]
fn scripts_of_other_packages_are_not_taken_for_those_of_this_one() {
    for line in [
        "npm test --workspaces",
        "npm test --workspace=a",
        "npm test -w a",
        "pnpm -r test",
        "pnpm --filter=a test",
    ] {
        check(line, Some((line, Framework::Other)));
    }
}

#[test]
fn the_line_with_the_tests_is_found() {
    use Framework::{Cargo, Go, Jest, Maven, Other, Pytest, Ruff, Rustc, Unittest};
    check("pytest -q", Some(("pytest -q", Pytest)));
    check(
        "python -W error -m pytest -q",
        Some(("python -W error -m pytest -q", Pytest)),
    );
    check(
        "python -We -m coverage run -m unittest a.py",
        Some(("python -We -m coverage run -m unittest a.py", Unittest)),
    );
    check("python -W error tool.py", None);
    check(
        "pixi run -e test-py312 test",
        Some(("pixi run -e test-py312 test", Other)),
    );
    check("pixi run -e test-py312 pip install six", None);
    check("./test.sh", Some(("./test.sh", Other)));
    check("bash tools/test.sh -q", Some(("bash tools/test.sh -q", Other)));
    check("node test/runTests.js", Some(("node test/runTests.js", Other)));
    check("node tools/check-size.js", None);
    check("php ./phpunit -v", Some(("php ./phpunit -v", Framework::Phpunit)));
    check(
        "php -d 'memory_limit=-1' vendor/bin/phpunit --testdox",
        Some((
            "php -d 'memory_limit=-1' vendor/bin/phpunit --testdox",
            Framework::Phpunit,
        )),
    );
    check("php -d memory_limit=-1", None);
    check(
        "composer exec -v phpunit -- --exclude-group slow",
        Some(("vendor/bin/phpunit --exclude-group slow", Framework::Phpunit)),
    );
    check("composer exec php-cs-fixer -- fix", None);
    check(
        "set -euo pipefail\npip install -e .[test]\npython -m pytest tests \\\n  --maxfail=1 # slow\necho done",
        Some(("python -m pytest tests --maxfail=1", Pytest)),
    );
    check(
        "cd py && pytest \"tests/test a.py\" 2>&1 | tee log.txt",
        Some(("cd py && pytest 'tests/test a.py'", Pytest)),
    );
    check("cd py/tests\ncd ..\npytest", Some(("cd py && pytest", Pytest)));
    check(
        "cd py; cd $GITHUB_WORKSPACE; pytest -x > out.txt",
        Some(("pytest -x", Pytest)),
    );
    check("pushd py\nmake deps\npopd\npytest", Some(("pytest", Pytest)));
    check(
        "export A=b\nC=d pytest -n $LEVEL \"${A}\"",
        Some(("A=b C=d pytest -n 2 b", Pytest)),
    );
    check(
        "[ \"$RUST\" = 1.32 ] && export A=b\n[[ -n $X ]] && C=d\npytest",
        Some(("pytest", Pytest)),
    );
    check("A=\npytest $A -q ''", Some(("pytest -q ''", Pytest)));
    // Only what is exported reaches the tests.
    check(
        "A=1\nB=2\nexport A C=3\ndeclare -x D=4\nE=6 pytest",
        Some(("A=1 C=3 D=4 E=6 pytest", Pytest)),
    );
    check(
        "ARGS=(-q -n $LEVEL)\nARGS+=(-x)\nX=a\nX+=b\npytest \"${ARGS[@]}\" $X",
        Some(("pytest -q -n 2 -x ab", Pytest)),
    );
    check("ARGS=(-k 'a b')\npytest \"${ARGS[@]}\"", None);
    check("ARGS=(tests/*)\npytest \"${ARGS[@]}\"", None);
    check("[ -d py ] && pytest -q", Some(("pytest -q", Pytest)));
    check("poetry run pytest", Some(("pytest", Pytest)));
    check("uv run --frozen --extra test -- pytest", Some(("pytest", Pytest)));
    check(
        "uv run --extra test python -m unittest -v",
        Some(("python -m unittest -v", Unittest)),
    );
    check("npx jest --ci", Some(("npx jest --ci", Jest)));
    check("cd web\nnpm ci\nnpm test", Some(("cd web && npm test", Jest)));
    check("npm run lint:css", Some(("npm run lint:css", Other)));
    check("cargo +nightly test --all", Some(("cargo +nightly test --all", Cargo)));
    check(
        "cargo clippy -- -D warnings",
        Some(("cargo clippy -- -D warnings", Rustc)),
    );
    check("go vet ./...\ngo test ./... -race", Some(("go test ./... -race", Go)));
    check("./mvnw -B verify", Some(("./mvnw -B verify", Maven)));
    check("mvn -B install -DskipTests\nruff check .", Some(("ruff check .", Ruff)));
    check("make -j4 test", Some(("make -j4 test", Other)));
    check(
        "if [ -f x ]; then\n  pip install x\nfi\npytest",
        Some(("pytest", Pytest)),
    );
    check("./scripts/run-tests.sh", Some(("./scripts/run-tests.sh", Other)));
    check("pytest tests/*_a.py 'b c'", Some(("pytest tests/*_a.py 'b c'", Other)));
    check("pytest || exit 1", Some(("pytest", Pytest)));
    check("py\\\ntest \\\r\n  -q", Some(("pytest -q", Pytest)));
    check("pytest -k 'a\\\nb'", Some(("pytest -k \"a\\\\\nb\"", Pytest)));
    check("# no \\\npytest", Some(("pytest", Pytest)));
    check(
        "cat > x <<'EOF'\ncd /tmp; pytest \"$X\"\nEOF\npytest -q",
        Some(("pytest -q", Pytest)),
    );
    check(
        "[[ -n $CI ]] && echo x\nwhile read -r x; do echo; done < y\npytest",
        Some(("pytest", Pytest)),
    );
}

#[test]
fn what_only_a_shell_would_know_is_not_guessed() {
    for script in [
        "pip install pytest",
        "echo pytest",
        "pytest --version",
        "pytest $EXTRA",
        "pytest $(cat files)",
        "pytest `cat files`",
        "if [ \"$A\" = b ]; then\n  pytest\nelse\n  pytest --cov\nfi",
        "for d in a b; do cd $d; pytest; done",
        "cd /tmp && pytest",
        "cd ..\npytest",
        "cd absent && pytest",
        "[ -d py ] && cd py\npytest",
        "cd $(mktemp -d)\npytest",
        "true || pytest",
        "server &\ncat <<EOF | pytest\nx\nEOF",
        "pytest 'open",
        "cat <<EOF && pytest\nx\nEOF",
        "run() { pytest; }\nif a; then run; fi",
        "case $A in\n  x) pytest;;\nesac",
        "! { cd py; }\npytest",
        "pytest ~/x",
        "git diff --exit-code",
        "exit 0\npytest",
        "",
    ] {
        check(script, None);
    }
    check(&"(".repeat(10_000), None);
    check(&"a;".repeat(100_000), None);
    check("pytest \u{1}PATH\u{1}", None);
}

#[test]
fn of_several_commands_the_one_that_the_log_shows_is_meant() {
    let script = "cargo clippy\ncargo test --lib\ncargo nextest run";
    let found = |shows| find(script, &[], shows).unwrap().to_string();
    assert_eq!(found(None), "cargo test --lib");
    assert_eq!(found(Some("rustc")), "cargo clippy");
    assert_eq!(found(Some("cargo nextest")), "cargo nextest run");
    assert_eq!(found(Some("pytest")), "cargo test --lib");
}

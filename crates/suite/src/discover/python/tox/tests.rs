//! Settings of tox, and the scripts that its environments are.

use super::ini::{MAX_NAMES, MAX_SECTIONS};
use super::*;

#[track_caller]
fn check(settings: &str, name: &str, expected: Option<&str>) {
    let sections = sections(settings);
    let environment = Environment {
        sections: &sections,
        name,
        variables: &BTreeMap::new(),
    };
    let expected = expected.map(|script| format!("{WITHOUT_CI}{script}"));
    assert_eq!(environment.script(), expected, "{name}: {settings}");
}

/// What every script begins with, unless the variable is passed on.
const WITHOUT_CI: &str = "export CI=''\n";

#[test]
fn ci_is_unset_unless_it_is_passed_on() {
    for (passed, is_unset) in [
        ("", true),
        ("pass_env = LANG\n", true),
        ("passenv = CIRCLE_*\n", true),
        ("pass_env = CI\n", false),
        ("passenv =\n    A, CI\n", false),
        ("passenv = A *\n", false),
        ("pass_env = C*\n", false),
        ("pass_env = ci\n", false),
        ("pass_env = *I*\n", false),
        ("pass_env = *X\n", true),
        ("passenv = {[other]passenv}, X\n", false),
        ("set_env = CI = 1\n", true),
    ] {
        let sections = sections(&format!("[testenv]\n{passed}commands = pytest\n"));
        let environment = Environment {
            sections: &sections,
            name: "py",
            variables: &BTreeMap::new(),
        };
        let script = environment.script().unwrap();
        assert_eq!(script.starts_with(WITHOUT_CI), is_unset, "{passed}");
    }
}

#[test]
fn an_environment_has_what_it_does_not_say_from_the_base() {
    let settings = "[base]\nall =\n    pytest {posargs:tests}\n\n[testenv]\nset_env =\n    A = b c\n    B = {env:HOME}\n\
                    changedir = {toxinidir}/src\ncommands =\n    py{39,310}, pypy: old\n    !lint: {[base]all}\n\n\
                    [testenv:docs]\nchangedir = docs\ncommands = -make html\n\n[testenv:own]\nchangedir = {envtmpdir}\n";
    let base = "export A='b c'\ncd ./src\n";
    check(settings, "py312", Some(&format!("{base}pytest tests\n")));
    check(settings, "py310-x", Some(&format!("{base}old\npytest tests\n")));
    check(settings, "py", Some(&format!("{base}old\npytest tests\n")));
    check(settings, "pypy-lint", Some(&format!("{base}old\n")));
    check(settings, "docs", Some("export A='b c'\ncd docs\nmake html\n"));
    // Outside of the tree.
    check(settings, "own", Some("export A='b c'\npytest tests\n"));
    check("[testenv]\ndeps = pytest\n", "py", None);
}

#[test]
fn what_an_environment_needs_is_installed_before_its_commands() {
    let settings = "[testenv]\ndeps =\n    pytest >= 3  # new\n    py: six>=1; python_version<'4'\n    other: nose\n    \
                    -r{toxinidir}/requirements{/}test.txt\n    -c constraints.txt\n    {env:WITH:}\n    --pre\n    \
                    {[base]deps}\nextras =\n    test\n    cli\ndependency_groups = unit,\n    it\nchangedir = src\n\
                    commands_pre =\n    - pdm sync -G :all,test\n    python -c '{envname}'\ncommands = pytest\n\n\
                    [base]\ndeps = mock\n";
    let script = "pip install 'pytest >= 3'\npip install \"six>=1; python_version<'4'\"\n\
                  pip install -r ./requirements/test.txt\npip install -c constraints.txt\npip install mock\n\
                  pip install -e '.[test,cli]'\npip install --group unit\npip install --group it\n\
                  pdm sync -G ':all,test'\npython -c '{envname}'\ncd src\npytest\n";
    check(settings, "py", Some(script));
    let table: toml::Table = "[env_run_base]\ndeps = ['pytest', '-r test.txt']\nextras = ['cli']\n\
                              dependency_groups = ['unit']\ncommands_pre = [['make', 'ready']]\ncommands = [['pytest']]\n"
        .parse()
        .unwrap();
    let sections = of_table(&table);
    let environment = Environment {
        sections: &sections,
        name: "py",
        variables: &BTreeMap::new(),
    };
    let script = "pip install pytest\npip install -r test.txt\npip install -e '.[cli]'\npip install --group unit\n\
                  make ready\npytest\n";
    assert_eq!(environment.script(), Some(format!("{WITHOUT_CI}{script}")));
}

#[test]
fn the_environment_is_the_one_that_is_named() {
    let named = |line: &str| environments(&shlex::split(line).unwrap(), None).map(|names| names.join(" "));
    for line in ["-e unit", "-eunit", "run -e unit", "r --env=unit -v", "-v --env unit"] {
        assert_eq!(named(line).as_deref(), Some("unit"), "{line}");
    }
    for line in ["", "run -p auto", "--installpkg dist/a.whl"] {
        assert_eq!(named(line).as_deref(), Some(""), "{line}");
    }
    assert_eq!(environments(&[], Some("unit")), Some(vec!["unit"]));
    assert_eq!(environments(&["-eunit".into()], Some("docs")), Some(vec!["unit"]));
    assert_eq!(environments(&[], Some("a,b")), None);
    for (line, expected) in [
        ("-e lint,py", "py"),
        ("-e py313,lint", "py313"),
        ("-e docs -e unit-fast", "unit-fast"),
        ("-e py3.13,py312", "py3.13"),
    ] {
        assert_eq!(named(line).as_deref(), Some(expected), "{line}");
    }
    for line in [
        "-e a,b",
        "-e a -e b",
        "-e py{39,310}",
        "-e pylint,docs",
        "-e",
        "list",
        "-e a -- -k b",
        "devenv -e a",
    ] {
        assert_eq!(named(line), None, "{line}");
    }
}

#[test]
fn the_package_of_another_job_is_left_out() {
    for (script, expected) in [
        ("tox run --installpkg dist/*.whl -e a", "tox run  -e a"),
        ("tox -e a --installpkg `find dist/*.tar.gz`", "tox -e a "),
        ("tox --installpkg=\"$(ls dist/*.whl)\" -e a", "tox  -e a"),
        ("tox --installpkg $(ls dist) -e a", "tox  -e a"),
        ("tox --installpkg", "tox --installpkg"),
        ("tox --installpkg \\\n a.whl -e a", "tox --installpkg \\\n a.whl -e a"),
        ("pytest --installpkg a", "pytest --installpkg a"),
    ] {
        assert_eq!(without_package(script), expected);
    }
}

#[test]
fn what_tox_passes_on_is_no_shell() {
    let settings = "[testenv]\nset_env =\n    A=$(id)\n    B;id;C=d\ncommands =\n    pytest 'a;b' $(id) | x\n";
    let script = "export A='$(id)'\npytest 'a;b' '$(id)' '|' x\n";
    check(settings, "py", Some(script));
}

#[test]
fn hostile_settings_stay_within_bounds() {
    let circle = "[testenv]\ncommands =\n    {[testenv]commands}\n    {[testenv]commands}\n";
    assert!(sections(circle).contains_key("testenv"));
    let sections = sections(circle);
    let environment = Environment {
        sections: &sections,
        name: "py",
        variables: &BTreeMap::new(),
    };
    assert!(environment.lines("commands").len() <= MAX_LINES);
    // Three settings that name each other, and the last one has only lines that do not apply.
    let name = |key: &str| format!("    {{[x]{key}}}\n").repeat(5_000);
    let skipped = "    other: b\n".repeat(5_000);
    let wide = format!(
        "[testenv]\ncommands =\n{}[x]\na =\n{}b =\n{}c =\n{skipped}",
        name("a"),
        name("b"),
        name("c")
    );
    let wide = super::sections(&wide);
    let environment = Environment {
        sections: &wide,
        name: "py",
        variables: &BTreeMap::new(),
    };
    assert!(environment.lines("commands").is_empty());
    assert!(expanded(&"{a,b}".repeat(10_000)).len() <= MAX_NAMES);
    assert!(expanded(&"a,".repeat(10_000)).len() <= MAX_NAMES);
}

#[test]
fn settings_in_toml_say_the_same() {
    let table: toml::Table = "[env_run_base]\nset_env = { A = 'b c', B = { replace = 'env', name = 'C' } }\n\
                              commands = [['pytest', '-q', { replace = 'posargs', default = ['tests'] }]]\n\
                              [env.slow]\nchange_dir = 'src'\ncommands = [['pytest', '-m', 'slow']]\n"
        .parse()
        .unwrap();
    let sections = of_table(&table);
    let script = |name: &str| {
        Environment {
            sections: &sections,
            name,
            variables: &BTreeMap::new(),
        }
        .script()
    };
    for (name, expected) in [
        ("py", "export A='b c'\npytest -q tests\n"),
        ("slow", "export A='b c'\ncd src\npytest -m slow\n"),
    ] {
        assert_eq!(script(name), Some(format!("{WITHOUT_CI}{expected}")));
    }
}

/// Commands run in another directory, from which the project's folder has another path.
#[test]
fn a_variable_may_name_the_folder_of_the_project() {
    for (directory, path) in [
        ("", "./src"),
        ("changedir = tests\n", "../src"),
        ("changedir = {toxinidir}/tests/unit\n", "../../src"),
        ("changedir = .\n", "./src"),
    ] {
        let settings = format!("[testenv]\nsetenv = PYTHONPATH = {{toxinidir}}/src\n{directory}commands = pytest\n");
        let sections = sections(&settings);
        let environment = Environment {
            sections: &sections,
            name: "py",
            variables: &BTreeMap::new(),
        };
        let script = environment.script().unwrap();
        assert!(script.contains(&format!("export PYTHONPATH={path}\n")), "{script}");
    }
}

#[test]
fn variables_are_filled_in() {
    let settings = "[testenv]\nsetenv =\n    BASE = tests\n    PART = {env:BASE}/{env:KIND:core}\ncommands =\n    \
                    pytest {posargs: {env:PART}} {env:UNSET} {env:NAME:}\n\n[testenv:py{312,313}-{a,b}]\n\
                    setenv = KIND = {env:KIND:several}\ncommands = pytest {env:KIND}\n";
    let base = "export BASE=tests\nexport PART=tests/core\n";
    check(settings, "py", Some(&format!("{base}pytest tests/core\n")));
    check(settings, "py313-b", Some("export KIND=several\npytest several\n"));
    let sections = sections(settings);
    let script = |kind: &str| {
        let variables = BTreeMap::from([("KIND".to_owned(), kind.to_owned())]);
        let (sections, name) = (&sections, "py312-a");
        let environment = Environment {
            sections,
            name,
            variables: &variables,
        };
        environment.script().unwrap()
    };
    assert!(script("unit").ends_with("export KIND=unit\npytest unit\n"));
    // A value is not filled in once more, and a long one is not repeated.
    assert!(script("{env:KIND}{env:KIND}").ends_with("pytest several\n"));
    assert!(script(&"x".repeat(100_000)).ends_with("pytest several\n"));
}

#[test]
fn variables_of_the_job_choose_an_environment() {
    let settings = "[tox]\nenvlist = lint, py{312,313}-dj{51,main}-{sqlite,mysql}\n\n[gh-actions:env]\nDB =\n    \
                    mysql: mysql\n    sqlite3: sqlite\n\n[testenv]\ncommands = pytest\n\
                    setenv =\n    sqlite: KIND=s\n    mysql: KIND=m\n    djmain: NEXT=1\n";
    let (_tree, checkout) = crate::discover::tests::tree(&[("tox.ini", settings)]);
    let place = Directory {
        checkout: &checkout,
        directory: None,
    };
    for (value, expected) in [
        ("mysql", "export KIND=m\n"),
        ("sqlite3", "export KIND=s\n"),
        ("other", "export KIND"),
    ] {
        let variables = BTreeMap::from([("DB".to_owned(), value.to_owned())]);
        let called = call(&place, &[], &variables).unwrap();
        assert!(called.scripts[0].contains(expected), "{:?}", called.scripts);
        assert!(!called.scripts[0].contains("NEXT"), "{:?}", called.scripts);
    }
}

#[test]
fn a_section_with_many_names_is_not_copied_for_each() {
    let names: Vec<String> = (0..60).map(|n| format!("p{n}")).collect();
    let section = format!(
        "[testenv:{{{}}}]\ndescription = {}\n",
        names.join(","),
        "x".repeat(10_000)
    );
    let sections = sections(&section);
    assert_eq!(sections.len(), 60);
    let mut keys = sections.values();
    let first = keys.next().unwrap();
    assert!(keys.all(|other| Rc::ptr_eq(first, other)));
    let many: String = (0..100)
        .map(|n| format!("[testenv:{n}-{{{}}}]\na = b\n", names.join(",")))
        .collect();
    assert_eq!(super::sections(&many).len(), MAX_SECTIONS);
}

#[test]
fn comments_are_no_part_of_a_value() {
    let settings = "[testenv]\nsetenv =\n    A = 0  # for now\n    B = a\\#b\ncommands = pytest -q # quietly\n";
    check(settings, "py", Some("export A=0\nexport B='a#b'\npytest -q\n"));
}

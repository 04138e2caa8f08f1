//! Recipes of just, and what they run.

use super::*;

const FILE: &str = r##"
set shell := ["bash", "-c"]
export LEVEL := "2"
tool := 'cargo' # what builds
flags := tool + " --all" / env("KIND", "x")
files := `ls`
alias t := test

[group('checks')]
@lint what=".": style && (other "a b" tool)
    {{ tool }} clippy {{what}}
    ruff {{files}}

[windows]
test kind="all":
    cmd {{kind}}

[linux]
test kind="unit" *more: (lint "src")
    # runs them
    -cargo test \
        --{{kind}} {{more}} \
        -q
    echo '{{{{x}}'

style:
    fmt
other one two:
    say {{one}} {{quote(one)}} {{two}}
script name:
    #!/usr/bin/env bash
    set -e
    pytest {{name}}
python:
    #!/usr/bin/env python3
    import os
a: b
    cargo a
b: a
    cargo b
flags:
    cargo {{flags}}
[working-directory: 'web app', no-exit-message]
web:
    npm test
"##;

fn run(line: &str) -> Option<String> {
    let words: Vec<String> = line.split_whitespace().map(String::from).collect();
    let env = BTreeMap::from([("KIND".to_owned(), "y".to_owned())]);
    let scripts = scripts(FILE, &words, &env)?;
    Some(scripts.join("; ").replace("export LEVEL=2\n", ""))
}

#[test]
fn a_recipe_is_its_lines_between_those_that_it_needs() {
    for (line, expected) in [
        ("lint", "fmt; cargo clippy .; say a b 'a b' cargo"),
        ("", "fmt; cargo clippy .; say a b 'a b' cargo"),
        (
            "test",
            "fmt; cargo clippy src; say a b 'a b' cargo; cargo test --unit  -q; echo '{{x}}'",
        ),
        ("style other a b", "fmt; say a a b"),
        ("tool=x lint", "fmt; x clippy .; say a b 'a b' x"),
        ("script tests", "#!/usr/bin/env bash\nset -e\npytest tests"),
        ("a", "cargo b; cargo a"),
        ("flags", "cargo cargo --all/y"),
        ("web", "cd 'web app'\nnpm test"),
        ("python", ""),
        // A value is missing.
        ("script", ""),
        ("none", ""),
    ] {
        assert_eq!(run(line).as_deref(), Some(expected), "{line}");
    }
    let all = run("test doc --a --b").unwrap();
    assert!(all.contains("cargo test --doc --a --b -q"), "{all}");
    assert_eq!(run("--list"), None);
}

#[test]
fn a_hostile_file_is_bounded() {
    let many: String = (0..5_000).map(|n| format!("t{n}: t{} t0\n    echo\n", n + 1)).collect();
    let found = scripts(&many, &["t0".into()], &BTreeMap::new()).unwrap();
    assert!(found.len() <= MAX_FOLLOWED);
    let grown: String = (0..100).map(|n| format!("a{} := a{n} + a{n}\n", n + 1)).collect();
    let text = format!("a0 := 'x'\n{grown}t:\n    echo {{{{a100}}}}\n");
    assert_eq!(scripts(&text, &[], &BTreeMap::new()), Some(Vec::new()));
    for hostile in ["(", "a := (", "a := '''", "a \"b", "a: (((", "a *:", "a := \"\\"] {
        let text = format!(
            "{}\nt:\n    echo {{{{{}}}}}\n",
            hostile.repeat(10_000),
            "(".repeat(10_000)
        );
        assert!(scripts(&text, &["t".into()], &BTreeMap::new()).is_some());
    }
}

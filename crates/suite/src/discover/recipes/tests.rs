//! Targets and recipes, and the lines that they run.

use super::*;
use crate::discover::tests::tree;

#[track_caller]
fn check(command: &str, expected: Option<&[&str]>) {
    let (_directory, checkout) = tree(&[
        (
            "Makefile",
            "# What there is\nRUFF ?= ruff\nRUFF ?= other\nSRC = src\nSRC += tests\nFILES != git ls-files\nexport A := b\n\
             EXTRA = --fix -k \"a b\"\nOPTIONS := $(EXTRA) \\\n\t-q\n.DEFAULT_GOAL := all\n.PHONY: all lint\n%.o: %.c\n\tcc\n\n\
             all: lint test lint\n\nlint: style \\\n  loop | built # checks\n\t@cd web && $(RUFF) check .\n\
             \t-black --check $(shell ls)\n\tblack $(SRC) $(FILES)\n\tisort ${OPTIONS} .\n\n\
             style:\n\ttest -z \"$$(gofmt -l .)\"\ntest: style ; echo test\nloop: loop\n\techo loop\nblack:\n\tblack $(DIR)\n\tblack $(LD)\n\
             own: DIR = lib\nown:\n\tblack $(DIR)\nhere:\n\tblack $(PWD) $(GOPATH)\n",
        ),
        (
            "justfile",
            "set shell := [\"bash\", \"-c\"]\ntool := \"ruff\"\nfiles := `ls`\n\n@lint what=\".\": style (other \"x\")\n    {{ tool }} check .\n    black {{files}}\n\n\
             style:\n    gofmt -l .\n",
        ),
        ("scripts/lint.sh", "#!/bin/sh\nruff check\n"),
    ]);
    let place = Directory {
        checkout: &checkout,
        directory: None,
    };
    let argv: Vec<String> = command.split(' ').map(String::from).collect();
    let found = scripts(&place, &argv, &BTreeMap::new());
    let found: Option<Vec<&str>> = found.as_ref().map(|all| all.iter().map(String::as_str).collect());
    assert_eq!(found.as_deref(), expected, "{command}");
}

#[test]
fn targets_run_what_they_need_first_and_once() {
    let style = "test -z \"$(gofmt -l .)\"";
    let isort = "isort --fix -k \"a b\"  \t-q .";
    check(
        "make lint",
        Some(&[style, "echo loop", "cd web && ruff check .", isort]),
    );
    check(
        "make -j4",
        Some(&[style, "echo loop", "cd web && ruff check .", isort, "echo test"]),
    );
    check("make nothing", Some(&[]));
    check("make -C web lint", None);
    check("make black DIR=lib", Some(&["black lib"]));
    check("make black", Some(&[]));
    check("make own", Some(&[]));
    check("make here", Some(&[]));
    check("make own DIR=x", Some(&["black x"]));
    check("just lint", Some(&["gofmt -l .", "ruff check ."]));
    check("just", Some(&["gofmt -l .", "ruff check ."]));
    check("./scripts/lint.sh", Some(&["#!/bin/sh\nruff check\n"]));
    check("bash scripts/lint.sh", Some(&["#!/bin/sh\nruff check\n"]));
    check("bash ../lint.sh", None);
    check("ruff check", None);
}

#[test]
fn hostile_files_stay_within_bounds() {
    let env = BTreeMap::new();
    let nothing = Given {
        given: BTreeMap::new(),
        env: &env,
    };
    let many: String = (0..20_000).map(|n| format!("t{n}: t{}\n\techo {n}\n", n + 1)).collect();
    assert!(of_targets(&many, &["t0"], &nothing).len() <= MAX_TARGETS);
    let wide = format!("A = {}\nx:\n\t{}\n", "$(A)".repeat(20_000), "$(A)".repeat(2_000));
    assert!(of_targets(&wide, &["x"], &nothing).is_empty());
    let empty = format!("A = {}\nB =\nx:\n{}", "$(B)".repeat(20_000), "\t$(A)\n".repeat(20_000));
    assert!(of_targets(&empty, &["x"], &nothing).is_empty());
    let names = format!(
        "{}: {}\n{}",
        "a ".repeat(30_000),
        "b ".repeat(30_000),
        "\techo\n".repeat(10_000)
    );
    assert!(of_targets(&names, &["a"], &nothing).len() <= MAX_LINES);
    let needs = format!("a: {}\nb:\n{}", "b ".repeat(30_000), "\techo\n".repeat(10_000));
    assert!(of_targets(&needs, &["a"], &nothing).len() <= MAX_LINES);
}

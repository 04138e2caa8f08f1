//! Edits that mean the same, and edits that do not.

use greenlight_anchor::patch::{Blob, FileChange};

use super::*;

const PYTHON: &str =
    "FROM = 10_000\n\n\ndef f(amount, to, name):\n    if amount > FROM:\n        return 1\n    return 0\n";

/// A patch that replaces one text with another.
fn patch(path: &str, text: &str, (from, to): (&str, &str)) -> Patch {
    assert!(text.contains(from), "{from}");
    let change = FileChange {
        before: Some(Blob::regular(text)),
        after: Some(Blob::regular(text.replace(from, to))),
    };
    Patch::new([(path.parse().unwrap(), change)])
}

fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Checkout) {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        std::fs::write(directory.path().join(path), text).unwrap();
    }
    let checkout = Checkout::exported(directory.path(), &[]).unwrap();
    (directory, checkout)
}

/// Checks whether two edits of one place mean the same.
#[track_caller]
fn check(path: &str, text: &str, old: &str, (one, other): (&str, &str), expected: bool) {
    let (_directory, checkout) = tree(&[(path, text)]);
    let (one, other) = (patch(path, text, (old, one)), patch(path, text, (old, other)));
    let alike = is_spelled_like(&checkout, std::slice::from_ref(&one), &other);
    assert_eq!(alike, expected, "{}\n{}", one.unified(), other.unified());
    assert_eq!(is_spelled_like(&checkout, &[other], &one), expected);
}

#[test]
fn a_bound_is_the_same_however_it_is_written() {
    for other in [
        "amount + 1 > FROM",
        "amount > FROM - 1",
        "FROM <= amount",
        "not amount < FROM",
        "not (FROM > amount)",
        "(amount) >= (FROM)",
        "amount >= 10000",
        "amount > 9_999",
        "0 <= amount - FROM",
        "1 + amount > FROM",
        "-amount <= -FROM",
    ] {
        check("a.py", PYTHON, "amount > FROM", ("amount >= FROM", other), true);
    }
    for other in [
        "amount > FROM",
        "amount >= FROM + 1",
        "amount < FROM",
        "amount != FROM",
        "amount >= to",
        "amount >= FROM or to",
        "amount >= 'x' + 1",
    ] {
        check("a.py", PYTHON, "amount > FROM", ("amount >= FROM", other), false);
    }
}

#[test]
fn a_named_number_is_the_number() {
    let (_directory, checkout) = tree(&[("a.py", PYTHON)]);
    let bound = patch("a.py", PYTHON, ("amount > FROM", "amount >= FROM"));
    let name = patch("a.py", PYTHON, ("10_000", "9_999"));
    assert!(is_spelled_like(&checkout, std::slice::from_ref(&bound), &name));
    assert!(is_spelled_like(
        &checkout,
        std::slice::from_ref(&name),
        &patch("a.py", PYTHON, ("10_000", "9999"))
    ));
    assert!(!is_spelled_like(
        &checkout,
        std::slice::from_ref(&bound),
        &patch("a.py", PYTHON, ("10_000", "9_998"))
    ));
    // The edit changes more if another file uses the name.
    let (_directory, checkout) = tree(&[("a.py", PYTHON), ("b.py", "from a import FROM\n")]);
    assert!(!is_spelled_like(&checkout, &[bound], &name));
    // Nothing here uses the name, so each value is a different edit.
    let alone = "FROM = 10\n";
    let (_directory, checkout) = tree(&[("a.py", alone)]);
    let of = |value| patch("a.py", alone, ("10", value));
    assert!(!is_spelled_like(&checkout, &[of("9")], &of("8")));
}

#[test]
fn what_may_stand_in_any_order_may() {
    let check = |pair, expected| check("a.py", PYTHON, "amount > FROM", pair, expected);
    check(("to and amount < 1", "amount < 1 and to"), true);
    check(("not (to or amount < 1)", "amount >= 1 and not to"), true);
    check(("0 <= amount < to", "amount >= 0 and to > amount"), true);
    check(("amount == to", "to == amount"), true);
    check(("amount != to", "not to == amount"), true);
    check(("amount in to", "not amount not in to"), true);
    check(("to and amount", "to or amount"), false);
    check(("0 <= amount < to", "0 <= amount <= to"), false);
    let check = |pair, expected| super::tests::check("a.py", PYTHON, "return 1", pair, expected);
    check(("return amount + to", "return (to + amount)"), true);
    check(("return amount - to", "return to - amount"), false);
    check(("return amount * to", "return to * amount"), true);
    check(("return min(amount, to)", "return min(to, amount)"), true);
    check(("return pow(amount, to)", "return pow(to, amount)"), false);
    check(("return name + '.'", "return '.' + name"), false);
    check(("return amount or to", "return to or amount"), false);
    check(("return 0x10", "return 1_6"), true);
    check(("return 1.50", "return 1.5"), true);
    check(("amount += 1; return 1", "amount = amount + 1; return 1"), true);
    check(("return 1  # so", "return 1"), true);
}

#[test]
fn it_is_the_same_in_all_languages() {
    let cases = [
        (
            "a.rs",
            "pub const TO: u32 = 5;\npub fn f(stop: u32) -> bool { stop <= TO }\n",
            "stop <= TO",
        ),
        (
            "a.go",
            "package a\n\nconst TO = 5\n\nfunc f(stop int) bool { return stop <= TO }\n",
            "stop <= TO",
        ),
        (
            "a.js",
            "const TO = 5;\nexport function f(stop) { return stop <= TO; }\n",
            "stop <= TO",
        ),
        (
            "a.ts",
            "const TO = 5;\nexport function f(stop: number): boolean { return stop <= TO; }\n",
            "stop <= TO",
        ),
        (
            "A.java",
            "class A {\n  static final int TO = 5;\n  boolean f(int stop) { return stop <= TO; }\n}\n",
            "stop <= TO",
        ),
    ];
    for (path, text, old) in cases {
        for same in [
            "stop + 1 <= TO",
            "stop <= TO - 1",
            "!(stop >= TO)",
            "TO > stop",
            "(stop < TO)",
            "stop < 5",
        ] {
            check(path, text, old, ("stop < TO", same), true);
        }
        for other in ["stop != TO", "stop < TO - 1", "!(stop > TO)", "stop > TO"] {
            check(path, text, old, ("stop < TO", other), false);
        }
        let (_directory, checkout) = tree(&[(path, text)]);
        let bound = patch(path, text, (old, "stop < TO"));
        let name = patch(path, text, ("= 5", "= 4"));
        assert!(is_spelled_like(&checkout, &[bound], &name), "{path}");
    }
    let text = "pub fn f(n: u32) -> u32 { (0..n).sum() }\n";
    check("a.rs", text, "0..n", ("0..=n", "0..n + 1"), true);
    check("a.rs", text, "0..n", ("0..=n", "0..n - 1"), false);
}

#[test]
fn what_was_turned_down_elsewhere_or_cannot_be_read_is_another() {
    let two = "def f(a, b):\n    return a > b\n\n\ndef g(a, b):\n    return a > b\n";
    let (_directory, checkout) = tree(&[("a.py", two)]);
    let first = patch(
        "a.py",
        two,
        ("def f(a, b):\n    return a > b", "def f(a, b):\n    return a >= b"),
    );
    let second = patch(
        "a.py",
        two,
        ("def g(a, b):\n    return a > b", "def g(a, b):\n    return a >= b"),
    );
    assert!(!is_spelled_like(&checkout, std::slice::from_ref(&first), &second));
    assert!(is_spelled_like(&checkout, std::slice::from_ref(&first), &first));
    check("a.txt", "one\n", "one", ("two", " two"), false);
    check("a.txt", "one\n", "one", ("two", "two"), true);
}

/// Deep nesting by a stranger does not make this slow.
#[test]
fn what_is_nested_deeply_is_read_once() {
    let products = format!("{}a{}", "a * (b + ".repeat(90), ")".repeat(90));
    let text = format!("def f(a, b):\n    return {products}\n");
    check("a.py", &text, "return a", ("return -a", "return - a"), true);
    let deep = format!("def f(a):\n    return {}a{}\n", "[".repeat(5_000), "]".repeat(5_000));
    check("a.py", &deep, "return [", ("return [[", "return  [["), false);
}

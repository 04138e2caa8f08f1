//! Faults and fixes, language by language.

use super::*;

/// Every edited version of the only line of `text` that holds `at`, with the best first.
fn versions(path: &str, text: &str) -> Vec<String> {
    let source = Source::parse(path, text.into()).unwrap();
    let mut edits = edits(&source, |_| true);
    edits.sort_by(|a, b| b.template.prior().total_cmp(&a.template.prior()));
    edits
        .iter()
        .filter_map(|edit| source.replaced(&edit.range, &edit.replacement))
        .collect()
}

#[track_caller]
fn offers(path: &str, text: &str, expected: &[&str]) {
    let versions = versions(path, text);
    for expected in expected {
        assert!(
            versions.iter().any(|version| version == expected),
            "no edit of {text:?} gives {expected:?}, only {versions:#?}"
        );
    }
}

#[test]
fn rust_faults_have_their_fix_among_the_edits() {
    let line = |line: &str| format!("fn f(a: &[u32], n: usize, m: usize) -> bool {{ {line} }}\n");
    for (fault, fix) in [
        ("a.len() < n", "a.len() <= n"),
        ("a.len() == n", "a.len() != n"),
        ("n > 1 && m > 2", "n > 1 || m > 2"),
        ("for i in 0..=n {}", "for i in 0..n {}"),
        ("for i in 0..n {}", "for i in 0..n + 1 {}"),
        ("let x = n - 1;", "let x = n;"),
        ("let x = n + m;", "let x = n - m;"),
        ("let x = n;", "let x = n + 1;"),
        ("let x = 41;", "let x = 42;"),
        ("let x = 1_000;", "let x = 999;"),
        ("let x = true;", "let x = false;"),
        ("x += n;", "x -= n;"),
        ("if a.is_empty() {}", "if !a.is_empty() {}"),
        ("if !a.is_empty() {}", "if a.is_empty() {}"),
        ("g(n, m)", "g(m, n)"),
        ("n.min(m)", "n.max(m)"),
        ("let x = n * n;", "let x = n * m;"),
        ("n - m", "m - n"),
        ("a[n]", "a[n - 1]"),
        ("vec![0; n + 1]", "vec![0; n - 1]"),
        ("match n { 0..=9 => 1, _ => 2 }", "match n { 0..=8 => 1, _ => 2 }"),
        ("x.n", "x.m"),
    ] {
        let context = "fn g() { x.m; x.n }\n";
        offers("src/lib.rs", &(line(fault) + context), &[&(line(fix) + context)]);
    }
}

#[test]
fn python_faults_have_their_fix_among_the_edits() {
    let line = |line: &str| format!("def f(a, n, m=1):\n    {line}\n");
    for (fault, fix) in [
        ("return a < n", "return a <= n"),
        ("return a is None", "return a is not None"),
        ("return a not in n", "return a in n"),
        ("if a and n: pass", "if a or n: pass"),
        ("if a and n: pass", "if a and not n: pass"),
        ("while not a: pass", "while a: pass"),
        ("return range(n)", "return range(n + 1)"),
        ("return range(n)", "return range(1, n)"),
        ("return a[n:]", "return a[n + 1:]"),
        ("return a[1:]", "return a[0:]"),
        ("return a[-1]", "return a[0]"),
        ("return n // 2", "return n / 2"),
        ("return 1 << (a - n)", "return 1 << (a - n - 1)"),
        ("return n", "return n - 1"),
        ("return f(a, n)", "return f(n, a)"),
        ("return any(a)", "return all(a)"),
        ("return a.lstrip()", "return a.strip()"),
        ("return self.x + self.y", "return self.x + self.x"),
        ("return True", "return False"),
        (
            "return [i for i in a if i.isdigit()]",
            "return [i for i in a if not i.isdigit()]",
        ),
    ] {
        offers("f.py", &line(fault), &[&line(fix)]);
    }
}

#[test]
fn javascript_faults_have_their_fix_among_the_edits() {
    let line = |line: &str| format!("function f(a, n, m) {{\n  {line}\n}}\n");
    for (fault, fix) in [
        ("return a < n;", "return a <= n;"),
        ("return a === n;", "return a !== n;"),
        ("return a && n;", "return a || n;"),
        ("return a ?? n;", "return a && n;"),
        ("if (a) { n(); }", "if (!a) { n(); }"),
        ("if (!a) { n(); }", "if (a) { n(); }"),
        ("return a ? n : m;", "return !a ? n : m;"),
        ("for (let i = 0; i <= n; i++) m(i);", "for (let i = 0; i < n; i++) m(i);"),
        ("for (let i = 0; i < n; i--) m(i);", "for (let i = 0; i < n; i++) m(i);"),
        ("const x = n - 1;", "const x = n;"),
        ("return a[n];", "return a[n - 1];"),
        ("a += n;", "a -= n;"),
        ("return g(n, m);", "return g(m, n);"),
        ("return Math.min(n, m);", "return Math.max(n, m);"),
        ("return a.every(n);", "return a.some(n);"),
        ("return a.indexOf(n);", "return a.lastIndexOf(n);"),
        ("return a.trimStart();", "return a.trim();"),
        ("return a.toUpperCase();", "return a.toLowerCase();"),
        ("return true;", "return false;"),
        ("return n;", "return m;"),
        ("return n % 2;", "return n * 2;"),
        ("const g = (x) => x + 1; return g(n);", "const g = (x) => x; return g(n);"),
    ] {
        offers("f.js", &line(fault), &[&line(fix)]);
        offers("f.ts", &line(fault), &[&line(fix)]);
    }
}

#[test]
fn assertions_types_imports_and_attributes_stay_as_they_are() {
    assert_eq!(
        versions(
            "src/lib.rs",
            "#[repr(align(2))]\nfn f(a: [u8; 3]) { debug_assert!(1 < 2); assert_eq!(1, 2); }\n"
        ),
        Vec::<String>::new()
    );
    assert_eq!(
        versions("f.py", "from a import b\nassert 1 < 2\n@c(1)\ndef f(): pass\n"),
        Vec::<String>::new()
    );
}

#[test]
fn what_only_takes_away_comes_last() {
    let source = Source::parse("f.py", "def f(a, b):\n    return a < 1 and b > 2\n".into()).unwrap();
    let removals = edits(&source, |_| true);
    let lowest = removals.iter().map(|edit| edit.template.prior()).fold(1.0, f32::min);
    assert!(removals.iter().any(|edit| edit.template == Template::Removal));
    assert!((lowest - Template::Removal.prior()).abs() < f32::EPSILON);
}

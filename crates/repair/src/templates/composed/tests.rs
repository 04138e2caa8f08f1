//! Faults that need more than one token, and their fixes.

use super::super::tests::{offers, offers_not};
use super::super::{KnownNames, Stage, edits};
use crate::syntax::Source;
use crate::template::{EditKind, Template};

/// Checks that each fault has its fix among the edits, both in the place of `LINE` in the context.
#[track_caller]
fn all_offered(path: &str, context: &str, faults: &[(&str, &str)]) {
    for (fault, fix) in faults {
        offers(path, &context.replace("LINE", fault), &[&context.replace("LINE", fix)]);
    }
}

#[test]
fn a_receiver_changes_places_with_the_argument() {
    for (path, context, fault, fix) in [
        (
            "f.py",
            "def f(a, b):\n    return LINE\n",
            "a.startswith(b)",
            "b.startswith(a)",
        ),
        (
            "f.js",
            "const f = (a, b) => LINE;\n",
            "a.indexOf(b) != -1",
            "b.indexOf(a) != -1",
        ),
        (
            "f.rs",
            "fn f(a: &str, b: &str) -> bool { LINE }\n",
            "a.contains(b)",
            "b.contains(a)",
        ),
        (
            "F.java",
            "class F { boolean f(String a, String b) { return LINE; } }\n",
            "a.contains(b)",
            "b.contains(a)",
        ),
    ] {
        all_offered(path, context, &[(fault, fix)]);
    }
}

#[test]
fn what_is_used_as_a_sequence_is_compared_with_no_number() {
    let script = |use_of: &str| format!("function f(a, n) {{\n  {use_of};\n  if (n > 2) return 1;\n  return 2;\n}}\n");
    let with = |text: &str| text.replace("n > 2", "n > 2 && a === 0");
    offers("f.js", &script("g(a)"), &[&with(&script("g(a)"))]);
    for used in ["g(a[n])", "g(a.length)", "g([...a])", "for (const b of a) g(b)"] {
        offers_not("f.js", &script(used), &with(&script(used)));
    }
    let python = |used: &str| format!("def f(a, n):\n    {used}\n    if n > 2:\n        return 1\n    return 2\n");
    let with = |text: &str| text.replace("n > 2", "n > 2 and a == 0");
    offers("f.py", &python("g(a)"), &[&with(&python("g(a)"))]);
    for used in ["g(a[n])", "g(len(a))", "g(*a)", "a.append(n)"] {
        offers_not("f.py", &python(used), &with(&python(used)));
    }
}

#[test]
fn an_expression_is_combined_with_what_is_in_scope() {
    let python = "def f(a, n, m):\n    LINE\n    return m\n";
    let faults = [
        ("g(a, n)", "g(a, n - m)"),
        ("m = a[n]", "m = a[n + m]"),
        ("m = a[n:]", "m = a[n + m:]"),
        ("m = a > m", "m = a > m * m"),
        ("for i in a: g(i)", "for i in a[n:]: g(i)"),
        ("m = a", "m = a[::-1]"),
        ("m = m + n", "m = max(m + n, 0)"),
        ("m = n", "m = min(n, a)"),
        ("m = n > 2", "m = n > m"),
        ("m = g(1)", "m = g(n)"),
        ("m = g(n) + 2", "m = a + 2"),
        ("m = a == n", "m = set(a) == set(n)"),
        ("n -= m", "n //= m"),
    ];
    all_offered("f.py", python, &faults);
    let unary = "def f(a):\n    return LINE\n";
    all_offered("f.py", unary, &[("f(a)", "f(f(a))")]);
    let script = "function f(a, n, m) {\n  LINE\n  return m;\n}\n";
    let faults = [
        ("g(a, n);", "g(a, n - m);"),
        ("m = a[n];", "m = a[n + m];"),
        ("for (const b of a) g(b);", "for (const b of a.slice(n)) g(b);"),
        ("m = m + n;", "m = Math.max(m + n, 0);"),
        ("if (n > 2) g();", "if (n > a.length) g();"),
    ];
    all_offered("f.js", script, &faults);
    all_offered("f.ts", script, &faults);
    let go = "func f(a []int, n int, m int) int {\n\tLINE\n\treturn m\n}\n";
    let faults = [
        ("g(a, n)", "g(a, n - m)"),
        ("m = a[n]", "m = a[n + m]"),
        ("for _, b := range a {}", "for _, b := range a[n:] {}"),
    ];
    all_offered("f.go", go, &faults);
    let rust = "fn f(a: &[u32], n: usize, m: usize) -> usize { LINE }\n";
    all_offered(
        "f.rs",
        rust,
        &[
            ("g(a, n)", "g(a, n - m)"),
            ("a[n]", "a[n + m]"),
            ("let x = n + m;", "let x = (n + m).max(0);"),
        ],
    );
    let java = "class A {\n  int f(int[] a, int n, int m) {\n    LINE\n    return m;\n  }\n}\n";
    all_offered(
        "A.java",
        java,
        &[
            ("m = a[n];", "m = a[n + m];"),
            ("m = n;", "m = Math.max(n, m);"),
            ("g(n, 1);", "g(n, m);"),
        ],
    );
}

/// Everything that such a value may become is too much: what is left out must not depend on the order of templates.
#[test]
fn the_likeliest_edits_of_one_value_are_kept() {
    let script = "function f(a, b, c, d, e) {\n  const s = (a + b + c);\n  return Math.sqrt(s * d * e);\n}\n";
    offers("f.js", script, &[&script.replace("(a + b + c)", "(a + b + c) / 2")]);
}

#[test]
fn what_is_in_the_wrong_order_is_turned_round() {
    let python = "def f(a, n, m):\n    LINE\n    return m\n";
    let faults = [
        ("if a[n][m]: pass", "if a[m][n]: pass"),
        ("m = a[n][m]", "m = a[n - 1][m - 1]"),
        ("m = [a, n]", "m = [n, a]"),
        ("a, n = g(m)", "n, a = g(m)"),
        ("m = a + g(n)", "m = g(n) + a"),
        ("m = a[n, m]", "m = a[m, n]"),
        ("m += g(n)", "m = g(n) + m"),
        ("if a.islower(): pass", "if a.isupper(): pass"),
        ("g(a.outgoing_edges)", "g(a.incoming_edges)"),
    ];
    all_offered("f.py", python, &faults);
    offers_not("f.py", &python.replace("LINE", "g(a.inside)"), "outside");
    let script = "function f(a, n, m) {\n  LINE\n  return m;\n}\n";
    all_offered(
        "f.js",
        script,
        &[("m = [a, n];", "m = [n, a];"), ("m += g(n);", "m = g(n) + m;")],
    );
}

#[test]
fn a_value_gets_another_shape() {
    let python = "def f(a, n, m):\n    LINE\n    return m\n";
    let faults = [
        ("m = []", "m = [[]]"),
        ("m = {}", "m = []"),
        ("m = a + n", "m = [a] + n"),
        ("m = [a]", "m = a"),
        ("m = a[n]", "m = a.get(n, 0)"),
        ("m = a", "m = a[-1]"),
        ("g(a)", "g(a[n])"),
        ("m = sorted(a)", "m = sorted(a, reverse=True)"),
        ("a.sort()", "a.sort(key=len)"),
        ("m = a == n", "m = len(a) == n"),
        ("m = [b for b in a]", "m = sorted([b for b in a])"),
    ];
    all_offered("f.py", python, &faults);
    let script = "function f(a, n, m) {\n  LINE\n  return m;\n}\n";
    let faults = [
        ("a.sort();", "a.sort((a, b) => a - b);"),
        ("m = parseInt(a);", "m = parseInt(a, 10);"),
        ("m = a[n] + 1;", "m = (a[n] || 0) + 1;"),
        ("m = a;", "m = a[a.length - 1];"),
        ("m = a.sort();", "m = [...new Set(a.sort())];"),
        (
            "m = g([...a]) === g([...n]);",
            "m = g([...a].sort()) === g([...n].sort());",
        ),
        (
            "for (const b of a) n.add(b);",
            "for (const b of a) if (m === b) { n.add(b); }",
        ),
    ];
    all_offered("f.js", script, &faults);
    all_offered(
        "f.rs",
        "fn f(a: &[u32], n: usize) -> u32 { LINE }\n",
        &[("let x = a;", "let x = a[0];")],
    );
}

#[test]
fn conditions_get_operands_and_constants_become_conditions() {
    let python = "def f(a, n):\n    LINE\n    if n % 4 == 0: g(n)\n    return True\n";
    let faults = [
        ("if a: pass", "if a and n % 4 == 0: pass"),
        ("if a > 1: pass", "if a > 1 or n == 0: pass"),
        ("if len(a) == 0: pass", "if len(a) <= 1: pass"),
        ("a = True", "a = n == 0"),
    ];
    all_offered("f.py", python, &faults);
    let script = "function f(a, n) {\n  if (LINE) return 1;\n  return n;\n}\n";
    all_offered(
        "f.js",
        script,
        &[
            ("a", "a && n === 0"),
            ("a.length === 0", "a.length <= 1"),
            ("a === 1", "a !== 2"),
        ],
    );
    all_offered(
        "f.rs",
        "fn f(a: u32, n: u32) -> u32 { if LINE { 1 } else { n } }\n",
        &[("a == 0", "a <= 1")],
    );
}

#[test]
fn a_missing_statement_is_assembled_like_others_nearby() {
    let fault = "def f(a, b):\n    found = []\n    while a:\n        c = g(a)\n        found.append(c)\n        b -= 1\n    return found\n";
    for fix in [
        fault.replace("    return", "    found.append(a)\n    return"),
        fault.replace("b -= 1", "b -= 1\n        a -= 1"),
    ] {
        offers("f.py", fault, &[&fix]);
    }
    let fault = "def f(node):\n    prev = None\n    while node:\n        after = node.next\n        node.next = prev\n        node = after\n    return prev\n";
    let fix = fault.replace("        node = after", "        prev = node\n        node = after");
    offers("f.py", fault, &[&fix]);
    let fault = "function f(a, b) {\n  const found = [];\n  while (a) {\n    found.push(b);\n  }\n  return found;\n}\n";
    offers(
        "f.js",
        fault,
        &[&fault.replace("  return", "  found.push(a);\n  return")],
    );
}

#[test]
fn what_a_loop_leaves_out_is_done_for_the_last_element() {
    for (path, fault, last) in [
        (
            "f.py",
            "def f(a):\n    b = []\n    for x in a[:-1]:\n        b.append(x)\n    return b\n",
            "    b.append(a[-1])\n    return b",
        ),
        (
            "f.js",
            "function f(a) {\n  const b = [];\n  for (const x of a.slice(0, -1)) {\n    b.push(x, 1);\n  }\n  return b;\n}\n",
            "  b.push(a[a.length - 1], 1);\n  return b;",
        ),
    ] {
        let returned = last.rsplit('\n').next().unwrap();
        offers(path, fault, &[&fault.replace(returned, last)]);
    }
}

#[test]
fn the_same_slip_in_two_places_is_one_edit() {
    let fault = "def f(a):\n    if a == 'x' and a.b and a.c:\n        return True\n    return False\n";
    for fix in [
        fault.replace(" and ", " or "),
        fault
            .replace("True", "Maybe")
            .replace("False", "True")
            .replace("Maybe", "False"),
    ] {
        offers("f.py", fault, &[&fix]);
    }
}

#[test]
fn a_chain_of_conditions_is_joined_the_other_way_or_gets_one_more() {
    let python = "def f(x, y, z):\n    return LINE\n";
    let faults = [
        ("x != 1 or y != 2 or z != 3", "x != 1 and y != 2 and z != 3"),
        ("(x+y==z) or (y+z==x)", "(x+y==z) or (x+z==y) or (y+z==x)"),
        ("(x + y == z or x == y + z)", "(x + y == z or x + z == y or x == y + z)"),
    ];
    all_offered("f.py", python, &faults);
    let script = "function f(x, y, z) {\n  return LINE\n}\n";
    let faults = [
        ("x || y || z || x.a || y.a || z.a", "x && y && z && x.a && y.a && z.a"),
        ("x > y && y > z", "x > y && y > z && z > y"),
    ];
    all_offered("f.js", script, &faults);
    let go = "func f(x int, y int, z int) bool {\n\treturn LINE\n}\n";
    all_offered(
        "f.go",
        go,
        &[("x != 1 || y != 1 || z != 1", "x != 1 && y != 1 && z != 1")],
    );
    let long = vec!["x"; 40].join(" or ");
    offers_not("f.py", &python.replace("LINE", &long), &vec!["x"; 40].join(" and "));
}

#[test]
fn a_name_of_a_function_is_no_value() {
    let script = "const f = (a, n) => {\n  if (a) return 1;\n  return n;\n}\n";
    offers("f.js", script, &[&script.replace("if (a)", "if (a && n === 0)")]);
    offers_not("f.js", script, "f === 0");
}

#[test]
fn text_between_two_values_is_added() {
    let script = "function f(a, n) {\n  const m = 'x';\n  return LINE\n}\n";
    all_offered(
        "f.js",
        script,
        &[("a + n[0]", "a + '.' + n[0]"), ("a + n", "a + ' ' + n")],
    );
    offers_not("f.js", "function f(a, n) {\n  return a + n\n}\n", "' '");
}

#[test]
fn an_exchange_of_two_values_is_completed() {
    let script = "function f(p, i, j) {\n  let t = p[j]\n  p[i] = t\n}\n";
    offers("f.js", script, &[&script.replace("  p[i]", "  p[j] = p[i]\n  p[i]")]);
    let go = "func f(p []int, i int, j int) {\n\tt := p[j]\n\tp[i] = t\n}\n";
    offers("f.go", go, &[&go.replace("\tp[i]", "\tp[j] = p[i]\n\tp[i]")]);
    let java = "class A {\n  void f(int[] p, int i, int j) {\n    int t = p[j];\n    p[i] = t;\n  }\n}\n";
    offers(
        "A.java",
        java,
        &[&java.replace("    p[i]", "    p[j] = p[i];\n    p[i]")],
    );
}

#[test]
fn numbers_are_off_by_more_than_one() {
    let python = "def f(n):\n    best = LINE\n    return best\n";
    all_offered(
        "f.py",
        python,
        &[("n in f(n)", "f(n) in n"), ("(n + 1)", "(n + 1) / 2")],
    );
    all_offered(
        "f.py",
        python,
        &[("n < 100", "n < 91"), ("n - 24", "n - 26"), ("0", "-1")],
    );
}

#[test]
fn a_slip_in_two_of_three_places_is_one_edit() {
    let script = "function f(s) {\n  let t = ','\n  if (s == ',') {\n    t = ','\n  }\n  return t\n}\n";
    offers("f.js", script, &[&script.replace("t = ','", "t = ''")]);
}

#[test]
fn a_root_is_checked_by_its_power() {
    let root = ("round(a ** (1. / 3)) == a", "round(a ** (1. / 3)) ** 3 == a");
    all_offered("f.py", "def f(a):\n    return LINE\n", &[root]);
}

#[test]
fn most_composed_edits_come_after_the_cheap_ones() {
    let text = "def f(a, n, m):\n    x = g(a, n)\n    if x > 0:\n        x += m\n    return x\n";
    let source = Source::parse("f.py", text.into()).unwrap();
    let known = KnownNames::of(&source, [].into());
    let made = edits((&source, &known), Stage::Composed, &(0..text.len()), &|_| true);
    assert!(made.iter().any(|edit| edit.template == Template::Combined));
    assert!(made.iter().all(|edit| edit.weight() < Template::Constant.prior()));
    assert_eq!(Template::Missing.kind(), EditKind::Replacement);
}

#[test]
fn collections_of_java_are_tested_and_cut_and_added_to() {
    let java = "class A {\n  boolean f(Node a, int n, List<Node> m) {\n    LINE\n    return true;\n  }\n}\n";
    let faults = [
        ("if (a.next() == m) n++;", "if (a == null || a.next() == m) n++;"),
        ("if (n < 0) n++;", "if (n < 0 || m.isEmpty()) n++;"),
        ("for (Node x : m) n++;", "for (Node x : m.subList(n, m.size())) n++;"),
        ("n = g(0);", "n = g(m.size());"),
        (
            "if (m.contains(a)) n++; else { g(a); n--; }",
            "if (m.contains(a)) n++; else { m.add(a); g(a); n--; }",
        ),
    ];
    all_offered("A.java", java, &faults);
    let returned = "class A {\n  List<Integer> f(int n) {\n    return LINE;\n  }\n}\n";
    all_offered(
        "A.java",
        returned,
        &[("new ArrayList<>()", "new ArrayList<>(List.of(n))")],
    );
}

#[test]
fn an_endless_loop_that_ends_is_followed_by_a_return() {
    let endless =
        "class A {\n  boolean f(Queue<Integer> m) {\n    while (true) {\n      g(m.remove());\n    }\n  }\n}\n";
    let ending = "class A {\n  boolean f(Queue<Integer> m) {\n    while (!m.isEmpty()) {\n      g(m.remove());\n    }\n    return false;\n  }\n}\n";
    offers("A.java", endless, &[ending]);
}

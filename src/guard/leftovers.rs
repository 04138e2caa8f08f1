//! What minimization asks of a patch's code: the added lines that nothing can need, which only print or set a name that
//! nothing reads, and the functions.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::LazyLock;

use greenlight_syntax::{Below, Language, Parsed};
use regex::Regex;

use crate::domain::minimize::{Functions, Leftovers};
use crate::domain::patch::{Blob, Patch};

static PRINTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x) ^(?: print | e?println! | e?print! | dbg! | console\.(?:log|debug|info|warn|error|trace)
        | fmt\.Print\w* | log\.Print\w* | System\.(?:out|err)\.print\w* | pprint )\(.*\);?$",
    )
    .ok()
});
static SETS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:let (?:mut )?|const |var |val )?(?P<name>[A-Za-z_$][\w$]*)(?:: [^=]+)? ?:?=[^=].*$").ok()
});

/// Where a statement may be left out: not in a class, whose names others read, nor at the top of a file.
const BODIES: [&str; 3] = ["block", "statement_block", "statement_list"];
const CLASSES: [&str; 2] = ["class_definition", "class_body"];

/// The leftovers of each file whose language is known.
pub fn leftovers(patch: &Patch) -> Leftovers {
    let files = patch.files().filter_map(|(path, change)| {
        let before = change.before.as_ref().and_then(Blob::text)?;
        let after = change.after.as_ref().and_then(Blob::text)?;
        let found = of(&Parsed::parse(Language::of(path.as_str())?, after)?, before);
        (!found.is_empty()).then(|| (path.clone(), found))
    });
    files.collect()
}

/// What a function is called in the grammars.
const FUNCTIONS: [&str; 9] = [
    "function_definition",
    "function_declaration",
    "generator_function_declaration",
    "method_definition",
    "function_item",
    "method_declaration",
    "constructor_declaration",
    "arrow_function",
    "function_expression",
];

/// The outermost functions of each file after the patch.
pub fn functions(patch: &Patch) -> Functions {
    let files = patch.files().filter_map(|(path, change)| {
        let text = change.after.as_ref().and_then(Blob::text)?;
        let file = Parsed::parse(Language::of(path.as_str())?, text)?;
        let mut found = Vec::new();
        file.visit(file.tree.root_node(), |node| {
            if FUNCTIONS.contains(&node.kind()) {
                found.push(node.start_position().row..node.end_position().row + 1);
                return Below::Skip;
            }
            Below::Enter
        });
        Some((path.clone(), found))
    });
    files.collect()
}

fn of(file: &Parsed<'_>, before: &str) -> BTreeSet<usize> {
    let old: HashSet<&str> = before.lines().map(str::trim).collect();
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for word in file
        .text
        .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
    {
        *names.entry(word).or_default() += 1;
    }
    let is_unread = |text: &str| {
        let sets = SETS.as_ref().and_then(|sets| sets.captures(text));
        sets.is_some_and(|sets| names.get(&sets["name"]) == Some(&1))
    };
    let mut found = BTreeSet::new();
    file.visit(file.tree.root_node(), |node| {
        let parent = node.parent();
        let is_body = parent.is_some_and(|parent| BODIES.contains(&parent.kind()));
        let of_class = parent.and_then(|parent| parent.parent());
        let is_class = of_class.is_some_and(|class| CLASSES.contains(&class.kind()));
        let (first, last) = (node.start_position().row, node.end_position().row);
        let line = lines.get(first).copied().unwrap_or_default();
        let text = file.raw(node);
        let is_alone = first == last && line.trim_end_matches(';') == text.trim_end_matches(';');
        if is_body && !is_class && is_alone && !old.contains(line) {
            let prints = PRINTS.as_ref().is_some_and(|prints| prints.is_match(text));
            if prints || is_unread(text) {
                found.insert(first);
            }
        }
        Below::Enter
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, before: &str, after: &str, expected: &[usize]) {
        let file = Parsed::parse(Language::of(path).unwrap(), after).unwrap();
        assert_eq!(of(&file, before), expected.iter().copied().collect(), "{after}");
    }

    #[test]
    fn outermost_functions_are_found() {
        let code = "x = 1\n\nclass A:\n    def f(self):\n        def g():\n            pass\n        return g\n";
        let change = crate::domain::patch::FileChange {
            before: None,
            after: Some(Blob::regular(code)),
        };
        let patch = Patch::new([("a.py".parse().unwrap(), change)]);
        let found: Vec<_> = functions(&patch).into_values().flatten().collect();
        assert_eq!((found.len(), found.first().cloned()), (1, Some(3..7)));
    }

    #[test]
    fn what_prints_or_is_never_read_is_a_leftover() {
        check(
            "a.py",
            "def f(x):\n    return x\n",
            "LIMIT = 3\n\n\ndef f(x):\n    seen = []\n    print(x)\n    at = None\n    for y in x:\n        at = y\n    return at\n",
            &[4, 5],
        );
        check(
            "a.py",
            "",
            "class A:\n    kind = 1\n    def f(self):\n        self.kind = 2\n",
            &[],
        );
        check("a.py", "    print(1)\n", "def f():\n    print(1)\n    g()\n", &[]);
        check(
            "a.js",
            "",
            "function f(x) {\n  console.log(x);\n  const seen = [];\n  if (!x) { return 0; }\n  return x;\n}\n",
            &[1, 2],
        );
        check(
            "a.rs",
            "",
            "fn f(x: i32) -> i32 {\n    dbg!(x);\n    let a = 1;\n    a\n}\n",
            &[1],
        );
        check(
            "a.go",
            "package a\n",
            "package a\n\nfunc f(x int) int {\n\tfmt.Println(x)\n\treturn x\n}\n",
            &[3],
        );
    }
}

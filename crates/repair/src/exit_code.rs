//! Finds edits of the exit code of a program. They silence a check, such as a linter's, instead of repairing what it found.

use super::candidates::Candidate;
use super::syntax::Source;

/// Functions that end a program, and the variable that Node reads at its end.
const EXITS: [&str; 11] = [
    "exit",
    "quit",
    "SystemExit",
    "sys.exit",
    "os._exit",
    "process.exit",
    "Deno.exit",
    "os.Exit",
    "System.exit",
    "process::exit",
    "std::process::exit",
];
const EXIT_CODE: &str = "process.exitCode";

/// Whether the edit is in the arguments of a call such as `sys.exit(1)`, or in what becomes the exit code.
pub(super) fn changes_exit_code(candidate: &Candidate, original: &str) -> bool {
    let Some(source) = Source::parse(candidate.path.as_str(), original.to_string()) else {
        return false;
    };
    let edited = &candidate.range;
    let mut around = source.root().descendant_for_byte_range(edited.start, edited.end);
    while let Some(node) = around {
        let field = |name| node.child_by_field_name(name);
        let is_within =
            |name| field(name).is_some_and(|part| part.start_byte() <= edited.start && edited.end <= part.end_byte());
        // Java keeps the object and the name apart.
        let object = field("object").map_or(String::new(), |object| format!("{}.", source.text_of(object)));
        let name = field("function")
            .or_else(|| field("name"))
            .map(|called| source.text_of(called));
        let ends = name.is_some_and(|name| EXITS.contains(&format!("{object}{name}").as_str()));
        let sets_code = field("left").is_some_and(|left| source.text_of(left) == EXIT_CODE);
        if (ends && is_within("arguments")) || (sets_code && is_within("right")) {
            return true;
        }
        around = node.parent();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Template;

    #[track_caller]
    fn check(path: &str, original: &str, (old, new): (&str, &str), expected: bool) {
        let start = original.find(old).unwrap();
        let candidate = Candidate {
            path: path.parse().unwrap(),
            text: original.replacen(old, new, 1),
            range: start..start + old.len(),
            replacement: new.into(),
            template: Template::Comparison,
            weight: 1.0,
            score: 1.0,
            line: 1,
            within: String::new(),
            before: old.into(),
            after: new.into(),
            others: Vec::new(),
        };
        assert_eq!(changes_exit_code(&candidate, original), expected, "{}", candidate.text);
    }

    #[test]
    fn what_a_program_exits_with_is_found() {
        let to_zero = ("1", "0");
        check("a.js", "if (bad) process.exit(1)\n", to_zero, true);
        check("a.js", "process.exitCode = bad ? 1 : 2\n", to_zero, true);
        check("a.py", "import sys\nsys.exit(f(1))\n", to_zero, true);
        check("a.py", "raise SystemExit(1)\n", to_zero, true);
        check("a.rs", "fn main() { std::process::exit(1); }\n", to_zero, true);
        check("a.go", "package a\nfunc f() { os.Exit(1) }\n", to_zero, true);
        check("A.java", "class A { void f() { System.exit(1); } }\n", to_zero, true);
        // What decides whether it exits is code like any other.
        check("a.js", "if (bad > 1) process.exit(2)\n", to_zero, false);
        check("a.js", "on_exit(1)\n", to_zero, false);
        check("a.js", "machine.exit(1)\n", to_zero, false);
        check("a.js", "code = 1\n", to_zero, false);
    }
}

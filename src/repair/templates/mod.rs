//! Small edits that often are the fix, each at one node of a syntax tree. They only propose: whether an edit parses,
//! compiles and is right is found out by others.

mod bounds;
mod logic;
mod names;
mod operators;
mod values;

use std::ops::Range;

use tree_sitter::Node;

use super::syntax::{Below, Source, Step};

pub(super) use operators::Swap;

/// The idea behind an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Template {
    /// Whether a bound belongs to what it bounds: `<` and `<=`, `..` and `..=`.
    Bound,
    /// `n - 1` where it should be `n`.
    DropOne,
    /// `n` where it should be `n + 1`, in a range, slice or subscript.
    ShiftPosition,
    /// The same anywhere else.
    ShiftValue,
    /// A number that is one off, 0 for 1.
    Constant,
    /// Any other number.
    OtherConstant,
    Truth,
    Comparison,
    Logical,
    Arithmetic,
    Augmented,
    OtherOperator,
    /// An operator that is seldom written for the other by mistake.
    RareOperator,
    DropNegation,
    Negate,
    Arguments,
    Method,
    Attribute,
    Operands,
    Variable,
    /// Takes a condition or an operand away: seldom a fix, often just silence.
    Removal,
    /// A hunk of the pull request, put back.
    Revert,
}

/// What an edit does to the code, whatever the idea behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Swap,
    Shift,
    Constant,
    Negation,
    Replacement,
    Insertion,
    Removal,
    Donor,
    Revert,
}

impl Template {
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::DropOne | Self::ShiftPosition | Self::ShiftValue => Kind::Shift,
            Self::Constant | Self::OtherConstant | Self::Truth => Kind::Constant,
            Self::DropNegation | Self::Negate => Kind::Negation,
            Self::Arguments | Self::Method | Self::Attribute | Self::Operands | Self::Variable => Kind::Replacement,
            Self::Removal => Kind::Removal,
            Self::Revert => Kind::Revert,
            _ => Kind::Swap,
        }
    }

    /// How likely the edit is the fix when it lands on the faulty line: the figures order candidates, nothing more.
    pub(super) fn prior(self) -> f32 {
        match self {
            Self::Bound | Self::Revert => 1.0,
            Self::DropOne => 0.95,
            Self::Logical | Self::Arithmetic => 0.85,
            Self::ShiftPosition | Self::DropNegation | Self::Constant => 0.8,
            Self::Comparison | Self::Augmented => 0.75,
            Self::Method | Self::Truth => 0.7,
            Self::Arguments => 0.65,
            Self::Negate => 0.6,
            Self::Attribute | Self::OtherOperator => 0.5,
            Self::ShiftValue | Self::Variable | Self::Operands => 0.45,
            Self::OtherConstant | Self::RareOperator => 0.3,
            Self::Removal => 0.2,
        }
    }
}

/// One range of a file replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) replacement: String,
    pub(super) template: Template,
}

/// A node as a template looks at it: with its parents and its text.
pub(super) struct Place<'a, 't> {
    source: &'t Source,
    path: &'a [Step<'t>],
}

impl<'t> Place<'_, 't> {
    fn node(&self) -> Node<'t> {
        self.path[self.path.len() - 1].node
    }

    fn kind(&self) -> &'t str {
        self.node().kind()
    }

    fn field(&self) -> &'t str {
        self.path[self.path.len() - 1].field
    }

    /// The node so many levels up; none above the root.
    fn above(&self, levels: usize) -> Option<Step<'t>> {
        let index = self.path.len().checked_sub(levels + 1)?;
        self.path.get(index).copied()
    }

    fn parent_kind(&self) -> &'t str {
        self.above(1).map_or("", |step| step.node.kind())
    }

    fn text(&self) -> &'t str {
        self.source.text_of(self.node())
    }

    /// Whether the node stands in one of these fields; an empty field stands for any named child without one.
    fn stands_in(&self, slots: &[(&str, &str)]) -> bool {
        let (parent, field) = (self.parent_kind(), self.field());
        self.node().is_named() && slots.contains(&(parent, field))
    }

    /// The last part of the name of what is called, if the node is a call.
    fn callee(&self) -> Option<&'t str> {
        if !self.source.language.calls.contains(&self.kind()) {
            return None;
        }
        let callee = self.node().child_by_field_name("function")?;
        let callee = self.source.text_of(callee);
        callee.rsplit(['.', ':']).next().map(str::trim)
    }

    fn edit(&self, replacement: impl Into<String>, template: Template) -> Edit {
        Edit {
            range: self.node().byte_range(),
            replacement: replacement.into(),
            template,
        }
    }
}

/// Every edit of a file inside the definitions that `is_wanted` says yes to by their first byte and last.
pub(super) fn edits(source: &Source, is_wanted: impl Fn(&Range<usize>) -> bool) -> Vec<Edit> {
    let mut found = Vec::new();
    let names = names::Known::of(source);
    source.walk(|path| {
        let place = Place { source, path };
        if is_untouched(&place) {
            return Below::Skip;
        }
        if is_wanted(&place.node().byte_range()) {
            operators::edits(&place, &mut found);
            bounds::edits(&place, &mut found);
            values::edits(&place, &mut found);
            logic::edits(&place, &mut found);
            names::edits(&place, &names, &mut found);
        }
        Below::Enter
    });
    found
}

fn is_untouched(place: &Place<'_, '_>) -> bool {
    let language = place.source.language;
    if language.untouched.contains(&place.kind()) || matches!(place.field(), "type" | "return_type") {
        return true;
    }
    place.kind() == "macro_invocation"
        && place.node().child_by_field_name("macro").is_some_and(|name| {
            let name = place.source.text_of(name);
            language
                .untouched_macros
                .iter()
                .any(|untouched| name.starts_with(untouched))
        })
}

#[cfg(test)]
mod tests {
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
}

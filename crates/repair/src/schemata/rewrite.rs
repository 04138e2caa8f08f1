//! Combines candidates in one text: the body of an edited function becomes a choice between the original body and the
//! edited ones, by a number that the program reads from its environment.

use std::collections::BTreeMap;
use std::ops::Range;

use greenlight_anchor::RepoPath;
use tree_sitter::Node;

use crate::candidates::Candidate;
use crate::syntax::{Below, Source};

/// The variable with the number of the candidate; unset or 0 means the original.
pub(super) const SWITCH: &str = "GREENLIGHT_SWITCH";

/// Reads the number in a Rust program. `extern crate` also works in a crate without `std`, and an atomic variable
/// works with older compilers than the more convenient types.
const RUST_NUMBER: &str = "{ extern crate std as greenlight_std; \
    static CHOSEN: greenlight_std::sync::atomic::AtomicU32 = greenlight_std::sync::atomic::AtomicU32::new(u32::MAX); \
    let chosen = CHOSEN.load(greenlight_std::sync::atomic::Ordering::Relaxed); \
    if chosen != u32::MAX { chosen } else { \
    let chosen = greenlight_std::env::var(\"GREENLIGHT_SWITCH\").ok().and_then(|it| it.parse::<u32>().ok()).unwrap_or(0); \
    CHOSEN.store(chosen, greenlight_std::sync::atomic::Ordering::Relaxed); chosen } }";

/// The variable of a Go package that holds the number, and the file that defines it.
const GO_NUMBER: &str = "greenlightSwitch";
const GO_FILE: &str = "greenlight_switch_on.go";

/// A function whose body can be switched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) function: Range<usize>,
    pub(super) body: Range<usize>,
    /// For Go, how to call the body as a function literal.
    pub(super) literal: Option<Literal>,
}

/// An anonymous Go function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Literal {
    /// `(a int) (string, error)`
    pub(super) signature: String,
    /// `(a)`
    pub(super) arguments: String,
    pub(super) results: usize,
}

/// A candidate with its number and location.
pub(super) type Member<'m> = (u32, &'m Candidate, &'m Spot);

/// A file that contains several candidates.
#[derive(Debug, Default)]
pub(super) struct Rewritten {
    pub(super) text: String,
    /// The range of each candidate, in ascending order.
    arms: Vec<(Range<usize>, u32)>,
}

impl Rewritten {
    /// The candidate at a byte offset, if there is one.
    pub(super) fn at(&self, byte: usize) -> Option<u32> {
        let after = self.arms.partition_point(|(range, _)| range.start <= byte);
        let (range, id) = self.arms.get(after.checked_sub(1)?)?;
        (byte <= range.end).then_some(*id)
    }

    /// The byte offset of a line and a column, both from 1.
    pub(super) fn byte(&self, line: usize, column: usize) -> usize {
        let lines = self.text.split_inclusive('\n').take(line.saturating_sub(1));
        lines.map(str::len).sum::<usize>() + column.saturating_sub(1)
    }
}

impl Spot {
    /// The outermost function whose body contains the edit. `None` if the language does not allow a choice at run
    /// time there.
    pub(super) fn of(source: &Source, edit: &Range<usize>) -> Option<Self> {
        let mut found = None;
        source.walk(|steps| {
            let Some(step) = steps.last() else { return Below::Skip };
            let node = step.node;
            if found.is_some() || node.start_byte() > edit.start || node.end_byte() < edit.end {
                return Below::Skip;
            }
            if !source.language.functions.contains(&node.kind()) || !is_declaration(node) {
                return Below::Enter;
            }
            found = Some(Self::function(source, node, edit));
            Below::Skip
        });
        found.flatten()
    }

    fn function(source: &Source, node: Node<'_>, edit: &Range<usize>) -> Option<Self> {
        let body = node.child_by_field_name("body")?;
        let is_inside = body.start_byte() < edit.start && edit.end < body.end_byte();
        let literal = match node.kind() {
            "function_item" => can_choose_in_rust(source, node, body).then_some(None)?,
            _ => Some(literal(source, node, body)?),
        };
        is_inside.then(|| Self {
            function: node.byte_range(),
            body: body.byte_range(),
            literal,
        })
    }

    /// Approximate number of bytes that a candidate adds to the program.
    pub(super) fn bytes(&self) -> usize {
        self.body.len() + 64
    }
}

/// Go's function literals are functions too, but have no names to distinguish them.
fn is_declaration(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "function_item" | "function_declaration" | "method_declaration"
    )
}

/// False for functions that the compiler evaluates, that would get a different type for each body, or that define an
/// item twice.
fn can_choose_in_rust(source: &Source, node: Node<'_>, body: Node<'_>) -> bool {
    let mut cursor = node.walk();
    let is_const = node.children(&mut cursor).any(|child| {
        child.kind() == "function_modifiers" && source.text_of(child).split_whitespace().any(|w| w == "const")
    });
    let result = node.child_by_field_name("return_type");
    let is_opaque = result.is_some_and(|result| {
        let words = source.text_of(result);
        words
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word == "impl")
    });
    let mut cursor = body.walk();
    let has_items = body
        .children(&mut cursor)
        .any(|child| matches!(child.kind(), "impl_item" | "inner_attribute_item" | "foreign_mod_item"));
    !is_const && !is_opaque && !has_items
}

/// Turns a Go body into a function literal, which keeps labels, named results and redeclared parameters separate.
fn literal(source: &Source, node: Node<'_>, body: Node<'_>) -> Option<Literal> {
    // `recover` only works directly in a deferred function.
    if source.text_of(body).contains("recover()") && recovers_itself(source, body) {
        return None;
    }
    let mut declared = Vec::new();
    let mut passed = Vec::new();
    for field in ["receiver", "parameters"] {
        let Some(list) = node.child_by_field_name(field) else {
            continue;
        };
        let mut cursor = list.walk();
        for parameter in list.named_children(&mut cursor) {
            let is_many = parameter.kind() == "variadic_parameter_declaration";
            let Some(kind) = parameter.child_by_field_name("type") else {
                continue;
            };
            let mut inner = parameter.walk();
            for name in parameter.children_by_field_name("name", &mut inner) {
                let name = source.text_of(name);
                if name == "_" {
                    continue;
                }
                let dots = if is_many { "..." } else { "" };
                declared.push(format!("{name} {dots}{}", source.text_of(kind)));
                passed.push(format!("{name}{dots}"));
            }
        }
    }
    let result = node.child_by_field_name("result").map(|result| source.text_of(result));
    Some(Literal {
        signature: format!("({}) {}", declared.join(", "), result.unwrap_or_default()),
        arguments: format!("({})", passed.join(", ")),
        results: node.child_by_field_name("result").map_or(0, results),
    })
}

/// The number of values that a Go function returns: `(a, b int, err error)`, or one type.
fn results(result: Node<'_>) -> usize {
    if result.kind() != "parameter_list" {
        return 1;
    }
    let mut cursor = result.walk();
    let of_one = |parameter: Node<'_>| {
        let mut inner = parameter.walk();
        parameter.children_by_field_name("name", &mut inner).count().max(1)
    };
    result
        .named_children(&mut cursor)
        .filter(|child| child.kind() == "parameter_declaration")
        .map(of_one)
        .sum()
}

fn recovers_itself(source: &Source, body: Node<'_>) -> bool {
    let mut found = false;
    source.walk(|steps| {
        let Some(step) = steps.last() else { return Below::Skip };
        let node = step.node;
        if node.end_byte() <= body.start_byte() || node.start_byte() >= body.end_byte() {
            return Below::Skip;
        }
        if node.kind() == "func_literal" && body.start_byte() < node.start_byte() {
            return Below::Skip;
        }
        found |= node.kind() == "call_expression" && source.text_of(node) == "recover()";
        Below::Enter
    });
    found
}

/// The candidates of one file, grouped by the start of the function that contains them.
fn by_function<'m>(members: &'m [Member<'m>]) -> BTreeMap<usize, Vec<&'m Member<'m>>> {
    let mut functions: BTreeMap<usize, Vec<&Member<'_>>> = BTreeMap::new();
    for member in members {
        functions.entry(member.2.function.start).or_default().push(member);
    }
    functions
}

/// One file with all of these candidates, and the location of each.
pub(super) fn rewrite(source: &Source, members: &[Member<'_>]) -> Rewritten {
    let mut done = Rewritten::default();
    let mut at = 0;
    let original = |range: Range<usize>| source.text.get(range).unwrap_or_default();
    for group in by_function(members).values() {
        let Some((_, _, spot)) = group.first() else { continue };
        done.text.push_str(original(at..spot.function.start));
        if spot.literal.is_none() {
            done.text.push_str("#[allow(warnings)] ");
        }
        done.text.push_str(original(spot.function.start..spot.body.start));
        let number = if spot.literal.is_some() { GO_NUMBER } else { RUST_NUMBER };
        let (text, arms) = choice(source, group, number);
        let start = done.text.len();
        done.text.push_str(&text);
        done.arms.extend(
            arms.into_iter()
                .map(|(arm, id)| (start + arm.start..start + arm.end, id)),
        );
        at = spot.body.end;
    }
    done.text.push_str(original(at..source.text.len()));
    done
}

/// A body that switches between the original and those of these candidates, all in one function, by this number; and
/// the range of each candidate in it.
fn choice(source: &Source, group: &[&Member<'_>], number: &str) -> (String, Vec<(Range<usize>, u32)>) {
    let Some((_, _, spot)) = group.first() else {
        return Default::default();
    };
    let original = |range: Range<usize>| source.text.get(range).unwrap_or_default();
    let body = original(spot.body.clone());
    let mut arms = Vec::new();
    let mut text = match spot.literal {
        Some(_) => format!("{{ switch {number} {{\n"),
        None => format!("{{ match {number} {{\n"),
    };
    for (id, candidate, _) in group {
        let edited = [
            original(spot.body.start..candidate.range.start),
            &candidate.replacement,
            original(candidate.range.end..spot.body.end),
        ]
        .concat();
        let start = text.len();
        text.push_str(&match &spot.literal {
            None => format!("{id}u32 => {edited}\n"),
            Some(Literal {
                signature,
                arguments,
                results: 0,
            }) => format!("case {id}: func{signature} {edited}{arguments}; return\n"),
            Some(Literal {
                signature, arguments, ..
            }) => format!("case {id}: return func{signature} {edited}{arguments}\n"),
        });
        arms.push((start..text.len() - 1, *id));
    }
    match spot.literal {
        Some(_) => {
            text.push_str("}\n");
            text.push_str(body.get(1..).unwrap_or_default());
        }
        None => text.push_str(&format!("_ => {body}\n}} }}")),
    }
    (text, arms)
}

/// Maximum size of a goroutine's stack in bytes. A recursion without end takes most of a second to fill the usual
/// gigabyte, for each candidate. A test that needs more fails with every candidate, so nothing is found for it.
const MAX_GO_STACK: usize = 64 << 20;

/// The file beside a Go file that defines the switch variable.
pub(super) fn go_switch(path: &RepoPath, text: &str) -> Option<(RepoPath, String)> {
    let definition = format!(
        "import (\n\tgreenlightOs \"os\"\n\tgreenlightStack \"runtime/debug\"\n\tgreenlightNumber \"strconv\"\n)\n\n\
         var {GO_NUMBER} = func() int {{\n\tgreenlightStack.SetMaxStack({MAX_GO_STACK})\n\t\
         number, _ := greenlightNumber.Atoi(greenlightOs.Getenv(\"{SWITCH}\"))\n\treturn number\n}}()\n"
    );
    beside(path, text, GO_FILE, &definition)
}

/// A file in the directory and the package of a Go file.
pub(super) fn beside(path: &RepoPath, text: &str, name: &str, definition: &str) -> Option<(RepoPath, String)> {
    let package = text.lines().find_map(|line| line.strip_prefix("package "))?;
    let package = package.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    let beside = match path.as_str().rsplit_once('/') {
        Some((directory, _)) => format!("{directory}/{name}"),
        None => name.to_string(),
    };
    Some((beside.parse().ok()?, format!("package {package}\n\n{definition}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Template;

    fn candidate(path: &str, text: &str, from: &str, to: &str) -> Candidate {
        let at = text.find(from).unwrap();
        Candidate {
            path: path.parse().unwrap(),
            text: text.replacen(from, to, 1),
            range: at..at + from.len(),
            replacement: to.into(),
            template: Template::Comparison,
            weight: 1.0,
            score: 1.0,
            line: 1,
            within: String::new(),
            before: from.into(),
            after: to.into(),
            others: Vec::new(),
        }
    }

    #[track_caller]
    fn rewritten(path: &str, text: &str, edits: &[(&str, &str)]) -> Option<Rewritten> {
        let source = Source::parse(path, text.into())?;
        let candidates: Vec<Candidate> = edits.iter().map(|(from, to)| candidate(path, text, from, to)).collect();
        let spots: Vec<Spot> = candidates
            .iter()
            .filter_map(|it| Spot::of(&source, &it.range))
            .collect();
        assert!(spots.len() == candidates.len() || spots.is_empty());
        let members: Vec<Member<'_>> = (1..)
            .zip(&candidates)
            .zip(&spots)
            .map(|((id, it), spot)| (id, it, spot))
            .collect();
        (!members.is_empty()).then(|| rewrite(&source, &members))
    }

    #[test]
    fn every_candidate_stands_in_the_body_of_its_function() {
        let text = "fn f(a: u32) -> bool { a < 1 }\npub fn g(a: u32) -> u32 {\n    a + 2\n}\n// end\n";
        let file = rewritten("a.rs", text, &[("a < 1", "a <= 1"), ("a + 2", "a - 2"), ("<", "==")]).unwrap();
        let plain = file.text.replace(RUST_NUMBER, "S");
        assert_eq!(
            plain,
            "#[allow(warnings)] fn f(a: u32) -> bool { match S {\n1u32 => { a <= 1 }\n3u32 => { a == 1 }\n_ => { a < 1 }\n} }\n\
             #[allow(warnings)] pub fn g(a: u32) -> u32 { match S {\n2u32 => {\n    a - 2\n}\n_ => {\n    a + 2\n}\n} }\n// end\n"
        );
        for (text, id) in [("a <= 1", 1), ("a - 2", 2), ("a == 1", 3)] {
            assert_eq!(file.at(file.text.find(text).unwrap()), Some(id), "{text}");
        }
        assert_eq!(file.at(file.text.find("a < 1").unwrap()), None);
        assert_eq!(file.at(0), None);
        assert_eq!(file.at(usize::MAX), None);
    }

    #[test]
    fn where_there_is_no_choice_at_run_time_a_candidate_stands_alone() {
        for text in [
            "const fn f(a: u32) -> bool { a < 1 }\n",
            "const F: bool = 2 < 1;\n",
            "fn f() -> impl Iterator<Item = u32> { (0..9).filter(|a| *a < 1) }\n",
            "fn f(a: u32) -> bool { impl T for U {} a < 1 }\n",
            "m! { fn f(a: u32) -> bool { a < 1 } }\n",
            "fn f(a: [u32; 2 < 1]) {}\n",
        ] {
            assert!(
                rewritten("a.rs", text, &[("<", ">")]).is_none() || text.starts_with("fn f() -> impl"),
                "{text}"
            );
            let source = Source::parse("a.rs", text.into()).unwrap();
            let at = text.rfind("< 1").unwrap();
            assert_eq!(Spot::of(&source, &(at..at + 1)), None, "{text}");
        }
    }
}

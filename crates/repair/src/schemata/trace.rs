//! Makes a program record which of its blocks are executed: each writes its number to a file when it is first
//! entered.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use greenlight_anchor::RepoPath;
use tree_sitter::Node;

use crate::rows::line;
use crate::spectrum::Hits;
use crate::syntax::{Below, Source};

/// The variable with the path of the file that numbers are written to.
pub(super) const TRACE: &str = "GREENLIGHT_TRACE";
/// The file beside Go files that defines the tracing function.
pub(super) const GO_FILE: &str = "greenlight_trace_on.go";

/// Nodes that only the compiler evaluates, which cannot write anything.
const CONSTANT: [&str; 5] = [
    "const_item",
    "static_item",
    "const_block",
    "array_type",
    "macro_definition",
];

/// The blocks of a tree, indexed by their numbers.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    all: Vec<(RepoPath, RangeInclusive<u32>)>,
    /// The blocks that are whole functions.
    functions: BTreeSet<usize>,
}

/// Text to insert, by byte offset.
type Insertions = BTreeMap<usize, String>;

impl Blocks {
    /// The file with its blocks numbered. `None` if it has none.
    pub(super) fn number(&mut self, path: &RepoPath, source: &Source) -> Option<String> {
        let mut insertions = Insertions::new();
        let is_rust = path.as_str().ends_with(".rs");
        source.walk(|steps| {
            let Some(step) = steps.last() else { return Below::Skip };
            let kind = step.node.kind();
            if CONSTANT.contains(&kind) {
                return Below::Skip;
            }
            if !matches!(kind, "function_item" | "function_declaration" | "method_declaration") {
                return Below::Enter;
            }
            if let Some(body) = step.node.child_by_field_name("body")
                && !(is_rust && is_constant(source, step.node))
            {
                self.function(path, source, (step.node, body), &mut insertions);
            }
            Below::Skip
        });
        let mut text = String::with_capacity(source.text.len() * 2);
        let mut at = 0;
        for (byte, inserted) in &insertions {
            text.push_str(source.text.get(at..*byte)?);
            text.push_str(inserted);
            at = *byte;
        }
        text.push_str(source.text.get(at..)?);
        (!insertions.is_empty()).then_some(text)
    }

    fn function(
        &mut self,
        path: &RepoPath,
        source: &Source,
        (whole, body): (Node<'_>, Node<'_>),
        put: &mut Insertions,
    ) {
        let is_rust = path.as_str().ends_with(".rs");
        let first = self.all.len();
        self.functions.insert(first);
        let start = line(whole.start_position().row);
        self.all.push((path.clone(), start..=line(whole.end_position().row)));
        let mut own = Vec::new();
        source.walk(|steps| {
            let Some(node) = steps.last().map(|step| step.node) else {
                return Below::Skip;
            };
            let is_apart = node.end_byte() <= body.start_byte() || node.start_byte() >= body.end_byte();
            if is_apart || CONSTANT.contains(&node.kind()) || (is_rust && is_constant(source, node)) {
                return Below::Skip;
            }
            let (from, to) = (
                line(node.start_position().row) + 1,
                line(node.end_position().row).saturating_sub(1),
            );
            // A block within one line cannot narrow down lines.
            if node.kind() == "block" && node.start_byte() > body.start_byte() && from <= to {
                own.push((node, self.all.len()));
                self.all.push((path.clone(), from..=to));
            }
            Below::Enter
        });
        if is_rust {
            put.insert(start_of(body), rust_function(first, self.all.len() - first));
            put.extend(
                own.into_iter()
                    .map(|(node, id)| (start_of(node), format!(" greenlight_seen({}); ", id - first))),
            );
        } else {
            let mark = |id: usize| format!(" greenlightSeen({id}); ");
            put.insert(start_of(body), mark(first));
            put.extend(own.into_iter().map(|(node, id)| (start_of(node), mark(id))));
        }
    }

    /// The lines of the blocks that a test entered.
    pub(super) fn read(&self, ids: &BTreeSet<usize>) -> BTreeMap<&RepoPath, Vec<u32>> {
        let mut executed: BTreeMap<&RepoPath, Vec<u32>> = BTreeMap::new();
        for (id, (path, lines)) in ids.iter().filter_map(|id| Some((*id, self.all.get(*id)?))) {
            let own = executed.entry(path).or_default();
            own.extend(lines.clone().filter(|line| self.innermost(id, *line)));
        }
        executed
    }

    /// The functions and their lines.
    pub(super) fn functions(&self) -> impl Iterator<Item = (usize, &RepoPath, &RangeInclusive<u32>)> {
        let found = self.functions.iter().filter_map(|id| Some((*id, self.all.get(*id)?)));
        found.map(|(id, (path, lines))| (id, path, lines))
    }

    /// Whether this is the innermost block with the line, among the numbered blocks inside it.
    fn innermost(&self, id: usize, line: u32) -> bool {
        let Some((path, lines)) = self.all.get(id) else {
            return false;
        };
        let rest = self.all.iter().skip(id + 1);
        let within = rest.take_while(|(other, inner)| other == path && inner.start() <= lines.end());
        !within.into_iter().any(|(_, inner)| inner.contains(&line))
    }
}

/// Counts a test for each line that it executed.
pub(super) fn count(
    files: &mut BTreeMap<RepoPath, BTreeMap<u32, Hits>>,
    executed: &BTreeMap<&RepoPath, Vec<u32>>,
    is_failing: bool,
) {
    for (path, lines) in executed {
        let file = files.entry((*path).clone()).or_default();
        for line in lines {
            let hits = file.entry(*line).or_default();
            match is_failing {
                true => hits.failing += 1,
                false => hits.passing += 1,
            }
        }
    }
}

fn is_constant(source: &Source, node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    node.kind() == "function_item"
        && node.children(&mut cursor).any(|child| {
            child.kind() == "function_modifiers" && source.text_of(child).split_whitespace().any(|word| word == "const")
        })
}

/// The offset after the brace, and after anything that must come first.
fn start_of(block: Node<'_>) -> usize {
    let mut cursor = block.walk();
    let first = block
        .children(&mut cursor)
        .filter(|child| child.kind() == "inner_attribute_item");
    first
        .last()
        .map_or(block.start_byte() + 1, |attribute| attribute.end_byte())
}

/// Code at the start of a Rust function: the tracing function, and a call that records the entry.
fn rust_function(first: usize, count: usize) -> String {
    format!(
        " #[allow(warnings)] fn greenlight_seen(at: usize) {{ extern crate std as greenlight_std; \
         use greenlight_std::sync::atomic::{{AtomicBool, Ordering}}; \
         const OFF: AtomicBool = AtomicBool::new(false); static SEEN: [AtomicBool; {count}] = [OFF; {count}]; \
         if SEEN[at].load(Ordering::Relaxed) || SEEN[at].swap(true, Ordering::Relaxed) {{ return; }} \
         if let Some(path) = greenlight_std::env::var_os(\"{TRACE}\") {{ \
         if let Ok(mut file) = greenlight_std::fs::OpenOptions::new().append(true).create(true).open(path) {{ \
         let _ = greenlight_std::io::Write::write_all(&mut file, greenlight_std::format!(\"{{}}\\n\", {first} + at).as_bytes()); }} }} }} \
         greenlight_seen(0); "
    )
}

/// The tracing function in a separate file of a Go package.
pub(super) fn go_function() -> String {
    format!(
        "import (\n\tgreenlightOs \"os\"\n\tgreenlightNumber \"strconv\"\n\tgreenlightSync \"sync\"\n)\n\n\
         var greenlightMarks greenlightSync.Map\n\nfunc greenlightSeen(at int) {{\n\
         \tif _, was := greenlightMarks.LoadOrStore(at, true); was {{\n\t\treturn\n\t}}\n\
         \tpath := greenlightOs.Getenv(\"{TRACE}\")\n\tif path == \"\" {{\n\t\treturn\n\t}}\n\
         \tfile, err := greenlightOs.OpenFile(path, greenlightOs.O_APPEND|greenlightOs.O_CREATE|greenlightOs.O_WRONLY, 0o644)\n\
         \tif err == nil {{\n\t\tfile.WriteString(greenlightNumber.Itoa(at) + \"\\n\")\n\t\tfile.Close()\n\t}}\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_block_are_its_own() {
        let text =
            "const fn g() {}\nfn f(a: bool) -> u32 {\n    let b = 1;\n    if a {\n        return 2;\n    }\n    b\n}\n";
        let path: RepoPath = "a.rs".parse().unwrap();
        let mut blocks = Blocks::default();
        let numbered = blocks
            .number(&path, &Source::parse("a.rs", text.into()).unwrap())
            .unwrap();
        assert!(numbered.contains("if a { greenlight_seen(1); "), "{numbered}");
        assert!(numbered.contains("const fn g() {}"), "{numbered}");
        let lines = |id| {
            blocks
                .read(&BTreeSet::from([id]))
                .get(&path)
                .cloned()
                .unwrap_or_default()
        };
        assert_eq!(lines(0), [2, 3, 4, 6, 7, 8]);
        assert_eq!(lines(1), [5]);
        assert_eq!(lines(2), Vec::<u32>::new());
        let functions: Vec<_> = blocks.functions().map(|(id, _, lines)| (id, lines.clone())).collect();
        assert_eq!(functions, [(0, 2..=8)]);
    }
}

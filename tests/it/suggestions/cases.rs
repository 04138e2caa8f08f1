//! Generated pull requests, each with a patch: three trees with files as odd as those in real repositories.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use github_double::Files;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// A pull request from `base` to `head`, and the tree `after` that results from a patch on the head.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) base: Files,
    pub(super) head: Files,
    pub(super) after: Files,
    /// Files whose patch the list omits, as GitHub does for large ones: indices into the list.
    pub(super) omitted: Vec<Index>,
    /// The order in which the comments are committed.
    pub(super) order: Vec<Index>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, files) in [("base", &self.base), ("head", &self.head), ("after", &self.after)] {
            for (path, (mode, bytes)) in files {
                writeln!(f, "{name} {mode:o} {path:?} b\"{}\"", bytes.escape_ascii())?;
            }
        }
        write!(f, "omitted {:?}, order {:?}", self.omitted, self.order)
    }
}

/// Names that need care in JSON, in diff headers, or on a command line. No name is a folder of another.
const NAMES: [&str; 16] = [
    "a",
    "src/it's a \"file\".py",
    "-dash",
    "--",
    "\u{fc}/\u{65e5}\u{672c} \u{8a9e}.rs",
    "sp ace/x y.txt",
    "tab\tname",
    "e\u{301}\u{1f980}.txt",
    "b/c.d/e",
    " leading",
    "trailing ",
    "#hash?%41&.txt",
    "[x]*/@at",
    ":(top)colon",
    "~tilde",
    "b/c.d/\u{202e}gpj.exe",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Lf,
    CrLf,
    /// `\r
    /// ` on lines whose bit is set.
    Mixed(u64),
}

#[derive(Debug, Clone)]
struct Text {
    lines: Vec<Vec<u8>>,
    ends: Ends,
    /// Whether the last line ends in a newline.
    closed: bool,
}

#[derive(Debug, Clone)]
enum Content {
    Text(Text),
    /// A file or a link's target that cannot be edited by lines.
    Bytes(Vec<u8>),
}

#[derive(Debug, Clone)]
struct File {
    mode: u32,
    content: Content,
}

type Tree = BTreeMap<&'static str, File>;

/// A replacement of lines at a position.
#[derive(Debug, Clone)]
struct Edit {
    /// Anywhere, or this many lines below the position of most edits of the case.
    place: Result<Index, usize>,
    count: usize,
    lines: Vec<Vec<u8>>,
}

/// A file of a tree: any, or the one that most steps of the case change.
type Spot = Option<Index>;

/// One change in a commit.
#[derive(Debug, Clone)]
enum Step {
    Edit(Spot, Vec<Edit>),
    /// Changes every line whose number is a multiple of this.
    EditEvery(Spot, usize),
    Add(&'static str, File),
    Delete(Spot),
    Rename(Spot, &'static str),
    Mode(Spot, u32),
    Ends(Spot, Ends),
    Closed(Spot, bool),
    Replace(Spot, Content),
}

/// Any pull request with any patch on it.
pub(super) fn any_case() -> impl Strategy<Value = Case> {
    let trees = (tree(), vec(step(), 1..8), vec(step(), 1..8), any::<[Index; 2]>());
    let omitted = prop_oneof![4 => Just(Vec::new()), 1 => vec(any::<Index>(), 1..3)];
    (trees, omitted, vec(any::<Index>(), 8)).prop_map(|((base, to_head, to_after, focus), omitted, order)| {
        let commit =
            |tree: &Tree, steps: Vec<Step>| steps.into_iter().fold(tree.clone(), |tree, step| step.on(tree, focus));
        let head = commit(&base, to_head);
        let after = commit(&head, to_after);
        Case {
            base: files(&base),
            head: files(&head),
            after: files(&after),
            omitted,
            order,
        }
    })
}

fn tree() -> impl Strategy<Value = Tree> {
    let file = prop_oneof![6 => file(0..24), 1 => file(60..150)];
    vec((select(&NAMES[..]), file), 1..5).prop_map(|files| files.into_iter().collect())
}

fn file(lines: Range<usize>) -> impl Strategy<Value = File> {
    let content = prop_oneof![
        16 => text(lines).prop_map(Content::Text),
        1 => bytes().prop_map(Content::Bytes),
    ];
    (mode(), content).prop_map(|(mode, content)| File { mode, content })
}

fn mode() -> impl Strategy<Value = u32> {
    prop_oneof![12 => Just(0o100_644), 3 => Just(0o100_755), 1 => Just(0o120_000)]
}

fn text(lines: Range<usize>) -> impl Strategy<Value = Text> {
    let closed = prop_oneof![6 => Just(true), 1 => Just(false)];
    (vec(line(), lines), ends(), closed).prop_map(|(lines, ends, closed)| Text { lines, ends, closed })
}

fn ends() -> impl Strategy<Value = Ends> {
    prop_oneof![12 => Just(Ends::Lf), 4 => Just(Ends::CrLf), 1 => any::<u64>().prop_map(Ends::Mixed)]
}

/// Binary files of all sizes, most of them small.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        vec(any::<u8>(), 1..80),
        vec(any::<u8>(), 200).prop_map(|bytes| bytes.repeat(20)),
        "[a/.]{1,9}".prop_map(String::into_bytes),
    ]
}

/// Lines that make diffs ambiguous, contain fences, or confuse parsers.
fn line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        24 => "[a-d]",
        6 => select(vec!["", "", " ", "    ", "\t", "}", "    }", "\treturn 1"]).prop_map(String::from),
        4 => " {0,4}[>-]? ?(`{2,7}|~{3,6})(suggestion)?",
        2 => "[a`~ ]{1,6}",
        3 => "\\PC{0,12}",
        2 => select(ODD.to_vec()).prop_map(String::from),
        1 => (1..3_000_usize).prop_map(|length| "long ".repeat(length)),
    ]
    .prop_map(String::into_bytes)
    .prop_flat_map(|line| prop_oneof![150 => Just(line.clone()), 1 => broken(line)])
}

/// Valid lines of a text that may not survive a form, a diff or a Markdown renderer.
const ODD: [&str; 31] = [
    "a\rb",
    "a\r",
    "\r",
    "\u{c}",
    "\u{b}x",
    "x\u{85}y",
    "x\u{2028}y",
    "x\u{2029}",
    "\u{feff}x",
    "\u{1b}[31mred",
    "e\u{301}a\u{308}\u{327}",
    "\u{65e5}\u{672c}\u{8a9e} \u{ff21}",
    "\u{202e}abc\u{202c}",
    "\u{2066}abc\u{2069}",
    "a\u{200b}b\u{200d}c",
    "\u{1f469}\u{200d}\u{1f680}",
    "\u{5e9}\u{5dc}\u{5d5}\u{5dd}",
    "trailing  ",
    "trailing\t",
    "\\",
    "\\ No newline at end of file",
    "--- a/x",
    "+++ b/x",
    "-- ",
    "@@ -1 +1 @@",
    "diff --git a/x b/x",
    "GIT binary patch",
    "<!-- a --> <b> &amp; & \\` @all #1",
    "::error::x",
    "- [ ] item",
    "\u{fffd}",
];

/// A line that makes its file binary, or is too long for a comment.
fn broken(line: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    select(vec![&b"\xff"[..], b"\0", b"\xed\xa0\x80", b"\xc3", &[b'x'; 70_000]]).prop_map(move |end| {
        let mut line = line.clone();
        line.extend_from_slice(end);
        line
    })
}

fn step() -> impl Strategy<Value = Step> {
    let any_index = || prop_oneof![3 => Just(None), 1 => any::<Index>().prop_map(Some)];
    prop_oneof![
        30 => (any_index(), vec(edit(), 1..4)).prop_map(|(file, edits)| Step::Edit(file, edits)),
        2 => (any_index(), 1..5_usize).prop_map(|(file, divisor)| Step::EditEvery(file, divisor)),
        1 => (select(&NAMES[..]), file(0..8)).prop_map(|(name, file)| Step::Add(name, file)),
        1 => any_index().prop_map(Step::Delete),
        1 => (any_index(), select(&NAMES[..])).prop_map(|(file, name)| Step::Rename(file, name)),
        1 => (any_index(), mode()).prop_map(|(file, mode)| Step::Mode(file, mode)),
        1 => (any_index(), ends()).prop_map(|(file, ends)| Step::Ends(file, ends)),
        1 => (any_index(), any::<bool>()).prop_map(|(file, closed)| Step::Closed(file, closed)),
        1 => (any_index(), bytes()).prop_map(|(file, bytes)| Step::Replace(file, Content::Bytes(bytes))),
    ]
}

fn edit() -> impl Strategy<Value = Edit> {
    let place = prop_oneof![3 => (0..7_usize).prop_map(Err), 1 => any::<Index>().prop_map(Ok)];
    (place, 0..4_usize, vec(line(), 0..4)).prop_map(|(place, count, lines)| Edit { place, count, lines })
}

impl Step {
    fn on(self, mut tree: Tree, [file, line]: [Index; 2]) -> Tree {
        let name = match &self {
            Self::Edit(at, _)
            | Self::EditEvery(at, _)
            | Self::Delete(at)
            | Self::Rename(at, _)
            | Self::Mode(at, _)
            | Self::Ends(at, _)
            | Self::Closed(at, _)
            | Self::Replace(at, _) => tree.keys().nth(at.unwrap_or(file).index(tree.len().max(1))).copied(),
            Self::Add(name, _) => Some(*name),
        };
        let Some(name) = name else { return tree };
        if let Self::Add(_, file) = self {
            tree.insert(name, file);
            return tree;
        }
        let Some(mut file) = tree.remove(name) else { return tree };
        let mut new_name = name;
        match (self, &mut file.content) {
            (Self::Delete(_), _) => return tree,
            (Self::Rename(_, to), _) => new_name = to,
            (Self::Mode(_, mode), _) => file.mode = mode,
            (Self::Replace(_, content), _) => file.content = content,
            (Self::Edit(_, edits), Content::Text(text)) => text.edit(edits, line),
            (Self::EditEvery(_, divisor), Content::Text(text)) => text.edit_every(divisor),
            (Self::Ends(_, ends), Content::Text(text)) => text.ends = ends,
            (Self::Closed(_, closed), Content::Text(text)) => text.closed = closed,
            (Self::Add(..) | Self::Edit(..) | Self::EditEvery(..) | Self::Ends(..) | Self::Closed(..), _) => {}
        }
        tree.insert(new_name, file);
        tree
    }
}

impl Text {
    fn edit_every(&mut self, divisor: usize) {
        for line in self.lines.iter_mut().step_by(divisor) {
            line.extend_from_slice(b" e");
        }
    }

    fn edit(&mut self, edits: Vec<Edit>, focus: Index) {
        for edit in edits {
            let start = match edit.place {
                Ok(place) => place.index(self.lines.len() + 1),
                Err(below) => (focus.index(self.lines.len() + 1) + below).min(self.lines.len()),
            };
            let end = (start + edit.count).min(self.lines.len());
            self.lines.splice(start..end, edit.lines);
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (number, line) in self.lines.iter().enumerate() {
            bytes.extend_from_slice(line);
            if !self.closed && number + 1 == self.lines.len() {
                break;
            }
            let windows = match self.ends {
                Ends::Lf => false,
                Ends::CrLf => true,
                Ends::Mixed(bits) => bits >> (number % 64) & 1 == 1,
            };
            bytes.extend_from_slice(if windows { b"\r\n" } else { b"\n" });
        }
        bytes
    }
}

fn files(tree: &Tree) -> Files {
    let file = |file: &File| match &file.content {
        Content::Text(text) => (file.mode, text.bytes()),
        Content::Bytes(bytes) => (file.mode, bytes.clone()),
    };
    tree.iter().map(|(name, one)| ((*name).to_owned(), file(one))).collect()
}

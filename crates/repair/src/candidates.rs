//! Generates single edits of the whole tree lazily, the most promising first.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use greenlight_anchor::RepoPath;
use greenlight_anchor::patch::Patch;
use greenlight_tree::checkout::Checkout;
use sha2::{Digest, Sha256};

use super::rows::Rows;
use super::suspect::Suspect;
use super::syntax::Source;
use super::template::Template;
use super::templates::{self, Edit, KnownNames, Stage};

/// Typical number of edits for a kilobyte of code; only for estimates.
const PER_KILOBYTE: usize = 60;
/// Maximum number of edits over all files.
const MAX_CANDIDATES: usize = 200_000;
/// Maximum number of lines of one definition whose suspicion is looked up.
const MAX_LINES: usize = 2_000;

/// One edit of one file.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) path: RepoPath,
    /// The whole file after the edit.
    pub(super) text: String,
    /// The bytes of the file that are replaced.
    pub(super) range: Range<usize>,
    /// The replacement.
    pub(super) replacement: String,
    pub(super) template: Template,
    /// How likely such an edit is a fix, regardless of its place.
    pub(super) weight: f32,
    /// How promising it is, from 0 to 1: suspicion times weight.
    pub(super) score: f32,
    /// The edited line, from 1.
    pub(super) line: u32,
    /// The function or constant that contains it.
    pub(super) within: String,
    /// The edited expression or statement, without the rest of its line.
    pub(super) before: String,
    pub(super) after: String,
    /// Further files and their texts after the edit.
    pub(super) others: Vec<(RepoPath, String)>,
}

impl Candidate {
    /// Identifies the candidate by its file and the file's new text.
    pub(super) fn digest(&self) -> String {
        let mut digest = digest(&self.path, &self.text);
        for (path, text) in &self.others {
            let other = self::digest(path, text);
            digest.iter_mut().zip(other).for_each(|(byte, other)| *byte ^= other);
        }
        digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The checkout with the edit applied.
    pub(super) fn tree(&self, checkout: &Checkout) -> Checkout {
        let mut edited = checkout.clone();
        edited.edit_text(self.path.clone(), self.text.as_str());
        for (path, text) in &self.others {
            edited.edit_text(path.clone(), text.as_str());
        }
        edited
    }

    /// Whether another candidate makes the same of the same files.
    pub(super) fn has_same_text(&self, other: &Self) -> bool {
        (&self.path, &self.text, &self.others) == (&other.path, &other.text, &other.others)
    }

    /// A patch of the edit together with the edits that the checkout already has.
    pub(super) fn patch(&self, checkout: &Checkout) -> Patch {
        self.tree(checkout).patch()
    }
}

/// The remaining candidates.
pub(super) struct Candidates {
    checkout: Checkout,
    /// Texts printed by failures.
    printed: Arc<[String]>,
    heap: BinaryHeap<QueueEntry>,
    excluded: HashSet<String>,
    /// The highest score of an excluded edit so far, or 0.
    likeliest_excluded: f32,
    tried: HashSet<String>,
    seen: HashSet<[u8; 32]>,
    /// Pairs of edits, which come after all single ones.
    pairs: Box<dyn ExactSizeIterator<Item = Option<Candidate>> + Send>,
    /// How many edits were made; orders edits with equal scores.
    made: usize,
}

/// A file or definition that is still to be expanded, with the best score that it may yield, or an edit.
struct QueueEntry {
    score: f32,
    suspect: Arc<Suspect>,
    /// Breaks ties: unexpanded work comes before edits, and edits keep the order in which they were made.
    order: usize,
    what: QueuedWork,
}

enum QueuedWork {
    File,
    /// The definition at this index of the outline, and its stage.
    Definition(usize, Stage, Arc<Read>),
    Edit(Edit, Arc<Read>),
}

/// A parsed file.
struct Read {
    source: Source,
    known: KnownNames,
    rows: Rows,
}

impl Candidates {
    /// Candidates for a tree whose failures print these texts, without patches that have an excluded digest and
    /// without candidates that were tried before.
    pub(super) fn new(
        (checkout, printed): (&Checkout, Vec<String>),
        suspects: Vec<Suspect>,
        (excluded, tried): (&[String], &[String]),
    ) -> Self {
        let suspects: Vec<Arc<Suspect>> = suspects.into_iter().map(Arc::new).collect();
        let whole_file = |suspect: &Arc<Suspect>| QueueEntry {
            score: suspect.most(),
            suspect: Arc::clone(suspect),
            order: 0,
            what: QueuedWork::File,
        };
        Self {
            checkout: checkout.clone(),
            printed: printed.into(),
            heap: suspects
                .iter()
                .filter(|suspect| suspect.most() > 0.0)
                .map(whole_file)
                .collect(),
            excluded: excluded.iter().cloned().collect(),
            likeliest_excluded: 0.0,
            tried: tried.iter().cloned().collect(),
            seen: HashSet::new(),
            pairs: Box::new(std::iter::empty()),
            made: 0,
        }
    }

    /// The highest score of an excluded edit among those that were due so far; 0 if there was none.
    pub(super) fn likeliest_excluded(&self) -> f32 {
        self.likeliest_excluded
    }

    /// Queues pairs of edits, for when no single one is left. `None` is a pair that does not parse.
    pub(super) fn queue(&mut self, pairs: impl ExactSizeIterator<Item = Option<Candidate>> + Send + 'static) {
        self.pairs = Box::new(pairs);
    }

    /// A rough estimate of how many are left.
    pub(super) fn estimate(&self) -> u32 {
        let bytes = |entry: &QueueEntry, index: usize| {
            let outline = &entry.suspect.outline;
            let own = outline.definitions.get(index).map(|d| outline.own_bytes(d));
            own.into_iter().flatten().map(|bytes| bytes.len()).sum::<usize>()
        };
        let left = self.heap.iter().map(|entry| match &entry.what {
            QueuedWork::Edit(..) => 1,
            QueuedWork::Definition(index, ..) => bytes(entry, *index) * PER_KILOBYTE / 1024,
            QueuedWork::File => {
                let all = 0..entry.suspect.outline.definitions.len();
                all.map(|index| bytes(entry, index)).sum::<usize>() * Stage::ALL.len() * PER_KILOBYTE / 1024
            }
        });
        u32::try_from(left.sum::<usize>() + self.pairs.len()).unwrap_or(u32::MAX)
    }

    /// Parses a file and queues its definitions with their best possible scores.
    fn look_into(&mut self, suspect: &Arc<Suspect>) {
        let path = suspect.path().as_str();
        let Some(source) = self.checkout.read_text(path).and_then(|text| Source::parse(path, text)) else {
            return;
        };
        let read = Arc::new(Read {
            known: KnownNames::of(&source, Arc::clone(&self.printed)),
            rows: Rows::of(&source.text),
            source,
        });
        for (index, definition) in suspect.outline.definitions.iter().enumerate() {
            let lines = definition.lines.clone().take(MAX_LINES);
            let suspicion = lines
                .map(|line| suspect.suspicion(&definition.bytes, line))
                .fold(0.0, f32::max);
            for stage in Stage::ALL.into_iter().filter(|_| suspicion > 0.0) {
                self.heap.push(QueueEntry {
                    score: suspicion * stage.most(),
                    suspect: Arc::clone(suspect),
                    order: 0,
                    what: QueuedWork::Definition(index, stage, Arc::clone(&read)),
                });
            }
        }
    }

    fn make(&mut self, suspect: &Arc<Suspect>, index: usize, stage: Stage, read: &Arc<Read>) {
        let outline = &suspect.outline;
        let Some(definition) = outline.definitions.get(index) else {
            return;
        };
        let is_wanted = |bytes: &Range<usize>| outline.around(bytes) == Some(index);
        for edit in templates::edits((&read.source, &read.known), stage, &definition.bytes, &is_wanted) {
            if self.made >= MAX_CANDIDATES {
                return;
            }
            self.made += 1;
            let suspicion = suspect.suspicion(&edit.range, read.rows.line(edit.range.start));
            self.heap.push(QueueEntry {
                score: suspicion * edit.weight(),
                suspect: Arc::clone(suspect),
                order: self.made,
                what: QueuedWork::Edit(edit, Arc::clone(read)),
            });
        }
    }

    fn candidate(&mut self, suspect: &Suspect, (edit, score): (&Edit, f32), read: &Read) -> Option<Candidate> {
        let source = &read.source;
        let quoted = source.quotable(&edit.range);
        let before = source.text.get(quoted.clone())?;
        let after = [
            source.text.get(quoted.start..edit.range.start)?,
            &edit.replacement,
            source.text.get(edit.range.end..quoted.end)?,
        ];
        let text = source.replaced(&edit.range, &edit.replacement)?;
        if !self.seen.insert(digest(suspect.path(), &text)) {
            return None;
        }
        let candidate = Candidate {
            path: suspect.path().clone(),
            range: edit.range.clone(),
            replacement: edit.replacement.clone(),
            template: edit.template,
            weight: edit.weight(),
            score,
            line: read.rows.line(edit.range.start),
            within: named(suspect, &edit.range).unwrap_or_default(),
            before: before.into(),
            after: after.concat(),
            others: Vec::new(),
            text,
        };
        self.admitted(candidate)
    }

    /// The candidate, unless it was turned down or tried before.
    fn admitted(&mut self, candidate: Candidate) -> Option<Candidate> {
        let is_excluded =
            !self.excluded.is_empty() && self.excluded.contains(&candidate.patch(&self.checkout).digest());
        if is_excluded {
            self.likeliest_excluded = self.likeliest_excluded.max(candidate.score);
        }
        let was_tried = !self.tried.is_empty() && self.tried.contains(&candidate.digest());
        (!is_excluded && !was_tried).then_some(candidate)
    }
}

impl Iterator for Candidates {
    type Item = Candidate;

    /// The most promising remaining edit whose file still parses.
    fn next(&mut self) -> Option<Candidate> {
        while let Some(entry) = self.heap.pop() {
            match &entry.what {
                QueuedWork::File => self.look_into(&entry.suspect),
                QueuedWork::Definition(index, stage, read) => self.make(&entry.suspect, *index, *stage, read),
                QueuedWork::Edit(edit, read) => {
                    if let Some(candidate) = self.candidate(&entry.suspect, (edit, entry.score), read) {
                        return Some(candidate);
                    }
                }
            }
        }
        while let Some(pair) = self.pairs.next() {
            if let Some(pair) = pair
                && self.seen.insert(digest(&pair.path, &pair.text))
                && let Some(pair) = self.admitted(pair)
            {
                return Some(pair);
            }
        }
        None
    }
}

/// The name of the definition around a range, if it has one.
fn named(suspect: &Suspect, bytes: &Range<usize>) -> Option<String> {
    let around = suspect.around(bytes).filter(|definition| !definition.is_module);
    around.map(|definition| definition.name.clone())
}

fn digest(path: &RepoPath, text: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(path.as_str());
    hash.update([0]);
    hash.update(text);
    hash.finalize().into()
}

impl Ord for QueueEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        let by_path = || other.suspect.path().cmp(self.suspect.path());
        by_score.then_with(by_path).then_with(|| other.order.cmp(&self.order))
    }
}

impl PartialOrd for QueueEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for QueueEntry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for QueueEntry {}

#[cfg(test)]
mod tests;

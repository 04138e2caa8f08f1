//! Parses both styles in which models write patches: unified diffs, and the `*** Begin Patch` format that several
//! models were trained on,
//! <https://cookbook.openai.com/examples/gpt4-1_prompting_guide#reference-implementation-apply_patchpy>. Parsing is
//! lenient: hunks end where their lines end, not where their headers say.

use std::sync::LazyLock;

use regex::Regex;

/// The maximum number of files and hunks in one patch.
const MAX_FILES: usize = 20;
const MAX_HUNKS: usize = 100;

/// The header of a hunk; the first number is where it begins in the old file.
static HUNK: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^@@ -(\d{1,9})(?:,\d+)? \+\d+(?:,\d+)? @@").ok());

/// The changes of a patch to one file.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) path: String,
    pub(super) is_new: bool,
    pub(super) hunks: Vec<LineChange>,
}

/// Lines, and the lines that replace them.
#[derive(Debug, Default)]
pub(super) struct LineChange {
    /// The line, from 1, where the header says that it begins.
    pub(super) near: Option<usize>,
    /// It is below the first line with this text.
    pub(super) below: Option<String>,
    pub(super) old: Vec<String>,
    pub(super) new: Vec<String>,
}

impl LineChange {
    /// Takes a line of the patch; false if it does not belong to a hunk.
    fn take(&mut self, line: &str) -> bool {
        match (line.as_bytes().first(), line.get(1..)) {
            (Some(b'+'), Some(rest)) => self.new.push(rest.to_owned()),
            (Some(b'-'), Some(rest)) => self.old.push(rest.to_owned()),
            (Some(b' '), Some(rest)) => {
                self.old.push(rest.to_owned());
                self.new.push(rest.to_owned());
            }
            // The leading space of an empty context line is easily lost.
            (None, _) => {
                self.old.push(String::new());
                self.new.push(String::new());
            }
            (Some(b'\\'), _) => {}
            _ => return false,
        }
        true
    }

    fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }
}

/// Every change of a patch, or a sentence that says what is wrong with it.
pub(super) fn changes(patch: &str) -> Result<Vec<Change>, String> {
    let patch = patch.replace("\r\n", "\n");
    let mut changes = if patch.contains("*** Begin Patch") {
        enveloped(&patch)?
    } else {
        unified(&patch)?
    };
    for change in &mut changes {
        for hunk in &mut change.hunks {
            // An empty line at the very end ends the patch, and is not a line of the file.
            while hunk.old.last().is_some_and(String::is_empty) && hunk.new.last().is_some_and(String::is_empty) {
                hunk.old.pop();
                hunk.new.pop();
            }
        }
        change.hunks.retain(|hunk| !hunk.is_empty());
    }
    if changes.is_empty() || changes.iter().any(|change| change.hunks.is_empty()) {
        return Err("the patch has no hunk; give a unified diff, or `*** Begin Patch`.".into());
    }
    let hunks: usize = changes.iter().map(|change| change.hunks.len()).sum();
    if changes.len() > MAX_FILES || hunks > MAX_HUNKS {
        return Err(format!("at most {MAX_FILES} files and {MAX_HUNKS} hunks in one patch."));
    }
    let mut paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    paths.sort_unstable();
    if paths.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("a file is in the patch twice; put its hunks together.".into());
    }
    Ok(changes)
}

fn enveloped(patch: &str) -> Result<Vec<Change>, String> {
    let mut changes: Vec<Change> = Vec::new();
    let inside = patch
        .lines()
        .skip_while(|line| line.trim() != "*** Begin Patch")
        .skip(1);
    for line in inside.take_while(|line| line.trim() != "*** End Patch") {
        let file = |kind: &str| line.strip_prefix(kind).map(|path| path.trim().to_owned());
        if let Some(path) = file("*** Update File:") {
            let (is_new, hunks) = (false, Vec::new());
            changes.push(Change { path, is_new, hunks });
        } else if let Some(path) = file("*** Add File:") {
            let (is_new, hunks) = (true, vec![LineChange::default()]);
            changes.push(Change { path, is_new, hunks });
        } else if line.starts_with("*** Delete File:") || line.starts_with("*** Move to:") {
            return Err("files can be changed and added here, neither removed nor moved.".into());
        } else if line.trim() == "*** End of File" {
        } else {
            let change = changes
                .last_mut()
                .ok_or("the patch names no file before its first line.")?;
            if let Some(below) = line.strip_prefix("@@") {
                let below = below.trim().trim_end_matches("@@").trim();
                let near = HUNK.as_ref().and_then(|header| first_number(header, line));
                change.hunks.push(LineChange {
                    near,
                    below: Some(below.to_owned()).filter(|below| !below.is_empty() && near.is_none()),
                    ..LineChange::default()
                });
                continue;
            }
            if change.hunks.is_empty() {
                change.hunks.push(LineChange::default());
            }
            if !change.hunks.last_mut().is_some_and(|hunk| hunk.take(line)) {
                return Err(format!(
                    "this is not a line of a patch, which begins with a space, `+` or `-`: {}",
                    crate::domain::redact::inline(line, 100)
                ));
            }
        }
    }
    Ok(changes)
}

fn unified(patch: &str) -> Result<Vec<Change>, String> {
    let header = HUNK.as_ref().ok_or("patches cannot be read.")?;
    let lines: Vec<&str> = patch.lines().collect();
    let (mut changes, mut is_inside): (Vec<Change>, bool) = (Vec::new(), false);
    let mut at = 0;
    while let Some(&line) = lines.get(at) {
        at += 1;
        let new = lines.get(at).and_then(|next| next.strip_prefix("+++ "));
        if let (Some(old), Some(new)) = (line.strip_prefix("--- "), new) {
            at += 1;
            is_inside = false;
            let (old, new) = (name(old), name(new));
            if new == "/dev/null" {
                return Err("files can be changed and added here, not removed.".into());
            }
            changes.push(Change {
                path: new
                    .strip_prefix("b/")
                    .filter(|_| old == "/dev/null" || old.starts_with("a/"))
                    .unwrap_or(new)
                    .into(),
                is_new: old == "/dev/null",
                hunks: Vec::new(),
            });
        } else if line.starts_with("diff --git ") {
            is_inside = false;
        } else if line.starts_with("rename ") && !is_inside {
            return Err("files can be changed and added here, not moved.".into());
        } else if line.starts_with("@@") {
            let change = changes
                .last_mut()
                .ok_or("the patch names no file: `--- a/path` and `+++ b/path` are missing.")?;
            let near = first_number(header, line);
            change.hunks.push(LineChange {
                near,
                ..LineChange::default()
            });
            is_inside = true;
        } else if is_inside {
            let hunk = changes.last_mut().and_then(|change| change.hunks.last_mut());
            is_inside = hunk.is_some_and(|hunk| hunk.take(line));
        }
    }
    Ok(changes)
}

/// The path in a header, without the timestamp that some tools write after it.
fn name(header: &str) -> &str {
    header.split('\t').next().unwrap_or(header).trim()
}

fn first_number(header: &Regex, line: &str) -> Option<usize> {
    header.captures(line)?.get(1)?.as_str().parse().ok()
}

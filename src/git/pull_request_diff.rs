//! The diff of a pull request as GitHub shows it, computed from the commits.
//!
//! It is only used for display, and to find lines that a comment can be attached to. The content of a patch always
//! comes from trees.

use git2::{DiffFindOptions, DiffOptions, Oid, Repository};

use super::Error;
use super::limits::{MAX_BYTES, MAX_FILES, limit_error, too_large};

/// GitHub omits the patch of a file with more than this many lines.
/// <https://docs.github.com/en/repositories/creating-and-managing-repositories/repository-limits#diff-limits>
const MAX_PATCH_LINES: usize = 20_000;
/// A larger file is not compared line by line, because each line costs many times its length.
const MAX_FILE: i64 = 4 << 20;

/// Each wanted file that differs, with its hunks.
pub(super) fn files(
    repository: &Repository,
    (old, new): (Oid, Oid),
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<Vec<(String, Option<String>)>, Error> {
    let find = |tree| repository.find_tree(tree).map_err(|error| limit_error(&error));
    let (old, new) = (find(old)?, find(new)?);
    let mut options = DiffOptions::new();
    options
        .context_lines(3)
        .interhunk_lines(0)
        .indent_heuristic(true)
        .max_size(MAX_FILE);
    let mut diff = repository
        .diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options))
        .map_err(|error| limit_error(&error))?;
    diff.find_similar(Some(DiffFindOptions::new().renames(true)))
        .map_err(|error| limit_error(&error))?;
    let count = diff.deltas().len();
    if count > MAX_FILES {
        return Err(too_large("the number of changed files", MAX_FILES));
    }
    let mut files = Vec::new();
    let mut total = 0;
    for index in 0..count {
        let Some(delta) = diff.get_delta(index) else { continue };
        let name = delta.new_file().path_bytes().or_else(|| delta.old_file().path_bytes());
        // A name that is not UTF-8 does not occur in GitHub's API.
        let Some(name) = name.and_then(|name| std::str::from_utf8(name).ok()) else {
            continue;
        };
        if !is_wanted(name) {
            continue;
        }
        let patch = git2::Patch::from_diff(&diff, index).map_err(|error| limit_error(&error))?;
        let hunks = patch.as_ref().map(hunks).transpose()?.flatten();
        total += hunks.as_ref().map_or(0, String::len);
        if total > MAX_BYTES {
            return Err(too_large("the difference", MAX_BYTES));
        }
        files.push((name.to_string(), hunks));
    }
    Ok(files)
}

/// The hunks of one file in GitHub's format.
fn hunks(patch: &git2::Patch<'_>) -> Result<Option<String>, Error> {
    let (_, added, removed) = patch.line_stats().map_err(|error| limit_error(&error))?;
    if patch.num_hunks() == 0 || added + removed > MAX_PATCH_LINES {
        return Ok(None);
    }
    let mut text = Vec::new();
    for index in 0..patch.num_hunks() {
        let (hunk, lines) = patch.hunk(index).map_err(|error| limit_error(&error))?;
        text.extend_from_slice(hunk.header());
        for line in 0..lines {
            let line = patch.line_in_hunk(index, line).map_err(|error| limit_error(&error))?;
            // The remark about a missing newline has its own prefix.
            if let origin @ ('+' | '-' | ' ') = line.origin() {
                text.push(u8::try_from(origin).unwrap_or(b' '));
            }
            text.extend_from_slice(line.content());
        }
    }
    if text.last() == Some(&b'\n') {
        text.pop();
    }
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

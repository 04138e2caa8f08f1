//! Selects the objects for a fetch: those reachable from its wants but not from its haves, cut at a depth if
//! requested.

use std::collections::{HashMap, HashSet, VecDeque};

use git2::{ObjectType, Oid, PackBuilder, Repository};

use super::answer::RestAnswer;
use super::pkt;

/// A client's request.
#[derive(Debug, Default)]
pub(super) struct Wish {
    wants: Vec<Oid>,
    haves: Vec<Oid>,
    /// Where the client's own history is cut off.
    shallow: HashSet<Oid>,
    depth: Option<usize>,
    done: bool,
    /// Only in the older protocol: the client's capabilities, which follow its first want.
    capabilities: Vec<String>,
}

impl Wish {
    /// Parses the arguments of a fetch. `None` if one of them is malformed. Unknown ones are ignored.
    pub(super) fn read(arguments: &[&str]) -> Option<Self> {
        let mut wish = Self::default();
        let id = |text: &str| Oid::from_str(text.split(' ').next()?).ok();
        for line in arguments {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "want" => {
                    wish.wants.push(id(rest)?);
                    wish.capabilities.extend(rest.split(' ').skip(1).map(str::to_owned));
                }
                "have" => wish.haves.push(id(rest)?),
                "shallow" => {
                    wish.shallow.insert(id(rest)?);
                }
                "deepen" => wish.depth = Some(rest.parse().ok()?),
                "done" => wish.done = true,
                _ => {}
            }
        }
        Some(wish)
    }

    fn can(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|one| one == capability)
    }
}

/// The commits to send, and the changes of the client's shallow boundary.
struct Selection {
    commits: Vec<Oid>,
    others: Vec<Oid>,
    shallow: Vec<Oid>,
    unshallow: Vec<Oid>,
    /// Commits that the client has completely, whose files need not be sent.
    edges: Vec<Oid>,
}

/// Answers a fetch of protocol version 2: acknowledgments, then shallow commits, then the pack.
pub(super) fn fetch(git: &Repository, wish: &Wish) -> Result<Vec<u8>, RestAnswer> {
    if let Some(missing) = missing(git, wish) {
        return Ok(pkt::error(&format!("upload-pack: not our ref {missing}")));
    }
    let common = common(git, wish);
    let mut bytes = Vec::new();
    if !wish.done {
        pkt::text(&mut bytes, "acknowledgments\n");
        for id in &common {
            pkt::text(&mut bytes, &format!("ACK {id}\n"));
        }
        if common.is_empty() {
            pkt::text(&mut bytes, "NAK\n");
            pkt::flush(&mut bytes);
            return Ok(bytes);
        }
        pkt::text(&mut bytes, "ready\n");
        pkt::delimiter(&mut bytes);
    }
    let selection = select(git, wish, &common)?;
    if wish.depth.is_some() {
        pkt::text(&mut bytes, "shallow-info\n");
        write_shallow(&mut bytes, &selection);
        pkt::delimiter(&mut bytes);
    }
    pkt::text(&mut bytes, "packfile\n");
    pkt::side_band(&mut bytes, &build(git, &selection)?);
    pkt::flush(&mut bytes);
    Ok(bytes)
}

/// Answers a fetch of the older protocol: shallow commits, acknowledgments, then the pack once the client is done.
pub(super) fn fetch_v0(git: &Repository, wish: &Wish, only_wishes: bool) -> Result<Vec<u8>, RestAnswer> {
    if let Some(missing) = missing(git, wish) {
        return Ok(pkt::error(&format!("upload-pack: not our ref {missing}")));
    }
    let common = common(git, wish);
    let selection = select(git, wish, &common)?;
    let mut bytes = Vec::new();
    if wish.depth.is_some() {
        write_shallow(&mut bytes, &selection);
        pkt::flush(&mut bytes);
    }
    if only_wishes {
        return Ok(bytes);
    }
    let detailed = wish.can("multi_ack_detailed");
    if detailed {
        for id in &common {
            pkt::text(&mut bytes, &format!("ACK {id} common\n"));
        }
    }
    match common.last() {
        Some(id) if detailed && !wish.done => {
            pkt::text(&mut bytes, &format!("ACK {id} ready\n"));
            pkt::text(&mut bytes, "NAK\n");
        }
        Some(id) => pkt::text(&mut bytes, &format!("ACK {id}\n")),
        None => pkt::text(&mut bytes, "NAK\n"),
    }
    if !wish.done {
        return Ok(bytes);
    }
    let pack = build(git, &selection)?;
    if wish.can("side-band-64k") {
        pkt::side_band(&mut bytes, &pack);
        pkt::flush(&mut bytes);
    } else {
        bytes.extend_from_slice(&pack);
    }
    Ok(bytes)
}

fn missing(git: &Repository, wish: &Wish) -> Option<Oid> {
    wish.wants
        .iter()
        .copied()
        .find(|id| git.find_object(*id, None).is_err())
}

fn common(git: &Repository, wish: &Wish) -> Vec<Oid> {
    wish.haves
        .iter()
        .copied()
        .filter(|id| git.find_commit(*id).is_ok())
        .collect()
}

fn write_shallow(bytes: &mut Vec<u8>, selection: &Selection) {
    for id in &selection.shallow {
        pkt::text(bytes, &format!("shallow {id}"));
    }
    for id in &selection.unshallow {
        pkt::text(bytes, &format!("unshallow {id}"));
    }
}

fn select(git: &Repository, wish: &Wish, common: &[Oid]) -> Result<Selection, git2::Error> {
    let theirs = reach(git, common, |id| !wish.shallow.contains(&id))?;
    let mut starts = Vec::new();
    let mut others = Vec::new();
    for id in &wish.wants {
        let object = git.find_object(*id, None)?;
        match object.peel(ObjectType::Commit) {
            Ok(commit) => {
                starts.push(commit.id());
                if object.kind() == Some(ObjectType::Tag) {
                    others.push(*id);
                }
            }
            Err(_) => others.push(*id),
        }
    }
    let limit = wish.depth.filter(|depth| *depth > 0).unwrap_or(usize::MAX);
    let depths = within(git, &starts, limit)?;
    let cut = |id: Oid| depths.get(&id).is_some_and(|depth| *depth == limit);
    let commits: Vec<Oid> = depths.keys().copied().filter(|id| !theirs.contains(id)).collect();
    let parents = |id: Oid| -> Result<Vec<Oid>, git2::Error> { Ok(git.find_commit(id)?.parent_ids().collect()) };
    let mut selection = Selection {
        commits,
        others,
        shallow: Vec::new(),
        unshallow: Vec::new(),
        edges: theirs.iter().copied().collect(),
    };
    for id in depths.keys().copied() {
        let is_root = parents(id)?.is_empty();
        match (cut(id) && !is_root, wish.shallow.contains(&id)) {
            (true, false) => selection.shallow.push(id),
            (false, true) => selection.unshallow.push(id),
            _ => {}
        }
    }
    selection.commits.sort();
    selection.shallow.sort();
    selection.unshallow.sort();
    Ok(selection)
}

/// Every commit reachable from these. Continues only from commits for which `onward` returns true.
fn reach(git: &Repository, from: &[Oid], onward: impl Fn(Oid) -> bool) -> Result<HashSet<Oid>, git2::Error> {
    let mut seen: HashSet<Oid> = HashSet::new();
    let mut queue: Vec<Oid> = from.to_vec();
    while let Some(id) = queue.pop() {
        if seen.insert(id) && onward(id) {
            queue.extend(git.find_commit(id)?.parent_ids());
        }
    }
    Ok(seen)
}

/// Every commit within `limit` steps, where the starts count as the first step, with its smallest distance.
fn within(git: &Repository, starts: &[Oid], limit: usize) -> Result<HashMap<Oid, usize>, git2::Error> {
    let mut depths: HashMap<Oid, usize> = HashMap::new();
    let mut queue: VecDeque<(Oid, usize)> = starts.iter().map(|id| (*id, 1)).collect();
    while let Some((id, depth)) = queue.pop_front() {
        if depths.contains_key(&id) {
            continue;
        }
        depths.insert(id, depth);
        if depth < limit {
            queue.extend(git.find_commit(id)?.parent_ids().map(|parent| (parent, depth + 1)));
        }
    }
    Ok(depths)
}

/// Packs the selected commits with those of their files that the client does not have.
fn build(git: &Repository, selection: &Selection) -> Result<Vec<u8>, git2::Error> {
    let mut seen: HashSet<Oid> = HashSet::new();
    for id in &selection.edges {
        mark(git, git.find_commit(*id)?.tree_id(), &mut seen, &mut |_| Ok(()))?;
    }
    let mut pack = git.packbuilder()?;
    pack.set_threads(1);
    for id in &selection.commits {
        pack.insert_object(*id, None)?;
        let tree = git.find_commit(*id)?.tree_id();
        mark(git, tree, &mut seen, &mut |id| pack.insert_object(id, None))?;
    }
    for id in &selection.others {
        insert_other(git, *id, &mut pack)?;
    }
    let mut bytes = git2::Buf::new();
    pack.write_buf(&mut bytes)?;
    Ok(bytes.to_vec())
}

/// Adds a wanted tag, tree or blob.
fn insert_other(git: &Repository, id: Oid, pack: &mut PackBuilder<'_>) -> Result<(), git2::Error> {
    match git.find_object(id, None)?.kind() {
        Some(ObjectType::Tree) => pack.insert_tree(id),
        _ => pack.insert_object(id, None),
    }
}

/// Visits a tree and everything below it that was not visited before.
fn mark(
    git: &Repository,
    tree: Oid,
    seen: &mut HashSet<Oid>,
    visit: &mut dyn FnMut(Oid) -> Result<(), git2::Error>,
) -> Result<(), git2::Error> {
    if !seen.insert(tree) {
        return Ok(());
    }
    visit(tree)?;
    for entry in &git.find_tree(tree)? {
        match entry.kind() {
            Some(ObjectType::Tree) => mark(git, entry.id(), seen, visit)?,
            Some(ObjectType::Blob) if seen.insert(entry.id()) => visit(entry.id())?,
            _ => {}
        }
    }
    Ok(())
}

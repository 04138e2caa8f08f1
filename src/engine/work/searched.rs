//! The search rung: its budget, the parts that are appended while it runs, and its result.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::super::Broken;
use super::super::worktree::Worktree;
use super::ground::{Ground, Top};
use super::{Watch, WorkOutcome, confirm, of_repair, on_head};
use crate::config::repository::RepoConfig;
use crate::domain::budget::Left;
use crate::domain::clock::{in_words, millis, millis_in_words};
use crate::domain::id::RepoPath;
use crate::domain::patch::Patch;
use crate::domain::proposal::{self, Claim, Evidence, Unfit};
use crate::domain::search::{FoundBy, Limit, Search, Unverified};
use crate::domain::test_run::Location;
use crate::repair::{self, Budget, PassingPatch, Tried};
use crate::{agent, guard};

/// A part is appended after this long, or after this many candidates.
const PART: Duration = Duration::from_secs(5);
const PART_CANDIDATES: u32 = 500;

/// How many patches that are not proposed are kept, and the bound on one of them, in bytes.
const MAX_UNVERIFIED: usize = 5;
const MAX_PATCH: usize = 64 << 10;

/// How many suspects a reason names.
const NAMED: usize = 3;

/// The part that was not appended yet.
struct UnsavedPart {
    search: Search,
    since: Instant,
    /// How many candidates had been tried when the last part was appended.
    saved: u32,
    /// How many more digests may be kept.
    room: usize,
}

/// Searches small edits, and proposes one that is proved.
///
/// # Errors
/// When the sandbox or the journal cannot be used.
pub(super) async fn search(ground: Ground<'_>, before_a_model: bool, watch: &mut Watch<'_, '_>) -> Result<Top, Broken> {
    let mut whole = ground.brief.search.clone();
    let config = &ground.worktree.config;
    let budget = budget(config, &ground.worktree.left, before_a_model, &whole);
    if before_a_model && config.repair.before_model.is_zero() {
        return Ok(Top::NotFound(Box::new(whole)));
    }
    let part = Mutex::new(UnsavedPart {
        search: Search::default(),
        since: Instant::now(),
        saved: 0,
        room: Search::MAX_DIGESTS.saturating_sub(whole.digests.len()),
    });
    let end = watched(ground, &budget, (&part, &mut whole), watch).await?;
    let mut last = take_part(&part);
    let (tried, found) = match end {
        repair::End::Cancelled => {
            append(last, &mut whole, watch).await?;
            return Ok(Top::Interrupted);
        }
        repair::End::Found(found) => (
            Tried {
                suspects: found.suspects.clone(),
                ..Tried::default()
            },
            Some(*found),
        ),
        repair::End::NotFound(tried) => (tried, None),
        repair::End::BudgetSpent(tried) => {
            let all = whole.tried.saturating_add(last.tried);
            let is_full = all >= config.repair.candidates;
            last.limit = Some(if is_full { Limit::Candidates } else { Limit::Wall });
            (tried, None)
        }
    };
    last.suspects = places(tried.suspects);
    last.unverified = bounded(tried.findings.into_iter().map(of_repair::unverified).collect());
    let Some(found) = found else {
        last.is_over = true;
        append(last, &mut whole, watch).await?;
        return Ok(Top::NotFound(Box::new(whole)));
    };
    match Box::pin(proved(ground, &found, watch.cancel)).await? {
        _ if watch.cancel.is_cancelled() => {
            append(last, &mut whole, watch).await?;
            Ok(Top::Interrupted)
        }
        Ok(evidence) => {
            append(last, &mut whole, watch).await?;
            let found_by = FoundBy {
                rung: of_repair::rung(found.origin),
                tried: whole.tried,
                wall_ms: whole.wall_ms,
            };
            let proposal = ground.proposal((found.patch, found.explanation), evidence, found_by);
            Ok(Top::Proposed(Box::new(proposal)))
        }
        Err(unfit) => {
            last.unverified = bounded(vec![Unverified {
                patch: found.patch,
                explanation: found.explanation,
                still_failing: 0,
                risks: vec![format!("it is not suggested because {unfit}")],
            }]);
            last.is_over = true;
            append(last, &mut whole, watch).await?;
            Ok(Top::NotFound(Box::new(whole)))
        }
    }
}

/// The rest of the budget.
fn budget(config: &RepoConfig, left: &Left, before_a_model: bool, so_far: &Search) -> Budget {
    let mine = match before_a_model {
        true => config.repair.before_model.min(config.repair.wall),
        false => config.repair.wall,
    };
    let left = left
        .wall_ms
        .map_or(Duration::MAX, |amount| Duration::from_millis(amount.left));
    let wall = mine.saturating_sub(Duration::from_millis(so_far.wall_ms));
    Budget {
        candidates: config.repair.candidates.saturating_sub(so_far.tried),
        wall: wall.min(left),
    }
}

/// Searches, and appends its progress now and then.
async fn watched(
    ground: Ground<'_>,
    budget: &Budget,
    (part, whole): (&Mutex<UnsavedPart>, &mut Search),
    watch: &mut Watch<'_, '_>,
) -> Result<repair::End, Broken> {
    let worktree = ground.worktree;
    let is_protected = |path: &RepoPath| worktree.config.protect.paths.covers(path);
    let before = whole.digests.clone();
    let task = ground.task(&is_protected, &before);
    let is_due = Notify::new();
    let Watch {
        progress,
        searched,
        cancel,
        ..
    } = watch;
    let mut report = |now: repair::Progress| {
        let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
        part.search.tried = now.tried.saturating_sub(part.saved);
        if let Some(digest) = now.failed.clone().filter(|_| part.room > 0) {
            part.room -= 1;
            part.search.digests.push(digest);
        }
        if part.search.tried >= PART_CANDIDATES || part.since.elapsed() >= PART {
            is_due.notify_one();
        }
        drop(part);
        progress(now);
    };
    let searching = repair::search(&task, budget, &mut report, cancel);
    tokio::pin!(searching);
    loop {
        tokio::select! {
            biased;
            end = &mut searching => return Ok(end?),
            () = is_due.notified() => {
                let due = take_part(part);
                whole.join(due.clone());
                searched(due).await.map_err(agent::Error::Journal)?;
            }
        }
    }
}

/// Takes the part that is to be appended, and leaves an empty one.
fn take_part(part: &Mutex<UnsavedPart>) -> Search {
    let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
    let mut search = std::mem::take(&mut part.search);
    search.wall_ms = millis(part.since.elapsed());
    part.saved = part.saved.saturating_add(search.tried);
    part.since = Instant::now();
    search
}

async fn append(part: Search, whole: &mut Search, watch: &mut Watch<'_, '_>) -> Result<(), Broken> {
    whole.join(part.clone());
    Ok((watch.searched)(part).await.map_err(agent::Error::Journal)?)
}

/// Turns a passing patch into a proposal, after the checks that apply to every patch.
async fn proved(
    ground: Ground<'_>,
    found: &PassingPatch,
    cancel: &CancellationToken,
) -> Result<Result<Evidence, Unfit>, Broken> {
    let Ground {
        worktree, suite, red, ..
    } = ground;
    let is_protected = |path: &RepoPath| worktree.config.protect.paths.covers(path);
    let inputs = worktree.inputs(Some(red.before));
    let weakenings = |patch: &Patch| guard::weakenings(patch, &inputs);
    let fits = proposal::check(&found.patch, Claim::Fix, &worktree.bounds(&is_protected, &weakenings));
    let proved = fits.and_then(|_| proposal::prove(red.head, &found.patch, red.before.clone(), found.after.clone()));
    let evidence = match proved {
        Ok(evidence) => evidence,
        Err(unfit) => return Ok(Err(unfit)),
    };
    let on_head = match Box::pin(on_head::carried(worktree, (&found.patch, Claim::Fix), &red)).await? {
        Ok(on_head) => on_head,
        Err(unfit) => return Ok(Err(unfit)),
    };
    let evidence = match Box::pin(on_head::proved(worktree, suite, (on_head, evidence), cancel)).await? {
        Ok(evidence) => evidence,
        Err(unfit) => return Ok(Err(unfit)),
    };
    let mut patched = worktree.checkout.clone();
    patched.reset();
    patched.apply(&found.patch);
    let confirmed = confirm::confirm(worktree, suite, &patched, &red, cancel).await?;
    Ok(confirmed.map(|confirmed| Evidence {
        triage: red.triage.cloned(),
        install: super::installed(worktree, suite),
        confirmed,
        ..evidence
    }))
}

fn places(suspects: Vec<(RepoPath, u32)>) -> Vec<Location> {
    let place = |(path, line): (RepoPath, u32)| Location {
        path: path.to_string(),
        line,
    };
    let mut places: Vec<Location> = Vec::new();
    // One line may be suspected for several reasons.
    for place in suspects.into_iter().map(place) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

fn bounded(mut unverified: Vec<Unverified>) -> Vec<Unverified> {
    unverified.retain(|one| one.patch.unified().len() <= MAX_PATCH);
    unverified.truncate(MAX_UNVERIFIED);
    unverified
}

/// The outcome if nothing was found and no model continues.
pub(super) fn not_found(search: Box<Search>, worktree: &Worktree) -> WorkOutcome {
    WorkOutcome::NotFound {
        reason: match search.tried == 0 && !worktree.without.is_empty() {
            true => "The built-in engine had nothing to try besides what `--without` leaves out".into(),
            false => reason(&search, &worktree.config),
        },
        search,
    }
}

/// What was tried, in sentences; the last one lacks its full stop.
fn reason(search: &Search, config: &RepoConfig) -> String {
    if search.tried == 0 && search.limit.is_none() && search.unverified.is_empty() {
        return "The built-in engine found nothing that it could edit. It makes small edits to code that builds, in \
                languages that it knows, outside of tests and protected paths. A model can do more"
            .into();
    }
    let edits = if search.tried == 1 { "edit" } else { "edits" };
    let took = millis_in_words(search.wall_ms);
    let came_to = match search.unverified.as_slice() {
        [] => "none of them makes the tests pass".to_string(),
        [part] if part.still_failing > 0 => format!("the best {}", part.result()),
        [_] => "one makes the tests pass, but it is not sure enough to be suggested".into(),
        all => format!(
            "{} make the tests pass, but none is sure enough to be suggested",
            all.len()
        ),
    };
    let mut text = format!(
        "The built-in engine tried {} small {edits} in {took}, and {came_to}",
        search.tried
    );
    let mut named: Vec<String> = Vec::new();
    for place in search.suspects.iter().map(place) {
        if named.len() < NAMED && !named.contains(&place) {
            named.push(place);
        }
    }
    if !named.is_empty() {
        text += &format!(". It looked first at {}", named.join(", "));
    }
    match search.limit {
        None => {}
        Some(Limit::Candidates) => {
            text += &format!(
                ". There are more, but `[repair] candidates` allows {}",
                config.repair.candidates
            );
        }
        Some(Limit::Wall) => {
            let wall = config.repair.wall.min(config.limits.wall);
            let field = if config.repair.wall <= config.limits.wall {
                "repair"
            } else {
                "limits"
            };
            let wall = in_words(wall);
            text += &format!(". There are more, but the time was up: `[{field}] wall` is {wall}");
        }
    }
    text
}

fn place(at: &Location) -> String {
    format!("`{}:{}`", at.path.replace('`', "'"), at.line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::budget::{Allowance, Scope, Used, left};

    fn config(repair: &str) -> RepoConfig {
        RepoConfig::parse(&format!("[repair]\n{repair}")).unwrap()
    }

    #[test]
    fn an_earlier_search_counts_towards_the_budget() {
        let config = config("candidates = 100\nwall = \"90s\"\nbefore_model = \"20s\"");
        let so_far = Search {
            tried: 30,
            wall_ms: 15_000,
            ..Search::default()
        };
        let budget = |before_a_model, left: &Left| budget(&config, left, before_a_model, &so_far);
        let none = Left::default();
        assert_eq!(budget(false, &none).candidates, 70);
        assert_eq!(budget(false, &none).wall, Duration::from_secs(75));
        assert_eq!(budget(true, &none).wall, Duration::from_secs(5));
        let allowance = Allowance {
            wall: Some(Duration::from_secs(3)),
            ..Allowance::default()
        };
        let left = left(&[(Scope::Day, allowance, Used::default())]);
        assert_eq!(budget(false, &left).wall, Duration::from_secs(3));
    }

    #[test]
    fn a_search_that_found_nothing_says_what_it_did() {
        let place = |line| Location {
            path: "src/a.py".into(),
            line,
        };
        let search = Search {
            tried: 412,
            wall_ms: 61_900,
            suspects: (1..=5).map(place).collect(),
            limit: Some(Limit::Wall),
            ..Search::default()
        };
        insta::assert_snapshot!(reason(&search, &config("wall = \"1m\"")), @"The built-in engine tried 412 small edits in 1 min 1 s, and none of them makes the tests pass. It looked first at `src/a.py:1`, `src/a.py:2`, `src/a.py:3`. There are more, but the time was up: `[repair] wall` is 1 min");
        let search = Search {
            tried: 1,
            wall_ms: 1_000,
            unverified: vec![Unverified {
                patch: Patch::default(),
                explanation: String::new(),
                still_failing: 0,
                risks: Vec::new(),
            }],
            ..Search::default()
        };
        insta::assert_snapshot!(reason(&search, &config("")), @"The built-in engine tried 1 small edit in 1 s, and one makes the tests pass, but it is not sure enough to be suggested");
        insta::assert_snapshot!(reason(&Search::default(), &config("")), @"The built-in engine found nothing that it could edit. It makes small edits to code that builds, in languages that it knows, outside of tests and protected paths. A model can do more");
    }
}

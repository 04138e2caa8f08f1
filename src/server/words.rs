//! Carries what models say to the other processes that share the work, and what they say there to those who watch
//! here. Best effort: what does not fit, or meets an outage, is dropped. The journal has the whole replies.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use super::fleet::Fleet;
use super::queue::Queue;
use crate::domain::id::RunId;
use crate::engine::{Chunk, ModelStream, Overheard};
use crate::journal::Error;

/// How often chunks are passed on and looked for.
const LOOK: Duration = Duration::from_millis(250);
/// How often a process asks which of its runs are watched elsewhere.
const ASK: Duration = Duration::from_secs(1);
/// How often a process says which runs are watched here. The database forgets it after ten seconds.
const TELL: Duration = Duration::from_secs(3);
/// How long after an error nothing is carried.
const OUTAGE: Duration = Duration::from_secs(2);
/// How many chunks, and bytes of them, a process passes on at a time. The newest ones count.
const MAX_CHUNKS: usize = 64;
const MAX_BYTES: usize = 64 << 10;

/// Carries words until the process ends.
pub(super) async fn carry_on(queue: Queue) {
    let Some(fleet) = queue.fleet() else { return };
    let voices = &queue.app().voices;
    let mut speaker = Speaker {
        overheard: voices.overhear(),
        wanted: HashSet::new(),
        asked: Instant::now(),
    };
    let mut hearer = Hearer::default();
    let mut tick = tokio::time::interval(LOOK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let carried = async {
            speaker.speak(fleet).await?;
            hearer.hear(fleet, voices).await
        };
        if let Err(error) = carried.await {
            tracing::debug!(%error, "words were dropped");
            tokio::time::sleep(OUTAGE).await;
        }
    }
}

/// What is said here, for others.
struct Speaker {
    overheard: Overheard,
    /// The runs of this process that somebody watches.
    wanted: HashSet<RunId>,
    asked: Instant,
}

impl Speaker {
    async fn speak(&mut self, fleet: &Fleet) -> Result<(), Error> {
        let said = self.overheard.so_far();
        if self.asked.elapsed() >= ASK {
            self.asked = Instant::now();
            self.wanted.clear();
            if !fleet.held().is_empty() {
                let wanted = fleet.database.watched_runs(&fleet.claimant.holder).await?;
                self.wanted.extend(wanted);
            }
        }
        let wanted = said.into_iter().filter(|(run, _)| self.wanted.contains(run));
        let words = newest(wanted.filter_map(|(run, chunk)| Some((run, serde_json::to_string(&chunk).ok()?))));
        match words.is_empty() {
            true => Ok(()),
            false => fleet.database.say(&fleet.claimant.holder, &words).await,
        }
    }
}

/// The newest words that fit, in order.
fn newest(words: impl Iterator<Item = (RunId, String)>) -> Vec<(RunId, String)> {
    let words: Vec<_> = words.collect();
    let mut bytes = 0;
    let fit = words.iter().rev().take(MAX_CHUNKS).take_while(|(_, chunk)| {
        bytes += chunk.len();
        bytes <= MAX_BYTES
    });
    let left_out = words.len() - fit.count();
    words.into_iter().skip(left_out).collect()
}

/// What is said elsewhere, for those who watch here.
#[derive(Default)]
struct Hearer {
    /// Up to where each watched run was heard. Only one process at a time works on a run, so its numbers grow.
    heard: HashMap<RunId, i64>,
    told: Option<Instant>,
}

impl Hearer {
    async fn hear(&mut self, fleet: &Fleet, voices: &ModelStream) -> Result<(), Error> {
        let watched = voices.watched();
        self.heard.retain(|run, _| watched.contains(run));
        if watched.is_empty() {
            return Ok(());
        }
        let is_new = watched.iter().any(|run| !self.heard.contains_key(run));
        if is_new || self.told.is_none_or(|told| told.elapsed() >= TELL) {
            fleet.database.watch_runs(&watched).await?;
            self.told = Some(Instant::now());
        }
        let after = watched
            .iter()
            .map(|run| self.heard.get(run).copied().unwrap_or(0))
            .min();
        let words = fleet
            .database
            .hear(&fleet.claimant.holder, &watched, after.unwrap_or(0))
            .await?;
        let known: HashSet<RunId> = self.heard.keys().cloned().collect();
        for run in watched {
            self.heard.entry(run).or_insert(0);
        }
        for word in words {
            let Some(heard) = self.heard.get_mut(&word.run).filter(|heard| **heard < word.nth) else {
                continue;
            };
            *heard = word.nth;
            // What was said before anybody watched here is in the journal soon.
            if known.contains(&word.run)
                && let Ok(chunk) = serde_json::from_str::<Chunk>(&word.chunk)
            {
                voices.pass_on(word.run, chunk);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_dropped_and_the_newest_is_kept() {
        let word = |number: usize| (RunId("r".into()), number.to_string());
        let kept = newest((0..100).map(word));
        assert_eq!(kept, (36..100).map(word).collect::<Vec<_>>());
        let long = "x".repeat(MAX_BYTES - 1);
        let kept = newest(
            ["a", &long, "b"]
                .map(|text| (RunId("r".into()), text.to_string()))
                .into_iter(),
        );
        assert_eq!(kept.len(), 2);
        assert_eq!(kept[1].1, "b");
    }
}

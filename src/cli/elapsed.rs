//! Shows that silent work continues: on a terminal in one line that is rewritten, otherwise in a line now and then.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::terminal;
use crate::domain::clock::in_words;

/// How long it is silent at first, and between two lines.
const ON_A_TERMINAL: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(1));
const ELSEWHERE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(30));

/// Awaits the work, and says now and then what is going on and for how long.
pub(super) async fn telling<T>(what: &str, work: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let (first, then) = match terminal::somebody_watches() {
        true => ON_A_TERMINAL,
        false => ELSEWHERE,
    };
    let mut tick = interval_at(began + first, then);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => {
                terminal::end_status();
                return done;
            }
            _ = tick.tick() => {
                let so_far = Duration::from_secs(began.elapsed().as_secs());
                terminal::status(&format!("  {what} for {}", in_words(so_far)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_result_of_the_work_is_returned() {
        assert_eq!(telling("working", async { 7 }).await, 7);
    }
}

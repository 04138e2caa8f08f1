//! The first run of the head's tests, which may hang: nothing is known yet about how long they take.
//!
//! If it takes long, the base's tests run at the same time. When they end long before it does, it is stopped, and runs
//! again with a limit that follows from what the base took.

use tokio_util::sync::CancellationToken;

use super::super::Broken;
use super::laid_out::{Base, LayOut, laid_out};
use super::tested_tree::TestedTree;
use crate::domain::test_run::{Outcome, TestRun};
use crate::suite::Suite;

/// The part of its time limit after which a run takes long. What is compiled first takes longer.
const INTERPRETED: f64 = 0.1;
const COMPILED: f64 = 0.3;

/// The first run, and the base with its first run if that was needed.
pub(super) struct FirstRun {
    pub(super) run: TestRun,
    pub(super) base: Option<((Base, TestedTree), TestRun)>,
}

/// Runs all tests of the head.
///
/// # Errors
/// When the sandbox cannot be used, or the base cannot be laid out.
pub(super) async fn first_run(
    head: &TestedTree,
    suite: &Suite,
    base: &mut LayOut<'_>,
    cancel: &CancellationToken,
) -> Result<FirstRun, Broken> {
    let part = if suite.command.framework.is_compiled() {
        COMPILED
    } else {
        INTERPRETED
    };
    let stop = cancel.child_token();
    let mut running = Box::pin(head.run(&[], &stop));
    let patience = tokio::time::sleep(suite.command.timeout.mul_f64(part));
    tokio::select! {
        run = &mut running => return Ok(FirstRun { run: run?, base: None }),
        () = patience => {}
    }
    let at_base = async {
        let Some((base, tree)) = laid_out(base, None).await? else {
            return Ok(None);
        };
        let run = tree.run(&[], cancel).await?;
        Ok::<_, Broken>(Some(((base, tree), run)))
    };
    let known = tokio::select! {
        run = &mut running => return Ok(FirstRun { run: run?, base: None }),
        known = Box::pin(at_base) => known?,
    };
    let took = known.as_ref().filter(|(_, run)| run.outcome != Outcome::TimedOut);
    let Some((_, on_base)) = took else {
        return Ok(FirstRun {
            run: running.await?,
            base: known,
        });
    };
    head.pace.saw(on_base.duration_from_scratch());
    // The limit is for runs without others beside them, so this run may take it once more.
    tokio::select! {
        run = &mut running => return Ok(FirstRun { run: run?, base: known }),
        () = tokio::time::sleep(head.pace.limit()) => {}
    }
    stop.cancel();
    running.await?;
    Ok(FirstRun {
        run: head.run_all_afresh(cancel).await?,
        base: known,
    })
}

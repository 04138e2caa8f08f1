//! What has to be true after the soak.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::ensure;

use super::{PATIENCE, Soak, postgres};

impl Soak {
    /// What was lost, done twice, or done without an approval, by the records of the double.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        for &number in &self.numbers {
            let commits = self.double.commits(number)?;
            ensure!(
                commits.len() == 2,
                "#{number} has {} commits instead of 2",
                commits.len()
            );
            ensure!(self.approved.contains(&number), "#{number} landed without an approval");
            let reviews = self.double.reviews(number).len();
            ensure!(reviews == 1, "#{number} has {reviews} reviews");
            for commit in commits {
                let mut names = HashSet::new();
                for run in self.double.check_runs(&commit.sha) {
                    ensure!(
                        names.insert(run.name.clone()),
                        "#{number} has two check runs {}",
                        run.name
                    );
                }
            }
            let comments = self.double.comments(number);
            let ours = comments.iter().filter(|comment| comment.author.ends_with("[bot]"));
            let sticky = ours
                .filter(|comment| comment.body.contains("greenlight:sticky"))
                .count();
            ensure!(sticky == 1, "#{number} has {sticky} status comments");
        }
        let violations = self.double.violations();
        ensure!(violations.is_empty(), "{violations:?}");
        Ok(())
    }

    /// Waits until every delivery that was accepted is worked off.
    pub(super) async fn work_off(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        let mut tick = tokio::time::interval(Duration::from_millis(500));
        loop {
            tick.tick().await;
            let left = postgres::count(&self.url, "SELECT count(*) FROM delivery WHERE done = 0").await;
            if left == 0 {
                return Ok(());
            }
            ensure!(
                began.elapsed() < PATIENCE,
                "{left} deliveries were accepted and not worked off"
            );
        }
    }
}

//! How quickly lanes change hands in PostgreSQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use greenlight::domain::worker_labels::WorkerLabels;
use greenlight::journal::{Claimant, Class, Database};
use secrecy::SecretString;

use super::postgres;

const LENGTH: Duration = Duration::from_secs(5);
/// How many lanes wait, in how many repositories.
const LANES: &str = "INSERT INTO lane (name, repository, pull_request) SELECT format('@%s#%s', n % 200, n), \
                     format('@%s', n % 200), format('@%s#%s', n % 200, n) FROM generate_series(1, 20000) AS n";
const TURNS: &str = "INSERT INTO turn (repository) SELECT DISTINCT repository FROM lane WHERE repository <> ''";
const DELIVERIES: &str = "INSERT INTO delivery (id, event, received) SELECT name, '{\"installation\":null,\
                          \"received\":\"2026-03-01T10:00:00Z\",\"fact\":\"Pinged\"}', '2026-03-01T10:00:00Z' FROM lane \
                          WHERE repository <> ''";
const WORK: &str = "INSERT INTO work (lane, repository, pull_request, class, delivery) \
                    SELECT name, repository, pull_request, 1, name FROM lane WHERE repository <> ''";

/// How many lanes this many workers claim, finish one piece of, and give back in a second, of 20,000 that wait.
pub(crate) async fn in_a_second(workers: usize) -> anyhow::Result<f64> {
    let url: SecretString = postgres::new_database().await.unwrap();
    drop(Database::connect(&url).await?);
    for statement in [LANES, TURNS, DELIVERIES, WORK, "VACUUM ANALYZE"] {
        postgres::execute(&url, statement).await;
    }
    let claimed = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let working = (0..workers).map(|number| {
        let (url, claimed) = (url.clone(), Arc::clone(&claimed));
        tokio::spawn(async move {
            let database = Database::connect(&url).await?;
            let claimant = Claimant {
                holder: number.to_string(),
                labels: WorkerLabels::default(),
                per_repository: 100,
                per_owner: None,
            };
            while began.elapsed() < LENGTH {
                let Some(lease) = database.claim(&claimant, Class::Asked).await? else {
                    continue;
                };
                if let Some(piece) = database.next_piece(&lease, &claimant.labels).await? {
                    database.complete(&lease, piece.nth, &[]).await?;
                }
                database.release(&lease).await?;
                claimed.fetch_add(1, Ordering::Relaxed);
            }
            anyhow::Ok(())
        })
    });
    for worker in futures::future::join_all(working).await {
        worker??;
    }
    Ok(claimed.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64())
}

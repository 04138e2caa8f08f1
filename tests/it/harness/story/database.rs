//! The database of a story, for changing it while greenlight is stopped.

use greenlight::domain::id::RunId;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection as _, Row as _};

use super::Story;
use crate::harness::postgres;

/// Names a folder: each story writes its runs there when it ends, for use as journal fixtures.
const KEEP: &str = "GREENLIGHT_KEEP_JOURNALS";

impl Story {
    async fn database(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.folder.path().join("greenlight.db"));
        SqliteConnection::connect_with(&options).await.unwrap()
    }

    /// The rows of a PostgreSQL database that contain this text. With SQLite, its file is searched instead.
    pub(crate) async fn rows_with(&self, text: &str) -> Vec<String> {
        match &self.settings.postgres {
            Some(url) => postgres::rows_with(url, text).await,
            None => Vec::new(),
        }
    }

    /// Changes the last step of a run.
    pub(crate) async fn changes_last_step(&self, run: &RunId, column: &str, to: &str) {
        let mut database = self.database().await;
        let update = format!(
            "UPDATE step SET {column} = ?1 WHERE run = ?2 AND place = (SELECT MAX(place) FROM step WHERE run = ?2)"
        );
        let query = sqlx::query(sqlx::AssertSqlSafe(update)).bind(to).bind(&run.0);
        assert_eq!(query.execute(&mut database).await.unwrap().rows_affected(), 1);
        database.close().await.unwrap();
    }

    /// Makes the first step of a run unreadable.
    pub(crate) async fn breaks_start(&self, run: &RunId) {
        let mut database = self.database().await;
        let query = sqlx::query("UPDATE step SET step = '{' WHERE run = ? AND place = 0").bind(&run.0);
        assert_eq!(query.execute(&mut database).await.unwrap().rows_affected(), 1);
        database.close().await.unwrap();
    }

    /// Everything that the database contains about a run.
    pub(crate) async fn rows_of(&self, run: &RunId) -> Vec<String> {
        let mut database = self.database().await;
        let select = "SELECT json_array(id, repository, number, started, is_over, unreadable) FROM run WHERE id = ?1 \
                      UNION ALL SELECT json_array(place, format, step) FROM step WHERE run = ?1";
        let rows = sqlx::query_scalar(select).bind(&run.0).fetch_all(&mut database).await;
        database.close().await.unwrap();
        rows.unwrap()
    }

    /// Writes the runs to the folder, if one is set.
    pub(super) async fn keep_journals(&self) {
        let Some(folder) = std::env::var_os(KEEP) else { return };
        let mut database = self.database().await;
        let select = "SELECT run, step FROM step JOIN run ON run.id = run ORDER BY started, run, place";
        let rows = sqlx::query(select).fetch_all(&mut database).await.unwrap();
        database.close().await.unwrap();
        let story = std::thread::current().name().unwrap_or("story").replace("::", "-");
        let mut files: Vec<(String, String)> = Vec::new();
        for row in rows {
            let (run, step): (String, String) = (row.get("run"), row.get("step"));
            if files.last().is_none_or(|(last, _)| *last != run) {
                files.push((run, format!("{{\"format\":{}}}\n", greenlight::journal::FORMAT)));
            }
            files.last_mut().unwrap().1 += &(step + "\n");
        }
        for (nth, (_, text)) in files.into_iter().enumerate() {
            let file = std::path::Path::new(&folder).join(format!("{story}-{nth}.jsonl"));
            std::fs::write(file, text).unwrap();
        }
    }
}

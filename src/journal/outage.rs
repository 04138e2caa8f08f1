//! Tells errors of a database that will be back from those that stay.

/// Whether the same statement may succeed later, because the database is down, busy or full.
/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>, <https://www.sqlite.org/rescode.html>
pub(super) fn is_outage(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| is_code_of_outage(&code)),
        _ => false,
    }
}

fn is_code_of_outage(code: &str) -> bool {
    const POSTGRES_LENGTH: usize = 5;
    if code.len() == POSTGRES_LENGTH {
        // Connections, rollbacks of transactions, resources, operators, and lock_not_available.
        return ["08", "40", "53", "57", "55P03"]
            .iter()
            .any(|class| code.starts_with(class));
    }
    const BUSY: u32 = 5;
    const LOCKED: u32 = 6;
    const IOERR: u32 = 10;
    const FULL: u32 = 13;
    const CANTOPEN: u32 = 14;
    // The low byte of an extended code is the general one.
    let primary = code.parse::<u32>().map(|code| code & 0xff);
    matches!(primary, Ok(BUSY | LOCKED | IOERR | FULL | CANTOPEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outages_are_told_from_lasting_errors() {
        for code in [
            "57P01", "57P03", "08006", "40001", "40P01", "53100", "55P03", "5", "13", "266", "778",
        ] {
            assert!(is_code_of_outage(code), "{code}");
        }
        for code in ["23505", "42P01", "22021", "1", "19", "1811", "11", ""] {
            assert!(!is_code_of_outage(code), "{code}");
        }
        assert!(is_outage(&sqlx::Error::PoolTimedOut));
        assert!(!is_outage(&sqlx::Error::RowNotFound));
    }
}

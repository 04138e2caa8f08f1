//! How long `greenlight serve` keeps its data, and how much of it.

use std::time::Duration;

use super::environment::Environment;
use super::flags::RetentionFlags;
use super::settings_error::SettingsError;
use super::values::parse_size;

const DAY: Duration = Duration::from_hours(24);
/// github.com can redeliver events for three days. A delivery that is forgotten earlier could be handled twice.
/// <https://docs.github.com/en/webhooks/testing-and-troubleshooting-webhooks/redelivering-webhooks>
const LEAST_DELIVERIES: Duration = DAY.saturating_mul(3);
/// `[limits.day]` counts what was used within a day.
const LEAST_RUNS: Duration = DAY;
const MOST: Duration = DAY.saturating_mul(3_650);
/// A mirror of one large repository.
const LEAST_MIRRORS: u64 = 4 << 30;
const MOST_MIRRORS: u64 = 64 << 40;

/// What is deleted, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// How long the id of a handled delivery is kept; its content is deleted at once.
    pub deliveries: Duration,
    /// How long a finished run and its bundle are kept, counted from its start.
    pub runs: Duration,
    /// The maximum size of all mirrors together, in bytes.
    pub mirrors: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            deliveries: DAY * 30,
            runs: DAY * 180,
            mirrors: 32 << 30,
        }
    }
}

impl Retention {
    pub(super) fn new(flags: RetentionFlags, environment: &Environment) -> Result<Self, SettingsError> {
        let text = |flag: Option<String>, name: &'static str| {
            let set = flag.or_else(|| environment.get(name).map(String::from));
            (name, set.filter(|text| !text.is_empty()))
        };
        let default = Self::default();
        let deliveries = text(flags.retention_deliveries, "GREENLIGHT_RETENTION_DELIVERIES");
        let runs = text(flags.retention_runs, "GREENLIGHT_RETENTION_RUNS");
        let mirrors = text(flags.retention_mirrors, "GREENLIGHT_RETENTION_MIRRORS");
        Ok(Self {
            deliveries: duration(deliveries, LEAST_DELIVERIES)?.unwrap_or(default.deliveries),
            runs: duration(runs, LEAST_RUNS)?.unwrap_or(default.runs),
            mirrors: size(mirrors)?.unwrap_or(default.mirrors),
        })
    }
}

fn duration(
    (setting, text): (&'static str, Option<String>),
    least: Duration,
) -> Result<Option<Duration>, SettingsError> {
    let Some(text) = text else { return Ok(None) };
    let days = |duration: Duration| duration.as_secs() / DAY.as_secs();
    let remedy = format!("set it to {} to {} days, such as `90d`", days(least), days(MOST));
    match humantime::parse_duration(&text) {
        Ok(duration) if (least..=MOST).contains(&duration) => Ok(Some(duration)),
        Ok(_) => Err(SettingsError::new(setting, "is too short or too long", remedy)),
        Err(_) => Err(SettingsError::new(setting, "is not a duration", remedy)),
    }
}

fn size((setting, text): (&'static str, Option<String>)) -> Result<Option<u64>, SettingsError> {
    let Some(text) = text else { return Ok(None) };
    let remedy = "set it to 4GiB to 64TiB, such as `32GiB`";
    match parse_size(&text) {
        Some(bytes) if (LEAST_MIRRORS..=MOST_MIRRORS).contains(&bytes) => Ok(Some(bytes)),
        Some(_) => Err(SettingsError::new(setting, "is too small or too large", remedy)),
        None => Err(SettingsError::new(setting, "is not a size", remedy)),
    }
}

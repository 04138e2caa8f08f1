//! Parses values of `greenlight.toml` and checks their bounds.
//!
//! The fields in [`super::repository`] name these functions, and each parses one value. An error is a fragment that
//! follows the name of the field.

use std::fmt::Display;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error};

use crate::domain::execution::REGISTRIES;
use crate::domain::worker_labels::WorkerLabels;

/// Gate comments show shell commands in full, and nobody would read a longer one.
pub(super) const MAX_COMMAND_BYTES: usize = 2_000;
/// GitHub's own limit for the name of a label.
/// <https://docs.github.com/en/issues/using-labels-and-milestones-to-track-work/managing-labels>
pub(super) const MAX_LABEL_CHARS: usize = 50;
pub(super) const MAX_HOSTS: usize = 50;

/// A whole number from `MIN` to `MAX`.
pub(super) fn whole<'de, D, T, const MIN: u64, const MAX: u64>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    let value = i64::deserialize(deserializer)?;
    let within = u64::try_from(value).ok().filter(|value| (MIN..=MAX).contains(value));
    within
        .and_then(|value| T::try_from(value).ok())
        .ok_or_else(|| outside(value, MIN, MAX))
}

pub(super) fn some_whole<'de, D, T, const MIN: u64, const MAX: u64>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<u64>,
{
    whole::<D, T, MIN, MAX>(deserializer).map(Some)
}

/// An amount of money up to `MAX`. With 0, no model that costs money is used.
pub(super) fn money<'de, D: Deserializer<'de>, const MAX: u32>(deserializer: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(deserializer)?;
    if (0.0..=f64::from(MAX)).contains(&value) {
        Ok(value)
    } else {
        Err(outside(value, 0, MAX))
    }
}

pub(super) fn some_money<'de, D: Deserializer<'de>, const MAX: u32>(deserializer: D) -> Result<Option<f64>, D::Error> {
    money::<D, MAX>(deserializer).map(Some)
}

/// A duration such as `90s`, `10m` or `1h 30m`, from `MIN` to `MAX` seconds.
pub(super) fn duration<'de, D, const MIN: u64, const MAX: u64>(deserializer: D) -> Result<Duration, D::Error>
where
    D: Deserializer<'de>,
{
    let text = String::deserialize(deserializer)?;
    let value = humantime::parse_duration(&text).map_err(|_| {
        D::Error::custom(format_args!(
            "{text:?} is not a duration such as \"90s\", \"10m\" or \"24h\""
        ))
    })?;
    let (least, most) = (Duration::from_secs(MIN), Duration::from_secs(MAX));
    if (least..=most).contains(&value) {
        Ok(value)
    } else {
        let written = humantime::format_duration;
        Err(outside(written(value), written(least), written(most)))
    }
}

pub(super) fn some_duration<'de, D, const MIN: u64, const MAX: u64>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error>
where
    D: Deserializer<'de>,
{
    duration::<D, MIN, MAX>(deserializer).map(Some)
}

/// A size such as `512MiB`, in bytes, from `MIN` to `MAX` MiB.
pub(super) fn size<'de, D, const MIN: u64, const MAX: u64>(deserializer: D) -> Result<u64, D::Error>
where
    D: Deserializer<'de>,
{
    let text = String::deserialize(deserializer)?;
    let bytes = parse_size(&text)
        .ok_or_else(|| D::Error::custom(format_args!("{text:?} is not a size such as \"512MiB\" or \"2GiB\"")))?;
    if ((MIN << 20)..=(MAX << 20)).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(outside(text, format_args!("{MIN}MiB"), format_args!("{MAX}MiB")))
    }
}

/// Only binary units, because `MB` is ambiguous.
pub(super) fn parse_size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim_start() {
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// One line of shell.
pub(super) fn command<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.trim().is_empty() {
        return Err(D::Error::custom(
            "is empty; leave it out to find the command automatically",
        ));
    }
    if text.len() > MAX_COMMAND_BYTES || text.contains(char::is_control) {
        let problem = format_args!("is not a single line of at most {MAX_COMMAND_BYTES} bytes; put more into a script");
        return Err(D::Error::custom(problem));
    }
    Ok(Some(text))
}

/// The name of a label; an empty name means no label.
pub(super) fn label<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.chars().count() > MAX_LABEL_CHARS || text.contains(char::is_control) {
        return Err(D::Error::custom(format_args!(
            "is not a name of at most {MAX_LABEL_CHARS} characters"
        )));
    }
    Ok((!text.is_empty()).then_some(text))
}

/// Labels of workers.
pub(super) fn worker_labels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<WorkerLabels, D::Error> {
    let labels: Vec<String> = Vec::deserialize(deserializer)?;
    WorkerLabels::new(labels.iter().map(String::as_str)).map_err(D::Error::custom)
}

/// Host names in lower case, and [`REGISTRIES`]. IP addresses are refused, because they would reach machines around
/// the sandbox.
pub(super) fn hosts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let names: Vec<String> = Vec::deserialize(deserializer)?;
    if names.len() > MAX_HOSTS {
        return Err(D::Error::custom(format_args!("more than {MAX_HOSTS} hosts")));
    }
    if let Some(name) = names.iter().find(|name| *name != REGISTRIES && !is_host_name(name)) {
        let problem = "is not a full host name such as \"pypi.org\", without scheme, port, path or asterisk";
        return Err(D::Error::custom(format_args!("{name:?} {problem}")));
    }
    Ok(names.iter().map(|name| name.to_ascii_lowercase()).collect())
}

fn is_host_name(name: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_address = last.bytes().all(|b| b.is_ascii_digit()) || last.starts_with("0x");
    name.len() <= 253 && name.contains('.') && name.split('.').all(label) && !is_address
}

fn outside<E: Error>(value: impl Display, least: impl Display, most: impl Display) -> E {
    E::custom(format_args!("{value} is not between {least} and {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("512MiB"), Some(512 << 20));
        assert_eq!(parse_size("2 GiB"), Some(2 << 30));
        for bad in [
            "",
            "2",
            "GiB",
            "2GB",
            "2gib",
            "-2GiB",
            "1.5GiB",
            "99999999999TiB",
            "2GiB ",
        ] {
            assert_eq!(parse_size(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn hosts_are_names_and_not_addresses() {
        for good in ["pypi.org", "files.PythonHosted.org", "index.crates.io", "a-b.example"] {
            assert!(is_host_name(good), "{good}");
        }
        for bad in [
            "localhost",
            "169.254.169.254",
            "[::1]",
            "0x7f.0x1",
            "*.pypi.org",
            "https://pypi.org",
            "pypi.org:443",
            "pypi.org/simple",
            "pypi.org.",
            "user@pypi.org",
            "-a.org",
            "a..org",
            "",
        ] {
            assert!(!is_host_name(bad), "{bad}");
        }
    }
}

//! Decides what a GitHub App lacks, and how a person sets it right.

use std::collections::BTreeMap;

use url::Url;

use crate::config::addresses::is_loopback;
use crate::domain::redact::bounded;
use crate::github::own_app::{AppInstallation, AppSetup, Attempt, EVENTS, PERMISSIONS, WebhookConfig};

/// How many installations are listed one by one; the others are counted.
const LISTED: usize = 10;
/// The maximum length of a text of GitHub's, in bytes.
const MAX_TEXT: usize = 200;
const UPDATES_A_WEBHOOK: &str =
    "https://docs.github.com/en/rest/apps/webhooks#update-a-webhook-configuration-for-an-app";

/// Something that keeps greenlight from working.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) what: String,
    pub(super) remedy: String,
    /// Where the remedy is applied.
    pub(super) page: Url,
}

#[derive(Debug)]
pub(super) struct Findings {
    /// In the order in which a person sets them right.
    pub(super) missing: Vec<Finding>,
    /// What is no mistake, but worth knowing.
    pub(super) notes: Vec<String>,
}

/// What matters about the machine on which the question is asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct ThisMachine {
    /// Whether GitHub itself is on it, as the demo's is.
    pub(super) runs_github: bool,
    /// Whether `serve` would find its webhook secret.
    pub(super) has_secret: bool,
}

impl Findings {
    /// Judges a setup.
    pub(super) fn of(setup: &AppSetup, here: ThisMachine) -> Self {
        let mut missing = permissions(setup);
        missing.extend(events(setup));
        missing.extend(webhook(setup, here.runs_github));
        if !here.has_secret {
            missing.push(Finding {
                what: "GREENLIGHT_WEBHOOK_SECRET is not set here, and `greenlight serve` does not start without it"
                    .into(),
                remedy: "set it to the secret of the webhook, or GREENLIGHT_WEBHOOK_SECRET_FILE to a file with it"
                    .into(),
                page: setup.pages.settings.clone(),
            });
        }
        missing.extend(newest_delivery(setup));
        missing.extend(installations(setup));
        Self {
            missing,
            notes: notes(setup),
        }
    }
}

fn rank(level: Option<&str>) -> u8 {
    match level {
        Some("read") => 1,
        Some("write") => 2,
        Some("admin") => 3,
        _ => 0,
    }
}

fn has(permissions: &BTreeMap<String, String>, (name, level): (&str, &str)) -> bool {
    rank(permissions.get(name).map(String::as_str)) >= rank(Some(level))
}

/// What GitHub's page calls a permission or an event.
fn label(name: &str) -> String {
    let words = match name {
        "statuses" => "commit statuses".to_string(),
        name => name.replace('_', " "),
    };
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn permissions(setup: &AppSetup) -> Vec<Finding> {
    let lacking = PERMISSIONS
        .into_iter()
        .filter(|needed| !has(&setup.app.permissions, *needed));
    let finding = |(name, level): (&str, &str)| {
        let access = match level {
            "write" => "Read and write",
            _ => "Read-only",
        };
        let instead = match rank(setup.app.permissions.get(name).map(String::as_str)) {
            0 => "",
            _ => ", and has only `read`",
        };
        Finding {
            what: format!("the App lacks the permission `{name}: {level}`{instead}"),
            remedy: format!(
                "under *Repository permissions*, set *{}* to *{access}* and save; then the owner of each installation \
                 accepts it",
                label(name)
            ),
            page: setup.pages.part("permissions"),
        }
    };
    lacking.map(finding).collect()
}

fn events(setup: &AppSetup) -> Vec<Finding> {
    let lacking = EVENTS
        .into_iter()
        .filter(|event| !setup.app.events.iter().any(|name| name == event));
    let finding = |event: &str| Finding {
        what: format!("the App does not subscribe to the event `{event}`"),
        remedy: format!(
            "under *Subscribe to events*, select *{}* and save; it is shown once the App has the permission for it",
            label(event)
        ),
        page: setup.pages.part("permissions"),
    };
    lacking.map(finding).collect()
}

fn webhook(setup: &AppSetup, github_is_here: bool) -> Vec<Finding> {
    let page = setup.pages.settings.clone();
    let url = setup.webhook.as_ref().and_then(|webhook| webhook.url.as_deref());
    let url = url.and_then(|url| url.parse::<Url>().ok());
    let (Some(webhook), Some(url)) = (&setup.webhook, url) else {
        return vec![Finding {
            what: "the App has no webhook URL".into(),
            remedy:
                "under *Webhook*, select *Active* and enter the URL at which GitHub reaches `/webhook` of `greenlight \
                     serve`, such as https://greenlight.example.org/webhook"
                    .into(),
            page,
        }];
    };
    let mut found = webhook_url(&url, github_is_here, &page);
    found.extend(webhook_options(webhook, &page));
    found
}

fn webhook_url(url: &Url, github_is_here: bool, page: &Url) -> Vec<Finding> {
    let mut found = Vec::new();
    if is_loopback(url) && !github_is_here {
        found.push(Finding {
            what: "the webhook URL is one of this machine, which GitHub cannot reach".into(),
            remedy: "enter the URL of a TLS proxy that forwards `/webhook` to `greenlight serve`".into(),
            page: page.clone(),
        });
    } else if url.scheme() != "https" && !is_loopback(url) {
        found.push(Finding {
            what: "the webhook URL is not https, so others on the way can read the deliveries".into(),
            remedy: "put a TLS proxy in front of `greenlight serve`, and enter its https:// URL".into(),
            page: page.clone(),
        });
    }
    found
}

fn webhook_options(webhook: &WebhookConfig, page: &Url) -> Vec<Finding> {
    let mut found = Vec::new();
    // GitHub's default is a form.
    if webhook.content_type.as_deref() != Some("json") {
        found.push(Finding {
            what: "the webhook delivers forms, but greenlight reads JSON".into(),
            remedy:
                "set its content type to `json`; if the settings page does not offer it, with `PATCH /app/hook/config`"
                    .into(),
            page: UPDATES_A_WEBHOOK.parse().unwrap_or_else(|_| page.clone()),
        });
    }
    if !webhook.has_secret() {
        found.push(Finding {
            what: "the webhook has no secret, so its deliveries are not signed".into(),
            remedy: "enter a long random one, and set GREENLIGHT_WEBHOOK_SECRET to the same".into(),
            page: page.clone(),
        });
    }
    if !webhook.verifies_certificate() {
        found.push(Finding {
            what: "GitHub does not verify the certificate of the webhook URL".into(),
            remedy: "select *Enable SSL verification*".into(),
            page: page.clone(),
        });
    }
    found
}

/// If the newest delivery failed, so will the next one.
fn newest_delivery(setup: &AppSetup) -> Option<Finding> {
    let newest = setup.attempts.first().filter(|attempt| !attempt.is_ok())?;
    if is_early_ping(&setup.attempts) {
        return None;
    }
    let remedy = match newest.status_code {
        401 => {
            "the webhook's secret differs from GREENLIGHT_WEBHOOK_SECRET of `greenlight serve`: set both to the same"
        }
        404 | 405 => "let the webhook URL lead to `/webhook` of `greenlight serve`",
        413 => "let the proxy in front of `greenlight serve` accept bodies of 25 MB",
        500..=599 => "start `greenlight serve`, and check that the proxy in front of it forwards to it",
        0 => "check that the name, the port, the certificate and the firewall let GitHub reach the webhook URL",
        _ => "look at the answer on this page",
    };
    Some(Finding {
        what: format!(
            "the newest delivery, `{}` at {:.0}, failed: {}",
            newest.event,
            newest.delivered_at,
            bounded(&newest.status, MAX_TEXT)
        ),
        remedy: remedy.into(),
        page: setup.pages.part("advanced"),
    })
}

/// Whether GitHub has sent nothing but the `ping` of a new App, and it came before the setup page knew the App's secret.
fn is_early_ping(attempts: &[Attempt]) -> bool {
    attempts.len() == 1 && attempts[0].event == "ping" && attempts[0].status_code == 503
}

fn installations(setup: &AppSetup) -> Vec<Finding> {
    if setup.installations.is_empty() {
        return vec![Finding {
            what: "the App is not installed anywhere".into(),
            remedy: "install it on your repositories".into(),
            page: setup.pages.install.clone(),
        }];
    }
    let mut found: Vec<Finding> = setup
        .installations
        .iter()
        .filter_map(|installation| lacking(installation, setup))
        .collect();
    let others = found.len().saturating_sub(LISTED);
    found.truncate(LISTED);
    if others > 0 {
        found.push(Finding {
            what: format!("{others} more installations are suspended or lack permissions"),
            remedy: "look at each of them".into(),
            page: setup.pages.part("installations"),
        });
    }
    found
}

/// What one installation lacks of what the App has.
fn lacking(installation: &AppInstallation, setup: &AppSetup) -> Option<Finding> {
    let name = installation.name();
    let page = setup.pages.installation(installation);
    if installation.is_suspended() {
        return Some(Finding {
            what: format!("the installation of {name} is suspended"),
            remedy: format!("an owner of {name} unsuspends it"),
            page,
        });
    }
    let app = &setup.app;
    let permissions = PERMISSIONS
        .into_iter()
        .filter(|needed| has(&app.permissions, *needed) && !has(&installation.permissions, *needed))
        .map(|(name, level)| format!("`{name}: {level}`"));
    let subscribes = |events: &[String], event: &str| events.iter().any(|name| name == event);
    let events = EVENTS
        .into_iter()
        .filter(|event| subscribes(&app.events, event) && !subscribes(&installation.events, event))
        .map(|event| format!("the event `{event}`"));
    let all: Vec<String> = permissions.chain(events).collect();
    (!all.is_empty()).then(|| Finding {
        what: format!("the installation of {name} has not accepted {}", all.join(", ")),
        remedy: format!("an owner of {name} accepts the new permissions"),
        page,
    })
}

fn notes(setup: &AppSetup) -> Vec<String> {
    let mut notes = Vec::new();
    let is_name = |name: &str| name.len() <= 60 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let needless = setup.app.permissions.iter().filter(|(name, level)| {
        let needed = PERMISSIONS.iter().find(|(needed, _)| needed == name);
        rank(Some(level)) > needed.map_or(0, |(_, level)| rank(Some(level)))
    });
    let needless: Vec<String> = needless
        .filter(|(name, level)| is_name(name) && is_name(level))
        .map(|(name, level)| format!("`{name}: {level}`"))
        .collect();
    if !needless.is_empty() {
        notes.push(format!("greenlight does not need {}", needless.join(", ")));
    }
    let failed = setup.attempts.iter().filter(|attempt| !attempt.is_ok()).count();
    match setup.attempts.first() {
        None => notes.push("GitHub has not delivered anything yet; it does so when something happens in a repository".into()),
        Some(newest) if newest.is_ok() && failed > 0 => notes.push(format!(
            "{failed} of the last {} deliveries failed; the newest arrived, and `greenlight serve` fetches what it missed: {}",
            setup.attempts.len(),
            setup.pages.part("advanced")
        )),
        Some(_) if is_early_ping(&setup.attempts) => notes.push(format!(
            "GitHub's first `ping` was answered with 503, as the setup page does until it has the App's secret; to see \
             whether the webhook works now, redeliver it: {}",
            setup.pages.part("advanced")
        )),
        Some(_) => {}
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_url_is_one_that_github_reaches_safely() {
        let page: Url = "https://github.com/settings/apps/green".parse().unwrap();
        for (url, github_is_here, what) in [
            ("https://greenlight.example.org/webhook", false, None),
            ("http://127.0.0.1:8080/webhook", true, None),
            ("https://localhost/webhook", false, Some("cannot reach")),
            ("http://[::1]:8080/webhook", false, Some("cannot reach")),
            ("http://greenlight.example.org/webhook", false, Some("not https")),
            ("http://greenlight.example.org/webhook", true, Some("not https")),
            ("ftp://greenlight.example.org/webhook", false, Some("not https")),
        ] {
            let found = webhook_url(&url.parse().unwrap(), github_is_here, &page);
            let found: Vec<&str> = found.iter().map(|finding| finding.what.as_str()).collect();
            assert_eq!(found.len(), usize::from(what.is_some()), "{url}: {found:?}");
            assert!(what.is_none_or(|what| found[0].contains(what)), "{url}: {found:?}");
        }
    }

    #[test]
    fn a_higher_level_includes_the_lower_ones() {
        let permissions = [("checks", "write"), ("statuses", "admin"), ("issues", "strange")];
        let permissions: BTreeMap<String, String> = permissions.map(|(name, level)| (name.into(), level.into())).into();
        for (needed, granted) in [
            (("checks", "write"), true),
            (("checks", "read"), true),
            (("statuses", "write"), true),
            (("issues", "read"), false),
            (("contents", "read"), false),
        ] {
            assert_eq!(has(&permissions, needed), granted, "{needed:?}");
        }
    }
}

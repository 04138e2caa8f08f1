//! `greenlight doctor --app`: shows how the GitHub App is set up, and what it lacks. It only reads.

use serde_json::{Value, json};
use url::Url;

use super::missing::{Finding, Findings, ThisMachine};
use crate::cli::{Exit, app, terminal};
use crate::config::addresses::is_loopback;
use crate::config::environment::Environment;
use crate::config::flags::Flags;
use crate::config::settings::{Credentials, Settings};
use crate::domain::count::count;
use crate::github;
use crate::github::own_app::{AppInstallation, AppSetup, Attempt, Owner};

/// How many installations are listed.
const LISTED: usize = 10;

pub(super) async fn examine(flags: Flags, is_json: bool) -> Result<Exit, Exit> {
    let settings = Settings::new(flags, &Environment::of_this_process())?.with_stored_app()?;
    terminal::start_logging(&settings, Some("error"));
    let no_app = || {
        Exit::Usage(
            "--app needs the settings of a GitHub App: set GREENLIGHT_APP_ID and GREENLIGHT_PRIVATE_KEY_FILE, or let \
             `greenlight serve` create one"
                .into(),
        )
    };
    if let Credentials::Token(_) = settings.credentials()? {
        return Err(no_app());
    }
    let github = app::github(&settings).await?;
    let setup = github.app_setup().await.map_err(refused)?.ok_or_else(no_app)?;
    let here = ThisMachine {
        runs_github: is_loopback(&settings.github_api_url),
        has_secret: settings.webhook_secret().is_ok(),
    };
    let findings = Findings::of(&setup, here);
    if is_json {
        terminal::show_document(&document(&setup, &findings));
    } else {
        terminal::show(&summary(&setup));
        terminal::show(&lines(&findings));
    }
    Ok(match findings.missing.len() {
        0 => Exit::Done,
        number => Exit::NoFix(format!("{}; see above", count(number as u64, "problem"))),
    })
}

fn refused(error: github::Error) -> Exit {
    match error.not_before() {
        Some(_) => Exit::Limit(error.to_string()),
        None => Exit::Usage(error.to_string()),
    }
}

/// The URL without what may be secret in it.
fn shown(url: &str) -> String {
    let Ok(mut url) = url.parse::<Url>() else {
        return "not a URL".into();
    };
    url.set_query(None);
    url.set_fragment(None);
    // Fails only for URLs that cannot have them.
    let _none = (url.set_username(""), url.set_password(None));
    url.to_string()
}

fn document(setup: &AppSetup, findings: &Findings) -> Value {
    let webhook = setup.webhook.as_ref().map(|webhook| {
        json!({
            "url": webhook.url.as_deref().map(shown),
            "content_type": webhook.content_type,
            "has_secret": webhook.has_secret(),
            "verifies_certificate": webhook.verifies_certificate(),
        })
    });
    let newest = setup.attempts.first().map(|attempt| {
        json!({
            "at": attempt.delivered_at.to_string(),
            "event": attempt.event,
            "status": attempt.status,
            "status_code": attempt.status_code,
        })
    });
    let installations = setup
        .installations
        .iter()
        .map(|one| json!({ "account": one.name(), "suspended": one.is_suspended() }));
    let missing = findings
        .missing
        .iter()
        .map(|Finding { what, remedy, page }| json!({ "what": what, "remedy": remedy, "page": page.as_str() }));
    json!({
        "app": { "id": setup.app.id, "slug": setup.app.slug, "owner": setup.app.owner.as_ref().map(Owner::name) },
        "settings": setup.pages.settings.as_str(),
        "webhook": webhook,
        "deliveries": { "looked_at": setup.attempts.len(), "failed": failed(&setup.attempts), "newest": newest },
        "installations": installations.collect::<Vec<_>>(),
        "missing": missing.collect::<Vec<_>>(),
        "notes": findings.notes,
    })
}

fn failed(attempts: &[Attempt]) -> usize {
    attempts.iter().filter(|attempt| !attempt.is_ok()).count()
}

fn summary(setup: &AppSetup) -> String {
    let app = &setup.app;
    let owner = app.owner.as_ref().map_or("an unknown account", Owner::name);
    let webhook = setup.webhook.as_ref().and_then(|webhook| webhook.url.as_deref());
    let webhook = webhook.map_or("none".into(), shown);
    let deliveries = match setup.attempts.first() {
        None => "none yet".into(),
        Some(newest) => format!(
            "{} of the last {} arrived; the newest was `{}` at {:.0}",
            setup.attempts.len() - failed(&setup.attempts),
            setup.attempts.len(),
            newest.event,
            newest.delivered_at,
        ),
    };
    let names: Vec<&str> = setup
        .installations
        .iter()
        .map(AppInstallation::name)
        .take(LISTED)
        .collect();
    let others = match setup.installations.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let installations = match names.as_slice() {
        [] => "nowhere".into(),
        names => names.join(", ") + &others,
    };
    format!(
        "GitHub App:   {} (App ID {}) of {owner}\nsettings:     {}\nwebhook:      {webhook}\ndeliveries:   \
         {deliveries}\ninstalled on: {installations}",
        app.slug, app.id, setup.pages.settings
    )
}

fn lines(findings: &Findings) -> String {
    let missing = findings
        .missing
        .iter()
        .map(|Finding { what, remedy, page }| format!("\n{what}\n  remedy: {remedy}\n  page: {page}"));
    let notes = findings.notes.iter().map(|note| format!("\nnote: {note}"));
    let all = match findings.missing.is_empty() {
        true => Some("\nNothing is missing.".to_string()),
        false => None,
    };
    missing.chain(notes).chain(all).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_is_shown_without_what_may_be_secret() {
        assert_eq!(
            shown("https://me:sesame@hook.example/webhook?token=sesame#sesame"),
            "https://hook.example/webhook"
        );
        assert_eq!(shown("sesame"), "not a URL");
    }
}

//! Says what became of an answer, as the journal has it now: reloading the page says it again, or something newer.

use serde::Deserialize;

use super::secrets::Seal;
use super::viewer::Person;
use crate::domain::id::DeliveryId;
use crate::domain::run::{Asked, End, Run};

/// What a seal of an answer is for.
const PURPOSE: &str = "what became of a form";

/// Shows that greenlight itself sent this person to an address that says what became of their form: others cannot make
/// a link that says it.
pub(super) fn seal(person: &Person, said: &str) -> String {
    own_seal(person).of(PURPOSE, said).unwrap_or_default()
}

/// Whether the seal of an address is the one for this person.
pub(super) fn is_sealed(person: &Person, said: &str, given: Option<&str>) -> bool {
    given.is_some_and(|given| own_seal(person).is_of(PURPOSE, said, given))
}

/// The key is the session's token, which both sides have and no address shows.
fn own_seal(person: &Person) -> Seal {
    Seal::new(person.csrf.clone().into())
}

/// The query of a run's page after an answer.
#[derive(Default, Deserialize)]
pub(super) struct AfterAnswer {
    said: Option<String>,
    seal: Option<String>,
    gate: Option<String>,
    delivery: Option<String>,
}

impl AfterAnswer {
    /// The delivery that carries the answer out.
    pub(super) fn delivery(&self) -> Option<DeliveryId> {
        let nth = self.delivery.as_ref()?;
        let is_plain = nth.len() <= 26 && nth.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_plain.then(|| DeliveryId(format!("page {nth}")))
    }

    /// The sentence for this person. `is_done`: whether the answer was carried out; `None` if there is none to carry out.
    pub(super) fn notice(&self, run: &Run, person: &Person, is_done: Option<bool>) -> Option<String> {
        let asked = run
            .gates
            .iter()
            .find(|asked| self.gate.as_ref() == Some(&asked.gate.id.to_string()));
        let said = self.said.as_deref()?;
        if !is_sealed(person, said, self.seal.as_deref()) {
            return None;
        }
        let fixed = match said {
            "approve" | "reject" => return Some(became(asked?, run, (person, is_done))),
            "cancel" => return Some(cancelled(run, is_done)),
            "moved" => {
                "The pull request has a newer head by now, or is closed. Your answer was for the older one and was not used."
            }
            "twice" => "You have approved this before. Another person is needed.",
            "forbidden" => "Your answer was not used: it needs write access to the repository.",
            "changed" => "Your answer was not used: the request is not the one that was shown. Read it again.",
            "long" => "Your answer was not used: the reason is too long.",
            "busy" => "greenlight is at capacity. Your answer was not used; try again later.",
            _ => return None,
        };
        Some(fixed.into())
    }
}

/// What became of an approval or a rejection.
fn became(asked: &Asked, run: &Run, (person, is_done): (&Person, Option<bool>)) -> String {
    if asked.has_approved(&person.account) {
        return match asked.is_approved() {
            true => "Your approval counts.".into(),
            false => "Your approval was recorded. Another person has to approve, too.".into(),
        };
    }
    if let Some((by, _)) = &asked.rejected {
        return match by.is(&person.account) {
            true => "Your rejection was recorded.".into(),
            false => format!("{by} was faster and rejected this. Your answer was not used."),
        };
    }
    if asked.is_approved() {
        let by: Vec<String> = asked.approved_by().map(ToString::to_string).collect();
        return format!(
            "{} was faster and approved this. Your answer was not used.",
            by.join(" and ")
        );
    }
    if asked.expired {
        return "This request has expired. Your answer was not used.".into();
    }
    match &run.end {
        Some(End::Superseded { .. }) => {
            "The pull request has a newer head by now. Your answer was for the older one and was not used.".into()
        }
        Some(_) => "The run ended before your answer. It was not used.".into(),
        None if is_done == Some(false) => "Your answer was received and is being carried out.".into(),
        None => "Your answer was not used: by the time it was carried out, the head, your access or the request was \
                 not the same any more."
            .into(),
    }
}

fn cancelled(run: &Run, is_done: Option<bool>) -> String {
    match (&run.end, is_done) {
        (Some(End::Cancelled { .. }), _) => "This run was cancelled.".into(),
        (Some(_), _) => "The run ended before it could be cancelled.".into(),
        (None, Some(false)) => "greenlight is stopping this run.".into(),
        (None, _) => "The run was not cancelled: by then, the head or your access was not the same any more.".into(),
    }
}

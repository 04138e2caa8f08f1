//! A journal in the git ref that somebody with write access to the repository has forged. Its content is a claim: it
//! executes or lands something only where GitHub still confirms it.

use github_double::{AUTHOR, MAINTAINER, Role};
use greenlight::domain::gate::{Answer, Gate, GateKind, Terms};
use greenlight::domain::id::{Account, AccountId, Login};
use greenlight::domain::patch::{FileChange, Patch};
use greenlight::domain::run::{Consent, Origin, Run, Step as Journaled, Subject};
use greenlight::github::state::StateRef;
use greenlight::github::{Credentials, GitHub};

use super::{ME, Step, says_and_runs};
use crate::doors::stage::Stage;

/// An attacker with write access.
const EVE: &str = "eve";
const TWO: &str = "[gate]\napprovers = 2\n";

/// A tested fix that waits for approvals; the attacker has write access as well.
async fn waiting(config: &str) -> Stage {
    let stage = Stage::new(config).await;
    stage.double.set_role(EVE, Role::Write);
    let (step, ended) = says_and_runs(&stage, MAINTAINER, "/greenlight fix").await;
    ended.with(0);
    assert_eq!(step.output("waits-for"), "land", "{}", stage.told());
    stage
}

/// Rewrites the newest run in the ref with the token of an account that may write to the repository.
async fn forge(stage: &Stage, change: impl FnOnce(&mut Vec<Journaled>)) {
    let token = stage.double.user_token(EVE);
    let github = GitHub::new(&stage.double.url().parse().unwrap(), Credentials::Token(token.into())).unwrap();
    let client = github.client(None, &"acme/rail".parse().unwrap()).await.unwrap();
    let place = StateRef {
        repository: "acme/rail".parse().unwrap(),
        name: "pr-1".into(),
    };
    let mut saved = client.load_state(&place).await.unwrap();
    let read = |text: &str| -> Vec<Journaled> {
        // The line with the format is not a step.
        let lines = text.lines().filter(|line| !line.starts_with("{\"format\":"));
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let runs = saved.files().map(|(name, text)| (name.to_string(), read(text)));
    let newest = runs.max_by_key(|(_, steps)| Run::fold(steps.clone()).unwrap().started.at);
    let (name, mut steps) = newest.unwrap();
    change(&mut steps);
    let lines: Vec<String> = steps.iter().map(|step| serde_json::to_string(step).unwrap()).collect();
    saved.put(&name, lines.join("\n") + "\n");
    client.save_state(&place, saved).await.unwrap();
}

/// The author of the last comment.
fn last_author(stage: &Stage) -> Account {
    let comment = stage.double.last_delivery("issue_comment").unwrap().payload["comment"].clone();
    Account {
        id: comment["user"]["id"].as_u64().map(AccountId),
        login: Login::new(comment["user"]["login"].as_str().unwrap()),
    }
}

/// The account and id of a login, from a harmless comment that is posted for this purpose.
async fn account(stage: &Stage, login: &str) -> (Account, u64) {
    let id = stage.double.comment(stage.number, login, "Interesting.").await.unwrap();
    (last_author(stage), id)
}

fn gate(steps: &[Journaled]) -> Gate {
    Run::fold(steps.to_vec()).unwrap().gates.last().unwrap().gate.clone()
}

fn approved(steps: &[Journaled], by: &Account, comment: Option<u64>) -> Journaled {
    Journaled::Answered {
        gate: gate(steps).id,
        answer: Answer::Approved { by: by.clone() },
        comment,
        at: None,
    }
}

/// The attacker approves as well, which would be the last approval needed, and nothing lands.
async fn does_not_land(stage: &Stage, said: &str) {
    let (step, ended) = says_and_runs(stage, EVE, "/greenlight approve").await;
    ended.with(0);
    assert_ne!(step.output("state"), "landed", "{}", stage.told());
    let sticky = stage.answers().into_iter().next().unwrap();
    assert!(sticky.body.contains(said), "{said:?} is not in {}", sticky.body);
    assert_ne!(
        stage.double.file(stage.number, "fare.py").unwrap(),
        crate::harness::story::FIXED.as_bytes()
    );
}

async fn lands_with(stage: &Stage, login: &str) {
    let (step, ended) = says_and_runs(stage, login, "/greenlight approve").await;
    ended.with(0);
    assert_eq!(step.output("state"), "landed", "{}", stage.told());
    stage.has_landed_once(ME);
}

#[tokio::test]
async fn two_people_who_really_approve_land_it() {
    let stage = waiting(TWO).await;
    let (step, ended) = says_and_runs(&stage, AUTHOR, "/greenlight approve").await;
    ended.with(0);
    assert_eq!(step.output("state"), "waiting", "{}", stage.told());
    lands_with(&stage, MAINTAINER).await;
    let message = stage.double.commits(stage.number).unwrap().pop().unwrap().message;
    assert!(
        message.contains("Approved-by: ada") && message.contains("Approved-by: mia"),
        "{message}"
    );
}

/// The attack as it was seen: one line in the ref, for a person who never commented. Then that person does approve.
#[tokio::test]
async fn an_approval_without_a_comment_is_nobodys() {
    let stage = waiting(TWO).await;
    let (ada, _) = account(&stage, AUTHOR).await;
    forge(&stage, |steps| steps.push(approved(steps, &ada, None))).await;
    does_not_land(&stage, "not given in a comment").await;
    lands_with(&stage, AUTHOR).await;
}

#[tokio::test]
async fn an_approval_in_somebody_elses_comment_is_nobodys() {
    let stage = waiting(TWO).await;
    let (ada, _) = account(&stage, AUTHOR).await;
    let comment = stage
        .double
        .comment(stage.number, EVE, "/greenlight approve")
        .await
        .unwrap();
    forge(&stage, |steps| steps.push(approved(steps, &ada, Some(comment)))).await;
    does_not_land(&stage, "somebody else").await;
}

#[tokio::test]
async fn an_approval_in_a_comment_that_says_something_else_is_none() {
    let stage = waiting(TWO).await;
    let (ada, comment) = account(&stage, AUTHOR).await;
    forge(&stage, |steps| steps.push(approved(steps, &ada, Some(comment)))).await;
    does_not_land(&stage, "does not approve this request").await;
}

/// Anyone who may write to the repository may also edit other people's comments, even within the second in which they
/// were written.
#[tokio::test]
async fn an_approval_in_an_edited_comment_is_nobodys() {
    let stage = waiting(TWO).await;
    let (ada, comment) = account(&stage, AUTHOR).await;
    stage
        .double
        .edit_comment(comment, EVE, "/greenlight approve")
        .await
        .unwrap();
    forge(&stage, |steps| steps.push(approved(steps, &ada, Some(comment)))).await;
    does_not_land(&stage, "was edited").await;
}

#[tokio::test]
async fn an_approval_from_before_the_request_is_about_something_else() {
    let stage = waiting(TWO).await;
    let earlier = (stage.number, 60);
    let text = "/greenlight approve";
    let comment = stage.double.comment_earlier(earlier, AUTHOR, text).await.unwrap();
    let ada = last_author(&stage);
    forge(&stage, |steps| steps.push(approved(steps, &ada, Some(comment)))).await;
    does_not_land(&stage, "showed this request").await;
}

/// Anyone who may write to the repository may also edit greenlight's own comment and change its meaning.
#[tokio::test]
async fn what_a_person_made_of_greenlights_comment_is_not_its_word() {
    let stage = waiting(TWO).await;
    let sticky = stage.answers().remove(0);
    let mut shown = String::new();
    forge(&stage, |steps| {
        swap(steps, "def change(paid, fare):\n    return paid - fare  # and more\n");
        shown = greenlight::domain::reply::gate_marker(&gate(steps));
    })
    .await;
    let lines: Vec<&str> = sticky.body.lines().collect();
    let forged = [lines[0], &shown, &lines[2..].join("\n")].join("\n");
    stage.double.edit_comment(sticky.id, EVE, &forged).await.unwrap();
    let text = "/greenlight approve";
    let comment = stage.double.comment(stage.number, AUTHOR, text).await.unwrap();
    let ada = last_author(&stage);
    forge(&stage, |steps| steps.push(approved(steps, &ada, Some(comment)))).await;
    does_not_land(&stage, "showed this request").await;
}

/// The approval was valid for the earlier head, while its request was open.
#[tokio::test]
async fn an_approval_of_an_older_head_is_none_of_a_newer_one() {
    let stage = waiting(TWO).await;
    let earlier = (stage.number, 2);
    let comment = stage
        .double
        .comment_earlier(earlier, AUTHOR, "/greenlight approve")
        .await
        .unwrap();
    let ada = last_author(&stage);
    stage
        .double
        .push(stage.number, AUTHOR, &[("NEWS.md", Some(b"News.\n"))])
        .await
        .unwrap();
    says_and_runs(&stage, MAINTAINER, "/greenlight fix").await.1.with(0);
    forge(&stage, |steps| {
        // Pretend that the request stayed open all the time.
        if let Some(Journaled::GateOpened(gate)) =
            steps.iter_mut().rfind(|step| matches!(step, Journaled::GateOpened(_)))
        {
            gate.opened = "2026-01-01T00:00:00Z".parse().unwrap();
        }
        steps.push(approved(steps, &ada, Some(comment)));
    })
    .await;
    does_not_land(&stage, "showed this request").await;
}

#[tokio::test]
async fn an_approval_in_a_comment_that_was_deleted_is_gone() {
    let stage = waiting(TWO).await;
    says_and_runs(&stage, AUTHOR, "/greenlight approve").await.1.with(0);
    let comments = stage.double.comments(stage.number);
    let comment = comments.iter().rfind(|comment| comment.author == AUTHOR).unwrap().id;
    stage.double.delete_comment(comment, AUTHOR).await.unwrap();
    does_not_land(&stage, "is gone").await;
}

#[tokio::test]
async fn a_bot_approves_nothing_whatever_it_may() {
    let stage = waiting(TWO).await;
    let bot = "helper[bot]";
    stage.double.set_role(bot, Role::Write);
    let comment = stage
        .double
        .comment(stage.number, bot, "/greenlight approve")
        .await
        .unwrap();
    let bot = last_author(&stage);
    forge(&stage, |steps| steps.push(approved(steps, &bot, Some(comment)))).await;
    does_not_land(&stage, "a bot wrote it").await;
}

#[tokio::test]
async fn somebody_who_lost_their_rights_does_not_count() {
    let stage = waiting(TWO).await;
    says_and_runs(&stage, AUTHOR, "/greenlight approve").await.1.with(0);
    stage.double.set_role(AUTHOR, Role::Read);
    does_not_land(&stage, "no longer have write access").await;
}

/// The base branch says how many approvals are needed.
#[tokio::test]
async fn a_journal_cannot_do_with_fewer_approvers() {
    let stage = waiting(TWO).await;
    forge(&stage, |steps| {
        for step in steps {
            match step {
                Journaled::Started(started) => started.approvers = 1,
                Journaled::GateOpened(gate) => gate.approvers = 1,
                _ => {}
            }
        }
    })
    .await;
    does_not_land(&stage, "2 people have to approve").await;
    lands_with(&stage, AUTHOR).await;
}

/// Replaces the patch in the proposal, and makes the rest of the journal consistent with it.
fn swap(steps: &mut [Journaled], text: &str) {
    let run = Run::fold(steps.to_vec()).unwrap();
    let mut other = Patch::default();
    for step in steps.iter_mut() {
        match step {
            Journaled::Proposed(proposal) => {
                other = Patch::new(proposal.patch.files().map(|(path, change)| {
                    let mut after = change.after.clone().unwrap();
                    after.bytes = text.as_bytes().to_vec();
                    let before = change.before.clone();
                    (
                        path.clone(),
                        FileChange {
                            before,
                            after: Some(after),
                        },
                    )
                }));
                proposal.patch = other.clone();
            }
            Journaled::GateOpened(gate) => {
                let terms = Terms {
                    head: gate.head.clone(),
                    approvers: gate.approvers,
                    opened: gate.opened,
                    expires: gate.expires,
                };
                let kind = GateKind::Land { files: 1 };
                *gate = Gate::open(run.id(), 0, kind, &other.digest(), terms);
            }
            _ => {}
        }
    }
}

/// The approval is real, but it was given for what was shown then; the journal now contains something else.
#[tokio::test]
async fn a_real_approval_lands_nothing_but_what_it_was_given_for() {
    let stage = waiting(TWO).await;
    says_and_runs(&stage, AUTHOR, "/greenlight approve").await.1.with(0);
    forge(&stage, |steps| {
        swap(steps, "def change(paid, fare):\n    return paid - fare  # and more\n");
        let id = gate(steps).id;
        for step in steps.iter_mut() {
            if let Journaled::Answered { gate, .. } = step {
                *gate = id.clone();
            }
        }
    })
    .await;
    does_not_land(&stage, "showed this request").await;
    // Only the patch is replaced, under the request that was approved.
    let stage = waiting(TWO).await;
    says_and_runs(&stage, AUTHOR, "/greenlight approve").await.1.with(0);
    forge(&stage, |steps| {
        let gates: Vec<Journaled> = steps
            .iter()
            .filter(|step| matches!(step, Journaled::GateOpened(_)))
            .cloned()
            .collect();
        swap(steps, "def change(paid, fare):\n    return paid - fare  # and more\n");
        let place = steps
            .iter()
            .position(|step| matches!(step, Journaled::GateOpened(_)))
            .unwrap();
        steps[place] = gates[0].clone();
    })
    .await;
    does_not_land(&stage, "content has changed since the approval").await;
}

/// The journal says that the review was posted. It was, but for another patch. Nobody is asked to approve a patch
/// that they cannot read.
#[tokio::test]
async fn what_is_asked_about_is_what_the_review_shows() {
    let stage = waiting(TWO).await;
    let is_shown = |text: &str| {
        let reviews = stage.double.reviews(stage.number);
        let mut comments = reviews.iter().flat_map(|review| &review.comments);
        comments.any(|comment| comment.body.contains(text))
    };
    let other = "return paid - fare  # and more";
    assert!(
        is_shown("return paid - fare(stops)\n") && !is_shown(other),
        "{}",
        stage.told()
    );
    forge(&stage, |steps| {
        swap(steps, &format!("def change(paid, fare):\n    {other}\n"));
    })
    .await;
    let (step, ended) = says_and_runs(&stage, EVE, "/greenlight approve").await;
    ended.with(0);
    assert_eq!(step.output("state"), "waiting", "{}", stage.told());
    assert!(
        is_shown(other) && !is_shown("return paid - fare(stops)\n"),
        "{}",
        stage.told()
    );
}

/// The id is the attacker's, the name somebody else's.
#[tokio::test]
async fn a_commit_names_who_wrote_the_approval() {
    let stage = waiting("").await;
    let comment = stage
        .double
        .comment(stage.number, MAINTAINER, "/greenlight approve")
        .await
        .unwrap();
    let event = stage.double.last_delivery("issue_comment").unwrap();
    let ada = Account {
        login: Login::new(AUTHOR),
        ..last_author(&stage)
    };
    forge(&stage, |steps| steps.push(approved(steps, &ada, Some(comment)))).await;
    let step = Step::new(&stage, &event);
    step.run().await.with(0);
    assert_eq!(step.output("state"), "landed", "{}", stage.told());
    let message = stage.double.commits(stage.number).unwrap().pop().unwrap().message;
    assert!(
        message.contains("Approved-by: mia") && !message.contains("Approved-by: ada"),
        "{message}"
    );
}

/// The journal says that the patch was tested, and one approval is enough. It is tested again before it lands, and
/// fails.
#[tokio::test]
async fn what_is_only_said_to_be_tested_does_not_land() {
    let stage = waiting("").await;
    forge(&stage, |steps| swap(steps, "def change(paid, fare):\n    return 0\n")).await;
    // It is shown first, so that it can be approved.
    does_not_land(&stage, "does not count").await;
    let (step, ended) = says_and_runs(&stage, EVE, "/greenlight approve").await;
    ended.with(0);
    assert_eq!(step.output("state"), "gave-up", "{}", stage.told());
    assert!(stage.answers()[0].body.contains("does not work"), "{}", stage.told());
    assert_eq!(stage.double.commits(stage.number).unwrap().len(), 1);
}

/// Only a run on a checkout takes consent from the command line, and nobody else can write to such a run's journal.
#[tokio::test]
async fn the_consent_of_a_checkout_executes_nothing_here() {
    let stage = waiting("").await;
    forge(&stage, |steps| {
        let Some(Journaled::Started(started)) = steps.first_mut() else {
            panic!("no start")
        };
        started.consent = Consent::CommandLine;
        started.origin = Origin::CommandLine;
        started.subject = Subject::Checkout;
    })
    .await;
    let (step, ended) = says_and_runs(&stage, EVE, "/greenlight approve").await;
    ended.with(0);
    assert_eq!(step.output("state"), "refused", "{}", stage.told());
    let sticky = &stage.answers()[0].body;
    assert!(sticky.contains("it was not given on GitHub"), "{sticky}");
    assert_eq!(stage.double.commits(stage.number).unwrap().len(), 1);
}

/// Nothing runs with a consent that nobody gave, however the journal words it.
#[tokio::test]
async fn a_consent_that_nobody_gave_executes_nothing() {
    for (text, said) in [
        ("Interesting.", "does not request this"),
        ("/greenlight fix", "there was a push after it was given"),
    ] {
        let stage = waiting("").await;
        let earlier = (stage.number, 60);
        let id = stage.double.comment_earlier(earlier, AUTHOR, text).await.unwrap();
        let ada = last_author(&stage);
        if text.starts_with('/') {
            // The comment was written on an earlier head.
            stage
                .double
                .push(stage.number, AUTHOR, &[("NEWS.md", Some(b"News.\n"))])
                .await
                .unwrap();
            says_and_runs(&stage, MAINTAINER, "/greenlight fix").await.1.with(0);
        }
        forge(&stage, |steps| {
            let Some(Journaled::Started(started)) = steps.first_mut() else {
                panic!("no start")
            };
            started.consent = Consent::Command { by: ada.clone() };
            started.origin = Origin::Comment { id, by: ada.clone() };
        })
        .await;
        let (step, ended) = says_and_runs(&stage, EVE, "/greenlight approve").await;
        ended.with(0);
        assert_eq!(step.output("state"), "refused", "{}", stage.told());
        let sticky = &stage.answers()[0].body;
        assert!(
            sticky.contains(said) && sticky.contains("Nothing was executed"),
            "{sticky}"
        );
    }
}

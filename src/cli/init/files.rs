//! The files that `greenlight init` writes: the shipped workflows, filled in, and a minimal `greenlight.toml`.
//!
//! Names of workflows and test commands are a stranger's text. Each is quoted for the file it is put into, or left out.

use std::time::Duration;

use crate::config::repository::SCHEMA_URL;
use crate::domain::redact::visible;

const WORKFLOW: &str = include_str!("../../../workflows/greenlight.yml");
const COMMANDS: &str = include_str!("../../../workflows/greenlight-commands.yml");

/// Where the files go.
pub(super) const WORKFLOW_PATH: &str = ".github/workflows/greenlight.yml";
pub(super) const COMMANDS_PATH: &str = ".github/workflows/greenlight-commands.yml";

/// The lines of the shipped workflows that are filled in.
const SETUP: &str = "# Setup: ";
const LISTENS_TO: &str = "    workflows: [CI]\n";
const RUNS_ON: &str = "    runs-on: ubuntu-24.04\n";
const USES: &str = "      - uses: greenlight-rs/greenlight@v";
const INPUTS: &str = "        with:\n          # github-token:";

const OR_LABEL: &str = ", or when somebody adds the label \"greenlight\" to it.\n";
const IS_LABEL: &str = "label.name == 'greenlight')";
const TIMES: (&str, &str) = ("for one run (30 minutes unless you change it)", "timeout-minutes: 45\n");
/// How much longer a job may take than the run in it, and the limit of jobs on GitHub's runners, in minutes:
/// <https://docs.github.com/en/actions/reference/limits>
const MARGIN: u64 = 15;
const MAX_MINUTES: u64 = 360;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The commit of this program, if the release workflow built it.
const RELEASE: Option<&str> = option_env!("GREENLIGHT_RELEASE_COMMIT");

/// Longer command lines are not repeated in `greenlight.toml`.
const MAX_SHOWN_COMMAND: usize = 200;

/// What the files depend on.
#[derive(Debug, Default)]
pub(super) struct Blanks {
    /// The names of the workflows that greenlight listens to.
    pub(super) workflows: Vec<String>,
    /// The label that starts a run, if the settings name another one. Empty if none does.
    pub(super) label: Option<String>,
    /// The time limit of a run, if the settings name another one.
    pub(super) wall: Option<Duration>,
    /// Whether the server has no runners by GitHub.
    pub(super) has_own_runners: bool,
    /// Whether the server is not github.com, whose releases need a token to be verified.
    pub(super) is_elsewhere: bool,
    /// The test command that greenlight found, if it is the only one.
    pub(super) command: Option<String>,
}

/// `greenlight.yml`.
pub(super) fn workflow(blanks: &Blanks) -> String {
    let setup = match blanks.workflows.as_slice() {
        [] => {
            "# Written by `greenlight init`, which found no workflow that pull requests start. Replace `CI` at \"<--\" with the\n\
             # name of your test workflow.\n"
        }
        _ => "# Written by `greenlight init`, which found the workflows at \"<--\".\n",
    };
    let setup = format!(
        "{setup}# In the repository settings, \"Actions > General\" must allow this action, and workflows with write \
         permissions.\n"
    );
    let text = with_setup(WORKFLOW, &setup);
    let text = match blanks.workflows.as_slice() {
        [] => text,
        names => {
            let names: Vec<String> = names.iter().map(|name| yaml(name)).collect();
            text.replacen(LISTENS_TO, &format!("    workflows: [{}]\n", names.join(", ")), 1)
        }
    };
    shared(&with_label(&text, blanks.label.as_deref()), blanks)
}

/// The workflow for another label. One that cannot be in a line of a workflow is left out.
fn with_label(text: &str, label: Option<&str>) -> String {
    let Some(label) =
        label.filter(|label| visible(label) == **label && !label.contains(char::is_control) && !label.contains("{{"))
    else {
        return text.into();
    };
    let quoted = label.replace('\'', "''");
    let text = text.replacen(IS_LABEL, &format!("label.name == '{quoted}')"), 1);
    let told = match label {
        "" => ".\n".into(),
        label => OR_LABEL.replacen("greenlight", label, 1),
    };
    text.replacen(OR_LABEL, &told, 1)
}

/// `greenlight-commands.yml`.
pub(super) fn commands(blanks: &Blanks) -> String {
    let setup = "# Written by `greenlight init`, next to `greenlight.yml`, which says what else is needed.\n";
    shared(&with_setup(COMMANDS, setup), blanks)
}

/// `greenlight.toml`.
pub(super) fn settings(blanks: &Blanks) -> String {
    let mut text = format!(
        "#:schema {SCHEMA_URL}\n\
         # greenlight's settings for this repository. Each has a default, so this file may stay as it is.\n\
         # `greenlight config show` prints all of them, and\n\
         # https://github.com/greenlight-rs/greenlight/blob/v{VERSION}/greenlight.example.toml explains each.\n"
    );
    let command = blanks.command.as_ref();
    // A line break would end the comment.
    let command = command.filter(|line| line.len() <= MAX_SHOWN_COMMAND && visible(line) == **line);
    if let Some(command) = command.filter(|line| !line.contains(char::is_control)) {
        text += &format!(
            "\n# The tests as greenlight found them. Uncomment to run something else.\n\
             # [test]\n# command = {}\n",
            toml::Value::from(command.as_str())
        );
    }
    text
}

/// What both workflows need.
fn shared(text: &str, blanks: &Blanks) -> String {
    let mut text: String = text
        .split_inclusive('\n')
        .map(|line| match line.starts_with(USES) {
            true => uses(RELEASE),
            false => line.into(),
        })
        .collect();
    if let Some(wall) = blanks.wall {
        let minutes = wall.as_secs().div_ceil(60);
        let (limit, job) = TIMES;
        let until = minutes.saturating_add(MARGIN).min(MAX_MINUTES);
        text = text.replacen(limit, &format!("for one run ({minutes} minutes)"), 1);
        text = text.replacen(job, &format!("timeout-minutes: {until}\n"), 1);
    }
    if blanks.has_own_runners {
        text = text.replacen(
            RUNS_ON,
            "    runs-on: [self-hosted, linux] # the labels of your runners\n",
            1,
        );
    }
    if blanks.is_elsewhere {
        let token = "        with:\n          \
                     # A token for github.com without any permissions, to verify where the release was built.\n          \
                     github-com-token: ${{ secrets.GREENLIGHT_GITHUB_COM_TOKEN }}\n          # github-token:";
        text = text.replacen(INPUTS, token, 1);
    }
    text
}

/// Whether this program is from a release.
pub(super) fn is_release() -> bool {
    RELEASE.is_some_and(|commit| !commit.is_empty())
}

/// The line that names the Action: the commit of a release, or the tag of this version.
fn uses(release: Option<&str>) -> String {
    match release.filter(|commit| !commit.is_empty()) {
        Some(commit) => format!("      - uses: greenlight-rs/greenlight@{commit} # v{VERSION}\n"),
        None => format!("{USES}{VERSION} # <-- better: the full SHA of a release you have reviewed\n"),
    }
}

/// The text with another paragraph about the setup.
fn with_setup(text: &str, setup: &str) -> String {
    let Some((before, rest)) = text.split_once(SETUP) else {
        return text.into();
    };
    let after = rest.find("\n#\n").map_or("", |end| &rest[end + 1..]);
    format!("{before}{setup}{after}")
}

/// A string as a YAML scalar on one line: as it is if nobody could read it as anything else, otherwise in double quotes.
pub(super) fn yaml(text: &str) -> String {
    let mut characters = text.chars();
    let is_plain = characters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && characters.all(|c| c.is_ascii_alphanumeric() || " ._-/()".contains(c))
        && !text.ends_with(' ')
        && !is_keyword(text);
    if is_plain {
        return text.into();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        let mut bytes = [0; 4];
        let alone: &str = c.encode_utf8(&mut bytes);
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            // Nothing that hides or reorders text, and nothing that YAML does not allow in a file.
            _ if c.is_control()
                || visible(alone).is_empty()
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}') =>
            {
                quoted.push_str(&format!("\\U{:08x}", u32::from(c)));
            }
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Words that YAML 1.1 or 1.2 reads as something other than text.
fn is_keyword(text: &str) -> bool {
    let words = ["true", "false", "yes", "no", "on", "off", "y", "n", "null"];
    words.iter().any(|word| text.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is filled in exists exactly once, so that a changed workflow cannot lose it silently.
    #[test]
    fn the_shipped_workflows_have_every_blank() {
        for (text, blanks) in [
            (WORKFLOW, &[SETUP, LISTENS_TO, RUNS_ON, USES, INPUTS][..]),
            (COMMANDS, &[SETUP, RUNS_ON, USES, INPUTS]),
        ] {
            for blank in blanks {
                assert_eq!(text.matches(blank).count(), 1, "{blank}");
            }
        }
        assert!(WORKFLOW.contains(&format!("{USES}{VERSION} #")) && COMMANDS.contains(&format!("{USES}{VERSION} #")));
    }

    #[test]
    fn nothing_but_the_blanks_changes() {
        let blanks = Blanks {
            workflows: vec!["CI".into()],
            ..Blanks::default()
        };
        let without_setup = |text: &str| {
            let (before, rest) = text.split_once("\n#\n").unwrap();
            let (_, after) = rest.split_once("\n#\n").unwrap();
            format!("{before}{after}")
        };
        assert_eq!(without_setup(&workflow(&blanks)), without_setup(WORKFLOW));
        assert_eq!(without_setup(&commands(&blanks)), without_setup(COMMANDS));
        assert!(!workflow(&blanks).contains("Setup") && !commands(&blanks).contains("Setup"));
    }

    #[test]
    fn a_release_names_its_own_commit() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let pinned = format!("      - uses: greenlight-rs/greenlight@{commit} # v{VERSION}\n");
        assert_eq!(uses(Some(commit)), pinned);
        assert!(uses(None).contains(&format!("@v{VERSION} # <-- ")));
        assert_eq!(uses(Some("")), uses(None));
        let workflow = include_str!("../../../.github/workflows/release.yml");
        assert!(workflow.contains("GREENLIGHT_RELEASE_COMMIT: ${{ github.sha }}"));
    }

    #[test]
    fn names_are_read_back_as_they_are() {
        for (name, written) in [
            ("CI", "CI"),
            ("Tests (all)", "Tests (all)"),
            (".github/workflows/ci.yml", "\".github/workflows/ci.yml\""),
            ("on", "\"on\""),
            ("1.10", "\"1.10\""),
            ("a: b", "\"a: b\""),
            ("a #b", "\"a #b\""),
            ("a]\npermissions: write-all", "\"a]\\npermissions: write-all\""),
            ("\"], x: [\"", "\"\\\"], x: [\\\"\""),
            ("back\\slash", "\"back\\\\slash\""),
            (
                "\u{202e}\u{2028}\u{7f}\0\r",
                "\"\\U0000202e\\U00002028\\U0000007f\\U00000000\\U0000000d\"",
            ),
            ("Prüfung 🚦", "\"Prüfung 🚦\""),
            ("&a *b !c", "\"&a *b !c\""),
            ("", "\"\""),
        ] {
            assert_eq!(yaml(name), written);
            let read: Vec<String> = serde_saphyr::from_str(&format!("[{written}]")).unwrap();
            assert_eq!(read, [name]);
        }
    }

    #[test]
    fn a_command_cannot_end_its_comment() {
        let with = |command: &str| {
            settings(&Blanks {
                command: Some(command.into()),
                ..Blanks::default()
            })
        };
        assert!(with("pytest -k \"a b\"").contains("\n# command = 'pytest -k \"a b\"'\n"));
        for hostile in [
            "a\nexecution = \"sandbox\"",
            "a\rb",
            "a\u{202e}b",
            "a\u{2028}b",
            &"a".repeat(300),
        ] {
            assert_eq!(with(hostile), settings(&Blanks::default()), "{hostile:?}");
        }
        for command in ["'\"\"\"'''\\", "pytest -q"] {
            let text = with(command);
            assert!(
                text.lines().all(|line| line.is_empty() || line.starts_with('#')),
                "{text}"
            );
            let used: String = text
                .lines()
                .skip(5)
                .map(|line| line.trim_start_matches("# ").to_owned() + "\n")
                .collect();
            let used = used.split_once("else.\n").unwrap().1;
            assert_eq!(
                crate::config::RepoConfig::parse(used).unwrap().test.command.as_deref(),
                Some(command)
            );
        }
        assert!(settings(&Blanks::default()).starts_with("#:schema https://"));
    }

    #[test]
    fn the_settings_name_another_label_and_limit() {
        let of = |label: &str| {
            workflow(&Blanks {
                label: Some(label.into()),
                wall: Some(Duration::from_secs(3 * 3_600)),
                ..Blanks::default()
            })
        };
        let text = of("it's help");
        assert!(text.contains("adds the label \"it's help\" to it.\n"), "{text}");
        assert!(text.contains("label.name == 'it''s help')"), "{text}");
        assert!(
            text.contains("for one run (180 minutes)") && text.contains("timeout-minutes: 195\n"),
            "{text}"
        );
        let text = of("");
        assert!(
            text.contains("when its CI fails.\n") && text.contains("label.name == '')"),
            "{text}"
        );
        for label in ["a\n  b: c", "${{ github.token }}"] {
            assert_eq!(with_label(WORKFLOW, Some(label)), WORKFLOW);
        }
        for part in [OR_LABEL, IS_LABEL, TIMES.0, TIMES.1] {
            assert!(WORKFLOW.contains(part), "{part}");
        }
        assert!(COMMANDS.contains(TIMES.0) && COMMANDS.contains(TIMES.1));
    }

    #[test]
    fn another_server_has_its_own_runners_and_needs_a_token() {
        let ours = Blanks {
            has_own_runners: true,
            is_elsewhere: true,
            ..Blanks::default()
        };
        for text in [workflow(&ours), commands(&ours)] {
            assert!(text.contains("\n    runs-on: [self-hosted, linux] #"), "{text}");
            assert!(text.contains("\n          github-com-token: ${{ secrets."), "{text}");
        }
        let theirs = workflow(&Blanks::default());
        assert!(theirs.contains("ubuntu-24.04") && !theirs.contains("github-com-token"));
        assert!(theirs.contains("found no workflow that pull requests start"));
    }
}

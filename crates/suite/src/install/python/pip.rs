//! The steps in which pip installs what the tests need, and what is tried if it cannot.

use super::super::INSTALLED;
use super::super::steps::{Phase, Project, Step, StepDirectory, owned};
use super::needs::Needs;
use super::{BUILT, locked};

/// The file with the versions of a lock file, while packages are installed.
const CONSTRAINTS: &str = "/installed/tmp/constraints.txt";
const ONE_BY_ONE: &str = "not every listed package could be installed, so the others were, without those";

/// Installs requirement files and requirements one after the other, and fails only if nothing could be installed.
const EACH: &str = r#"pip() { "$PYTHON" -m pip install --no-input --no-warn-script-location --prefer-binary "$@" && done=1; }
done=
while [ $# -gt 0 ] && [ "$1" != -- ]; do pip "$1" "$2"; shift 2; done
[ $# = 0 ] || shift
for requirement in "$@"; do pip -- "$requirement"; done
[ -n "$done" ]"#;

/// The steps, for this interpreter of the virtual environment.
pub(super) fn steps(project: &Project<'_>, python: &str, needs: &Needs) -> Vec<Step> {
    let place = StepDirectory::Workspace(project.directory.clone());
    let locked = locked::find(project);
    let pip = Pip {
        python,
        is_pinned: locked.is_some(),
    };
    let step = |argv: Vec<String>, phase: Phase| Step {
        argv,
        ..Step::new(phase, place.clone(), &[])
    };
    let mut steps = Vec::new();
    if let Some(locked) = &locked {
        let script = format!("mkdir -p {INSTALLED}/tmp && printf '%s\\n' \"$@\" > {CONSTRAINTS}");
        let write = [owned(&["sh", "-c", &script, "sh"]), locked.constraints.clone()].concat();
        steps.push(step(write, Phase::Offline));
    }
    let (options, requirements) = (&needs.options, &needs.requirements);
    if !needs.is_empty() {
        let mut install = step(pip.install("--only-binary=:all:", options, requirements), Phase::Online)
            .or(pip.install("--prefer-binary", options, requirements), BUILT);
        if let Some(locked) = &locked {
            let note = format!(
                "the versions that `{}` pins cannot be installed here, so others were",
                locked.file
            );
            install = install.or(pip.freely().install("--prefer-binary", options, requirements), &note);
        }
        let script = EACH.replace("$PYTHON", python);
        let each = [
            owned(&["sh", "-c", &script, "sh"]),
            options.clone(),
            owned(&["--"]),
            requirements.clone(),
        ];
        steps.push(install.or(each.concat(), ONE_BY_ONE));
    }
    if !needs.optional.is_empty() {
        let optional = step(pip.install("--only-binary=:all:", &[], &needs.optional), Phase::Online);
        let built = pip.freely().install("--prefer-binary", &[], &needs.optional);
        steps.push(optional.or(built, BUILT).optional());
    }
    steps
}

/// How pip is called.
#[derive(Clone, Copy)]
struct Pip<'a> {
    python: &'a str,
    /// Whether only the versions of the lock file are installed.
    is_pinned: bool,
}

impl Pip<'_> {
    /// The same without the versions of the lock file.
    fn freely(self) -> Self {
        Self {
            is_pinned: false,
            ..self
        }
    }

    fn install(self, kind: &str, options: &[String], requirements: &[String]) -> Vec<String> {
        let pip = ["-m", "pip", "install", "--no-input", "--no-warn-script-location", kind];
        let pinned: &[&str] = if self.is_pinned { &["-c", CONSTRAINTS] } else { &[] };
        // After `--`, no text from a file of the tree can be an option.
        let parts = [
            owned(&[self.python]),
            owned(&pip),
            owned(pinned),
            options.to_vec(),
            owned(&["--"]),
            requirements.to_vec(),
        ];
        parts.concat()
    }
}

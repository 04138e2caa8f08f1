//! Programs with tests that CI builds with CMake and runs itself, without CTest.

use greenlight_anchor::RepoPath;
use greenlight_readers::ci_step::CiStep;
use greenlight_tree::checkout::Checkout;

use super::MAX_PARTS;
use super::configuration::{Configuration, configured, in_shell, lines};
use crate::discover::step::tool;
use crate::framework::Framework;
use crate::shell::{SimpleCommand, line_directory, quoted, split_line, with_workspace};
use crate::test_command::{Source, TestCommand};
use crate::workflow::WORKSPACE;

/// How CMake builds in the directory that is configured for CTest, too.
const BUILD: &str = "cmake --build .greenlight-build --parallel 2";

/// The commands that build such programs and run them, of the first step that does so.
pub(in crate::discover) fn built_programs(checkout: &Checkout, steps: &[CiStep]) -> Vec<TestCommand> {
    let mut found = steps.iter().map(|step| of_step(checkout, step));
    found.find(|found| !found.is_empty()).unwrap_or_default()
}

fn of_step(checkout: &Checkout, step: &CiStep) -> Vec<TestCommand> {
    let builds = configured(checkout, step);
    let builds: Vec<&Configuration> = builds.iter().filter(|build| build.program == "cmake").collect();
    if builds.is_empty() {
        return Vec::new();
    }
    let lines = lines(step, &step.script);
    let is_test = |line: &&SimpleCommand| tool::of(&line.words).is_some() && !tool::is_check(&line.words);
    let programs = lines.iter().filter(is_test).take(MAX_PARTS);
    let found = programs.filter_map(|line| builds.iter().find_map(|build| runs(step, line, build)));
    found.collect()
}

/// The command for a line that runs a program of a build, from the directory that CI runs it in.
fn runs(step: &CiStep, line: &SimpleCommand, build: &Configuration) -> Option<TestCommand> {
    let known = with_workspace(&step.env, WORKSPACE, None);
    let words = split_line(&line.words, &known, |_| None)?;
    let (program, arguments) = words.split_first()?;
    let (folder, name) = program.rsplit_once('/')?;
    let folder = match folder.strip_prefix(WORKSPACE) {
        Some(folder) => line_directory(None, &[folder.trim_start_matches('/').into()], &known)?,
        None => {
            let changes = [line.directory.clone(), vec![folder.into()]].concat();
            line_directory(step.directory.as_ref(), &changes, &known)?
        }
    };
    let place = line_directory(step.directory.as_ref(), &line.directory, &known)?;
    let in_build = |path: &Option<RepoPath>| below(path.as_ref(), build.build.as_ref()?.as_ref());
    let program = join(&in_build(&folder)?, name);
    // From the directory of the build, or from that of the sources.
    let up = |path: &str| "../".repeat(path.split('/').filter(|part| !part.is_empty()).count());
    let (enters, program) = match in_build(&place) {
        Some(inner) => (join(".greenlight-build", &inner), format!("./{}{program}", up(&inner))),
        None if place == build.directory => (".".into(), format!(".greenlight-build/{program}")),
        None => return None,
    };
    let words = [&[program], arguments].concat();
    let run: Vec<_> = words.iter().map(|word| quoted(word)).collect();
    let options = match in_shell(&build.options) {
        options if options.is_empty() => options,
        options => format!(" {options}"),
    };
    let configure = Framework::Ctest.spec().configure?;
    let script = format!(
        "{configure}{options} && {BUILD} && cd {} && {}",
        quoted(&enters),
        run.join(" ")
    );
    let source = Source::Ci {
        workflow: step.workflow.clone(),
        job: step.job.clone(),
    };
    Some(TestCommand {
        directory: build.directory.clone(),
        ..TestCommand::new(vec!["sh".into(), "-c".into(), script], Framework::Other, source)
    })
}

/// The rest of a path below another one. `None` if it is elsewhere.
fn below(path: Option<&RepoPath>, above: Option<&RepoPath>) -> Option<String> {
    let path = path.map_or("", RepoPath::as_str);
    match above.map(RepoPath::as_str) {
        None => Some(path.to_owned()),
        Some(above) if path == above => Some(String::new()),
        Some(above) => path.strip_prefix(above)?.strip_prefix('/').map(String::from),
    }
}

fn join(folder: &str, name: &str) -> String {
    match (folder.is_empty(), name.is_empty()) {
        (true, _) => name.to_owned(),
        (_, true) => folder.to_owned(),
        _ => format!("{folder}/{name}"),
    }
}

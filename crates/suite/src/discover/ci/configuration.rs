//! The options with which CI configures a build before it tests it. Many projects build their tests only if they are
//! told to, as with `-DBUILD_TESTING=ON`.

use greenlight_anchor::RepoPath;
use greenlight_readers::ci_step::CiStep;

use crate::ci_configure::{is_configuring, taken_apart};
use crate::discover::step::own_script;
use crate::shell::{self, expanded, line_directory, quoted};
use crate::test_command::{Source, TestCommand};

/// Adds the options of CI to a command of the project's files that configures the build, as CI does.
pub(super) fn configured(command: &mut TestCommand, steps: &[&CiStep]) {
    let Some(configure) = command.framework.spec().configure else {
        return;
    };
    let [shell, flag, script] = command.argv.as_mut_slice() else {
        return;
    };
    let is_own = shell == "sh" && flag == "-c" && matches!(command.source, Source::File(_));
    let Some(rest) = script.strip_prefix(configure).filter(|_| is_own) else {
        return;
    };
    let program = configure.split(' ').next().unwrap_or_default();
    let mut found = steps
        .iter()
        .filter_map(|step| options(step, program, command.directory.as_ref()));
    if let Some(options) = found.next().filter(|options| !options.is_empty()) {
        let is_plain = |option: &str| {
            option
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_=.:/+".contains(c))
        };
        let options: Vec<_> = options
            .iter()
            .map(|option| {
                if is_plain(option) {
                    option.into()
                } else {
                    quoted(option)
                }
            })
            .collect();
        *script = format!("{configure} {}{rest}", options.join(" "));
    }
}

/// The options with which a job configures the build of a directory. `None` if it does not.
fn options(step: &CiStep, program: &str, wanted: Option<&RepoPath>) -> Option<Vec<String>> {
    step.before.iter().chain([&own_script(step)]).find_map(|script| {
        let lines = shell::lines(&script.script, |_| false)?;
        lines
            .into_iter()
            .filter(|line| is_configuring(&line.words, program))
            .find_map(|line| {
                let words: Vec<Option<String>> = line.words.iter().map(|word| expanded(word, &step.env)).collect();
                let (options, source) = taken_apart(&words, program);
                let changes = [line.directory, vec![source]].concat();
                let directory = line_directory(script.directory.as_ref(), &changes, &step.env)?;
                (directory.as_ref() == wanted).then_some(options)
            })
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use greenlight_readers::ci_step::CiScript;

    use super::*;
    use crate::framework::Framework;

    fn found(before: &str, script: &str) -> String {
        let step = CiStep {
            workflow: "ci.yml".parse().unwrap(),
            job: "test".into(),
            name: "Test".into(),
            script: script.into(),
            directory: None,
            env: BTreeMap::from([("STANDARD".into(), "17".into())]),
            own_env: std::collections::BTreeSet::new(),
            shows: None,
            before: vec![CiScript {
                script: before.into(),
                directory: None,
            }],
            versions: BTreeMap::new(),
            services: Vec::new(),
        };
        let mut command = TestCommand::new(
            ["sh", "-c", "cmake -S . -B .greenlight-build && ctest"]
                .map(String::from)
                .to_vec(),
            Framework::Ctest,
            Source::File("CMakeLists.txt".parse().unwrap()),
        );
        configured(&mut command, &[&step]);
        command.argv[2].clone()
    }

    #[test]
    fn the_options_of_ci_configure_the_build() {
        for (before, script, expected) in [
            ("cmake -S . -B build -DA=ON", "cd build && ctest", " -DA=ON"),
            (
                "mkdir build && cd build\ncmake .. -D A:BOOL=ON \\\n -DSTD=$STANDARD",
                "make test",
                " -DA:BOOL=ON -DSTD=17",
            ),
            ("cmake -B build -G Ninja -DFLAGS='-O2 -g'", "ctest", " '-DFLAGS=-O2 -g'"),
            ("", "cmake -DB=1 . && make && ctest", " -DB=1"),
            // Of the machine, or unknown.
            (
                "cmake . -DCMAKE_C_COMPILER=icc -DCMAKE_INSTALL_PREFIX=/opt -DA=$B",
                "ctest",
                "",
            ),
            // Something else.
            ("cmake --build build -DA=ON", "ctest", ""),
            ("cmake -S examples -B build -DA=ON", "ctest", ""),
            ("cmake -S \"$GITHUB_WORKSPACE\" -B build -DA=ON", "ctest", " -DA=ON"),
            ("cmake -P run.cmake -DA=ON", "ctest", ""),
        ] {
            let expected = format!("cmake -S . -B .greenlight-build{expected} && ctest");
            assert_eq!(found(before, script), expected, "{before} {script}");
        }
    }

    #[test]
    fn a_hostile_option_stays_one_word() {
        let line = found("cmake . '-DA=$(id)' '-DB=;id' \"-D--help=1\" '-DA`id`=1'", "ctest");
        assert_eq!(
            line,
            "cmake -S . -B .greenlight-build '-DA=$(id)' '-DB=;id' -D--help=1 && ctest"
        );
    }
}

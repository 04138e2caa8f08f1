//! Reads the environments of Hatch, and never executes them:
//! <https://hatch.pypa.io/latest/config/environment/overview/>

use super::tox::{MAX_TEXT, resolved};
use crate::discover::directory::Directory;

/// Maximum number of lines that are read of a script and those that it names, and how deep those are followed.
const MAX_LINES: usize = 100;
const MAX_DEPTH: usize = 3;
/// The environment that others are based on, and the one of `hatch test`.
const DEFAULT: &str = "default";
const OF_TESTS: &str = "hatch-test";

/// What `hatch run ENVIRONMENT:SCRIPT` or `hatch test` runs, after what the environment installs: a script for a shell.
/// `None` for other commands.
pub(in crate::discover) fn script(place: &Directory<'_>, arguments: &[String]) -> Option<String> {
    let settings = HatchTables::of(place)?;
    let (environment, command) = named(arguments)?;
    let environment = Environment {
        settings: &settings.0,
        name: &environment,
    };
    let mut lines = environment.installs();
    lines.extend(environment.variables());
    let mut left = MAX_LINES;
    environment.follow(&command, MAX_DEPTH, &mut left, &mut lines);
    let lines = lines
        .iter()
        .filter_map(|line| shlex::try_join(line.iter().map(String::as_str)).ok());
    Some(lines.map(|line| line + "\n").collect())
}

/// The table of environments, in one of the two files.
struct HatchTables(toml::Table);

impl HatchTables {
    fn of(place: &Directory<'_>) -> Option<Self> {
        let table = |file: &str| -> Option<toml::Table> {
            let text = place.text(file).filter(|text| text.len() <= MAX_TEXT)?;
            text.parse().ok()
        };
        let of_project = |table: toml::Table| Some(table.get("tool")?.get("hatch")?.get("envs")?.as_table()?.clone());
        let own = table("hatch.toml").and_then(|table| Some(table.get("envs")?.as_table()?.clone()));
        own.or_else(|| of_project(table("pyproject.toml")?)).map(Self)
    }
}

/// The environment and the command that the arguments name. A matrix has the name of its environment before a dot.
fn named(arguments: &[String]) -> Option<(String, Vec<String>)> {
    let (mut environment, mut words) = (DEFAULT.to_string(), arguments.iter());
    loop {
        match words.next()?.as_str() {
            "-e" | "--env" => environment = words.next()?.clone(),
            "env" => {}
            "run" => break,
            "test" => {
                let words = words.filter(|word| !word.starts_with('-')).cloned();
                return Some((
                    OF_TESTS.into(),
                    ["pytest".to_string()].into_iter().chain(words).collect(),
                ));
            }
            option if option.starts_with('-') => {}
            _ => return None,
        }
    }
    let mut command: Vec<String> = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-e" | "--env" if command.is_empty() => environment = words.next()?.clone(),
            // Chosen variants of a matrix, and options of Hatch.
            option if command.is_empty() && option.starts_with(['+', '-']) => {}
            word => command.push(word.into()),
        }
    }
    let first = command.first_mut()?;
    if let Some((named, script)) = first.split_once(':') {
        environment = named.into();
        *first = script.to_string();
    }
    let environment = environment.split('.').next().unwrap_or_default();
    Some((environment.into(), command))
}

struct Environment<'s> {
    settings: &'s toml::Table,
    name: &'s str,
}

impl<'s> Environment<'s> {
    /// A setting of the environment, or else of the one that it is based on.
    fn value(&self, key: &str) -> Option<&'s toml::Value> {
        let own = self.settings.get(self.name);
        let template = own.and_then(|own| own.get("template")?.as_str()).unwrap_or(DEFAULT);
        own.and_then(|own| own.get(key))
            .or_else(|| self.settings.get(template)?.get(key))
    }

    fn list(&self, key: &str) -> Vec<&'s str> {
        let list = self.value(key).and_then(toml::Value::as_array);
        list.into_iter().flatten().filter_map(toml::Value::as_str).collect()
    }

    fn installs(&self) -> Vec<Vec<String>> {
        let pip = |words: &[&str]| {
            ["pip", "install"]
                .iter()
                .chain(words)
                .map(|word| (*word).into())
                .collect()
        };
        let plain = ["dependencies", "extra-dependencies"];
        let listed = plain.into_iter().flat_map(|key| self.list(key));
        let mut lines: Vec<Vec<String>> = listed
            .filter(|requirement| !requirement.contains('{') && !requirement.starts_with('-'))
            .map(|requirement| pip(&[requirement]))
            .collect();
        let extras = self.list("features").join(",");
        if !extras.is_empty() {
            lines.push(pip(&["-e", &format!(".[{extras}]")]));
        }
        let groups = self.list("dependency-groups");
        lines.extend(groups.iter().map(|group| pip(&["--group", group])));
        lines
    }

    /// Its variables, as a shell sets them. Those with fields of Hatch are unknown.
    fn variables(&self) -> impl Iterator<Item = Vec<String>> {
        let table = self.value("env-vars").and_then(toml::Value::as_table);
        let plain = table.into_iter().flatten().filter_map(|(name, value)| {
            let value = value.as_str().filter(|value| !value.contains('{'))?;
            Some(vec!["export".to_string(), format!("{name}={value}")])
        });
        plain.take(MAX_LINES)
    }

    /// Adds the lines of a command, which may be the name of a script. Decrements `left` for each line that is read, and
    /// stops at zero.
    fn follow(&self, command: &[String], depth: usize, left: &mut usize, lines: &mut Vec<Vec<String>>) {
        let Some((first, more)) = command.split_first() else {
            return;
        };
        let script = self.value("scripts").and_then(|scripts| scripts.get(first));
        let Some(script) = script.filter(|_| depth > 0) else {
            lines.push(command.to_vec());
            return;
        };
        let one = script.as_str().into_iter();
        let several = script.as_array().into_iter().flatten().filter_map(toml::Value::as_str);
        for line in one.chain(several) {
            let Some(rest) = left.checked_sub(1) else { return };
            *left = rest;
            let takes_arguments = line.contains("{args");
            let line = line.trim_start_matches(['-', ' ']);
            if let Some(mut words) = resolved(line) {
                words.extend(more.iter().filter(|_| takes_arguments).cloned());
                self.follow(&words, depth - 1, left, lines);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discover::tests::tree;

    const SETTINGS: &str = "[tool.hatch.envs.default]\ndependencies = ['pytest', 'mock>=4']\nfeatures = ['cli']\n\
                            [tool.hatch.envs.default.scripts]\ntest = 'pytest {args:tests}'\n\
                            cov = ['test --cov {args}', '- coverage report']\nloop = 'loop'\n\
                            [tool.hatch.envs.slow]\nenv-vars = {MODE = 'a b', ROOT = '{root}'}\nextra-dependencies = ['numpy', '{root:uri}/x']\n\
                            dependency-groups = ['unit']\nscripts.all = 'pytest -m slow'\n";

    #[track_caller]
    fn check(arguments: &str, expected: Option<&str>) {
        // Scripts that name others many times, and have no line in the end.
        let names = |name: &str| format!("['{name}'{}]", format!(", '{name}'").repeat(2_000));
        let wide = format!(
            "wide = {}\nwider = {}\nwidest = {}\n",
            names("wider"),
            names("widest"),
            names("")
        );
        let settings = SETTINGS.replace("loop = 'loop'\n", &format!("loop = 'loop'\n{wide}"));
        let (_directory, checkout) = tree(&[("pyproject.toml", &settings)]);
        let place = Directory {
            checkout: &checkout,
            directory: None,
        };
        let script = script(&place, &shlex::split(arguments).unwrap());
        assert_eq!(script.as_deref(), expected, "{arguments}");
    }

    #[test]
    fn a_script_runs_after_its_environment_was_installed() {
        let base = "pip install pytest\npip install 'mock>=4'\npip install -e '.[cli]'\n";
        check("run test", Some(&format!("{base}pytest tests\n")));
        check("run +py=3.12 test -x", Some(&format!("{base}pytest tests -x\n")));
        check(
            "-v run cov",
            Some(&format!("{base}pytest tests --cov\ncoverage report\n")),
        );
        check("run loop", Some(&format!("{base}loop\n")));
        check("run python -m pytest", Some(&format!("{base}python -m pytest\n")));
        let slow = "pip install pytest\npip install 'mock>=4'\npip install numpy\npip install -e '.[cli]'\n\
                    pip install --group unit\nexport 'MODE=a b'\npytest -m slow\n";
        check("run slow.py3.12:all", Some(slow));
        check("env run -e slow all", Some(slow));
        check("test --cover tests/a.py", Some(&format!("{base}pytest tests/a.py\n")));
        check("run wide", Some(base));
        check("build", None);
        check("run", None);
    }
}

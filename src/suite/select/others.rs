//! CTest, RSpec, Minitest and test-unit, PHPUnit, and `dotnet test`.

use crate::suite::{Framework, TestCommand};

pub(super) fn tests(command: &TestCommand, only: &[String]) -> Option<Vec<String>> {
    match command.framework {
        Framework::Ctest => ctest(&command.argv, only),
        Framework::Rspec => rspec(&command.argv, only),
        Framework::Minitest => minitest(&command.argv, only),
        Framework::Phpunit => phpunit(&command.argv, only),
        Framework::Dotnet => dotnet(&command.argv, only),
        _ => None,
    }
}

/// `-R ^(a|b)$`. A character that means something to CMake's expressions stands in brackets, where it means itself.
fn ctest(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for name in only {
        // No quote, as it may go into a script; the others cannot be put into brackets.
        if name.contains(['\'', '\\', '^']) {
            return None;
        }
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/' | ':' | ' ' | ',');
        names.push(
            name.chars()
                .map(|c| if is_plain(c) { c.to_string() } else { format!("[{c}]") })
                .collect::<String>(),
        );
    }
    let pattern = format!("^({})$", names.join("|"));
    let mut narrowed = argv.to_vec();
    if let [shell, flag, script] = narrowed.as_mut_slice()
        && shell == "sh"
        && flag == "-c"
    {
        // Only where it is the last of the commands, so that the options are its own.
        let last = script.rsplit("&&").next().unwrap_or(script).trim_start();
        if !last.starts_with("ctest")
            || last.contains(['|', ';', '>', '-']) && !last.starts_with("ctest --output-on-failure")
        {
            return None;
        }
        script.push_str(&format!(" -R '{pattern}'"));
        return Some(narrowed);
    }
    narrowed
        .iter()
        .any(|word| word.rsplit('/').next() == Some("ctest"))
        .then(|| {
            narrowed.extend(["-R".to_string(), pattern]);
            narrowed
        })
}

/// `./spec/a_spec.rb[1:2]` or `./spec/a_spec.rb:4`, in place of the files.
fn rspec(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let at = argv.iter().position(|word| word.rsplit('/').next() == Some("rspec"))?;
    let is_id = |name: &String| {
        let name = name.strip_suffix(']').map_or(name.as_str(), |name| name);
        let end = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, ':' | ',' | '['));
        name.starts_with("./") && end.len() < name.len()
    };
    if !only.iter().all(is_id) {
        return None;
    }
    let is_file = |word: &String| !word.starts_with('-') && (word.ends_with(".rb") || word.starts_with("spec"));
    let mut narrowed: Vec<String> = argv.iter().take(at + 1).cloned().collect();
    narrowed.extend(argv.iter().skip(at + 1).filter(|word| !is_file(word)).cloned());
    narrowed.extend(only.iter().cloned());
    Some(narrowed)
}

/// `--name=Class#method`, through Rake as `TESTOPTS`, where a shell reads it once more.
fn minitest(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '#');
    let is_name = |name: &String| name.chars().all(is_safe) && name.chars().filter(|c| *c == '#').count() == 1;
    if !only.iter().all(is_name) {
        return None;
    }
    let option = match only {
        [one] => format!("--name={one}"),
        many => format!("--name=/^({})$/", many.join("|")),
    };
    let mut narrowed = argv.to_vec();
    let has = |name: &str| argv.iter().any(|word| word.rsplit('/').next() == Some(name));
    if argv.iter().any(|word| word.starts_with("TESTOPTS=")) {
        return None;
    }
    if has("rake") {
        narrowed.push(format!("TESTOPTS='{option}'"));
    } else if has("ruby") || has("rails") {
        narrowed.push(option);
    } else {
        return None;
    }
    Some(narrowed)
}

/// `--filter /^(A::a|A::b)$/`, with everything escaped that could mean something.
fn phpunit(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let at = argv
        .iter()
        .position(|word| matches!(word.rsplit('/').next(), Some("phpunit" | "pest")))?;
    let escaped = |name: &String| {
        let escape = |c: char| {
            if c.is_ascii_punctuation() && c != '_' {
                format!("\\{c}")
            } else {
                c.to_string()
            }
        };
        name.chars().map(escape).collect::<String>()
    };
    let names: Vec<String> = only.iter().map(escaped).collect();
    let mut narrowed = argv.to_vec();
    narrowed.insert(at + 1, format!("--filter=/^({})$/", names.join("|")));
    Some(narrowed)
}

/// `--filter FullyQualifiedName=a|…`: <https://learn.microsoft.com/dotnet/core/testing/selective-unit-tests>.
fn dotnet(argv: &[String], only: &[String]) -> Option<Vec<String>> {
    let at = argv.iter().position(|word| word == "test")? + 1;
    let mut names: Vec<String> = Vec::new();
    for name in only {
        // Arguments are no part of the full name.
        let name = name.split('(').next().unwrap_or(name).trim();
        if name.is_empty()
            || !name
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '+' | '`'))
        {
            return None;
        }
        names.push(format!("FullyQualifiedName={name}"));
    }
    names.sort_unstable();
    names.dedup();
    let mut narrowed = argv.to_vec();
    narrowed.splice(at..at, ["--filter".to_string(), names.join("|")]);
    Some(narrowed)
}

#[cfg(test)]
mod tests {
    use super::super::argv;
    use super::*;
    use crate::suite::Source;

    #[track_caller]
    fn check(framework: Framework, command: &[&str], only: &[&str], expected: &str) {
        let command = TestCommand::new(
            command.iter().map(ToString::to_string).collect(),
            framework,
            Source::Settings,
        );
        let only: Vec<String> = only.iter().map(ToString::to_string).collect();
        assert_eq!(argv(&command, &only).join(" "), expected);
    }

    #[test]
    fn names_are_handed_to_their_framework() {
        use Framework::{Ctest, Dotnet, Minitest, Phpunit, Rspec};
        check(
            Ctest,
            &["sh", "-c", "cmake -S . -B b && cd b && ctest --output-on-failure"],
            &["a/b", "odd (a|b) 100%"],
            "sh -c cmake -S . -B b && cd b && ctest --output-on-failure -R '^(a/b|odd [(]a[|]b[)] 100[%])$'",
        );
        check(Ctest, &["ctest"], &["a.b"], "ctest -R ^(a[.]b)$");
        check(
            Rspec,
            &["bundle", "exec", "rspec", "spec/a_spec.rb"],
            &["./spec/b_spec.rb[1:2]", "./spec/c_spec.rb:4"],
            "bundle exec rspec ./spec/b_spec.rb[1:2] ./spec/c_spec.rb:4",
        );
        check(
            Minitest,
            &["rake", "test"],
            &["A::B#test_c"],
            "rake test TESTOPTS='--name=A::B#test_c'",
        );
        check(
            Minitest,
            &["ruby", "a.rb"],
            &["A#b", "A#c"],
            "ruby a.rb --name=/^(A#b|A#c)$/",
        );
        check(
            Phpunit,
            &["vendor/bin/phpunit", "tests"],
            &["A\\B::testC with data set #1"],
            r"vendor/bin/phpunit --filter=/^(A\\B\:\:testC with data set \#1)$/ tests",
        );
        check(
            Dotnet,
            &["dotnet", "test"],
            &["A.B.C(x: 1)", "A.B.C(x: 2)"],
            "dotnet test --filter FullyQualifiedName=A.B.C",
        );
    }

    #[test]
    fn a_hostile_name_runs_everything() {
        use Framework::{Ctest, Dotnet, Minitest, Phpunit, Rspec};
        check(Ctest, &["sh", "-c", "ctest"], &["a'; evil '"], "sh -c ctest");
        check(Ctest, &["sh", "-c", "ctest | tee log"], &["a"], "sh -c ctest | tee log");
        check(Rspec, &["rspec"], &["--require ./evil.rb"], "rspec");
        check(Rspec, &["rspec"], &["-r./evil:1"], "rspec");
        check(Minitest, &["rake", "test"], &["A#b'; evil"], "rake test");
        check(Minitest, &["rake", "test"], &["A#b$(evil)"], "rake test");
        check(Dotnet, &["dotnet", "test"], &["A|B"], "dotnet test");
        check(
            Phpunit,
            &["phpunit"],
            &["a)|(.*"],
            r"phpunit --filter=/^(a\)\|\(\.\*)$/",
        );
    }
}

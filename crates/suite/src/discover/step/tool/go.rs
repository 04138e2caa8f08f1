//! What gotestsum and go-acc run: `go test`, whose report greenlight asks for itself. <https://github.com/gotestyourself/gotestsum>

/// Options with a value that may be the next word.
const VALUED: [&str; 14] = [
    "--format",
    "--format-icons",
    "--hide-summary",
    "--jsonfile",
    "--jsonfile-timing-events",
    "--junitfile",
    "--junitfile-project-name",
    "--junitfile-testcase-classname",
    "--junitfile-testsuite-name",
    "--max-fails",
    "--post-run-command",
    "--rerun-fails-max-failures",
    "--rerun-fails-report",
    "-f",
];

/// `go-acc PACKAGES -- OPTIONS` as `go test OPTIONS PACKAGES`. It merges coverage. <https://github.com/ory/go-acc>
fn of_go_acc(words: &[String]) -> Option<Vec<String>> {
    let (program, rest) = words.split_first()?;
    let is_it = program.rsplit('/').next() == Some("go-acc");
    let dashes = rest.iter().position(|word| word == "--").unwrap_or(rest.len());
    let packages = rest[..dashes].iter().filter(|word| word.starts_with('.'));
    // It tests all packages below.
    let packages = packages.map(|package| match package.as_str() {
        "." => "./...".to_owned(),
        package => package.to_owned(),
    });
    let options = rest.get(dashes + 1..).unwrap_or_default().iter().cloned();
    let go_test = ["go".to_string(), "test".into()].into_iter();
    is_it.then(|| go_test.chain(options).chain(packages).collect())
}

/// `gotestsum --format dots -- -race ./...` as `go test -race ./...`.
pub(super) fn plain(words: &[String]) -> Option<Vec<String>> {
    of_go_acc(words).or_else(|| of_gotestsum(words))
}

fn of_gotestsum(words: &[String]) -> Option<Vec<String>> {
    let is_gotestsum =
        |word: &str| word.rsplit('/').next().and_then(|name| name.split('@').next()) == Some("gotestsum");
    let options = match words {
        [go, run, package, options @ ..] if go == "go" && run == "run" && is_gotestsum(package) => options,
        [program, options @ ..] if is_gotestsum(program) => options,
        _ => return None,
    };
    let (mut at, mut packages) = (0, Vec::new());
    while let Some(option) = options.get(at).filter(|option| option.starts_with('-')) {
        at += 1;
        let (name, joined) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option.as_str(), None),
        };
        match name {
            "--" => break,
            // These run another command, or none.
            "--raw-command" | "--version" | "--help" | "-h" => return None,
            "--packages" => {
                let value = joined.or(options.get(at).map(String::as_str))?;
                packages.extend(value.split_whitespace().map(String::from));
                at += usize::from(joined.is_none());
            }
            _ => at += usize::from(joined.is_none() && VALUED.contains(&name)),
        }
    }
    let rest = options.get(at..).unwrap_or_default();
    if packages.is_empty() && rest.is_empty() {
        packages.push("./...".into());
    }
    let go_test = ["go".to_string(), "test".into()];
    Some(
        go_test
            .into_iter()
            .chain(rest.iter().cloned())
            .chain(packages)
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn its_options_are_left_out() {
        for (line, expected) in [
            ("gotestsum", "go test ./..."),
            (
                "gotestsum --format=dots --junitfile a/b.xml -- -p 2 ./...",
                "go test -p 2 ./...",
            ),
            ("gotestsum -f testname ./a ./b", "go test ./a ./b"),
            (
                "gotestsum --packages='./a ./b' --rerun-fails -- -race",
                "go test -race ./a ./b",
            ),
            ("gotestsum --packages ./a", "go test ./a"),
            ("go-acc . -o a.txt -- -race -tags a", "go test -race -tags a ./..."),
            (
                "go run gotest.tools/gotestsum@latest -- -race ./...",
                "go test -race ./...",
            ),
            ("./bin/gotestsum --no-color=false", "go test ./..."),
            ("gotestsum --raw-command ./test.sh", ""),
            ("gotestsum --version", ""),
            ("gotestsum --packages", ""),
            ("go run ./cmd", ""),
        ] {
            let words = shlex::split(line).unwrap();
            assert_eq!(super::plain(&words).unwrap_or_default().join(" "), expected, "{line}");
        }
    }
}

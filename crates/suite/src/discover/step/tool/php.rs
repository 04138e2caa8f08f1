//! Programs of PHP that run PHPUnit in several processes: <https://github.com/paratestphp/paratest>,
//! <https://engineering.facile.it/paraunit/>

/// Options of ParaTest that PHPUnit does not have; the second list has a value.
const ONLY_PARATEST: [&str; 4] = ["--functional", "-f", "--verbose", "-v"];
const ONLY_PARATEST_WITH_VALUE: [&str; 8] = [
    "--max-batch-size",
    "--passthru",
    "--passthru-php",
    "--processes",
    "--runner",
    "--tmp-dir",
    "-m",
    "-p",
];

/// The same tests with PHPUnit, from the same folder. `None` for other commands.
pub(super) fn plain(words: &[String]) -> Option<Vec<String>> {
    let at = usize::from(words.first().is_some_and(|word| word == "php"));
    let program = words.get(at)?;
    let (folder, name) = program.rsplit_once('/')?;
    let mut arguments = words[at + 1..].iter();
    match name {
        "paratest" => {}
        "paraunit" if words.get(at + 1).is_some_and(|word| word == "run") => _ = arguments.next(),
        _ => return None,
    }
    let mut kept = vec![format!("{folder}/phpunit")];
    while let Some(word) = arguments.next() {
        let option = word.split('=').next().unwrap_or(word);
        let is_short = option.len() > 2 && (option.starts_with("-p") || option.starts_with("-m"));
        if ONLY_PARATEST_WITH_VALUE.contains(&option) {
            if !word.contains('=') {
                arguments.next();
            }
        } else if !ONLY_PARATEST.contains(&option) && !is_short {
            kept.push(word.clone());
        }
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_processes_run_the_same_tests() {
        for (line, expected) in [
            (
                "vendor/bin/paraunit run --testsuite unit,integration",
                Some("vendor/bin/phpunit --testsuite unit,integration"),
            ),
            (
                "php vendor/bin/paratest -p4 --processes=2 --runner WrapperRunner -c a.xml --exclude-group exec",
                Some("vendor/bin/phpunit -c a.xml --exclude-group exec"),
            ),
            ("vendor/bin/paraunit coverage", None),
            ("vendor/bin/phpunit", None),
            ("paratest", None),
        ] {
            let words: Vec<String> = line.split(' ').map(String::from).collect();
            assert_eq!(
                plain(&words).map(|words| words.join(" ")).as_deref(),
                expected,
                "{line}"
            );
        }
    }
}

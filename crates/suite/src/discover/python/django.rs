//! The tests of a Django project: <https://docs.djangoproject.com/en/stable/ref/django-admin/#test>

use std::iter::Peekable;

use crate::discover::directory::Directory;
use crate::shell::python_options;

/// Options that decide which tests run and how, each with a value.
const KEPT: [&str; 10] = [
    "--exclude-tag",
    "--pattern",
    "--pythonpath",
    "--settings",
    "--tag",
    "--testrunner",
    "--top-level-directory",
    "-k",
    "-p",
    "-t",
];
/// Options that do not, each with a value.
const DROPPED: [&str; 4] = ["--durations", "--parallel", "--verbosity", "-v"];

/// The command in these words that runs such tests, without what only changes the output.
pub(super) fn tests(place: &Directory<'_>, words: &[String]) -> Option<Vec<String>> {
    let name = |word: &String| word.rsplit('/').next().unwrap_or(word).to_owned();
    let has_module = words
        .windows(2)
        .any(|pair| pair[0].starts_with('-') && pair[0].ends_with('m') && pair[1] == "django");
    let at = words.iter().position(|word| {
        matches!(name(word).as_str(), "manage.py" | "django-admin") || has_module && word == "django"
    })?;
    let [test, arguments @ ..] = &words[at + 1..] else {
        return None;
    };
    if test != "test" {
        return None;
    }
    let script = name(&words[at]) == "manage.py";
    if script && !place.has(words[at].trim_start_matches("./")) {
        return None;
    }
    let mut argv = [&["python3".to_string()], options_of_python(words)].concat();
    match script {
        true => argv.push(words[at].clone()),
        // `django-admin` is the same as this.
        false => argv.extend(["-m".into(), "django".into()]),
    }
    argv.push("test".into());
    let mut rest = arguments.iter().filter(|word| !word.contains('{')).peekable();
    while let Some(word) = rest.next() {
        argv.extend(kept(word, &mut rest));
    }
    Some(argv)
}

/// The options before the script or module, which may turn warnings into errors.
fn options_of_python(words: &[String]) -> &[String] {
    match words {
        [program, arguments @ ..] if program.starts_with("python") => {
            arguments.get(..python_options(arguments)).unwrap_or_default()
        }
        _ => &[],
    }
}

/// What counts of an argument: with the one after it, if that is its value.
fn kept<'w>(word: &'w str, rest: &mut Peekable<impl Iterator<Item = &'w String>>) -> Vec<String> {
    if !word.starts_with('-') {
        return vec![word.to_owned()];
    }
    let (option, joined) = match word.split_once('=') {
        Some((option, value)) => (option, Some(value)),
        None => (word, None),
    };
    let is_kept = KEPT.contains(&option);
    let value = match joined {
        None if is_kept => rest.next(),
        // A number may follow, and need not.
        None if DROPPED.contains(&option) => {
            rest.next_if(|next| next.bytes().all(|byte| byte.is_ascii_digit()) || *next == "auto");
            None
        }
        _ => None,
    };
    match is_kept {
        true => [Some(word), value.map(String::as_str)]
            .into_iter()
            .flatten()
            .map(String::from)
            .collect(),
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::discover::directory::Directory;
    use crate::discover::tests::tree;

    #[test]
    fn what_decides_which_tests_run_is_kept() {
        let (_tree, checkout) = tree(&[("example/manage.py", "import django\n")]);
        let place = Directory {
            checkout: &checkout,
            directory: None,
        };
        for (line, expected) in [
            ("django-admin test -v 2 tests", "python3 -m django test tests"),
            (
                "python -m django test -v2 --parallel 4 --settings tests.settings",
                "python3 -m django test --settings tests.settings",
            ),
            (
                "example/manage.py test --noinput --tag=fast a.b",
                "python3 example/manage.py test --tag=fast a.b",
            ),
            (
                "python example/manage.py test --parallel --failfast",
                "python3 example/manage.py test",
            ),
            (
                "python example/manage.py test --settings",
                "python3 example/manage.py test --settings",
            ),
            (
                "python -b -W always -m coverage run -m django test",
                "python3 -b -W always -m django test",
            ),
            (
                "python -Wd example/manage.py test a",
                "python3 -Wd example/manage.py test a",
            ),
            ("python -W", ""),
            // Another command, or a script that is not there.
            ("django-admin check", ""),
            ("python manage.py test", ""),
            ("pip install django test", ""),
        ] {
            let words = shlex::split(line).unwrap();
            let found = super::tests(&place, &words).unwrap_or_default();
            assert_eq!(found.join(" "), expected, "{line}");
        }
    }
}

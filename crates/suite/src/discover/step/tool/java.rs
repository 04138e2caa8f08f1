//! Options of Maven. <https://maven.apache.org/ref/current/maven-embedder/cli.html>

/// Options with a value that is the next word, unless it is joined to them.
const VALUED: [&str; 17] = [
    "--activate-profiles",
    "--define",
    "--file",
    "--global-settings",
    "--log-file",
    "--projects",
    "--resume-from",
    "--settings",
    "--threads",
    "-D",
    "-P",
    "-T",
    "-f",
    "-gs",
    "-l",
    "-pl",
    "-s",
];

/// Whether the arguments of Maven name no goal, so that the pom's default goals run.
pub(in crate::discover) fn names_no_goal<W: AsRef<str>>(arguments: &[W]) -> bool {
    let mut words = arguments.iter().map(AsRef::as_ref);
    while let Some(word) = words.next() {
        if matches!(word, "-v" | "-h" | "--version" | "--help") || !word.starts_with('-') {
            return false;
        }
        if VALUED.contains(&word) {
            words.next();
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_name_no_goal() {
        for (line, expected) in [
            ("-Ddoclint=all --show-version -B", true),
            ("-P java8 -f a/pom.xml -D x=y", true),
            ("", true),
            ("-B verify", false),
            ("-v", false),
            ("-s settings.xml test", false),
        ] {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(names_no_goal(&words), expected, "{line}");
        }
    }
}

//! The variables that a step sets for the steps after it, as in `echo "FLAGS=-x" >> "$GITHUB_ENV"`.
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands#setting-an-environment-variable>

use std::collections::BTreeMap;

use super::run_script::{MAX_VALUE, MAX_VARIABLES};
use crate::shell::{self, SimpleCommand, assigned, expanded, is_variable};

/// The variable with the path of the file that they are written to.
const FILE: &str = "GITHUB_ENV";

/// The variables that a script certainly sets, in order; without a value, if only a shell would know it.
pub(super) fn exported(script: &str, env: &BTreeMap<String, String>) -> Vec<(String, Option<String>)> {
    if !script.contains(FILE) {
        return Vec::new();
    }
    let lines = shell::lines(script, env, |_| false).unwrap_or_default();
    let set = lines.iter().filter_map(|line| variable(line, env));
    set.take(MAX_VARIABLES).collect()
}

fn variable(line: &SimpleCommand, env: &BTreeMap<String, String>) -> Option<(String, Option<String>)> {
    line.output.as_deref().filter(|file| is_variable(file, FILE))?;
    let [program, text] = line.words.as_slice() else {
        return None;
    };
    let (name, value) = text.split_once('=').filter(|(name, _)| shell::is_name(name))?;
    let value = assigned(env, &line.env).and_then(|env| expanded(value, &env));
    let value = value.filter(|value| program == "echo" && !value.contains('\n') && value.len() <= MAX_VALUE);
    Some((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_to_the_file_is_set() {
        let env = BTreeMap::from([("KIND".to_string(), "fast".to_string())]);
        for (script, expected) in [
            ("echo \"FLAGS=-x -y\" >> \"$GITHUB_ENV\"", "FLAGS=-x -y"),
            ("echo FLAGS=$KIND >> $GITHUB_ENV", "FLAGS=fast"),
            ("make\n{ echo 'A=1'; echo 'B=2'; } >>${GITHUB_ENV}", "A=1 B=2"),
            ("X=3\necho A=$X >> $GITHUB_ENV", "A=3"),
            // Hides an earlier value.
            ("echo \"A=$(date)\" >> $GITHUB_ENV", "A?"),
            ("printf 'A=%s' 1 >> $GITHUB_ENV", ""),
            ("echo A=1 >> other\necho $GITHUB_ENV", ""),
            ("echo A=1 2>> $GITHUB_ENV", ""),
            ("echo A=1 2>/dev/null >> $GITHUB_ENV", "A=1"),
            ("echo A=1 | tee -a $GITHUB_ENV", "A=1"),
            ("if [ $KIND = fast ]; then echo A=1 >> $GITHUB_ENV; fi", "A=1"),
            ("if [ -f x ]; then echo A=1 >> $GITHUB_ENV; fi", ""),
            ("echo 'not a name=1' >> $GITHUB_ENV", ""),
        ] {
            let found = exported(script, &env).into_iter().map(|(name, value)| match value {
                Some(value) => format!("{name}={value}"),
                None => format!("{name}?"),
            });
            assert_eq!(found.collect::<Vec<_>>().join(" "), expected, "{script}");
        }
    }
}

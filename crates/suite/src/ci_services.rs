//! Servers that a script of CI starts before its tests, as services of a job do. greenlight names them and starts none.

/// Maximum length of what is named, in characters.
const MAX_SHOWN: usize = 60;

/// The server that a line starts: containers in the background, or a service of the machine.
pub(crate) fn started_by(words: &[String]) -> Option<String> {
    let words: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .skip_while(|word| *word == "sudo")
        .collect();
    let is_detached = |words: &[&str]| {
        let mut options = words.iter().take_while(|word| **word != "--");
        options.any(|word| {
            matches!(
                *word,
                "-d" | "--detach" | "-itd" | "-dit" | "-dt" | "-td" | "--detach=true"
            )
        })
    };
    match words.as_slice() {
        ["docker", "compose", rest @ ..] | ["docker-compose" | "podman-compose", rest @ ..] if rest.contains(&"up") => {
        }
        ["docker" | "podman", "run", rest @ ..] | ["docker" | "podman", "container", "run", rest @ ..]
            if is_detached(rest) => {}
        ["service", _, "start"]
        | ["systemctl", "start", _]
        | ["/etc/init.d/mysql" | "/etc/init.d/postgresql", "start"]
        | ["pg_ctlcluster", _, _, "start"]
        | ["redis-server", ..]
        | ["-u", "postgres", "psql" | "createdb" | "createuser" | "pg_ctl", ..] => {}
        _ => return None,
    }
    let line = words.join(" ");
    let mut short: String = line.chars().take(MAX_SHOWN).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    Some(short.replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_in_the_background_are_named() {
        for (line, expected) in [
            ("docker compose up -d --wait", Some("docker compose up -d --wait")),
            ("docker-compose -f ci.yml up db", Some("docker-compose -f ci.yml up db")),
            (
                "docker run -d -p 6379:6379 redis",
                Some("docker run -d -p 6379:6379 redis"),
            ),
            ("sudo systemctl start mysql", Some("systemctl start mysql")),
            ("sudo service postgresql start", Some("service postgresql start")),
            ("sudo -u postgres psql -c x", Some("-u postgres psql -c x")),
            ("docker run --rm image pytest", None),
            ("docker build .", None),
            ("systemctl status mysql", None),
        ] {
            let words: Vec<String> = line.split(' ').map(String::from).collect();
            assert_eq!(started_by(&words).as_deref(), expected, "{line}");
        }
        let long = ["docker", "compose", "up"]
            .into_iter()
            .chain(["a"; 100])
            .map(String::from);
        assert!(started_by(&long.collect::<Vec<_>>()).is_some_and(|named| named.chars().count() == MAX_SHOWN + 1));
    }
}

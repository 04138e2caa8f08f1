//! Which repositories greenlight works for.

use std::fmt;

use crate::domain::id::RepositoryName;

/// The repositories that greenlight works for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AllowList {
    /// Every repository that the credentials can access.
    #[default]
    All,
    Only(Vec<Allowed>),
}

/// One entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowed {
    /// `owner/*`
    Owner(String),
    /// `owner/name`
    Repository(RepositoryName),
}

impl AllowList {
    /// Parses `owner/name,owner/*`. Spaces and a trailing comma are allowed.
    ///
    /// # Errors
    /// A sentence fragment about the invalid entry. An empty list is an error too, because it would otherwise
    /// silently allow every repository.
    pub fn parse(text: &str) -> Result<Self, String> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let allowed: Vec<Allowed> = entries.map(entry).collect::<Result<_, _>>()?;
        if allowed.is_empty() {
            return Err("has no entry".into());
        }
        Ok(Self::Only(allowed))
    }

    /// Ignores case, as GitHub does.
    pub fn allows(&self, repository: &RepositoryName) -> bool {
        match self {
            Self::All => true,
            Self::Only(entries) => entries.iter().any(|entry| match entry {
                Allowed::Owner(owner) => owner.eq_ignore_ascii_case(repository.owner()),
                Allowed::Repository(name) => name.to_string().eq_ignore_ascii_case(&repository.to_string()),
            }),
        }
    }
}

impl fmt::Display for AllowList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Only(entries) = self else {
            return f.write_str("all of the installation");
        };
        let entries = entries.iter().map(|entry| match entry {
            Allowed::Owner(owner) => format!("{owner}/*"),
            Allowed::Repository(name) => name.to_string(),
        });
        f.write_str(&entries.collect::<Vec<_>>().join(","))
    }
}

fn entry(text: &str) -> Result<Allowed, String> {
    if let Some(owner) = text.strip_suffix("/*") {
        // The name only completes the owner to a value that can be validated.
        let checked = RepositoryName::new(owner, "any").map_err(|_| not_an_entry(text))?;
        return Ok(Allowed::Owner(checked.owner().into()));
    }
    text.parse().map(Allowed::Repository).map_err(|_| not_an_entry(text))
}

fn not_an_entry(text: &str) -> String {
    let shown: String = text.chars().take(120).collect();
    format!("has {shown:?}, which is neither `owner/name` nor `owner/*`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(list: &str, repository: &str, allowed: bool) {
        let list = AllowList::parse(list).unwrap();
        assert_eq!(list.allows(&repository.parse().unwrap()), allowed, "{list:?}");
    }

    #[test]
    fn names_and_owners() {
        check("octo/hello", "octo/hello", true);
        check("octo/hello", "Octo/Hello", true);
        check("octo/hello", "octo/hello2", false);
        check("octo/*", "octo/anything", true);
        check("octo/*", "octopus/anything", false);
        check(" a/b , octo/* ,", "OCTO/x", true);
        assert!(AllowList::All.allows(&"any/one".parse().unwrap()));
    }

    #[test]
    fn an_invalid_entry_is_refused_and_never_means_everything() {
        for bad in [
            "",
            ",",
            "*",
            "*/*",
            "octo",
            "octo/",
            "octo/**",
            "octo/h*",
            "a b/c",
            "https://github.com/a/b",
        ] {
            assert!(AllowList::parse(bad).is_err(), "{bad:?}");
        }
    }
}

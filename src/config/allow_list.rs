//! Which repositories greenlight works for.

use crate::domain::id::RepositoryName;

/// The repositories an installation is narrowed to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AllowList {
    /// Every repository the credentials reach.
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
    /// Reads `owner/name,owner/*`; spaces and a comma at the end do no harm.
    ///
    /// # Errors
    /// The entry that is neither, in a sentence fragment. A list without a single entry is an error too, because
    /// it would otherwise quietly mean every repository.
    pub fn parse(text: &str) -> Result<Self, String> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let allowed: Vec<Allowed> = entries.map(entry).collect::<Result<_, _>>()?;
        if allowed.is_empty() {
            return Err("has no entry".into());
        }
        Ok(Self::Only(allowed))
    }

    /// Compares without regard to case, as GitHub does.
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

fn entry(text: &str) -> Result<Allowed, String> {
    if let Some(owner) = text.strip_suffix("/*") {
        // The name only completes the owner to something that can be checked.
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
    fn what_is_no_name_is_refused_rather_than_taken_for_everything() {
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

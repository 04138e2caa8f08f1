//! Follows GitHub's redirects of repositories that have another name or owner by now.
//!
//! The request is repeated there unchanged, regardless of its method: same body, same token. So the target must be
//! this API, with the same scheme, host and port. Nothing is ever sent anywhere else.
//! <https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#follow-redirects>

use http::{HeaderMap, StatusCode, header};
use url::Url;

use super::error::Error;

/// How many redirects of one request are followed. GitHub needs one: old names lead straight to the repository's id.
pub(super) const MAX_HOPS: usize = 3;

/// The target of a redirect.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// Another route of this API.
    Here(String),
    /// Another server.
    Elsewhere(Url),
    /// A redirect without a target.
    Nowhere,
}

impl Redirect {
    /// Reads the redirect in a response to a request for `route` of the API at `api`. `None` if it is not one.
    ///
    /// `303` does not count: it asks for a different request, and GitHub's API does not send it.
    pub(super) fn read(api: &Url, route: &str, status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        if !matches!(status.as_u16(), 301 | 302 | 307 | 308) {
            return None;
        }
        let base = api.path().trim_end_matches('/');
        let requested = api.join(&format!("{base}{route}")).ok()?;
        let location = headers.get(header::LOCATION).and_then(|to| to.to_str().ok());
        let Some(to) = location.and_then(|to| requested.join(to).ok()) else {
            return Some(Self::Nowhere);
        };
        let path = to
            .path()
            .strip_prefix(base)
            .filter(|path| path.starts_with('/') && !path.starts_with("//"));
        Some(match path {
            Some(path) if to.origin() == api.origin() && to.username().is_empty() && to.password().is_none() => {
                let query = to.query().map(|query| format!("?{query}")).unwrap_or_default();
                Self::Here(format!("{path}{query}"))
            }
            _ => Self::Elsewhere(to),
        })
    }
}

impl Redirect {
    /// The error if a redirect is not followed.
    pub(super) fn refused(&self, route: &str, status: StatusCode) -> Error {
        let message = match self {
            Self::Elsewhere(to) => format!(
                "it redirects to {}, which is not this API; nothing was sent there",
                to.host_str().unwrap_or("another place")
            ),
            Self::Here(_) | Self::Nowhere => "its redirect has no target".into(),
        };
        Error::Refused {
            status: status.as_u16(),
            route: route.into(),
            message,
            lacks: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn read(api: &str, location: &str) -> Redirect {
        let mut headers = HeaderMap::new();
        headers.insert(header::LOCATION, location.parse().unwrap());
        Redirect::read(
            &api.parse().unwrap(),
            "/repos/o/old?a=b",
            StatusCode::MOVED_PERMANENTLY,
            &headers,
        )
        .unwrap()
    }

    #[test]
    fn only_the_same_api_is_here() {
        let here = |path: &str| Redirect::Here(path.into());
        for (api, location, route) in [
            (
                "https://api.github.com",
                "https://api.github.com/repositories/5?a=b",
                "/repositories/5?a=b",
            ),
            (
                "https://api.github.com/",
                "https://api.github.com:443/repositories/5",
                "/repositories/5",
            ),
            ("https://api.github.com", "/repositories/5", "/repositories/5"),
            (
                "https://ghe.example/api/v3",
                "https://ghe.example/api/v3/repositories/5",
                "/repositories/5",
            ),
            (
                "http://127.0.0.1:9/",
                "http://127.0.0.1:9/repositories/5",
                "/repositories/5",
            ),
        ] {
            assert_eq!(read(api, location), here(route), "{location}");
        }
        for (api, location) in [
            ("https://api.github.com", "https://evil.example/repositories/5"),
            ("https://api.github.com", "//evil.example/repositories/5"),
            ("https://api.github.com", "http://api.github.com/repositories/5"),
            ("https://api.github.com", "https://api.github.com:8443/repositories/5"),
            (
                "https://api.github.com",
                "https://api.github.com@evil.example/repositories/5",
            ),
            ("https://api.github.com", "https://me:pw@api.github.com/repositories/5"),
            (
                "https://api.github.com",
                "https://api.github.com.evil.example/repositories/5",
            ),
            // The web pages and the API of an enterprise's own server share a host.
            ("https://ghe.example/api/v3", "https://ghe.example/o/new"),
            (
                "https://ghe.example/api/v3",
                "https://ghe.example/api/v30/repositories/5",
            ),
            ("https://ghe.example/api/v3", "https://ghe.example/api/v3/../../o/new"),
            ("http://127.0.0.1:9/", "http://127.0.0.1:10/repositories/5"),
            (
                "https://api.github.com",
                "https://api.github.com//evil.example/repositories/5",
            ),
        ] {
            assert!(matches!(read(api, location), Redirect::Elsewhere(_)), "{location}");
        }
        assert_eq!(read("https://api.github.com", "https://["), Redirect::Nowhere);
    }

    #[test]
    fn other_answers_are_no_redirects() {
        let api = "https://api.github.com".parse().unwrap();
        for status in [200, 204, 303, 304, 404] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(Redirect::read(&api, "/user", status, &HeaderMap::new()), None);
        }
    }
}

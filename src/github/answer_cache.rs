//! Caches responses, so that GitHub can answer 304: such answers do not count against the rate limit.
//!
//! A cached response is used only after GitHub has confirmed it, to the same credentials.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::error::HttpAnswer;

/// The bound on all bodies together, in bytes.
const MAX_BYTES: usize = 32 << 20;
const MAX_BODY: usize = 2 << 20;
const MAX_ENTRIES: usize = 2_000;

/// The client, the route and the media type.
type Key = (u64, String, &'static str);

/// The cached responses for every client of one [`super::GitHub`]. The least recently used ones are evicted.
/// <https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#use-conditional-requests-if-appropriate>
#[derive(Debug, Default)]
pub(super) struct AnswerCache(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    entries: HashMap<Key, (u64, CachedAnswer)>,
    bytes: usize,
    /// Incremented with every use.
    now: u64,
}

/// A cached response that GitHub may confirm.
#[derive(Debug, Clone)]
pub(super) struct CachedAnswer {
    pub(super) tag: HeaderValue,
    link: Option<HeaderValue>,
    body: Bytes,
}

impl CachedAnswer {
    /// The response that a 304 confirms.
    pub(super) fn again(self, mut headers: HeaderMap) -> HttpAnswer {
        if let Some(link) = self.link {
            headers.entry(header::LINK).or_insert(link);
        }
        HttpAnswer {
            status: StatusCode::OK,
            headers,
            body: self.body,
        }
    }
}

impl AnswerCache {
    pub(super) fn find(&self, owner: u64, route: &str, accept: &'static str) -> Option<CachedAnswer> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.now += 1;
        let now = kept.now;
        let (used, reading) = kept.entries.get_mut(&(owner, route.to_string(), accept))?;
        *used = now;
        Some(reading.clone())
    }

    /// Stores a response that has an `ETag`.
    pub(super) fn keep(&self, owner: u64, route: &str, accept: &'static str, answer: &HttpAnswer) {
        let tag = answer.headers.get(header::ETAG).cloned();
        let Some(tag) = tag.filter(|_| answer.status == StatusCode::OK && answer.body.len() <= MAX_BODY) else {
            return;
        };
        let link = answer.headers.get(header::LINK).cloned();
        let body = answer.body.clone();
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.now += 1;
        let entry = (kept.now, CachedAnswer { tag, link, body });
        kept.bytes += answer.body.len();
        if let Some((_, before)) = kept.entries.insert((owner, route.to_string(), accept), entry) {
            kept.bytes -= before.body.len();
        }
        kept.make_room();
    }
}

impl Entries {
    fn make_room(&mut self) {
        while self.bytes > MAX_BYTES || self.entries.len() > MAX_ENTRIES {
            let oldest = self.entries.iter().min_by_key(|(_, (used, _))| *used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                return;
            };
            if let Some((_, reading)) = self.entries.remove(&oldest) {
                self.bytes -= reading.body.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(length: usize) -> HttpAnswer {
        HttpAnswer {
            status: StatusCode::OK,
            headers: HeaderMap::from_iter([(header::ETAG, HeaderValue::from_static("\"1\""))]),
            body: Bytes::from(vec![b'x'; length]),
        }
    }

    #[test]
    fn the_cache_is_bounded_and_keeps_used_entries() {
        let known = AnswerCache::default();
        known.keep(1, "/often", "json", &answer(10));
        for at in 0..100 {
            known.keep(1, &format!("/{at}"), "json", &answer(MAX_BODY));
            assert!(known.find(1, "/often", "json").is_some());
        }
        let kept = known.0.lock().unwrap();
        assert_eq!(kept.entries.len(), MAX_BYTES / MAX_BODY);
        assert!(kept.bytes <= MAX_BYTES);
    }

    #[test]
    fn many_small_ones_are_bounded_too() {
        let known = AnswerCache::default();
        for at in 0..MAX_ENTRIES + 10 {
            known.keep(1, &format!("/{at}"), "json", &answer(0));
        }
        assert_eq!(known.0.lock().unwrap().entries.len(), MAX_ENTRIES);
    }

    #[test]
    fn clients_do_not_share_entries() {
        let known = AnswerCache::default();
        known.keep(1, "/a", "json", &answer(1));
        assert!(known.find(1, "/a", "json").is_some());
        assert!(known.find(2, "/a", "json").is_none());
        assert!(known.find(1, "/a", "raw").is_none());
        known.keep(1, "/long", "json", &answer(MAX_BODY + 1));
        assert!(known.find(1, "/long", "json").is_none());
    }
}

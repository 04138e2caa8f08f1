//! A bounded map whose entries expire.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

/// At most `MAX` entries, each until its time.
pub(super) struct Remembered<K, V, const MAX: usize>(HashMap<K, (Instant, V)>);

impl<K, V, const MAX: usize> Default for Remembered<K, V, MAX> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Hash + Eq + Clone, V, const MAX: usize> Remembered<K, V, MAX> {
    pub(super) fn get(&self, key: &K, now: Instant) -> Option<&V> {
        let (_, value) = self.0.get(key).filter(|(until, _)| *until > now)?;
        Some(value)
    }

    pub(super) fn get_mut(&mut self, key: &K, now: Instant) -> Option<&mut V> {
        let (_, value) = self.0.get_mut(key).filter(|(until, _)| *until > now)?;
        Some(value)
    }

    pub(super) fn forget(&mut self, key: &K) {
        self.0.remove(key);
    }

    /// How many entries there are, including those that have expired.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Keeps an entry for a while. If the map is full, it replaces the entry that expires first.
    pub(super) fn keep(&mut self, key: K, value: V, now: Instant, long: Duration) {
        if self.len() >= MAX {
            self.0.retain(|_, (until, _)| *until > now);
        }
        if self.len() >= MAX
            && let Some(first) = self
                .0
                .iter()
                .min_by_key(|(_, (until, _))| *until)
                .map(|(key, _)| key.clone())
        {
            self.0.remove(&first);
        }
        self.0.insert(key, (now + long, value));
    }
}

//! Pairs the items of a file before a patch with those after it. Several may have one name: twins under opposite
//! conditions, overloads, tests with one title.

use std::collections::HashMap;

use super::items::{Item, Role};

/// What an item is found by.
type Key<'a> = (Role, &'a str, &'a [String]);

fn key<'a>(item: &'a Item<'_>) -> Key<'a> {
    (item.role, &item.name, &item.place)
}

/// The partner of each old item among the new ones, each of which is the partner of at most one. Those that are
/// unchanged come first, then those with the same marks and parameters, and then the order decides.
pub(super) fn pairs(old: &[Item<'_>], new: &[Item<'_>]) -> Vec<Option<usize>> {
    let mut partners = vec![None; old.len()];
    let mut left: HashMap<Key<'_>, (Vec<usize>, Vec<usize>)> = HashMap::new();
    for (at, item) in old.iter().enumerate() {
        left.entry(key(item)).or_default().0.push(at);
    }
    for (at, item) in new.iter().enumerate() {
        if let Some((_, news)) = left.get_mut(&key(item)) {
            news.push(at);
        }
    }
    for (olds, mut news) in left.into_values() {
        let passes: [fn(&Item<'_>, &Item<'_>) -> bool; 4] = [is_unchanged, has_same_frame, has_same_head, |_, _| true];
        for fits in passes {
            for &at in &olds {
                if partners[at].is_some() {
                    continue;
                }
                if let Some(found) = news.iter().position(|other| fits(&old[at], &new[*other])) {
                    partners[at] = Some(news.remove(found));
                }
            }
        }
    }
    partners
}

fn is_unchanged(one: &Item<'_>, other: &Item<'_>) -> bool {
    let keys = |item: &Item<'_>| {
        item.body
            .iter()
            .map(|statement| statement.key.clone())
            .collect::<Vec<_>>()
    };
    has_same_frame(one, other) && one.body.len() == other.body.len() && keys(one) == keys(other)
}

fn has_same_frame(one: &Item<'_>, other: &Item<'_>) -> bool {
    let marks = |item: &Item<'_>| item.marks.iter().map(|mark| mark.text.clone()).collect::<Vec<_>>();
    has_same_head(one, other) && marks(one) == marks(other)
}

fn has_same_head(one: &Item<'_>, other: &Item<'_>) -> bool {
    one.head == other.head
}

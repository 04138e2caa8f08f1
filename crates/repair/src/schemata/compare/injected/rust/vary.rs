//! Calls an observed function again with variations of its arguments.

use super::digest::{Digest, MOST_BYTES};
use super::greenlight_std::borrow::{Borrow, ToOwned};
use super::greenlight_std::panic::{AssertUnwindSafe, catch_unwind};
use super::greenlight_std::prelude::v1::*;
use super::greenlight_std::sync::{Mutex, mpsc};
use super::greenlight_std::time::Duration;
use super::greenlight_std::{format, mem, ops, process, thread, vec};
use super::means::{away, get, put};
use super::observe::{quietly, said, say, varied};

// Maximum number of inputs that are varied, and of variations of each.
const MOST_INPUTS: usize = 16;
const MOST_OTHERS: usize = 24;
// An input is abandoned after it ended the process with this many candidates.
const MOST_ENDED: usize = 2;
// The function is no longer varied after this many calls that ended the process.
const MOST_ENDED_IN_ALL: usize = 8;
// Time limit of one call with a generated input.
const CALL: Duration = Duration::from_millis(500);

// Makes variations of a value if its type is a known one.
pub struct Like<'a, T: ?Sized + 'a>(Unlike<'a, T>);
pub struct Unlike<'a, T: ?Sized + 'a>(Fixed<'a, T>);
pub struct Fixed<'a, T: ?Sized + 'a>(&'a T);

pub fn like<'a, T: ?Sized>(value: &'a T) -> Like<'a, T> {
    Like(Unlike(Fixed(value)))
}

impl<'a, T: ?Sized> ops::Deref for Like<'a, T> {
    type Target = Unlike<'a, T>;
    fn deref(&self) -> &Unlike<'a, T> {
        &self.0
    }
}

impl<'a, T: ?Sized> ops::Deref for Unlike<'a, T> {
    type Target = Fixed<'a, T>;
    fn deref(&self) -> &Fixed<'a, T> {
        &self.0
    }
}

macro_rules! whole_numbers {
    ($($kind:ty)*) => { $(
        impl<'a> Like<'a, $kind> {
            pub fn greenlight_like(&self) -> Vec<$kind> {
                let value = *((self.0).0).0;
                let zero: $kind = 0;
                let all = [
                    value.checked_add(1),
                    value.checked_sub(1),
                    Some(zero),
                    zero.checked_sub(value),
                    value.checked_mul(2),
                    zero.checked_sub(1),
                    Some(value / 2),
                ];
                all.iter().filter_map(|it| *it).filter(|it| *it != value).collect()
            }
        }
    )* };
}
whole_numbers! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize }

macro_rules! broken_numbers {
    ($($kind:ty)*) => { $(
        impl<'a> Like<'a, $kind> {
            pub fn greenlight_like(&self) -> Vec<$kind> {
                let value = *((self.0).0).0;
                vec![value + 1.0, value - 1.0, 0.0, -value, value * 2.0, value / 2.0]
            }
        }
    )* };
}
broken_numbers! { f32 f64 }

impl<'a> Like<'a, bool> {
    pub fn greenlight_like(&self) -> Vec<bool> {
        vec![!*((self.0).0).0]
    }
}

impl<'a> Like<'a, char> {
    pub fn greenlight_like(&self) -> Vec<char> {
        let value = *((self.0).0).0;
        let all = [
            'a',
            'Z',
            '0',
            ' ',
            '_',
            'é',
            value.to_ascii_uppercase(),
            value.to_ascii_lowercase(),
        ];
        all.iter().cloned().filter(|it| *it != value).collect()
    }
}

fn texts(value: &str) -> Vec<String> {
    if value.len() > MOST_BYTES {
        return Vec::new();
    }
    let mut shorter = value.chars();
    shorter.next();
    let mut start = value.chars();
    start.next_back();
    let all = vec![
        String::new(),
        String::from(start.as_str()),
        String::from(shorter.as_str()),
        value.chars().rev().collect(),
        format!("{}{}", value, value),
        value.to_uppercase(),
        format!(" {}", value),
        format!("{}é", value),
    ];
    all.into_iter().filter(|it| it != value).collect()
}

impl<'a> Like<'a, str> {
    pub fn greenlight_like(&self) -> Vec<String> {
        texts(((self.0).0).0)
    }
}

impl<'a> Like<'a, String> {
    pub fn greenlight_like(&self) -> Vec<String> {
        texts(((self.0).0).0)
    }
}

fn lists<T: Clone>(value: &[T]) -> Vec<Vec<T>> {
    if value.is_empty() || value.len() > MOST_BYTES {
        return Vec::new();
    }
    let mut all = vec![
        Vec::new(),
        value[..value.len() - 1].to_vec(),
        value[1..].to_vec(),
        value.iter().rev().cloned().collect(),
        [value, value].concat(),
        [&value[..1], value].concat(),
        value[..1].to_vec(),
    ];
    if value.len() > 1 {
        let mut turned = value.to_vec();
        turned.rotate_left(1);
        all.push(turned);
    }
    all
}

impl<'a, T: Clone> Like<'a, [T]> {
    pub fn greenlight_like(&self) -> Vec<Vec<T>> {
        lists(((self.0).0).0)
    }
}

impl<'a, T: Clone> Like<'a, Vec<T>> {
    pub fn greenlight_like(&self) -> Vec<Vec<T>> {
        lists(((self.0).0).0)
    }
}

impl<'a, T: Clone> Like<'a, Option<T>> {
    pub fn greenlight_like(&self) -> Vec<Option<T>> {
        vec![None]
    }
}

impl<'a, T: ?Sized + ToOwned> Unlike<'a, T> {
    pub fn greenlight_like(&self) -> Vec<T::Owned> {
        Vec::new()
    }
}

pub struct Not;

impl<'a, T: ?Sized> Fixed<'a, T> {
    pub fn greenlight_like(&self) -> Not {
        Not
    }
}

/// The arguments of a call, as nested pairs.
pub trait List {
    type Owned;
    fn own(&self) -> Self::Owned;
    fn others(&self) -> usize;
    /// A copy in which one of them is varied.
    fn other(&self, at: usize) -> Self::Owned;
}

impl List for () {
    type Owned = ();
    fn own(&self) {}
    fn others(&self) -> usize {
        0
    }
    fn other(&self, _: usize) {}
}

impl<'a, T: ?Sized + ToOwned, R: List> List for ((&'a T, Vec<T::Owned>), R) {
    type Owned = (T::Owned, R::Owned);
    fn own(&self) -> Self::Owned {
        ((self.0).0.to_owned(), self.1.own())
    }
    fn others(&self) -> usize {
        (self.0).1.len() + self.1.others()
    }
    fn other(&self, at: usize) -> Self::Owned {
        match (self.0).1.get(at) {
            Some(value) => {
                let value: &T = value.borrow();
                (value.to_owned(), self.1.own())
            }
            None => ((self.0).0.to_owned(), self.1.other(at - (self.0).1.len())),
        }
    }
}

pub struct Vary<L, F>(Fast<L, F>);
pub struct Fast<L, F>(L, F);

pub fn vary<L, F>(list: L, call: F) -> Vary<L, F> {
    Vary(Fast(list, call))
}

impl<L, F> ops::Deref for Vary<L, F> {
    type Target = Fast<L, F>;
    fn deref(&self) -> &Fast<L, F> {
        &self.0
    }
}

impl<L, F> Fast<L, F> {
    pub fn greenlight_vary(&self, _: usize, _: &dyn Fn(&mut Digest)) {}
}

impl<L: List, F: Fn(L::Owned, &mut Digest)> Vary<L, F> {
    pub fn greenlight_vary(&self, function: usize, show: &dyn Fn(&mut Digest)) {
        if varied() == 0 || get("GREENLIGHT_BUSY").is_some() {
            return;
        }
        static SEEN: Mutex<Vec<u64>> = Mutex::new(Vec::new());
        let _ = quietly(|| {
            let hash = Digest::of(show).hash;
            if let Ok(mut seen) = SEEN.lock() {
                if seen.contains(&hash) || seen.len() >= MOST_INPUTS {
                    return;
                }
                seen.push(hash);
            }
            let chosen = get("GREENLIGHT_SWITCH").unwrap_or_default();
            let before = said();
            let own = format!("? {} ", function);
            if before
                .lines()
                .filter(|it| it.starts_with(&own) && it.ends_with(' '))
                .count()
                >= MOST_ENDED_IN_ALL
            {
                return;
            }
            put("GREENLIGHT_BUSY", "1");
            // The first candidate runs again at the end: if its results differ, they depend on more than the input.
            let order: Vec<usize> = (0..varied() + 1).chain(1..2).collect();
            let others = (self.0).0.others();
            let step = others / MOST_OTHERS + 1;
            for at in (0..others + 1).filter(|at| *at == 0 || (*at - 1) % step == 0) {
                let ended = |turn| before.contains(&format!("? {} {:016x} {} {} \n", function, hash, at, turn));
                if (0..order.len()).filter(|turn| ended(*turn)).count() >= MOST_ENDED {
                    continue;
                }
                for (turn, candidate) in order.iter().enumerate() {
                    let begun = format!("? {} {:016x} {} {} ", function, hash, at, turn);
                    if before.contains(&begun) {
                        continue;
                    }
                    put("GREENLIGHT_SWITCH", &format!("{}", candidate));
                    self.try_one(at, &begun);
                }
            }
            put("GREENLIGHT_SWITCH", &chosen);
            away("GREENLIGHT_BUSY");
        });
    }

    fn try_one(&self, at: usize, begun: &str) {
        say(begun);
        let (done, watched) = mpsc::channel::<()>();
        thread::spawn(move || {
            if watched.recv_timeout(CALL) == Err(mpsc::RecvTimeoutError::Timeout) {
                process::exit(97);
            }
        });
        let answer = Digest::of(&|digest| {
            let whole = catch_unwind(AssertUnwindSafe(|| {
                let input = if at == 0 {
                    (self.0).0.own()
                } else {
                    (self.0).0.other(at - 1)
                };
                ((self.0).1)(input, &mut *digest);
            }));
            if whole.is_err() {
                *digest = Digest {
                    hash: 1,
                    left: MOST_BYTES,
                    is_opaque: false,
                };
            }
        });
        mem::drop(done);
        say(&format!("{}\n", answer.text()));
    }
}

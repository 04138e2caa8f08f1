//! Makes long inputs of short ones: what a parser walks over again and again shows only in those.

/// Texts of about so many bytes in which one piece of a seed is there again and again, with what comes before and after
/// it; `most` of them at most.
pub fn pumped(seed: &[u8], bytes: usize, most: usize) -> Vec<Vec<u8>> {
    let pieces = pieces(seed);
    let step = pieces.len().div_ceil(most.max(1)).max(1);
    let chosen = pieces.iter().step_by(step).take(most);
    chosen
        .map(|(from, to)| {
            let piece = &seed[*from..*to];
            let times = bytes / piece.len().max(1);
            [&seed[..*from], &piece.repeat(times), &seed[*to..]].concat()
        })
        .collect()
}

/// Where the pieces of a seed are: every text of it, every line, every two lines, and every word and mark.
fn pieces(seed: &[u8]) -> Vec<(usize, usize)> {
    let mut all = cuts(seed, |before, _| before == 0);
    for (from, to) in all.clone() {
        let text = &seed[from..to];
        let within = |pieces: Vec<(usize, usize)>| pieces.into_iter().map(move |(a, b)| (from + a, from + b));
        let lines = cuts(text, |before, _| before == b'\n');
        all.extend(within(lines.windows(2).map(|two| (two[0].0, two[1].1)).collect()));
        all.extend(within(lines));
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte >= 128;
        all.extend(within(cuts(text, |before, after| {
            !(is_word(before) && is_word(after)) && before != after
        })));
    }
    // A piece with a NUL at its end would be more texts, not a longer one.
    for (_, to) in &mut all {
        *to -= usize::from(seed[..*to].last() == Some(&0));
    }
    all.retain(|(from, to)| from < to);
    all.sort_unstable();
    all.dedup();
    all
}

/// Cuts where something is between two bytes.
fn cuts(text: &[u8], is_between: impl Fn(u8, u8) -> bool) -> Vec<(usize, usize)> {
    let inner = (1..text.len()).filter(|at| is_between(text[at - 1], text[*at]));
    let ends: Vec<usize> = std::iter::once(0).chain(inner).chain([text.len()]).collect();
    ends.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

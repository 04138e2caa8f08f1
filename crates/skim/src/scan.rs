//! Finds the ends of strings, arrays and objects, many bytes at a time: as the authors of simdjson describe it in
//! "Parsing Gigabytes of JSON per Second", <https://doi.org/10.1007/s00778-019-00578-5>, section 3.1.

use memchr::memchr2;
use wide::u8x16;

/// How deeply a value may be nested. Readers have similar limits.
const MAX_DEPTH: u32 = 128;
/// The length of a block, in bytes: as many as a word has bits.
const BLOCK: usize = 64;
/// How many pieces of 16 bytes are searched here. Most strings are shorter than it takes to call `memchr`.
const SHORT: usize = 2;

/// The place of the first quote or backslash.
pub(crate) fn quote_or_backslash(text: &[u8]) -> Option<usize> {
    let (pieces, _) = text.as_chunks();
    for (nth, piece) in pieces.iter().take(SHORT).enumerate() {
        let piece = u8x16::new(*piece);
        let found = piece.simd_eq(u8x16::splat(b'"')) | piece.simd_eq(u8x16::splat(b'\\'));
        let found = found.to_bitmask();
        if found != 0 {
            return Some(16 * nth + found.trailing_zeros() as usize);
        }
    }
    let begin = 16 * pieces.len().min(SHORT);
    memchr2(b'"', b'\\', text.get(begin..)?).map(|at| begin + at)
}

/// The length of the array or object that this text begins with. `None` if it has no end, brackets that do not belong
/// together, or too many of them in each other.
pub(crate) fn nested(text: &[u8]) -> Option<usize> {
    let (mut strings, mut open) = (Strings::default(), OpenBrackets::default());
    let mut begin = 0;
    loop {
        let rest = text.get(begin..).filter(|rest| !rest.is_empty())?;
        let mut padded = [0; BLOCK];
        let block = rest.first_chunk().unwrap_or_else(|| {
            padded[..rest.len()].copy_from_slice(rest);
            &padded
        });
        let marks = Marks::of(block);
        let mut brackets = marks.brackets & !strings.within(&marks);
        while brackets != 0 {
            let nth = brackets.trailing_zeros() as usize;
            brackets &= brackets - 1;
            open.pass(block[nth])?;
            if open.depth == 0 {
                return Some(begin + nth + 1);
            }
        }
        begin += BLOCK;
    }
}

/// Where a block has which bytes: a bit for each.
struct Marks {
    quotes: u64,
    backslashes: u64,
    /// Brackets, and a few bytes that look like them; see [`OpenBrackets::pass`].
    brackets: u64,
}

impl Marks {
    fn of(block: &[u8; BLOCK]) -> Self {
        let mut marks = Self {
            quotes: 0,
            backslashes: 0,
            brackets: 0,
        };
        let (pieces, _) = block.as_chunks();
        for (nth, piece) in pieces.iter().enumerate() {
            let piece = u8x16::new(*piece);
            let at = |found: u8x16| u64::from(found.to_bitmask()) << (16 * nth);
            marks.quotes |= at(piece.simd_eq(u8x16::splat(b'"')));
            marks.backslashes |= at(piece.simd_eq(u8x16::splat(b'\\')));
            // All four brackets are the same byte with these bits set.
            marks.brackets |= at((piece | u8x16::splat(0x26)).simd_eq(u8x16::splat(0x7f)));
        }
        marks
    }
}

/// What the blocks so far leave open of a string.
#[derive(Default)]
struct Strings {
    /// All ones if the next block begins within one.
    open: u64,
    /// Whether the last block ended with a backslash that belongs to the next byte.
    is_escaped: bool,
}

impl Strings {
    /// Which bytes of the next block are within strings.
    fn within(&mut self, marks: &Marks) -> u64 {
        let mut within = marks.quotes & !self.escaped(marks.backslashes);
        // Each bit becomes the sum of those up to it: an odd number of quotes means within a string.
        for distance in [1, 2, 4, 8, 16, 32] {
            within ^= within << distance;
        }
        within ^= self.open;
        self.open = if within >> 63 == 1 { u64::MAX } else { 0 };
        within
    }

    /// Which bytes follow a backslash that belongs to them.
    fn escaped(&mut self, backslashes: u64) -> u64 {
        let mut escaped = u64::from(self.is_escaped);
        let mut left = backslashes & !escaped;
        self.is_escaped = false;
        while left != 0 {
            let backslash = left & left.wrapping_neg();
            self.is_escaped = backslash >> 63 == 1;
            escaped |= backslash << 1;
            // A backslash that is escaped escapes nothing.
            left &= !(backslash | backslash << 1);
        }
        escaped
    }
}

/// The brackets that are open.
#[derive(Default)]
struct OpenBrackets {
    /// One bit for each: whether it is a brace.
    braces: u128,
    depth: u32,
}

impl OpenBrackets {
    /// Takes one byte in. `None` if it closes what is not open, or opens too much.
    fn pass(&mut self, byte: u8) -> Option<()> {
        match byte {
            b'{' | b'[' => {
                self.depth += 1;
                self.braces = self.braces << 1 | u128::from(byte == b'{');
                (self.depth < MAX_DEPTH).then_some(())
            }
            b'}' | b']' => {
                let is_same = self.depth > 0 && (self.braces & 1 == 1) == (byte == b'}');
                self.depth = self.depth.checked_sub(1)?;
                self.braces >>= 1;
                is_same.then_some(())
            }
            _ => Some(()),
        }
    }
}

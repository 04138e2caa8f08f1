//! Copies a few fields out of a large JSON object, and skips the rest quickly.
//!
//! A typed reader looks at every value, even at those that it ignores. Of a webhook's payload, a hundredth is needed.

mod scan;

/// The fields that are kept.
///
/// Each object has few, and most names differ in length from all of them, so a list is searched faster than a map.
#[derive(Debug, Default)]
pub struct Fields(Vec<(&'static [u8], Fields)>);

/// A value that is kept as it is.
static WHOLE: Fields = Fields(Vec::new());

impl Fields {
    /// The fields with these paths, such as `pull_request.head.sha`. A value at the end of a path is kept as it is, and
    /// in an array, a path continues in each element.
    pub fn new(paths: &[&'static str]) -> Self {
        let mut fields = Self::default();
        for path in paths {
            fields.add(path);
        }
        fields
    }

    fn add(&mut self, path: &'static str) {
        let (name, below) = path
            .split_once('.')
            .map_or((path, None), |(name, below)| (name, Some(below)));
        let known = self.0.iter().position(|(known, _)| *known == name.as_bytes());
        let nth = known.unwrap_or_else(|| {
            self.0.push((name.as_bytes(), Self::default()));
            self.0.len() - 1
        });
        if let Some(below) = below {
            self.0[nth].1.add(below);
        }
    }

    /// What is kept of the member with this name. `None` if it is not wanted.
    fn of(&self, name: &[u8]) -> Option<&Self> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, fields)| fields)
    }

    /// Whether a path ends here.
    fn is_whole(&self) -> bool {
        self.0.is_empty()
    }
}

/// An object with only these fields, as JSON. `None` for what is no JSON object, or an unusual one: the caller then
/// reads the original, which says what is wrong with it.
///
/// What is skipped is not checked, apart from its strings and brackets.
pub fn skim(json: &[u8], fields: &Fields) -> Option<Vec<u8>> {
    let mut skimming = Skimming {
        json,
        at: 0,
        kept: Vec::new(),
    };
    skimming.space();
    if skimming.peek()? != b'{' {
        return None;
    }
    skimming.keep(fields)?;
    skimming.space();
    (skimming.at == json.len()).then_some(skimming.kept)
}

struct Skimming<'a> {
    json: &'a [u8],
    at: usize,
    kept: Vec<u8>,
}

impl<'a> Skimming<'a> {
    fn peek(&self) -> Option<u8> {
        self.json.get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Passes this byte, and the space around it.
    fn pass(&mut self, byte: u8) -> Option<()> {
        self.space();
        if self.peek()? != byte {
            return None;
        }
        self.at += 1;
        self.space();
        Some(())
    }

    /// Copies a value without the fields that are not wanted. Goes no deeper than the fields do.
    fn keep(&mut self, fields: &Fields) -> Option<()> {
        match self.peek()? {
            b'{' if !fields.is_whole() => self.keep_members(fields),
            b'[' if !fields.is_whole() => self.keep_elements(fields),
            _ => {
                let value = self.skip()?;
                self.kept.extend_from_slice(value);
                Some(())
            }
        }
    }

    fn keep_members(&mut self, fields: &Fields) -> Option<()> {
        self.pass(b'{')?;
        self.kept.push(b'{');
        let mut is_first = true;
        while self.peek()? != b'}' {
            let name = self.string()?;
            self.pass(b':')?;
            // A name with an escape may be any name.
            let wanted = match fields.of(name.get(1..name.len() - 1)?) {
                None if name.contains(&b'\\') => Some(&WHOLE),
                wanted => wanted,
            };
            match wanted {
                Some(wanted) => {
                    if !is_first {
                        self.kept.push(b',');
                    }
                    is_first = false;
                    self.kept.extend_from_slice(name);
                    self.kept.push(b':');
                    self.keep(wanted)?;
                }
                None => drop(self.skip()?),
            }
            self.next(b'}')?;
        }
        self.end(b'}')
    }

    fn keep_elements(&mut self, fields: &Fields) -> Option<()> {
        self.pass(b'[')?;
        self.kept.push(b'[');
        let mut is_first = true;
        while self.peek()? != b']' {
            if !is_first {
                self.kept.push(b',');
            }
            is_first = false;
            self.keep(fields)?;
            self.next(b']')?;
        }
        self.end(b']')
    }

    /// Passes the comma before the next member or element, if this was not the last one.
    fn next(&mut self, end: u8) -> Option<()> {
        self.space();
        if self.peek()? == end {
            return Some(());
        }
        self.pass(b',')?;
        (self.peek()? != end).then_some(())
    }

    fn end(&mut self, bracket: u8) -> Option<()> {
        self.at += 1;
        self.kept.push(bracket);
        Some(())
    }

    /// Passes a string, with its quotes.
    fn string(&mut self) -> Option<&'a [u8]> {
        let begin = self.at;
        if self.peek()? != b'"' {
            return None;
        }
        self.at += 1;
        loop {
            self.at += scan::quote_or_backslash(self.json.get(self.at..)?)? + 1;
            if self.json[self.at - 1] == b'"' {
                return self.json.get(begin..self.at);
            }
            // What follows a backslash never ends the string.
            self.at += 1;
        }
    }

    /// Passes a value.
    fn skip(&mut self) -> Option<&'a [u8]> {
        let begin = self.at;
        match self.peek()? {
            b'"' => return self.string(),
            b'{' | b'[' => self.at += scan::nested(self.json.get(begin..)?)?,
            b'a'..=b'z' | b'0'..=b'9' | b'-' => self.word(),
            _ => return None,
        }
        self.json.get(begin..self.at)
    }

    /// Passes a number, `true`, `false` or `null`.
    fn word(&mut self) {
        while let Some(b'a'..=b'z' | b'0'..=b'9' | b'-' | b'+' | b'.' | b'E') = self.peek() {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests;

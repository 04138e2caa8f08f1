//! What is configured for a model: which API it has, and what it costs.
//!
//! Prices come from the operator's table; none are built in or fetched.

/// The API of an endpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Api {
    /// Chat completions. <https://platform.openai.com/docs/api-reference/chat/create>
    #[default]
    Chat,
    /// Responses. <https://platform.openai.com/docs/api-reference/responses/create>
    Responses,
}

/// Whether greenlight offers a model tools through its endpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolUse {
    /// If the endpoint accepts them, which greenlight tries once.
    #[default]
    Auto,
    /// Always.
    Native,
    /// Never: the model acts through blocks of code.
    Code,
}

/// Who makes a fix.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Who {
    /// The built-in repair engine, and the model if there is one and the engine found nothing.
    #[default]
    Auto,
    /// The built-in repair engine alone.
    BuiltIn,
    /// The model alone.
    Model,
}

/// What a model costs, in millionths of a US dollar for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    pub input: u64,
    /// For the part of the input that the endpoint had in its cache.
    pub cached_input: u64,
    pub output: u64,
}

impl Price {
    /// What one round trip costs, in millionths of a US dollar, rounded up.
    pub fn of(&self, input: u64, cached: u64, output: u64) -> u64 {
        let cached = cached.min(input);
        let parts = [
            (input - cached, self.input),
            (cached, self.cached_input),
            (output, self.output),
        ];
        micros(
            parts
                .iter()
                .map(|(tokens, price)| u128::from(*tokens) * u128::from(*price))
                .sum(),
        )
    }

    /// The most that this many tokens can cost, no matter of which kind they are.
    pub fn worst_case(&self, tokens: u64) -> u64 {
        let dearest = self.input.max(self.cached_input).max(self.output);
        micros(u128::from(tokens) * u128::from(dearest))
    }
}

fn micros(per_million: u128) -> u64 {
    u64::try_from(per_million.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// The known prices, by a model's name or a prefix of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prices(Vec<(String, Price)>);

impl Prices {
    /// The price of a model: that of its exact name, or of the longest matching pattern such as `gpt-5*`.
    pub fn of(&self, model: &str) -> Option<Price> {
        let fits = |pattern: &str| match pattern.strip_suffix('*') {
            Some(beginning) => model.starts_with(beginning),
            None => model == pattern,
        };
        let fitting = self.0.iter().filter(|(pattern, _)| fits(pattern));
        let best = fitting.max_by_key(|(pattern, _)| (!pattern.ends_with('*'), pattern.len()));
        best.map(|(_, price)| *price)
    }
}

impl FromIterator<(String, Price)> for Prices {
    fn from_iter<I: IntoIterator<Item = (String, Price)>>(prices: I) -> Self {
        Self(prices.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price = Price {
        input: 2_500_000,
        cached_input: 250_000,
        output: 10_000_000,
    };

    #[test]
    fn a_round_trip_is_priced_by_its_parts() {
        assert_eq!(PRICE.of(1_000, 0, 100), 3_500);
        assert_eq!(PRICE.of(1_000, 800, 100), 500 + 200 + 1_000);
        // An endpoint that reports more cached tokens than there are gets no discount for them.
        assert_eq!(PRICE.of(10, 99, 0), 3);
        assert_eq!(PRICE.of(u64::MAX, 0, u64::MAX), u64::MAX);
        assert_eq!(PRICE.worst_case(1_000), 10_000);
    }

    #[test]
    fn the_most_exact_name_counts() {
        let dear = Price { input: 9, ..PRICE };
        let exact = Price { input: 7, ..PRICE };
        let prices: Prices = [("gpt*", PRICE), ("gpt-5*", dear), ("gpt-5", exact)]
            .into_iter()
            .map(|(name, price)| (name.to_string(), price))
            .collect();
        assert_eq!(prices.of("gpt-5"), Some(exact));
        assert_eq!(prices.of("gpt-5-mini"), Some(dear));
        assert_eq!(prices.of("gpt-4"), Some(PRICE));
        assert_eq!(prices.of("llama"), None);
    }
}

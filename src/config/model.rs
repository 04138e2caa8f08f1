//! The settings of the model: which one, at which endpoint, through which API, and at what price.

use std::path::Path;

use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use url::Url;

use super::ConfigError;
use super::addresses::base_url;
use super::environment::Environment;
use super::flags::ModelFlags;
use super::secrets::MODEL_API_KEY;
use super::settings_error::SettingsError;
use crate::domain::model::{Api, Price, Prices, ToolUse};

const MODEL_BASE_URL: &str = "https://api.openai.com/v1";
/// Enough for thousands of models; a larger file is a mistake.
const MAX_PRICES: u64 = 1 << 20;
const MAX_FALLBACKS: usize = 8;
/// No model can work with less than this.
const MIN_CONTEXT: u64 = 1_000;
const MAX_CONTEXT: u64 = 100_000_000;

/// The model to use.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    /// Any OpenAI-compatible endpoint, without `/chat/completions` and without a `/` at the end.
    pub base_url: Url,
    pub name: String,
    /// Fallback models at the same endpoint, in order.
    pub fallbacks: Vec<String>,
    /// Empty for servers that need none.
    pub api_key: SecretString,
    pub api: Api,
    pub tools: ToolUse,
    pub prices: Prices,
    /// In tokens. `None` means the default.
    pub context: Option<u64>,
}

impl ModelSettings {
    /// Whether requests are sent without a key.
    pub fn has_no_key(&self) -> bool {
        self.api_key.expose_secret().is_empty()
    }

    /// Combines flags and environment. `None` if no model is named.
    ///
    /// # Errors
    /// The first setting that is wrong, even if no model is named.
    pub(super) fn new(flags: ModelFlags, environment: &Environment) -> Result<Option<Self>, SettingsError> {
        let text = |flag: Option<String>, name: &str| {
            flag.filter(|value| !value.is_empty())
                .or_else(|| environment.get(name).map(String::from))
        };
        let url = text(flags.model_base_url, "GREENLIGHT_MODEL_BASE_URL");
        let url = url
            .as_deref()
            .or_else(|| environment.get("OPENAI_BASE_URL"))
            .unwrap_or(MODEL_BASE_URL);
        let settings = Self {
            base_url: base_url("GREENLIGHT_MODEL_BASE_URL", url)?,
            name: text(flags.model, "GREENLIGHT_MODEL").unwrap_or_default(),
            fallbacks: fallbacks(text(flags.model_fallbacks, "GREENLIGHT_MODEL_FALLBACKS").as_deref())?,
            api_key: MODEL_API_KEY
                .read(flags.model_api_key_file.as_deref(), environment)?
                .unwrap_or_default(),
            api: api(text(flags.model_api, "GREENLIGHT_MODEL_API").as_deref())?,
            tools: tools(text(flags.model_tools, "GREENLIGHT_MODEL_TOOLS").as_deref())?,
            prices: match flags
                .model_prices
                .as_deref()
                .or_else(|| environment.get("GREENLIGHT_MODEL_PRICES").map(Path::new))
            {
                Some(path) => prices(path)?,
                None => Prices::default(),
            },
            context: context(text(flags.model_context, "GREENLIGHT_MODEL_CONTEXT").as_deref())?,
        };
        Ok(Some(settings).filter(|settings| !settings.name.is_empty()))
    }
}

fn fallbacks(text: Option<&str>) -> Result<Vec<String>, SettingsError> {
    let names = text
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(String::from).collect();
    if names.len() > MAX_FALLBACKS {
        let problem = format!("names more than {MAX_FALLBACKS} models");
        return Err(SettingsError::new(
            "GREENLIGHT_MODEL_FALLBACKS",
            problem,
            "leave some out",
        ));
    }
    Ok(names)
}

fn api(text: Option<&str>) -> Result<Api, SettingsError> {
    match text {
        None | Some("chat") => Ok(Api::Chat),
        Some("responses") => Ok(Api::Responses),
        Some(_) => Err(SettingsError::new(
            "GREENLIGHT_MODEL_API",
            "is not an API",
            "use `chat` or `responses`",
        )),
    }
}

fn tools(text: Option<&str>) -> Result<ToolUse, SettingsError> {
    match text {
        None | Some("auto") => Ok(ToolUse::Auto),
        Some("native") => Ok(ToolUse::Native),
        Some("code") => Ok(ToolUse::Code),
        Some(_) => Err(SettingsError::new(
            "GREENLIGHT_MODEL_TOOLS",
            "is not a tool mode",
            "use `auto`, `native` or `code`",
        )),
    }
}

fn context(text: Option<&str>) -> Result<Option<u64>, SettingsError> {
    let wrong = || {
        let remedy = "set it to the model's context window in tokens, less what it writes, such as 64000";
        let problem = format!("is not a whole number from {MIN_CONTEXT} to {MAX_CONTEXT}");
        SettingsError::new("GREENLIGHT_MODEL_CONTEXT", problem, remedy)
    };
    let number = text
        .map(|text| text.trim().replace('_', "").parse::<u64>().map_err(|_| wrong()))
        .transpose()?;
    if number.is_some_and(|number| !(MIN_CONTEXT..=MAX_CONTEXT).contains(&number)) {
        return Err(wrong());
    }
    Ok(number)
}

/// A row of the file, in US dollars per million tokens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct Row {
    input: f64,
    /// The price of `input` if it is left out.
    cached_input: Option<f64>,
    output: f64,
}

fn prices(path: &Path) -> Result<Prices, SettingsError> {
    let wrong = |problem: String| {
        let remedy = "give each model a table such as `[\"gpt-5*\"]` with `input`, `cached_input` and `output` in US \
                      dollars per million tokens";
        SettingsError::new(
            "GREENLIGHT_MODEL_PRICES",
            format!("({}) {problem}", path.display()),
            remedy,
        )
    };
    let size = std::fs::metadata(path)
        .map_err(|error| wrong(format!("cannot be read: {error}")))?
        .len();
    if size > MAX_PRICES {
        return Err(wrong(format!("is larger than {MAX_PRICES} bytes")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let rows: std::collections::BTreeMap<String, Row> = toml::from_str(&text)
        .map_err(|error| wrong(format!("is wrong at {}", ConfigError::new(&text, error).place())))?;
    let price = |(name, row): (String, Row)| {
        let micros =
            |dollars: f64| micros(dollars).ok_or_else(|| wrong(format!("has no price of `{name}` from 0 to 10000")));
        let price = Price {
            input: micros(row.input)?,
            cached_input: micros(row.cached_input.unwrap_or(row.input))?,
            output: micros(row.output)?,
        };
        Ok((name, price))
    };
    rows.into_iter().map(price).collect()
}

fn micros(dollars: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is within bounds"
    )]
    (0.0..=10_000.0)
        .contains(&dollars)
        .then(|| (dollars * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;
    use crate::config::flags::Flags;

    fn settings(pairs: &[(&str, &str)]) -> Result<ModelSettings, SettingsError> {
        let pairs = pairs.iter().copied().chain([("GREENLIGHT_MODEL", "m")]);
        Ok(Settings::new(Flags::default(), &pairs.collect())?.model().unwrap())
    }

    #[test]
    fn what_is_not_set_has_a_default() {
        let model = settings(&[]).unwrap();
        assert_eq!(
            (model.api, model.tools, model.context),
            (Api::Chat, ToolUse::Auto, None)
        );
        assert!(model.fallbacks.is_empty() && model.prices == Prices::default());
        assert_eq!(model.base_url.as_str(), MODEL_BASE_URL);
    }

    #[test]
    fn what_is_set_counts_and_what_is_wrong_is_named() {
        let model = settings(&[
            ("GREENLIGHT_MODEL_FALLBACKS", "a, b,,"),
            ("GREENLIGHT_MODEL_API", "responses"),
            ("GREENLIGHT_MODEL_TOOLS", "code"),
            ("GREENLIGHT_MODEL_CONTEXT", "32_000"),
        ])
        .unwrap();
        assert_eq!(
            (model.api, model.tools, model.context),
            (Api::Responses, ToolUse::Code, Some(32_000))
        );
        assert_eq!(model.fallbacks, ["a", "b"]);
        let wrong = [
            ("GREENLIGHT_MODEL_FALLBACKS", "1,2,3,4,5,6,7,8,9"),
            ("GREENLIGHT_MODEL_API", "rest"),
            ("GREENLIGHT_MODEL_TOOLS", "no"),
            ("GREENLIGHT_MODEL_CONTEXT", "64k"),
            ("GREENLIGHT_MODEL_CONTEXT", "10"),
            ("GREENLIGHT_MODEL_PRICES", "/nowhere/prices.toml"),
        ];
        for (name, value) in wrong {
            let error = settings(&[(name, value)]).unwrap_err();
            assert_eq!(error.setting, name, "{error}");
        }
    }

    #[test]
    fn prices_are_read_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("prices.toml");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let model = settings(&[("GREENLIGHT_MODEL_PRICES", path.to_str().unwrap())]);
            model
                .map(|model| model.prices)
                .map_err(|error| error.to_string().replace(path.to_str().unwrap(), "FILE"))
        };
        let prices =
            read("[\"gpt-5*\"]\ninput = 1.25\ncached_input = 0.125\noutput = 10\n[\"o4\"]\ninput = 2\noutput = 3\n")
                .unwrap();
        let gpt = prices.of("gpt-5-mini").unwrap();
        assert_eq!(
            (gpt.input, gpt.cached_input, gpt.output),
            (1_250_000, 125_000, 10_000_000)
        );
        assert_eq!(prices.of("o4").unwrap().cached_input, 2_000_000);
        let errors = [
            "[m]\ninptu = 1\noutput = 2",
            "[m]\ninput = -1\noutput = 2",
            "[m]\ninput = 1",
            "m = 1",
        ];
        let errors = errors.map(|text| {
            read(text).unwrap_err().replace(
                "; give each model a table such as \
                                                                        `[\"gpt-5*\"]` with `input`, `cached_input` \
                                                                        and `output` in US dollars per million \
                                                                        tokens",
                "",
            )
        });
        insta::assert_snapshot!(errors.join("\n"), @r"
        GREENLIGHT_MODEL_PRICES (FILE) is wrong at line 2, `m.inptu`: there is no such field; did you mean `input`?
        GREENLIGHT_MODEL_PRICES (FILE) has no price of `m` from 0 to 10000
        GREENLIGHT_MODEL_PRICES (FILE) is wrong at line 1, `m`: missing field 'output'
        GREENLIGHT_MODEL_PRICES (FILE) is wrong at line 1, `m`: it has to be a table, not the integer '1'
        ");
    }
}

//! Talks to any OpenAI-compatible endpoint: chat completions or responses, streamed if possible, with or without tool
//! calls.
//!
//! Requests go through async-openai with our own types, because real servers omit, rename and retype fields ([`read`]
//! handles that). We also send requests ourselves ([`exchange`]): so the status of a failure is known, answers have a
//! size limit, and neither a body nor the key is ever logged.

mod chat;
mod endpoint;
mod events;
mod exchange;
mod failure;
mod read;
mod request;
mod responses;
mod speech;
mod stream_tap;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_openai::Client;
use backon::{ExponentialBuilder, Retryable as _};
use secrecy::SecretString;
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

use self::endpoint::Endpoint;
use self::exchange::Sender;
use self::failure::{About, Failure, MAX_WAIT};
use self::request::{Question, Streaming};
use self::stream_tap::StreamTap;
use crate::agent::{DEFAULT_CONTEXT, Live, Model, ModelError, Reply, Speech, Turn};
use crate::domain::clock::{Clock, in_words};
use crate::domain::model::{Api, Price, Prices, ToolUse};
use crate::metrics::{ModelTraffic, ReplyCost};
use crate::traces::{self, Outcome};

/// How often a request is repeated.
const RETRIES: usize = 4;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a model that failed permanently is tried after the others.
const REST: Duration = Duration::from_secs(300);

/// Which model to ask, at which endpoint and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Everything before `/chat/completions`, usually ending in `/v1`.
    pub base_url: Url,
    pub model: String,
    /// Models at the same endpoint that are tried in order when the ones before them are unavailable.
    pub fallbacks: Vec<String>,
    /// Sent as a bearer token; an empty key is not sent.
    pub api_key: SecretString,
    pub api: Api,
    pub tools: ToolUse,
    pub prices: Prices,
    /// How long a history may become before old results are left out, in tokens.
    pub context: u64,
    /// The time limit for one answer, from connecting to its last byte.
    pub timeout: Duration,
    /// The longest pause between two parts of one answer.
    pub idle: Duration,
    /// The wait before a failed request is repeated; it doubles each time.
    pub first_wait: Duration,
}

impl Settings {
    /// Settings with a time limit of five minutes for an answer, and one second before the first retry.
    pub fn new(base_url: Url, model: impl Into<String>, api_key: SecretString) -> Self {
        Self {
            base_url,
            model: model.into(),
            fallbacks: Vec::new(),
            api_key,
            api: Api::default(),
            tools: ToolUse::default(),
            prices: Prices::default(),
            context: DEFAULT_CONTEXT,
            timeout: Duration::from_secs(300),
            idle: Duration::from_secs(120),
            first_wait: Duration::from_secs(1),
        }
    }
}

/// Settings that cannot be used for requests.
#[derive(Debug, thiserror::Error)]
pub enum InvalidSettings {
    #[error("GREENLIGHT_MODEL_BASE_URL must start with http:// or https://")]
    Url,
    #[error("GREENLIGHT_MODEL_API_KEY has characters that cannot be sent; copy it again")]
    Key,
    #[error("no HTTPS connections can be made: {0}")]
    Tls(reqwest::Error),
}

/// A model behind an endpoint, and its fallbacks.
#[derive(Debug)]
pub struct OpenAi {
    http: reqwest::Client,
    endpoint: Endpoint,
    /// In the order in which they are tried; there is always a first one.
    candidates: Vec<Candidate>,
    api: Api,
    tools: ToolUse,
    speech: OnceLock<Speech>,
    /// It is lowered when the endpoint reports a smaller limit.
    context: AtomicU64,
    idle: Duration,
    first_wait: Duration,
    clock: Clock,
    traffic: Option<ModelTraffic>,
}

/// One model, and what was learned about it.
#[derive(Debug)]
struct Candidate {
    name: String,
    price: Option<Price>,
    learned: Mutex<Learned>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Learned {
    streaming: Streaming,
    rests_until: Option<Instant>,
}

impl OpenAi {
    /// Prepares requests; nothing is sent yet.
    ///
    /// # Errors
    /// When no request can be made with these settings.
    pub fn new(settings: Settings) -> Result<Self, InvalidSettings> {
        greenlight_crypto::install();
        let http = reqwest::Client::builder()
            .timeout(settings.timeout)
            .connect_timeout(CONNECT_TIMEOUT)
            // A redirect could send repository text, and perhaps the key, to a place that nobody configured.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(InvalidSettings::Tls)?;
        let names = [settings.model].into_iter().chain(settings.fallbacks);
        let candidates = names.map(|name| Candidate {
            price: settings.prices.of(&name),
            name,
            learned: Mutex::default(),
        });
        Ok(Self {
            http,
            endpoint: Endpoint::new(settings.base_url, settings.api_key)?,
            candidates: candidates.collect(),
            api: settings.api,
            tools: settings.tools,
            speech: OnceLock::new(),
            context: AtomicU64::new(settings.context),
            idle: settings.idle,
            first_wait: settings.first_wait,
            clock: Clock::default(),
            traffic: None,
        })
    }

    /// Counts the requests from now on.
    pub fn count(&mut self, traffic: &ModelTraffic) {
        self.traffic = Some(traffic.clone());
    }

    /// How often and how long greenlight waited for answers, including retries.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The price of the first model, if it is known.
    pub fn price(&self) -> Option<Price> {
        self.candidates.first()?.price
    }

    /// The most that this many tokens can cost, in millionths of a US dollar. `None` if the price of any model that
    /// may answer is not known.
    pub fn worst_case_micros(&self, tokens: u64) -> Option<u64> {
        let costs = self.candidates.iter().map(|one| Some(one.price?.worst_case(tokens)));
        costs.collect::<Option<Vec<u64>>>()?.into_iter().max()
    }

    /// Asks until there is an answer, and records the time.
    async fn answer(&self, question: &Question<'_>, live: &Live) -> Result<Reply, Failure> {
        let began = Instant::now();
        let answered = self.try_fallbacks(question, live).await;
        self.clock.add(began.elapsed());
        answered
    }

    /// Tries the models in order until one answers.
    async fn try_fallbacks(&self, question: &Question<'_>, live: &Live) -> Result<Reply, Failure> {
        let now = Instant::now();
        let (rested, resting): (Vec<_>, Vec<_>) = self.candidates.iter().partition(|one| !one.rests(now));
        let mut failure = Failure::Unreachable("there is no model to ask".into());
        for candidate in rested.into_iter().chain(resting) {
            match self.send_with_retry(candidate, question, live).await {
                Ok(reply) => return Ok(reply),
                Err(error) if error.is_of_this_model() && self.candidates.len() > 1 => {
                    tracing::warn!(
                        model.failure = error.kind(),
                        model.name = candidate.name,
                        "a model is unavailable"
                    );
                    candidate.learn(|learned| learned.rests_until = Some(Instant::now() + REST));
                    failure = error;
                }
                Err(error) => return Err(error),
            }
        }
        Err(failure)
    }

    /// Asks one model, and repeats the request as long as that may help.
    async fn send_with_retry(
        &self,
        candidate: &Candidate,
        question: &Question<'_>,
        live: &Live,
    ) -> Result<Reply, Failure> {
        let waits = ExponentialBuilder::default()
            .with_min_delay(self.first_wait)
            .with_max_delay(MAX_WAIT)
            .with_max_times(RETRIES)
            .with_jitter();
        (|| self.ask(candidate, question, live))
            .retry(waits)
            .when(Failure::is_transient)
            .adjust(|failure, wait| wait.map(|wait| failure.retry_after().unwrap_or(wait)))
            .notify(|failure, wait| {
                tracing::warn!(
                    model.failure = failure.kind(),
                    after = in_words(wait),
                    "the model is asked again"
                );
            })
            .await
    }

    /// Asks one model: first for a stream, then with as many streaming options as it supports.
    async fn ask(&self, candidate: &Candidate, question: &Question<'_>, live: &Live) -> Result<Reply, Failure> {
        loop {
            let streaming = candidate.learned().streaming;
            let pending = self.traffic.as_ref().map(ModelTraffic::ask);
            let mut span = traces::model_span(&candidate.name);
            let failure = match self.send(candidate, question, streaming, live).await {
                Ok(reply) => {
                    if let Some(pending) = pending {
                        pending.answer(&ReplyCost {
                            input: reply.usage.prompt_tokens,
                            cached_input: reply.usage.cached_tokens,
                            output: reply.usage.completion_tokens,
                            micros: reply.usage.cost_micros,
                        });
                    }
                    span.note("gen_ai.usage.input_tokens", reply.usage.prompt_tokens);
                    span.note("gen_ai.usage.output_tokens", reply.usage.completion_tokens);
                    span.end(Outcome::Done);
                    return Ok(reply);
                }
                Err(failure) => failure,
            };
            span.end(Outcome::Failed(failure.word()));
            if let Some(pending) = pending {
                pending.fail(failure.word());
            }
            let less = match streaming {
                Streaming::WithUsage if failure.is_about(About::StreamUsage) => Streaming::Plain,
                Streaming::WithUsage | Streaming::Plain if failure.is_about(About::Stream) => Streaming::Off,
                _ => return Err(failure),
            };
            candidate.learn(|learned| learned.streaming = less);
        }
    }

    /// Sends one request.
    async fn send(
        &self,
        candidate: &Candidate,
        question: &Question<'_>,
        streaming: Streaming,
        live: &Live,
    ) -> Result<Reply, Failure> {
        let body = request::body(self.api, &candidate.name, question, streaming);
        let (tap, mut hears) = StreamTap::new();
        let sender = Sender {
            http: self.http.clone(),
            idle: self.idle,
            api: self.api,
            tap,
        };
        let send = move |request| sender.clone().exchange(request);
        let client = Client::build(self.http.clone(), self.endpoint.clone()).with_http_service(tower::service_fn(send));
        let asked = async {
            match self.api {
                Api::Chat => client.chat().create_byot(&body).await,
                Api::Responses => client.responses().create_byot(&body).await,
            }
        };
        let mut asked = std::pin::pin!(asked);
        let answer: Value = loop {
            tokio::select! {
                biased;
                Some(heard) = hears.recv() => live(heard.as_delta()),
                answer = &mut asked => break answer?,
            }
        };
        while let Ok(heard) = hears.try_recv() {
            live(heard.as_delta());
        }
        let mut reply = match self.api {
            Api::Chat => read::reply(&answer)?,
            Api::Responses => responses::reply(&answer)?,
        };
        if reply.usage.prompt_tokens == 0 {
            // If an endpoint does not count tokens, the limits still apply: four bytes count as one token.
            reply.usage.prompt_tokens = body.to_string().len() as u64 / 4;
            reply.usage.completion_tokens = answer.to_string().len() as u64 / 4;
        }
        let usage = reply.usage;
        let cost = |price: Price| price.of(usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens);
        reply.usage.cost_micros = candidate.price.map(cost);
        reply.model = Some(candidate.name.clone());
        Ok(reply)
    }
}

impl Candidate {
    fn learned(&self) -> Learned {
        *self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn learn(&self, change: impl FnOnce(&mut Learned)) {
        change(&mut self.learned.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn rests(&self, now: Instant) -> bool {
        self.learned().rests_until.is_some_and(|until| now < until)
    }
}

impl Model for OpenAi {
    fn speech(&self) -> Speech {
        self.known_speech()
    }

    async fn reply(&self, turn: &Turn<'_>) -> Result<Reply, ModelError> {
        let question = Question {
            history: turn.history,
            tools: turn.tools,
            speech: turn.speech,
        };
        let answered = tokio::select! {
            biased;
            () = turn.cancel.cancelled() => return Err(ModelError::Cancelled),
            answered = self.answer(&question, turn.live) => answered,
        };
        answered.map_err(|failure| {
            if failure.is_about(About::Length) {
                let body = request::body(self.api, "", &question, Streaming::Off).to_string();
                // The refused history was too long. The new limit is lower still, so that the next history has room
                // to grow.
                self.context.fetch_min(body.len() as u64 / 4 * 3 / 4, Ordering::Relaxed);
            }
            self.learn_speech(&failure)
                .unwrap_or_else(|| failure.explain(&self.endpoint))
        })
    }

    fn context(&self) -> u64 {
        self.context.load(Ordering::Relaxed)
    }
}

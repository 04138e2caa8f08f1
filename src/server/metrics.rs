//! `GET /metrics`: who may read the metrics, and in which format.
//!
//! They say how much greenlight works and spends, so they are for the operator: for programs on this machine, and for
//! anyone who has the token. A proxy on this machine makes everybody look as if they were on it. So loopback counts only
//! for a request that shows no sign of a proxy.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, StatusCode, Version, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;

use super::api::bearer;
use super::forwarded::is_forwarded;
use crate::metrics::Format;

/// How long the database may take to count. Prometheus waits ten seconds by default.
const MAX_LOOK: Duration = Duration::from_secs(3);

const FOR_THE_OPERATOR: &str = "The metrics are for programs on the same machine, without a proxy in between, and for \
                                anyone who sends `Authorization: Bearer` with GREENLIGHT_METRICS_TOKEN.\n";

/// A token, compared in constant time.
#[derive(Clone)]
pub(super) struct MetricsToken(SecretString);

impl MetricsToken {
    pub(super) fn new(token: SecretString) -> Self {
        Self(token)
    }

    /// Whether this is the token. The time it takes says nothing about the difference: codes are compared, not the
    /// tokens themselves.
    fn is(&self, shown: &str) -> bool {
        let code = |key: &str| Hmac::<Sha256>::new_from_slice(key.as_bytes()).map(|mac| mac.chain_update("metrics"));
        let (Ok(known), Ok(shown)) = (code(self.0.expose_secret()), code(shown)) else {
            return false;
        };
        known.verify(&shown.finalize().into_bytes()).is_ok()
    }
}

#[derive(Clone)]
struct Scraped {
    queue: super::Queue,
    token: Option<MetricsToken>,
}

/// The route.
pub(super) fn router(queue: super::Queue, token: Option<MetricsToken>) -> Router {
    Router::new()
        .route("/metrics", get(get_metrics))
        .with_state(Scraped { queue, token })
}

async fn get_metrics(State(scraped): State<Scraped>, request: Request) -> Response {
    let from = request
        .extensions()
        .get::<ConnectInfo<SocketAddr>>()
        .map(|from| from.0.ip());
    let headers = request.headers();
    let has_token = bearer(headers)
        .zip(scraped.token.as_ref())
        .is_some_and(|(shown, token)| token.is(shown));
    if !has_token && !is_local(from, request.version(), headers) {
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
        return (StatusCode::UNAUTHORIZED, challenge, FOR_THE_OPERATOR).into_response();
    }
    let format = format(headers);
    let metrics = &scraped.queue.app().metrics;
    if let Some(database) = scraped.queue.app().journal.shared() {
        match tokio::time::timeout(MAX_LOOK, database.lanes_due()).await {
            Ok(Ok(due)) => metrics.lanes.due(due),
            // The other metrics say more then.
            Ok(Err(_)) | Err(_) => tracing::warn!("the lanes that are due could not be counted"),
        }
    }
    match metrics.render(format) {
        Ok(text) => ([(header::CONTENT_TYPE, format.content_type())], text).into_response(),
        Err(error) => {
            tracing::error!(%error, "the metrics could not be written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Whether a request is from this machine and for it.
///
/// nginx adds no header unless it is told to, but speaks HTTP/1.0 to what is behind it by default. A proxy that keeps the
/// name of the host shows it, as does a browser that was made to resolve a stranger's name to this machine.
fn is_local(from: Option<IpAddr>, version: Version, headers: &HeaderMap) -> bool {
    let is_loopback = from.is_some_and(|from| from.to_canonical().is_loopback());
    let is_direct = version > Version::HTTP_10 && !is_forwarded(headers);
    is_loopback && is_direct && host(headers).is_some_and(is_this_machine)
}

/// The name of the host that is asked, without its port.
fn host(headers: &HeaderMap) -> Option<&str> {
    let host = headers.get(header::HOST)?.to_str().ok()?;
    let has_port = host
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    Some(has_port.map_or(host, |(name, _)| name))
}

fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = address
        .parse::<IpAddr>()
        .is_ok_and(|address| address.to_canonical().is_loopback());
    is_loopback || host.eq_ignore_ascii_case("localhost")
}

/// OpenMetrics for those who ask for it, as Prometheus does.
fn format(headers: &HeaderMap) -> Format {
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
    let wants = |kind: &str| accepted.is_some_and(|accepted| accepted.to_ascii_lowercase().contains(kind));
    match wants("application/openmetrics-text") {
        true => Format::OpenMetrics,
        false => Format::Prometheus,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::super::forwarded::OF_PROXIES;
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    fn local(from: &str, version: Version, pairs: &[(&'static str, &'static str)]) -> bool {
        is_local(Some(from.parse().unwrap()), version, &headers(pairs))
    }

    #[test]
    fn a_program_on_this_machine_is_local() {
        for (from, host) in [
            ("127.0.0.1", "127.0.0.1:8080"),
            ("127.8.0.1", "localhost"),
            ("::1", "[::1]:8080"),
            ("::ffff:127.0.0.1", "LOCALHOST:8080"),
        ] {
            assert!(local(from, Version::HTTP_11, &[("host", host)]), "{from} {host}");
        }
    }

    #[test]
    fn a_request_through_a_proxy_is_not_local() {
        let here = ("host", "127.0.0.1:8080");
        for name in OF_PROXIES {
            // Even without a value.
            assert!(!local("127.0.0.1", Version::HTTP_11, &[here, (name, "")]), "{name}");
        }
        assert!(!local("127.0.0.1", Version::HTTP_10, &[here]));
        for host in [
            "bot.example.com",
            "127.0.0.1.example.com",
            "localhost.example.com:8080",
            "",
        ] {
            assert!(!local("127.0.0.1", Version::HTTP_11, &[("host", host)]), "{host}");
        }
        assert!(!local("127.0.0.1", Version::HTTP_11, &[]));
        assert!(!local("192.0.2.1", Version::HTTP_11, &[here]));
        assert!(!is_local(None, Version::HTTP_11, &headers(&[here])));
    }

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = MetricsToken::new("sesame".to_string().into());
        assert!(token.is("sesame"));
        for other in ["", "s", "sesam", "sesame ", "sesamf", "sesamesesame"] {
            assert!(!token.is(other), "{other}");
        }
    }

    #[test]
    fn prometheus_gets_openmetrics_and_a_browser_plain_text() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3";
        assert_eq!(format(&headers(&[("accept", prometheus)])), Format::OpenMetrics);
        assert_eq!(
            format(&headers(&[("accept", "text/html,*/*;q=0.8")])),
            Format::Prometheus
        );
        assert_eq!(format(&headers(&[])), Format::Prometheus);
    }
}

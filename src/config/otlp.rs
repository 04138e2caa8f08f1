//! Where traces are sent: OpenTelemetry's own variables, which other programs read as well.
//! <https://opentelemetry.io/docs/specs/otel/protocol/exporter/>

use percent_encoding::percent_decode_str;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::environment::Environment;
use super::settings_error::SettingsError;
use crate::traces::Destination;

const TRACES: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const ALL: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

/// Reads OpenTelemetry's variables. `None` if no endpoint is set, or the SDK is disabled.
///
/// # Errors
/// When a variable cannot be used.
pub fn destination(environment: &Environment) -> Result<Option<Destination>, SettingsError> {
    let set = |name| environment.get(name).map(str::trim).filter(|text| !text.is_empty());
    if set("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
        return Ok(None);
    }
    let url = match (set(TRACES), set(ALL)) {
        (Some(whole), _) => url(TRACES, whole)?,
        (None, Some(base)) => url(ALL, &format!("{}/v1/traces", base.trim_end_matches('/')))?,
        (None, None) => return Ok(None),
    };
    if let Some(other) = set(PROTOCOL).filter(|protocol| *protocol != "http/json") {
        let problem = format!("is {other:?}, which greenlight does not speak");
        let remedy = "unset it, or set it to http/json, which collectors accept on port 4318";
        return Err(SettingsError::new(PROTOCOL, problem, remedy));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in pairs(set(HEADERS)) {
        let header = HeaderName::try_from(name.as_str())
            .ok()
            .zip(HeaderValue::try_from(value).ok());
        let Some((name, mut value)) = header else {
            let remedy = "write it as name=value,name=value, with percent-encoded values";
            return Err(SettingsError::new(HEADERS, "is not a list of headers", remedy));
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let mut resource = pairs(set("OTEL_RESOURCE_ATTRIBUTES"));
    if let Some(name) = set("OTEL_SERVICE_NAME") {
        resource.retain(|(key, _)| key != "service.name");
        resource.push(("service.name".into(), name.into()));
    } else if !resource.iter().any(|(key, _)| key == "service.name") {
        resource.push(("service.name".into(), "greenlight".into()));
    }
    resource.push(("service.version".into(), env!("CARGO_PKG_VERSION").into()));
    Ok(Some(Destination { url, headers, resource }))
}

fn url(setting: &'static str, text: &str) -> Result<Url, SettingsError> {
    let url = Url::parse(text)
        .ok()
        .filter(|url| ["http", "https"].contains(&url.scheme()));
    url.ok_or_else(|| {
        let remedy = "set it to a URL such as http://127.0.0.1:4318";
        SettingsError::new(setting, "is not a URL of a collector", remedy)
    })
}

/// `key=value,key=value`, with percent-encoded values.
fn pairs(text: Option<&str>) -> Vec<(String, String)> {
    let pairs = text
        .unwrap_or_default()
        .split(',')
        .filter_map(|pair| pair.split_once('='));
    let decoded = |(key, value): (&str, &str)| {
        let value = percent_decode_str(value.trim()).decode_utf8_lossy().into_owned();
        (key.trim().to_string(), value)
    };
    pairs.map(decoded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<Destination>, String> {
        let environment = variables
            .iter()
            .map(|(name, value)| ((*name).to_string(), (*value).to_string()));
        destination(&environment.collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_is_sent_unless_an_endpoint_is_set() {
        assert!(read(&[]).unwrap().is_none());
        assert!(
            read(&[(ALL, "http://c:4318"), ("OTEL_SDK_DISABLED", "true")])
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn the_variables_mean_what_they_mean_elsewhere() {
        let read = read(&[
            (ALL, "https://c.example/otlp/"),
            (HEADERS, "authorization=Bearer%20x, api-key=1"),
            (
                "OTEL_RESOURCE_ATTRIBUTES",
                "deployment.environment.name=test,service.name=other",
            ),
            ("OTEL_SERVICE_NAME", "bot"),
        ]);
        let Destination { url, headers, resource } = read.unwrap().unwrap();
        assert_eq!(url.as_str(), "https://c.example/otlp/v1/traces");
        assert_eq!(headers["authorization"], "Bearer x");
        assert!(!format!("{headers:?}").contains("Bearer"));
        let named = |name: &str| resource.iter().filter(|(key, _)| key == name).count();
        assert_eq!((named("service.name"), named("deployment.environment.name")), (1, 1));
        assert!(resource.contains(&("service.name".into(), "bot".into())));
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        assert!(read(&[(TRACES, "c:4317")]).unwrap_err().contains(TRACES));
        assert!(
            read(&[(ALL, "http://c"), (PROTOCOL, "grpc")])
                .unwrap_err()
                .contains("http/json")
        );
        assert!(
            read(&[(ALL, "http://c"), (HEADERS, "a b=1")])
                .unwrap_err()
                .contains(HEADERS)
        );
    }
}

//! A collector of traces, built from OpenTelemetry's own protobuf definitions.

use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::net::TcpListener;

#[derive(Clone, Default)]
pub(crate) struct Collector {
    received: Arc<Mutex<Vec<String>>>,
    pub(crate) url: String,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        let received = Arc::<Mutex<Vec<String>>>::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let kept = Arc::clone(&received);
        let receive = async move |headers: HeaderMap, body: Bytes| {
            if headers["content-type"] != "application/json" || headers.get("x-key").is_none_or(|key| key != "k") {
                return StatusCode::BAD_REQUEST;
            }
            kept.lock().unwrap().push(String::from_utf8(body.to_vec()).unwrap());
            StatusCode::OK
        };
        let router = axum::Router::new().route("/v1/traces", axum::routing::post(receive));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { received, url }
    }

    /// Everything that was sent.
    pub(crate) fn text(&self) -> String {
        self.received.lock().unwrap().join("\n")
    }

    /// The spans of all requests, as the definitions read them.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let all = self.received.lock().unwrap().clone();
        let requests = all
            .iter()
            .map(|text| serde_json::from_str::<ExportTraceServiceRequest>(text).unwrap());
        let resources = requests.flat_map(|request| request.resource_spans);
        let scopes = resources.flat_map(|resource| {
            let named = resource.resource.unwrap().attributes;
            assert!(
                named.iter().any(|attribute| attribute.key == "service.name"),
                "{named:?}"
            );
            resource.scope_spans
        });
        scopes.flat_map(|scope| scope.spans).collect()
    }
}

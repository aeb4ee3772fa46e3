//! The HTTP client for AWS: HTTP/1.1 over rustls on ring, one client for all services.
//!
//! The client of the SDK is not used for three reasons: it opens a connection for every concurrent call, and each TLS handshake takes about
//! a millisecond of CPU time; it cannot open connections before the first call; and it adds half a megabyte to the executable, for HTTP/2
//! among other things.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use futures::future::join_all;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// The maximum time for opening a connection on Lambda.
const CONNECT: Duration = Duration::from_millis(800);

/// The maximum number of bytes that are read of the page at an address's root.
const PAGE: usize = 4096;

type Connector = hyper_util::client::legacy::connect::HttpConnector;

/// A client with its connections. Clones share the connections.
#[derive(Debug, Clone)]
pub struct Http {
    client: Client<HttpsConnector<Connector>, SdkBody>,
    /// One permit for each concurrent call of the SDK; without them, the number is not limited.
    permits: Option<Arc<Semaphore>>,
}

impl Default for Http {
    fn default() -> Self {
        Self::new(1)
    }
}

fn tls() -> ClientConfig {
    let in_lambda = kernel::environment::variable("AWS_LAMBDA_FUNCTION_NAME").is_some();
    let roots = roots(
        in_lambda,
        kernel::environment::variable("SSL_CERT_FILE").is_some(),
    );
    if roots.is_empty() {
        tracing::warn!("no certificate authority is trusted: calls over TLS will fail");
    }
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap_or_else(|error| unreachable!("ring has ciphers for every version: {error}"))
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// The trusted certificate authorities. In Lambda they are compiled in, because reading those of the system takes a millisecond of CPU time
/// at every cold start; a file that `SSL_CERT_FILE` names adds to them. Elsewhere they are those of the system, or those of `SSL_CERT_FILE`
/// instead.
fn roots(in_lambda: bool, has_file: bool) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    if in_lambda {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    if !in_lambda || has_file {
        roots.extend(SYSTEM_ROOTS.roots.iter().cloned());
    }
    roots
}

/// The certificate authorities of the system, read once: a process that starts the service many times, as tests do, would otherwise spend a
/// tenth of its time on it.
static SYSTEM_ROOTS: LazyLock<RootCertStore> = LazyLock::new(|| {
    let found = rustls_native_certs::load_native_certs();
    for error in found.errors {
        tracing::warn!(%error, "certificates could not be read");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    roots
});

impl Http {
    /// Creates a client. Opening a connection may take `slack` times as long as on Lambda.
    pub fn new(slack: u32) -> Self {
        let mut tcp = Connector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT * slack));
        let tls = HttpsConnectorBuilder::new()
            .with_tls_config(tls())
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .build(tls);
        Self {
            client,
            permits: None,
        }
    }

    /// The same client, limited to `calls` concurrent calls of the SDK. Each call uses its own connection, so this is also the maximum
    /// number of connections that it opens.
    #[must_use]
    pub fn with_calls_at_once(&self, calls: usize) -> Self {
        Self {
            client: self.client.clone(),
            permits: Some(Arc::new(Semaphore::new(calls))),
        }
    }

    /// Opens `connections` connections for the next requests to that address. If one cannot be opened, these requests open it.
    pub async fn connect(&self, address: &str, connections: usize) {
        join_all((0..connections).map(|_| self.open(address))).await;
    }

    /// Opens a connection with a request for the page at the address's root, which DynamoDB returns without authentication.
    async fn open(&self, address: &str) {
        let Ok(request) = Request::get(address).body(SdkBody::empty()) else {
            return;
        };
        let exchange = async {
            let answer = self.send(request).await.ok()?;
            // The connection is free again when the response has been read.
            to_bytes(Body::new(answer.into_body()), PAGE).await.ok()
        };
        drop(timeout(CONNECT, exchange).await);
    }

    /// Sends a request, and returns when the head of the response has arrived.
    ///
    /// # Errors
    /// The connection could not be opened, or broke.
    pub async fn send(&self, request: Request<SdkBody>) -> Result<Response<SdkBody>, Error> {
        let response = self.client.request(request).await?;
        Ok(response.map(SdkBody::from_body_1_x))
    }
}

impl HttpClient for Http {
    fn http_connector(
        &self,
        _: &HttpConnectorSettings,
        _: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Http {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let request = match request.try_into_http1x() {
            Ok(request) => request,
            Err(error) => {
                return HttpConnectorFuture::ready(Err(ConnectorError::user(error.into())));
            }
        };
        let client = self.clone();
        HttpConnectorFuture::new(async move {
            let permit = match &client.permits {
                Some(permits) => permits.acquire().await.ok(),
                None => None,
            };
            // Any connection error may be retried, as with the SDK's own client.
            let mut response = client
                .send(request)
                .await
                .map_err(|error| ConnectorError::io(error.into()))?;
            if permit.is_some() {
                // The connection is free again when the whole response has been read.
                let body = Body::new(std::mem::replace(response.body_mut(), SdkBody::taken()));
                let body = to_bytes(body, usize::MAX)
                    .await
                    .map_err(|error| ConnectorError::io(error.into()))?;
                *response.body_mut() = SdkBody::from(body);
            }
            drop(permit);
            HttpResponse::try_from(response)
                .map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    #[test]
    fn lambda_uses_the_built_in_root_certificates() {
        assert_eq!(
            roots(true, false).len(),
            webpki_roots::TLS_SERVER_ROOTS.len()
        );
    }

    /// A server that responds to every request after a moment, and the number of connections made to it.
    async fn server() -> (String, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    let mut request = [0; 4096];
                    while stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                        let response = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
                        stream.write_all(response).await.unwrap();
                    }
                });
            }
        });
        (address, connections)
    }

    async fn call(http: &Http, address: &str) {
        let request = HttpRequest::get(address).unwrap();
        let response = HttpConnector::call(http, request).await.unwrap();
        assert_eq!(response.status().as_u16(), 200);
        let body = to_bytes(Body::new(response.into_body()), 10).await;
        assert_eq!(body.unwrap(), "{}");
    }

    #[tokio::test]
    async fn calls_at_once_use_no_more_connections_than_allowed() {
        let (address, connections) = server().await;
        let http = Http::default();
        http.connect(&address, 2).await;
        assert_eq!(connections.load(Ordering::SeqCst), 2);
        let limited = http.with_calls_at_once(2);
        join_all((0..20).map(|_| call(&limited, &address))).await;
        assert_eq!(connections.load(Ordering::SeqCst), 2);
        join_all((0..20).map(|_| call(&http, &address))).await;
        assert!(connections.load(Ordering::SeqCst) > 2);
    }
}

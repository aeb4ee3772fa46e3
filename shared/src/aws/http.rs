//! How requests reach AWS: HTTP/1.1, over rustls on ring. The client that comes with the SDK brings HTTP/2 along, which
//! the services used here do not speak, and is a twentieth of the executable.

use std::sync::Arc;
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
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_millis(800);

/// Where Amazon Linux has the certificates of those it trusts.
const BUNDLE: &str = "/etc/pki/tls/certs/ca-bundle.crt";

/// How much of the page at an address's root is read.
const PAGE: usize = 4096;

type Connector = hyper_util::client::legacy::connect::HttpConnector;

/// A client with its connections. Clones share them.
#[derive(Debug, Clone)]
pub struct Http(Client<HttpsConnector<Connector>, SdkBody>);

impl Default for Http {
    fn default() -> Self {
        let mut tcp = Connector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT));
        let tls = HttpsConnectorBuilder::new()
            .with_tls_config(tls())
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .build(tls);
        Self(client)
    }
}

/// TLS that trusts the roots of the system, or those of `SSL_CERT_FILE`.
fn tls() -> ClientConfig {
    let mut roots = RootCertStore::empty();
    let found = bundle().unwrap_or_else(|| rustls_native_certs::load_native_certs().certs);
    if let (0, _) = roots.add_parsable_certificates(found) {
        tracing::warn!("no certificates are known to trust");
    }
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap_or_else(|error| unreachable!("ring has ciphers for every version: {error}"))
        .with_root_certificates(roots)
        .with_no_client_auth()
}

/// The certificates of the one file in which Amazon Linux has them. Reading it as any file of keys and certificates would take
/// as long as all the rest of a cold start.
fn bundle() -> Option<Vec<CertificateDer<'static>>> {
    let path = crate::environment::variable("SSL_CERT_FILE").unwrap_or_else(|| BUNDLE.into());
    let found = certificates(&std::fs::read_to_string(path).ok()?)?;
    (!found.is_empty()).then_some(found)
}

/// The certificates of a text in PEM, unless one cannot be read.
fn certificates(text: &str) -> Option<Vec<CertificateDer<'static>>> {
    let (mut found, mut within) = (Vec::new(), None);
    for line in text.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        match &mut within {
            None if line == "-----BEGIN CERTIFICATE-----" => {
                within = Some(Vec::with_capacity(2048))
            }
            None => {}
            Some(_) if line.starts_with('-') => {
                found.extend(within.take().map(CertificateDer::from))
            }
            Some(der) => {
                // A line has 64 characters at most.
                let mut bytes = [0; 48];
                let length = STANDARD.decode_slice(line, &mut bytes).ok()?;
                der.extend_from_slice(&bytes[..length]);
            }
        }
    }
    within.is_none().then_some(found)
}

impl Http {
    /// Makes a connection that the next request to that address finds: by asking for the page at its root, which DynamoDB
    /// shows to everybody.
    pub async fn connect(&self, address: &str) {
        let Ok(request) = Request::get(address).body(SdkBody::empty()) else {
            return;
        };
        let asked = async {
            let answer = self.send(request).await.ok()?;
            // The connection is free again when the answer has been read.
            to_bytes(Body::new(answer.into_body()), PAGE).await.ok()
        };
        drop(timeout(CONNECT, asked).await);
    }

    /// Sends a request, and returns when the head of the answer is there.
    ///
    /// # Errors
    /// There is no connection, or it broke.
    pub async fn send(&self, request: Request<SdkBody>) -> Result<Response<SdkBody>, Error> {
        let response = self.0.request(request).await?;
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
            // Whatever breaks may be tried again, as the SDK's own client has it.
            let response = client
                .send(request)
                .await
                .map_err(|error| ConnectorError::io(error.into()))?;
            HttpResponse::try_from(response)
                .map_err(|error| ConnectorError::other(error.into(), None))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_read_as_the_general_reader_reads_them() {
        let text = "# Some Root
-----BEGIN CERTIFICATE-----
AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4v
MDEyMw==
-----END CERTIFICATE-----

-----BEGIN CERTIFICATE-----
AQID
-----END CERTIFICATE-----
";
        let read = certificates(text).unwrap();
        let want: Vec<CertificateDer<'static>> =
            rustls::pki_types::pem::PemObject::pem_slice_iter(text.as_bytes())
                .collect::<Result<_, _>>()
                .unwrap();
        assert_eq!(read, want);
        assert!(certificates("-----BEGIN CERTIFICATE-----\n%\n").is_none());
    }
}

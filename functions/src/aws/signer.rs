//! Signed requests to AWS services for which this service does not use a client of the SDK.

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_sdk_dynamodb::error::DisplayErrorContext;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use aws_smithy_types::body::SdkBody;
use aws_types::SdkConfig;
use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::http::Request;
use axum::http::request::Builder;
use kernel::backoff::Backoff;
use kernel::{Error, Result, Timestamp};
use models::ports::Clock as _;
use tokio::time::timeout;

use super::{Http, SystemClock, region_of, stand_in};

/// The maximum number of attempts of a request that fails temporarily.
const TRIES: u32 = 3;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), 4, Duration::from_millis(400));

/// The time limit of each attempt of a request, and the maximum size of its response in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub patience: Duration,
    pub bytes: usize,
}

/// One AWS service in the configured region.
#[derive(Debug, Clone)]
pub(super) struct Signer {
    pub region: String,
    http: Http,
    /// The name of the service in signatures.
    service: &'static str,
    /// The name of the service in errors.
    name: &'static str,
    credentials: SharedCredentialsProvider,
}

impl Signer {
    pub fn new(http: Http, config: &SdkConfig, service: &'static str, name: &'static str) -> Self {
        let credentials = config.credentials_provider();
        Self {
            region: region_of(config),
            http,
            service,
            name,
            credentials: credentials.unwrap_or_else(|| SharedCredentialsProvider::new(stand_in())),
        }
    }

    /// Returns the credentials with which requests are signed now.
    ///
    /// # Errors
    /// `Unavailable` if there are none.
    pub async fn credentials(&self) -> Result<Credentials> {
        let found = self.credentials.provide_credentials().await;
        found.map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))
    }

    /// Sends a request, repeats it if necessary, and returns the body of the response.
    ///
    /// # Errors
    /// `Unavailable` if the service cannot be reached; `Internal` if it refuses the request, or the response is too large.
    pub async fn send(
        &self,
        request: impl Fn() -> Builder,
        content: &Bytes,
        settings: &SigningSettings,
        limits: Limits,
    ) -> Result<Bytes> {
        for attempt in 0.. {
            let request = request().body(SdkBody::from(content.clone()));
            let request = request.map_err(Error::internal)?;
            let signed = self.sign(
                self.credentials().await?,
                request,
                SignableBody::Bytes(content),
                settings.clone(),
                SystemClock.now(),
            )?;
            let late = |_| Err(Error::unavailable(format!("{} took too long", self.name)));
            let sent = timeout(limits.patience, self.exchange(signed, limits.bytes)).await;
            match sent.unwrap_or_else(late) {
                Err(Error::Unavailable(_)) if attempt + 1 < TRIES => BACKOFF.pause(attempt).await,
                answered => return answered,
            }
        }
        unreachable!("the loop ends by returning")
    }

    async fn exchange(&self, request: Request<SdkBody>, most: usize) -> Result<Bytes> {
        let response = self.http.send(request).await.map_err(Error::unavailable)?;
        let status = response.status();
        let length = response.body().size_hint().lower();
        if length > most as u64 {
            let text = format!(
                "{} answered with {length} bytes; at most {most} are read",
                self.name
            );
            return Err(Error::internal(text));
        }
        let body = to_bytes(Body::new(response.into_body()), most)
            .await
            .map_err(Error::unavailable)?;
        if status.is_success() {
            return Ok(body);
        }
        let text = String::from_utf8_lossy(&body);
        let text = format!("{} answered {status}: {text}", self.name);
        Err(if status.is_server_error() {
            Error::unavailable(text)
        } else {
            Error::internal(text)
        })
    }

    /// Returns a request with its signature.
    ///
    /// # Errors
    /// `Internal` if it cannot be signed.
    pub fn sign<B>(
        &self,
        credentials: Credentials,
        mut request: Request<B>,
        body: SignableBody<'_>,
        settings: SigningSettings,
        now: Timestamp,
    ) -> Result<Request<B>> {
        let identity = credentials.into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(self.service)
            .time(SystemTime::UNIX_EPOCH + Duration::from_millis(now.unix_millis().unsigned_abs()))
            .settings(settings)
            .build()
            .map_err(Error::internal)?
            .into();
        let uri = request.uri().to_string();
        let headers = request
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default()));
        let signable = SignableRequest::new(request.method().as_str(), uri, headers, body)
            .map_err(Error::internal)?;
        let (signature, _) = sign(signable, &parameters)
            .map_err(Error::internal)?
            .into_parts();
        signature.apply_to_request_http1x(&mut request);
        Ok(request)
    }
}

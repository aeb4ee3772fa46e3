//! Signs requests to services of AWS for which there is no client of the SDK here.

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_sdk_dynamodb::error::DisplayErrorContext;
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use aws_types::SdkConfig;
use axum::http::Request;
use kernel::error::{Error, Result};
use kernel::time::Timestamp;

use super::{region_of, stand_in};

/// The signature of one service in the region of the configuration.
#[derive(Debug, Clone)]
pub(super) struct Signer {
    pub region: String,
    service: &'static str,
    credentials: SharedCredentialsProvider,
}

impl Signer {
    pub fn new(config: &SdkConfig, service: &'static str) -> Self {
        let credentials = config.credentials_provider();
        Self {
            region: region_of(config),
            service,
            credentials: credentials.unwrap_or_else(|| SharedCredentialsProvider::new(stand_in())),
        }
    }

    /// The credentials that requests are signed with now.
    ///
    /// # Errors
    /// `Unavailable` if there are none.
    pub async fn credentials(&self) -> Result<Credentials> {
        let found = self.credentials.provide_credentials().await;
        found.map_err(|error| Error::unavailable(DisplayErrorContext(error).to_string()))
    }

    /// A request with its signature.
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

//! Secrets Manager: the value of a secret that the environment names. One signed request, for which the SDK's client would be a hundredth of
//! the executable and more to start.

use std::time::Duration;

use aws_sigv4::http_request::{SignableBody, SigningSettings};
use aws_smithy_types::body::SdkBody;
use aws_types::SdkConfig;
use axum::body::{Body, to_bytes};
use axum::http::{Request, header};
use kernel::backoff::Backoff;
use kernel::environment::variable;
use kernel::error::{Error, Result};
use models::ports::Clock as _;
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;

use super::signer::Signer;
use super::{Http, SystemClock, domain};

/// How long a call may take, and how often it is made that fails in a way that passes.
const PATIENCE: Duration = Duration::from_secs(2);
const TRIES: u32 = 3;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), 4, Duration::from_millis(200));

/// The most bytes of a response. A secret has at most 64 KiB, which JSON may write with twice as many.
const MOST: usize = 256 * 1024;

#[derive(Debug, Clone)]
pub struct Secrets {
    http: Http,
    signer: Signer,
    address: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Found {
    secret_string: Option<String>,
}

impl Secrets {
    /// `AWS_ENDPOINT_URL_SECRETS_MANAGER` or `AWS_ENDPOINT_URL` names another endpoint than AWS's own.
    pub fn from_env(http: Http, config: &SdkConfig) -> Self {
        let signer = Signer::new(config, "secretsmanager");
        let endpoint =
            variable("AWS_ENDPOINT_URL_SECRETS_MANAGER").or_else(|| variable("AWS_ENDPOINT_URL"));
        let endpoint = endpoint.or_else(|| config.endpoint_url().map(str::to_owned));
        let region = &signer.region;
        let own = || format!("https://secretsmanager.{region}.{}", domain(region));
        let address = endpoint.unwrap_or_else(own);
        Self {
            http,
            signer,
            address,
        }
    }

    /// The present value of a secret, by its ARN.
    ///
    /// # Errors
    /// `Unavailable` if Secrets Manager cannot be reached; `Internal` if it has no such text, or the function may not read it.
    pub async fn value(&self, arn: &str) -> Result<String> {
        let body = json!({"SecretId": arn}).to_string();
        for attempt in 0.. {
            let asked = timeout(PATIENCE, self.ask(&body)).await;
            match asked.unwrap_or_else(|_| Err(Error::unavailable("a secret took too long"))) {
                Err(Error::Unavailable(_)) if attempt + 1 < TRIES => BACKOFF.pause(attempt).await,
                answered => return answered,
            }
        }
        unreachable!("the loop ends by returning")
    }

    async fn ask(&self, body: &str) -> Result<String> {
        let request = Request::post(&self.address)
            .header(header::CONTENT_TYPE, "application/x-amz-json-1.1")
            .header("x-amz-target", "secretsmanager.GetSecretValue")
            .body(SdkBody::from(body))
            .map_err(Error::internal)?;
        let signed = self.signer.sign(
            self.signer.credentials().await?,
            request,
            SignableBody::Bytes(body.as_bytes()),
            SigningSettings::default(),
            SystemClock.now(),
        )?;
        let answer = self.http.send(signed).await.map_err(Error::unavailable)?;
        let status = answer.status();
        let read = to_bytes(Body::new(answer.into_body()), MOST).await;
        let read = read.map_err(Error::unavailable)?;
        if status.is_success() {
            let found: Found = serde_json::from_slice(&read).map_err(Error::internal)?;
            let text = found.secret_string;
            return text.ok_or_else(|| Error::internal("a secret that is no text"));
        }
        let why = String::from_utf8_lossy(&read);
        let why = format!("Secrets Manager answered {status}: {why}");
        Err(match status.is_server_error() {
            true => Error::unavailable(why),
            false => Error::internal(why),
        })
    }
}

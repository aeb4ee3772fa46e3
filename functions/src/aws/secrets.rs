//! Secrets Manager: the value of a secret that the environment names. Only one signed request is needed, so the SDK's client, which would
//! be a hundredth of the executable and a larger part of its start, is not used.

use std::time::Duration;

use aws_sigv4::http_request::SigningSettings;
use aws_types::SdkConfig;
use axum::body::Bytes;
use axum::http::{Request, header};
use kernel::environment::variable;
use kernel::{Error, Result};
use serde::Deserialize;
use serde_json::json;

use super::signer::{Limits, Signer};
use super::{Http, domain};

/// A secret has at most 64 KiB, for which JSON may need twice as many bytes.
const LIMITS: Limits = Limits {
    patience: Duration::from_secs(2),
    bytes: 256 * 1024,
};

#[derive(Debug, Clone)]
pub struct Secrets {
    signer: Signer,
    address: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Found {
    secret_string: Option<String>,
}

impl Secrets {
    /// `AWS_ENDPOINT_URL_SECRETS_MANAGER` or `AWS_ENDPOINT_URL` overrides AWS's own endpoint.
    pub fn from_env(http: Http, config: &SdkConfig) -> Self {
        let signer = Signer::new(http, config, "secretsmanager", "Secrets Manager");
        let endpoint =
            variable("AWS_ENDPOINT_URL_SECRETS_MANAGER").or_else(|| variable("AWS_ENDPOINT_URL"));
        let endpoint = endpoint.or_else(|| config.endpoint_url().map(str::to_owned));
        let region = &signer.region;
        let own = || format!("https://secretsmanager.{region}.{}", domain(region));
        let address = endpoint.unwrap_or_else(own);
        Self { signer, address }
    }

    /// Returns the present value of a secret, by its ARN.
    ///
    /// # Errors
    /// `Unavailable` if Secrets Manager cannot be reached; `Internal` if there is no text with this ARN, or the function may not read it.
    pub async fn value(&self, arn: &str) -> Result<String> {
        let body = Bytes::from(json!({"SecretId": arn}).to_string());
        let request = || {
            Request::post(&self.address)
                .header(header::CONTENT_TYPE, "application/x-amz-json-1.1")
                .header("x-amz-target", "secretsmanager.GetSecretValue")
        };
        let settings = SigningSettings::default();
        let response = self.signer.send(request, &body, &settings, LIMITS).await?;
        let found: Found = serde_json::from_slice(&response).map_err(Error::internal)?;
        let text = found.secret_string;
        text.ok_or_else(|| Error::internal("a secret that is no text"))
    }
}

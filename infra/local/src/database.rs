//! The DynamoDB endpoint of a run: the embedded one, or that of `--store`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_types::SdkConfig;
use axum::http::Uri;
use functions::aws;
use kernel::{Error, Result};
use table::Store;

use crate::credentials::random;
use crate::embedded::{Disk, Embedded};
use crate::files::Folder;
use crate::options::Options;
use crate::patience::during;
use crate::start_error::StartError;
use crate::streams::Streams;

/// The secret access key that belongs to the embedded table's access key. Signatures are not verified, so the value has no effect.
pub const SECRET_KEY: &str = "local";

/// The time-out for the connection to the endpoint of `--store`.
const CONNECT: Duration = Duration::from_secs(30);

/// A DynamoDB endpoint.
pub struct Database {
    pub url: String,
    /// None with `--store`.
    pub embedded: Option<Embedded>,
    /// The region, credentials and time-outs of its clients.
    config: SdkConfig,
}

impl Database {
    /// Starts the embedded endpoint, or connects to that of `--store`.
    ///
    /// # Errors
    /// The folder cannot be used, or nothing listens at the address.
    pub async fn open(
        options: &Options,
        folder: &Folder,
        disk: Arc<Disk>,
    ) -> Result<Self, StartError> {
        match &options.store {
            Some(url) => Self::connect(url, options.slack).await,
            None => Self::embed(options, folder, disk).await,
        }
    }

    async fn connect(url: &str, slack: u32) -> Result<Self, StartError> {
        let config = aws::load(&aws::Http::new(slack), Some(url)).await?;
        let config = config.into_builder().timeout_config(aws::timeouts(slack));
        during(&format!("{url} is connected to"), reach(url)).await?;
        Ok(Self {
            url: url.to_owned(),
            embedded: None,
            config: config.build(),
        })
    }

    async fn embed(
        options: &Options,
        folder: &Folder,
        disk: Arc<Disk>,
    ) -> Result<Self, StartError> {
        let config = aws::unhurried_config(options.slack);
        let access_key = match &options.access_key {
            Some(key) => key.clone(),
            None => hex::encode(&random()?[..16]),
        };
        folder.begin_table()?;
        let (path, table) = (folder.path().map(Path::to_owned), options.table.clone());
        let start = move || Embedded::start(path.as_deref(), access_key, table, disk);
        let started = during("the table is opened", tokio::task::spawn_blocking(start)).await;
        let embedded = started.map_err(Error::internal)??;
        let credentials = Credentials::from_keys(embedded.access_key(), SECRET_KEY, None);
        let credentials = SharedCredentialsProvider::new(credentials);
        let config = config.into_builder().credentials_provider(credentials);
        Ok(Self {
            url: embedded.url(),
            embedded: Some(embedded),
            config: config.build(),
        })
    }

    /// Returns the store of the service, with its table, and whether the table was created.
    ///
    /// # Errors
    /// The endpoint cannot be used, or its table belongs to another program.
    pub async fn store(&self, options: &Options) -> Result<(Store, bool), StartError> {
        let mut settings = table::client::tuned(&self.config, options.slack);
        settings.set_endpoint_url(Some(self.url.clone()));
        if let Some(http) = &options.table_http {
            settings.set_http_client(Some(http.clone()));
        }
        let client = aws_sdk_dynamodb::Client::from_conf(settings.build());
        let store = Store::new(client, options.table.clone());
        let created = during("the table is created", store.create_table()).await;
        let created = created.map_err(|error| match &options.store {
            Some(url) => unusable(url, StartError::from(error)),
            None => error.into(),
        })?;
        if let Some(embedded) = &self.embedded {
            embedded.upkeep().speed_up_streams().await?;
        }
        Ok((store, created))
    }

    /// The stream of the table.
    ///
    /// # Errors
    /// `Unavailable` if the endpoint cannot be reached.
    pub async fn streams(&self, store: &Store, folder: &Folder) -> Result<Streams> {
        let stream = store.stream().await?;
        let upkeep = self
            .embedded
            .as_ref()
            .map(|embedded| embedded.upkeep().clone());
        let streams = Streams::open(&self.config, &self.url, stream, folder, upkeep);
        during("the stream is opened", streams).await
    }
}

/// Whether something listens at the address of `--store`.
async fn reach(url: &str) -> Result<(), StartError> {
    let parsed: Uri = url.parse().map_err(|_| unusable(url, "it is not a URL"))?;
    let default = if parsed.scheme_str() == Some("https") {
        443
    } else {
        80
    };
    let (host, port) = (parsed.host(), parsed.port_u16().unwrap_or(default));
    let host = host.unwrap_or_default().trim_matches(['[', ']']);
    let connecting = tokio::net::TcpStream::connect((host, port));
    match tokio::time::timeout(CONNECT, connecting).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(unusable(url, error)),
        Err(_) => Err(unusable(url, "nothing answers there")),
    }
}

fn unusable(url: &str, error: impl std::fmt::Display) -> StartError {
    let error = error.to_string();
    // The SDK's text has the whole request and response in brackets.
    let brief = error
        .find(" (ServiceError(")
        .or_else(|| error.find(" (DispatchFailure("));
    let brief = brief.map_or(error.as_str(), |end| &error[..end]);
    StartError(format!(
        "--store {url}: DynamoDB cannot be used at this address: {brief}"
    ))
}

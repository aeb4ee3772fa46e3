//! S3: the bucket `REPORTS_BUCKET`. Only five signed requests are needed, so the SDK's client for S3, which would be a tenth of the
//! executable, is not used.

use std::time::Duration;

use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignatureLocation, SigningSettings,
    UriPathNormalizationMode,
};
use aws_types::SdkConfig;
use axum::body::Bytes;
use axum::http::{Method, Request, header};
use futures::future::BoxFuture;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;

use super::signer::{Limits, Signer};
use super::{Http, SystemClock, domain};
use kernel::environment::variable;
use kernel::{Error, Result, Timestamp};
use models::ports::Clock;
use models::ports::files::{Files, LINK, MAX_FILE};

/// A file may be large, so a request may take this long.
const LIMITS: Limits = Limits {
    patience: Duration::from_secs(30),
    bytes: MAX_FILE,
};

#[derive(Debug, Clone)]
pub struct S3 {
    signer: Signer,
    /// The URL that keys are appended to.
    bucket: Option<String>,
}

impl S3 {
    /// `AWS_ENDPOINT_URL_S3` or `AWS_ENDPOINT_URL` overrides AWS's own endpoint. The buckets of such an endpoint have no host names.
    pub fn from_env(http: Http, config: &SdkConfig) -> Self {
        let endpoint = variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL"));
        let endpoint = endpoint.or_else(|| config.endpoint_url().map(str::to_owned));
        let signer = Signer::new(http, config, "s3", "S3");
        let region = &signer.region;
        let address = |bucket: String| match &endpoint {
            Some(endpoint) => format!("{}/{bucket}", endpoint.trim_end_matches('/')),
            None => {
                format!("https://{bucket}.s3.{region}.{}", domain(region))
            }
        };
        let bucket = variable("REPORTS_BUCKET").map(address);
        Self { signer, bucket }
    }

    /// The bucket at a URL.
    #[cfg(test)]
    pub(super) fn at(http: Http, config: &SdkConfig, bucket: String) -> Self {
        Self {
            bucket: Some(bucket),
            ..Self::from_env(http, config)
        }
    }

    /// The URL of a file.
    fn address(&self, key: &str) -> Result<String> {
        let bucket = self
            .bucket
            .as_deref()
            .ok_or_else(|| Error::internal("REPORTS_BUCKET is not set"))?;
        Ok(format!("{bucket}/{}", escaped(key)))
    }

    /// Sends a request, repeats it if necessary, and returns the body of the response.
    async fn send(
        &self,
        method: Method,
        key: &str,
        content_type: Option<&'static str>,
        content: Bytes,
    ) -> Result<Bytes> {
        self.send_to(method, &self.address(key)?, content_type, content)
            .await
    }

    async fn send_to(
        &self,
        method: Method,
        address: &str,
        content_type: Option<&'static str>,
        content: Bytes,
    ) -> Result<Bytes> {
        let request = || {
            let request = Request::builder().method(method.clone()).uri(address);
            match content_type {
                Some(content_type) => request.header(header::CONTENT_TYPE, content_type),
                None => request,
            }
        };
        let settings = settings(None);
        self.signer.send(request, &content, &settings, LIMITS).await
    }

    async fn signed_link(&self, key: &str, now: Timestamp) -> Result<String> {
        let credentials = self.signer.credentials().await?;
        let request = Request::get(self.address(key)?).body(());
        let request = request.map_err(Error::internal)?;
        let body = SignableBody::UnsignedPayload;
        let settings = settings(Some(LINK));
        let signed = self
            .signer
            .sign(credentials, request, body, settings, now)?;
        Ok(signed.uri().to_string())
    }
}

impl Files for S3 {
    fn put<'a>(
        &'a self,
        key: &'a str,
        content_type: &'static str,
        content: Vec<u8>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let sent = self.send(Method::PUT, key, Some(content_type), content.into());
            sent.await.map(drop)
        })
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move {
            let found = self.send(Method::GET, key, None, Bytes::new()).await?;
            // Without a copy: the file may be large.
            Ok(found.into())
        })
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move {
            let bucket = self.address("")?;
            let address = format!(
                "{bucket}?list-type=2&prefix={}",
                escaped(prefix).replace('/', "%2F")
            );
            let listed = self
                .send_to(Method::GET, &address, None, Bytes::new())
                .await?;
            keys_of(&listed)
        })
    }

    fn delete<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let sent = self.send(Method::DELETE, key, None, Bytes::new());
            sent.await.map(drop)
        })
    }

    fn link<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<String>> {
        Box::pin(self.signed_link(key, SystemClock.now()))
    }
}

/// The signature settings: in the headers, or in the URL, so that everyone who has the URL can use it until it expires.
fn settings(expires_in: Option<Duration>) -> SigningSettings {
    let mut settings = SigningSettings::default();
    settings.percent_encoding_mode = PercentEncodingMode::Single;
    settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
    if expires_in.is_some() {
        settings.signature_location = SignatureLocation::QueryParams;
        settings.expires_in = expires_in;
    } else {
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
    }
    settings
}

/// The keys in a response to `ListObjectsV2`.
///
/// # Errors
/// `Internal` if the response is not such XML.
fn keys_of(listed: &[u8]) -> Result<Vec<String>> {
    let mut reader = Reader::from_reader(listed);
    let (mut keys, mut key) = (Vec::new(), None);
    loop {
        match reader.read_event().map_err(Error::internal)? {
            Event::Start(tag) if tag.local_name().as_ref() == b"Key" => key = Some(String::new()),
            Event::Text(text) => {
                if let Some(key) = &mut key {
                    key.push_str(&text.decode().map_err(Error::internal)?);
                }
            }
            Event::GeneralRef(reference) => {
                if let Some(key) = &mut key {
                    let name = reference.decode().map_err(Error::internal)?;
                    let character = reference.resolve_char_ref().map_err(Error::internal)?;
                    match (character, resolve_predefined_entity(&name)) {
                        (Some(character), _) => key.push(character),
                        (None, Some(text)) => key.push_str(text),
                        (None, None) => {
                            return Err(Error::internal(format!("&{name}; in a list of keys")));
                        }
                    }
                }
            }
            Event::End(tag) if tag.local_name().as_ref() == b"Key" => keys.extend(key.take()),
            Event::Eof => return Ok(keys),
            _ => {}
        }
    }
}

/// The bytes that are not escaped in the path of an S3 URL; every other byte is escaped.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// A key as it is written in a URL.
fn escaped(key: &str) -> String {
    utf8_percent_encode(key, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_credential_types::Credentials;
    use aws_types::region::Region;

    /// The example of AWS's "Authenticating Requests: Using Query Parameters".
    #[test]
    fn a_link_is_signed_as_the_documentation_of_s3_shows() {
        let credentials = Credentials::from_keys(
            "AKIAIOSFODNN7EXAMPLE",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            None,
        );
        let region = Region::new("us-east-1");
        let config = SdkConfig::builder().region(region).build();
        let bucket = "https://examplebucket.s3.amazonaws.com".to_owned();
        let s3 = S3::at(Http::default(), &config, bucket);
        let now = Timestamp::parse("2013-05-24T00:00:00Z").unwrap();
        let request = Request::get(s3.address("test.txt").unwrap())
            .body(())
            .unwrap();
        let day = Some(Duration::from_secs(86_400));
        let body = SignableBody::UnsignedPayload;
        let signed = s3
            .signer
            .sign(credentials, request, body, settings(day), now);
        let signed = signed.unwrap().uri().to_string();
        assert!(signed.starts_with("https://examplebucket.s3.amazonaws.com/test.txt?"));
        let signature = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
        assert!(
            signed.contains(&format!("X-Amz-Signature={signature}")),
            "{signed}"
        );
    }

    #[test]
    fn the_keys_of_a_list_are_read_with_their_entities() {
        let listed = b"<?xml version=\"1.0\"?><ListBucketResult><Name>b</Name><Prefix>a/</Prefix><Contents><Key>a/1.csv</Key>\
            <Size>3</Size></Contents><Contents><Key>a/x&amp;y&#39;s.json</Key></Contents></ListBucketResult>";
        assert_eq!(keys_of(listed).unwrap(), ["a/1.csv", "a/x&y's.json"]);
        assert!(
            keys_of(b"<ListBucketResult></ListBucketResult>")
                .unwrap()
                .is_empty()
        );
        assert!(keys_of(b"<ListBucketResult><Contents></Wrong>").is_err());
    }

    #[test]
    fn keys_are_escaped_but_for_their_slashes() {
        assert_eq!(
            escaped("stations/São Paulo+1.json"),
            "stations/S%C3%A3o%20Paulo%2B1.json"
        );
    }
}

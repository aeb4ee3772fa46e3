//! Tests of the adapters against a local server with scripted responses.

use std::sync::{Arc, Mutex};

use aws_sigv4::http_request::SigningSettings;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::signer::{Limits, Signer};
use super::*;
use crate::stripe::Stripe;
use kernel::{Id, Kind, Mode, Tenant};
use models::ports::JobSubject;
use models::ports::files::Files as _;

/// A response: its status, the type of its error if it is one, and its body.
type Scripted = (u16, &'static str, &'static str);

/// Starts a server that returns these responses one after the other, and then repeats the last one. Returns its address, and the requests
/// that it received: method and path, and the body.
async fn server(script: &'static [Scripted]) -> (String, Arc<Mutex<Vec<(String, String)>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(Mutex::new(Vec::new()));
    let received = requests.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let received = received.clone();
            tokio::spawn(async move {
                while let Some((line, body)) = read_request(&mut stream).await {
                    let number = {
                        let mut received = received.lock().unwrap();
                        received.push((line, body));
                        received.len()
                    };
                    let (status, error, body) = script[number.min(script.len()) - 1];
                    let response = format!(
                        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\nx-amzn-errortype: {error}\r\n\
                         content-length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    stream.write_all(response.as_bytes()).await.unwrap();
                }
            });
        }
    });
    (address, requests)
}

/// Reads the next request of a connection: its method and path, and its body.
async fn read_request(stream: &mut tokio::net::TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        let mut more = [0; 4096];
        let read = stream.read(&mut more).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&more[..read]);
    };
    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
    while bytes.len() < head + length {
        let mut more = [0; 4096];
        let read = stream.read(&mut more).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&more[..read]);
    }
    let first = String::from_utf8_lossy(&bytes[..head]);
    let mut words = first.split(' ');
    let line = format!("{} {}", words.next()?, words.next()?);
    let body = String::from_utf8_lossy(&bytes[head..head + length]).into_owned();
    Some((line, body))
}

fn message() -> Message {
    let tenant = Tenant::new(Id::from_number(Kind::Account, 1), Mode::Test);
    let session = Id::from_number(Kind::ChargingSession, 1);
    Message {
        function: "stop-session",
        job: "stop-session",
        subject: JobSubject::of(&tenant, &session),
        hops: 0,
        schedule: session.to_string(),
        body: r#"{"job":"stop-session"}"#.into(),
    }
}

fn urls(url: &str) -> HashMap<String, String> {
    HashMap::from([("stop-session".to_owned(), url.to_owned())])
}

fn sqs(address: &str) -> Sqs {
    let config = config().into_builder().endpoint_url(address).build();
    Sqs {
        client: OnceLock::from(aws_sdk_sqs::Client::new(&config)),
        config,
        urls: urls(&format!("{address}/123456789012/stop-session")),
    }
}

fn scheduler(address: &str) -> Scheduler {
    let config = config().into_builder().endpoint_url(address).build();
    Scheduler {
        client: OnceLock::from(aws_sdk_scheduler::Client::new(&config)),
        config,
        urls: urls("https://sqs.eu-west-1.amazonaws.com/123456789012/stop-session"),
        region: "eu-west-1".into(),
        role: Some("arn:aws:iam::123456789012:role/scheduler".into()),
        group: Some("fleet".into()),
    }
}

fn s3(address: &str) -> S3 {
    S3::at(Http::default(), &config(), format!("{address}/reports"))
}

fn secrets(address: &str) -> Secrets {
    let config = config().into_builder().endpoint_url(address).build();
    Secrets::from_env(Http::default(), &config)
}

const UNAVAILABLE: Scripted = (503, "ServiceUnavailable", "{}");

#[tokio::test]
async fn a_message_is_sent_again_when_sqs_is_unavailable() {
    let (address, requests) = server(&[UNAVAILABLE, (200, "", r#"{"MessageId":"1"}"#)]).await;
    sqs(&address).send(&message(), 30).await.unwrap();
    let requests = requests.lock().unwrap();
    assert_eq!(requests.len(), 2);
    for (_, body) in requests.iter() {
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["DelaySeconds"], 30);
        assert_eq!(body["MessageBody"], message().body);
    }
}

#[tokio::test]
async fn a_message_may_have_characters_that_sqs_refuses() {
    let id = "A\u{fffe}\u{ffff}\u{1fffe}";
    let body = serde_json::json!({"job": "stop-session", "id": id}).to_string();
    let message = Message { body, ..message() };
    let (address, requests) = server(&[(200, "", r#"{"MessageId":"1"}"#)]).await;
    sqs(&address).send(&message, 0).await.unwrap();
    sqs(&address)
        .send_all(&[(message.clone(), 0)])
        .await
        .unwrap();
    let target = scheduler(&address).target(&message).unwrap();
    let mut sent = vec![target.input.unwrap()];
    for (_, body) in requests.lock().unwrap().iter() {
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        let entry = body.get("Entries").map_or(&body, |entries| &entries[0]);
        sent.push(entry["MessageBody"].as_str().unwrap().to_owned());
    }
    assert_eq!(sent.len(), 3);
    for body in sent {
        assert!(!body.contains(['\u{fffe}', '\u{ffff}']), "{body}");
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["id"], id);
    }
}

#[tokio::test]
async fn sqs_that_stays_unavailable_or_refuses_is_an_error() {
    let (address, requests) = server(&[UNAVAILABLE]).await;
    let error = sqs(&address).send(&message(), 0).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error}");
    assert_eq!(requests.lock().unwrap().len(), 3);
    let (address, requests) = server(&[(400, "QueueDoesNotExist", "{}")]).await;
    assert!(sqs(&address).send(&message(), 0).await.is_err());
    assert_eq!(requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_schedule_that_exists_is_moved() {
    const CREATED: Scripted = (
        200,
        "",
        r#"{"ScheduleArn":"arn:aws:scheduler:::schedule/fleet/one"}"#,
    );
    let (address, requests) = server(&[(409, "ConflictException", "{}"), CREATED]).await;
    let at = Timestamp::parse("2026-03-01T09:30:00.500Z").unwrap();
    let name = message().schedule;
    scheduler(&address)
        .set(&name, at, &message())
        .await
        .unwrap();
    let requests = requests.lock().unwrap();
    let lines: Vec<_> = requests.iter().map(|(line, _)| line.clone()).collect();
    let path = format!("/schedules/{name}");
    assert_eq!(lines, [format!("POST {path}"), format!("PUT {path}")]);
    for (_, body) in requests.iter() {
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        // No earlier than the time of the action.
        assert_eq!(body["ScheduleExpression"], "at(2026-03-01T09:30:01)");
        assert_eq!(body["ActionAfterCompletion"], "DELETE");
        assert_eq!(body["GroupName"], "fleet");
        let target = "arn:aws:sqs:eu-west-1:123456789012:stop-session";
        assert_eq!(body["Target"]["Arn"], target);
        assert_eq!(body["Target"]["Input"], message().body);
    }
}

#[tokio::test]
async fn a_schedule_that_can_be_neither_created_nor_moved_is_an_error() {
    let (address, requests) = server(&[
        (409, "ConflictException", "{}"),
        (404, "ResourceNotFoundException", "{}"),
    ])
    .await;
    let at = Timestamp::parse("2026-03-01T09:30:00Z").unwrap();
    let set = async |name: &str| scheduler(&address).set(name, at, &message()).await;
    assert!(matches!(set("one").await, Err(Error::Unavailable(_))));
    assert_eq!(requests.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_full_quota_of_schedules_is_an_error_of_its_own() {
    let at = Timestamp::parse("2026-03-01T09:30:00Z").unwrap();
    for (script, is_full) in [
        (&[(402, "ServiceQuotaExceededException", "{}")], true),
        (&[(429, "ThrottlingException", "{}")], false),
    ] {
        let (address, _) = server(script).await;
        let error = scheduler(&address).set("one", at, &message()).await;
        let error = error.unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error}");
        assert_eq!(error.is_quota_exceeded(), is_full, "{error}");
    }
}

#[tokio::test]
async fn a_file_is_written_again_when_s3_is_unavailable() {
    let (address, requests) = server(&[UNAVAILABLE, (200, "", "")]).await;
    let s3 = s3(&address);
    s3.put("a/1.csv", "text/csv", b"x".to_vec()).await.unwrap();
    let put = ("PUT /reports/a/1.csv".to_owned(), "x".to_owned());
    assert_eq!(*requests.lock().unwrap(), [put.clone(), put]);
}

#[tokio::test]
async fn s3_that_stays_unavailable_or_refuses_is_an_error() {
    let (address, requests) = server(&[UNAVAILABLE]).await;
    let error = s3(&address).get("a/1.csv").await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error}");
    assert_eq!(requests.lock().unwrap().len(), 3);
    let (address, requests) = server(&[(403, "AccessDenied", "")]).await;
    let error = s3(&address).get("a/1.csv").await.unwrap_err();
    assert!(matches!(error, Error::Internal(_)), "{error}");
    assert_eq!(requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_response_that_is_too_large_is_not_requested_again() {
    let (address, requests) = server(&[(200, "", "12345")]).await;
    let signer = Signer::new(Http::default(), &config(), "s3", "S3");
    let sent = async |bytes| {
        let limits = Limits {
            patience: Duration::from_secs(5),
            bytes,
        };
        let request = || axum::http::Request::get(format!("{address}/reports/1.json"));
        let settings = SigningSettings::default();
        let none = axum::body::Bytes::new();
        signer.send(request, &none, &settings, limits).await
    };
    assert_eq!(sent(5).await.unwrap(), "12345");
    let error = sent(4).await.unwrap_err();
    assert!(matches!(error, Error::Internal(_)), "{error}");
    assert_eq!(requests.lock().unwrap().len(), 2);
}

#[test]
fn queue_arn_is_derived_from_url_region_and_role_partition() {
    let arn = |url| queue_arn(url, "eu-west-1", "arn:aws-cn:iam::123456789012:role/r");
    for url in [
        "https://sqs.eu-west-1.amazonaws.com/123456789012/fleet-StopSessionQueue-1",
        "http://127.0.0.1:4566/123456789012/fleet-StopSessionQueue-1",
    ] {
        let expected = "arn:aws-cn:sqs:eu-west-1:123456789012:fleet-StopSessionQueue-1";
        assert_eq!(arn(url).as_deref(), Some(expected));
    }
    assert_eq!(arn("https://sqs.eu-west-1.amazonaws.com/queue"), None);
    assert_eq!(arn(""), None);
}

#[tokio::test]
async fn the_key_of_stripe_is_read_once_at_the_first_charge() {
    const FOUND: Scripted = (200, "", r#"{"Name":"stripe","SecretString":"sk_live_1"}"#);
    let (address, requests) = server(&[UNAVAILABLE, FOUND]).await;
    let stripe = Stripe::named("https://stripe.example", "arn:1".into(), secrets(&address));
    assert!(requests.lock().unwrap().is_empty());
    for _ in 0..2 {
        assert_eq!(stripe.key().await.unwrap(), "sk_live_1");
    }
    let requests = requests.lock().unwrap();
    assert_eq!(requests.len(), 2, "one that failed, and one");
    for (line, body) in requests.iter() {
        assert_eq!(
            (line.as_str(), body.as_str()),
            ("POST /", r#"{"SecretId":"arn:1"}"#)
        );
    }
}

#[tokio::test]
async fn a_key_of_stripe_that_was_rolled_is_read_again() {
    const OLD: Scripted = (200, "", r#"{"SecretString":"sk_live_1"}"#);
    const NEW: Scripted = (200, "", r#"{"SecretString":"sk_live_2"}"#);
    const REFUSED: Scripted = (401, "", r#"{"error":{"message":"Expired API Key"}}"#);
    const DONE: Scripted = (200, "", r#"{"id":"pm_1","type":"card","customer":"cus_1"}"#);
    // Secrets Manager and Stripe are the same server here.
    let (address, requests) = server(&[OLD, REFUSED, NEW, DONE]).await;
    let stripe = Stripe::named(&address, "arn:1".into(), secrets(&address));
    assert_eq!(
        stripe.customer("pm_1").await.unwrap().as_deref(),
        Some("cus_1")
    );
    assert_eq!(stripe.key().await.unwrap(), "sk_live_2");
    let requests = requests.lock().unwrap();
    let lines: Vec<&str> = requests.iter().map(|(line, _)| line.as_str()).collect();
    let method = "GET /v1/payment_methods/pm_1";
    assert_eq!(lines, ["POST /", method, "POST /", method]);
}

#[tokio::test]
async fn a_secret_that_may_not_be_read_is_an_error() {
    let (address, requests) = server(&[(400, "AccessDeniedException", "{}")]).await;
    let error = secrets(&address).value("arn:1").await.unwrap_err();
    assert!(matches!(error, Error::Internal(_)), "{error}");
    assert_eq!(requests.lock().unwrap().len(), 1);
}

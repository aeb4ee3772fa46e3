//! A page of a list, read as a stream of objects.
//!
//! A page may have many megabytes, and a parsed object needs up to eighty times the memory of its text. So the body is parsed while it
//! arrives, and its objects are passed on as text, one by one. The consumer determines the speed at which the platform may send. The parser
//! of `serde_json` blocks while it waits for bytes, so it has a thread of its own; it ends when the stream is dropped.
//!
//! The status code of the envelope may come after the data. Only [`PageStream::end`] determines whether the page was a success.

use std::fmt;
use std::io::{self, BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::failure::{Failure, refused, unreachable};
use super::header;
use crate::envelope::StatusCode;

/// The time limit for the next part of a page.
const CHUNK_TIMEOUT: Duration = Duration::from_secs(10);

/// The number of parts of a page that wait for the parser.
const CHUNKS: usize = 4;

/// The objects of a page.
pub struct PageStream {
    objects: mpsc::Receiver<Box<RawValue>>,
    parser: JoinHandle<Result<(), Failure>>,
    bytes: Arc<AtomicU64>,
    /// The address of the next page, on the host of this one.
    pub next: Option<String>,
    /// The number of objects of all pages, if the platform states it (header `X-Total-Count`).
    pub total: Option<u32>,
    /// The maximum number of objects of a page, if the platform states it (header `X-Limit`).
    pub limit: Option<u32>,
}

impl PageStream {
    /// Returns the objects of a response with at most `max_bytes`.
    pub(super) fn new(response: reqwest::Response, next: Option<String>, max_bytes: u64) -> Self {
        let number = |name| header(&response, name).and_then(|number| number.parse().ok());
        let (total, limit) = (number("x-total-count"), number("x-limit"));
        let (chunks, incoming) = mpsc::channel(CHUNKS);
        // An object that waits here may be as large as the page.
        let (sender, objects) = mpsc::channel(1);
        let bytes = Arc::new(AtomicU64::new(0));
        tokio::spawn(read(response, chunks, bytes.clone(), max_bytes));
        let body = Body {
            incoming,
            chunk: Bytes::new(),
        };
        Self {
            objects,
            parser: tokio::task::spawn_blocking(move || parse(body, sender)),
            bytes,
            next,
            total,
            limit,
        }
    }

    /// Returns the next object; `None` after the last one, and if the rest of the page cannot be read.
    pub async fn next_object(&mut self) -> Option<Box<RawValue>> {
        self.objects.recv().await
    }

    /// Returns the number of bytes that have arrived.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Waits for the end of the page.
    ///
    /// # Errors
    /// The failure, if the page could not be read to its end or contains an error.
    pub async fn end(mut self) -> Result<(), Failure> {
        self.objects.close();
        let parsed = self.parser.await;
        parsed.map_err(|error| Failure::Malformed(error.to_string()))?
    }
}

/// Passes on the parts that arrive, until the end of the response or a failure.
async fn read(
    mut response: reqwest::Response,
    chunks: mpsc::Sender<Result<Bytes, Failure>>,
    bytes: Arc<AtomicU64>,
    max_bytes: u64,
) {
    loop {
        let chunk = match tokio::time::timeout(CHUNK_TIMEOUT, response.chunk()).await {
            Ok(Ok(Some(chunk))) => {
                let length = chunk.len() as u64;
                let read = bytes.fetch_add(length, Ordering::Relaxed) + length;
                if read > max_bytes {
                    Err(Failure::TooLarge(max_bytes))
                } else {
                    Ok(chunk)
                }
            }
            Ok(Ok(None)) => return,
            Ok(Err(error)) => Err(unreachable(&error)),
            Err(_) => Err(Failure::Unreachable("the response was interrupted".into())),
        };
        let is_last = chunk.is_err();
        if chunks.send(chunk).await.is_err() || is_last {
            return;
        }
    }
}

/// The body of a response as a source for the parser.
struct Body {
    incoming: mpsc::Receiver<Result<Bytes, Failure>>,
    chunk: Bytes,
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            match self.incoming.blocking_recv() {
                Some(Ok(chunk)) => self.chunk = chunk,
                Some(Err(failure)) => return Err(io::Error::other(failure)),
                None => return Ok(0),
            }
        }
        let length = buffer.len().min(self.chunk.len());
        buffer[..length].copy_from_slice(&self.chunk.split_to(length));
        Ok(length)
    }
}

/// Reads an envelope and passes on the objects of its data.
fn parse(body: impl Read, objects: mpsc::Sender<Box<RawValue>>) -> Result<(), Failure> {
    let mut parser = serde_json::Deserializer::from_reader(BufReader::new(body));
    let status = Page(&objects).deserialize(&mut parser);
    let status = status.and_then(|status| parser.end().map(|()| status));
    match status.map_err(failure)? {
        (code, _) if code.is_success() => Ok(()),
        (code, message) => Err(refused(code, &message)),
    }
}

/// Returns the reason why a page could not be read: the failure of the response, or the error in its content.
fn failure(error: serde_json::Error) -> Failure {
    if !error.is_io() {
        return Failure::Malformed(error.to_string());
    }
    let error = io::Error::from(error);
    let text = error.to_string();
    let inner = error.into_inner().and_then(|inner| inner.downcast().ok());
    inner.map_or(Failure::Malformed(text), |failure: Box<Failure>| *failure)
}

/// Reads an envelope: its status code and message.
struct Page<'a>(&'a mpsc::Sender<Box<RawValue>>);

impl<'de> DeserializeSeed<'de> for Page<'_> {
    type Value = (StatusCode, String);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Page<'_> {
    type Value = (StatusCode, String);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a response of OCPI")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let (mut code, mut message) = (None, None::<String>);
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "data" => members.next_value_seed(Data(self.0))?,
                "status_code" => code = Some(members.next_value()?),
                "status_message" => message = members.next_value()?,
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        let code = code.ok_or_else(|| A::Error::missing_field("status_code"))?;
        Ok((code, message.unwrap_or_default()))
    }
}

/// Passes on the elements of a list. Some platforms omit an empty list, or send null.
struct Data<'a>(&'a mpsc::Sender<Box<RawValue>>);

impl<'de> DeserializeSeed<'de> for Data<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Data<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while let Some(object) = elements.next_element::<Box<RawValue>>()? {
            let sent = self.0.blocking_send(object);
            sent.map_err(|_| A::Error::custom("nobody takes the objects any more"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body that arrives in parts of this size.
    struct Parts<'a>(&'a [u8], usize);

    impl Read for Parts<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(self.0.len()).min(buffer.len());
            let (now, later) = self.0.split_at(length);
            buffer[..length].copy_from_slice(now);
            self.0 = later;
            Ok(length)
        }
    }

    /// Returns the objects of a page that arrives in parts of this size, and how it ends.
    fn read(page: &str, part: usize) -> (Vec<String>, Result<(), Failure>) {
        let (sender, mut objects) = mpsc::channel(100);
        let ended = parse(Parts(page.as_bytes(), part), sender);
        let objects = std::iter::from_fn(|| objects.blocking_recv());
        (
            objects.map(|object| object.get().to_owned()).collect(),
            ended,
        )
    }

    #[test]
    fn a_page_is_read_object_by_object_however_it_arrives() {
        let page = r#" {"timestamp":"x","d\u0061ta" : [ {"id":"]}\"","n":[1,{}]} ,[], 1e3,null,"é\u00e9" ],
            "status_message":null,"more":{"data":[2]},"status_code":1000} "#;
        let objects = [
            r#"{"id":"]}\"","n":[1,{}]}"#,
            "[]",
            "1e3",
            "null",
            r#""é\u00e9""#,
        ];
        for part in 1..page.len() {
            let (read, ended) = read(page, part);
            assert_eq!((read, ended), (objects.map(String::from).to_vec(), Ok(())));
        }
    }

    #[test]
    fn a_page_is_a_success_only_if_it_is_whole_and_says_so() {
        let ended = |page: &str| read(page, 7).1;
        for page in [
            r#"{"status_code":1000}"#,
            r#"{"data":null,"status_code":1000}"#,
            r#"{"status_code":1000,"data":[]}"#,
        ] {
            assert_eq!(read(page, 3), (Vec::new(), Ok(())), "{page}");
        }
        let error = r#"{"data":[{}],"status_code":3001,"status_message":"broken"}"#;
        let (objects, ended_so) = read(error, 5);
        assert_eq!(objects.len(), 1);
        assert_eq!(
            ended_so,
            Err(Failure::Status(StatusCode(3001), "broken".into()))
        );
        for page in [
            "",
            "[]",
            "null",
            r#"{"data":[]}"#,
            r#"{"data":{},"status_code":1000}"#,
            r#"{"data":[{} {}],"status_code":1000}"#,
            r#"{"data":[{},],"status_code":1000}"#,
            r#"{"data":[{"id":1}"#,
            r#"{"data":[],"status_code":1000"#,
            r#"{"data":[],"status_code":1000}{}"#,
        ] {
            assert!(matches!(ended(page), Err(Failure::Malformed(_))), "{page}");
        }
    }

    #[test]
    fn a_failure_of_the_body_is_returned_as_it_is() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other(Failure::TooLarge(5)))
            }
        }
        let (sender, _objects) = mpsc::channel(1);
        assert_eq!(parse(Broken, sender), Err(Failure::TooLarge(5)));
    }
}

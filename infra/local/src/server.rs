//! The HTTP server of the runner. Clients have a limited time to send a request, and an early response does not prevent the next
//! request on the same connection.
//!
//! A client has [`ClientLimits::headers`] to send the headers of a request, also those of the next request on an open connection, and
//! [`ClientLimits::body`] to send its body. A body that takes longer ends in an error for its reader.
//!
//! Some responses are ready before the body of the request was read: a refused key, an unknown path, a body that is too large. In
//! HTTP/1.1 the next request follows that body, so the rest of the body is read and discarded before the response is sent. If it is
//! too long or too slow, the response has the header `Connection: close`.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream, Bytes, HttpBody as _};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use futures::stream::{Stream, StreamExt as _, unfold};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};
use tower::ServiceExt as _;
use web::source::Source;

/// The time limits for clients to send their requests.
#[derive(Debug, Clone, Copy)]
pub struct ClientLimits {
    /// From the start of a connection, or from the previous response, to the end of the headers of the next request.
    pub headers: Duration,
    /// From the end of the headers to the end of the body.
    pub body: Duration,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            headers: Duration::from_secs(30),
            body: Duration::from_secs(30),
        }
    }
}

/// The size of an unread body that is discarded at most, in bytes, and the time limit for that.
const DISCARDED: usize = 8 * 1024 * 1024;
const DISCARDING: Duration = Duration::from_secs(2);

/// The pause after a connection that could not be accepted, for example because the process has no file descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves a router until `stop` ends, and returns when the requests in progress are completed.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ClientLimits,
    stop: impl Future<Output = ()>,
) {
    let router = router.layer(from_fn(move |request: Request, next: Next| {
        read_to_the_end(limits.body, request, next)
    }));
    let (stopping, stopped) = watch::channel(());
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    connections.spawn(connection(stream, peer, router.clone(), limits, stopped.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    sleep(PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop((listener, stopping));
    while connections.join_next().await.is_some() {}
}

/// Serves one connection. When the server stops, the request in progress is completed.
async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    limits: ClientLimits,
    mut stopped: watch::Receiver<()>,
) {
    let source = Source::from(peer.ip());
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(source);
        router.clone().oneshot(request)
    });
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(limits.headers);
    let mut served = pin!(server.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = &mut served => ended,
        _ = stopped.changed() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Limits the time in which the body of a request may be read, and reads the rest before the response is sent.
async fn read_to_the_end(limit: Duration, request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let deadline = Instant::now() + limit;
    let waits = request.headers().contains_key(header::EXPECT);
    let (parts, body) = request.into_parts();
    let body = IncomingBody::new(body);
    let stream = Body::from_stream(body.stream(deadline));
    let mut response = next.run(Request::from_parts(parts, stream)).await;
    if !body.discard(deadline, waits).await {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    response
}

/// The body of a request. The handler reads it as a stream, and the rest is discarded.
#[derive(Clone)]
struct IncomingBody(Arc<Mutex<Progress>>);

struct Progress {
    parts: BodyDataStream,
    /// Whether reading has begun.
    has_begun: bool,
    /// Whether its end was reached.
    is_complete: bool,
}

impl IncomingBody {
    fn new(body: Body) -> Self {
        Self(Arc::new(Mutex::new(Progress {
            parts: body.into_data_stream(),
            has_begun: false,
            is_complete: false,
        })))
    }

    /// Returns the next part. None at the end.
    async fn next(&self) -> Option<Result<Bytes, io::Error>> {
        let mut progress = self.0.lock().await;
        progress.has_begun = true;
        let part = progress.parts.next().await;
        progress.is_complete |= part.is_none();
        part.map(|part| part.map_err(io::Error::other))
    }

    /// The parts of the body. It ends in an error at the deadline.
    fn stream(&self, deadline: Instant) -> impl Stream<Item = Result<Bytes, io::Error>> + use<> {
        unfold(self.clone(), move |body| async move {
            let part = timeout_at(deadline, body.next()).await;
            let part = part.unwrap_or_else(|_| Some(Err(io::ErrorKind::TimedOut.into())));
            part.map(|part| (part, body))
        })
    }

    /// Reads the rest and discards it. Returns whether the end was reached: false if it takes too long or is too long, or if the
    /// client sends the body only after a response to `Expect: 100-continue`.
    async fn discard(&self, deadline: Instant, waits: bool) -> bool {
        if waits && !self.0.lock().await.has_begun {
            return false;
        }
        let discarded = async {
            let mut left = DISCARDED;
            while let Some(part) = self.next().await {
                let length = part.map_or(usize::MAX, |part| part.len());
                match left.checked_sub(length) {
                    Some(rest) => left = rest,
                    None => return,
                }
            }
        };
        let deadline = deadline.min(Instant::now() + DISCARDING);
        // The part that was read until then is discarded in both cases.
        drop(timeout_at(deadline, discarded).await);
        self.0.lock().await.is_complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;
    use axum::routing::post;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::sync::oneshot;

    /// A server that refuses requests to `/` without reading them, and reads those to `/read`.
    async fn start() -> (SocketAddr, oneshot::Sender<()>) {
        let router = Router::new()
            .route("/", post(async || StatusCode::FORBIDDEN))
            .route("/read", post(async |body: Bytes| body));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let limits = ClientLimits {
            headers: Duration::from_secs(10),
            body: Duration::from_secs(10),
        };
        let (stop, stopped) = oneshot::channel();
        let stopped = async { drop(stopped.await) };
        tokio::spawn(serve(listener, router, limits, stopped));
        (address, stop)
    }

    /// The bytes that the server sends until it closes the connection.
    async fn exchange(address: SocketAddr, requests: &[&str]) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        for request in requests {
            stream.write_all(request.as_bytes()).await.unwrap();
        }
        let mut received = String::new();
        drop(stream.read_to_string(&mut received).await);
        received
    }

    #[tokio::test]
    async fn an_unread_body_is_discarded_before_the_next_request() {
        let (address, _stop) = start().await;
        let (body, last) = ("x".repeat(300_000), "connection: close\r\n");
        let first = format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 300000\r\n\r\n{body}");
        let next =
            format!("POST /read HTTP/1.1\r\nhost: a\r\n{last}content-length: 5\r\n\r\nhello");
        let received = exchange(address, &[&first, &next]).await;
        assert!(received.starts_with("HTTP/1.1 403 "), "{received}");
        assert!(received.ends_with("hello"), "{received}");
        let close = received.to_lowercase().matches(last.trim_end()).count();
        assert_eq!(close, 1, "{received}");
    }

    #[tokio::test]
    async fn a_body_that_waits_to_be_asked_for_is_not_asked_for() {
        let (address, _stop) = start().await;
        let request =
            "POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n";
        let received = exchange(address, &[request]).await.to_lowercase();
        assert!(received.starts_with("http/1.1 403 "), "{received}");
        assert!(received.contains("connection: close"), "{received}");
    }

    #[tokio::test]
    async fn a_request_under_way_is_answered_when_the_server_stops() {
        let (address, stop) = start().await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = "POST /read HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhe";
        stream.write_all(head.as_bytes()).await.unwrap();
        sleep(Duration::from_millis(100)).await;
        stop.send(()).unwrap();
        sleep(Duration::from_millis(100)).await;
        stream.write_all(b"llo").await.unwrap();
        let mut received = String::new();
        stream.read_to_string(&mut received).await.unwrap();
        assert!(received.ends_with("hello"), "{received}");
        assert!(TcpStream::connect(address).await.is_err());
    }
}

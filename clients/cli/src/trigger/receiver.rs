//! A receiver of webhooks that responds to every delivery with the same status.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::failure::Failure;

/// A receiver on this machine, which stops when this value is dropped.
pub struct Receiver {
    port: u16,
    status: Arc<AtomicU16>,
    task: JoinHandle<()>,
}

impl Receiver {
    /// Starts a receiver on a free port.
    ///
    /// # Errors
    /// This machine has no free port.
    pub async fn start(status: u16) -> Result<Self, Failure> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let status = Arc::new(AtomicU16::new(status));
        let answers = status.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A lost delivery is repeated.
                drop(respond(stream, answers.load(Ordering::Relaxed)).await);
            }
        });
        Ok(Self { port, status, task })
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// The status of the responses, which can be changed.
    pub fn answers(&self) -> Arc<AtomicU16> {
        self.status.clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads a request and responds to it.
async fn respond(mut stream: TcpStream, status: u16) -> std::io::Result<()> {
    let mut read = Vec::new();
    let mut part = [0; 8_192];
    while !is_whole(&read) {
        match stream.read(&mut part).await? {
            0 => return Ok(()),
            count => read.extend_from_slice(&part[..count]),
        }
    }
    let answer =
        format!("HTTP/1.1 {status} Status\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).await
}

/// Whether a request has arrived with its whole body.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let mut lengths = head.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        value.trim().parse().ok().filter(|_: &usize| is_length)
    });
    body.len() >= lengths.next_back().unwrap_or(0)
}

//! A server with scripted responses, and the executable with a configuration of its own.

#![allow(dead_code, reason = "each test file uses a part")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use serde_json::{Value, json};

/// A request that the server received.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Method and path with the query string.
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// An action of the server for a request.
pub enum Act {
    /// Responds with a status, headers and a body.
    Respond(u16, &'static str, Value),
    /// Responds with 200 and a body, after this time.
    Late(Duration, Value),
    /// Responds with 200 and without a body.
    Empty,
    /// Closes the connection without a response.
    HangUp,
}

pub fn ok(body: Value) -> Act {
    Act::Respond(200, "", body)
}

pub fn error(status: u16, kind: &str) -> Act {
    let body = json!({"object": "error", "type": kind, "message": "No.", "status": status, "request": "req_1"});
    Act::Respond(status, "", body)
}

/// A server that performs one action after the other, and responds with 418 after the last. Its responses have the present `Date` unless
/// their headers have another one.
pub struct Server {
    pub url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    pub fn start(acts: Vec<Act>) -> Self {
        Self::serve(acts, None)
    }

    /// A server that performs other actions, one after the other, for requests for the clock of the local runner, and responds to them with
    /// 404 after the last. It does not note these requests.
    pub fn with_clock(acts: Vec<Act>, clock: Vec<Act>) -> Self {
        Self::serve(acts, Some(clock))
    }

    /// A server that is not the local runner, and does not note requests for its clock.
    pub fn without_clock(acts: Vec<Act>) -> Self {
        Self::with_clock(acts, Vec::new())
    }

    fn serve(acts: Vec<Act>, clock: Option<Vec<Act>>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let noted = seen.clone();
        std::thread::spawn(move || {
            let mut acts = acts.into_iter();
            let mut clock = clock.map(Vec::into_iter);
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                let Some(request) = read(&mut stream) else {
                    continue;
                };
                let act = match &mut clock {
                    Some(clock) if request.line == "GET /_local/clock" => {
                        let act = clock.next();
                        act.unwrap_or_else(|| error(404, "invalid_request_error"))
                    }
                    _ => {
                        noted.lock().expect("a lock").push(request);
                        acts.next().unwrap_or_else(|| error(418, "api_error"))
                    }
                };
                let response = match act {
                    Act::Respond(status, headers, body) => {
                        Some((status, headers, body.to_string()))
                    }
                    Act::Late(wait, body) => {
                        std::thread::sleep(wait);
                        Some((200, "", body.to_string()))
                    }
                    Act::Empty => Some((200, "", String::new())),
                    Act::HangUp => None,
                };
                if let Some((status, headers, body)) = response {
                    let now = DateTimePrinter::new().timestamp_to_rfc9110_string(&Timestamp::now());
                    let date = match now {
                        Ok(now) if !headers.contains("Date: ") => format!("Date: {now}\r\n"),
                        _ => String::new(),
                    };
                    let head = format!(
                        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\n{headers}{date}Content-Length: {}\r\n\r\n",
                        body.len()
                    );
                    drop(stream.write_all((head + &body).as_bytes()));
                }
            }
        });
        Self { url, seen }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("a lock").clone()
    }
}

fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let line = line.trim().trim_end_matches(" HTTP/1.1").to_owned();
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(": ") else {
            break;
        };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    Some(Seen {
        line,
        headers,
        body,
    })
}

/// The tool with a configuration folder of its own.
pub struct Tool {
    pub folder: tempfile::TempDir,
}

impl Tool {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder }
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fleet"));
        for name in [
            "FLEET_PROFILE",
            "FLEET_API_URL",
            "FLEET_API_KEY",
            "FLEET_LOCAL_TOKEN",
            "FLEET_WEBHOOK_SECRET",
        ] {
            command.env_remove(name);
        }
        command
            .args(words)
            .env("FLEET_CONFIG_DIR", self.folder.path().join("fleet"));
        command
    }

    pub fn run(&self, server: &Server, words: &[&str]) -> Output {
        let mut command = self.command_at(server, words);
        command.output().expect("the tool runs")
    }

    /// The tool with a server's address and a key.
    pub fn command_at(&self, server: &Server, words: &[&str]) -> Command {
        let mut command = self.command(words);
        command
            .env("FLEET_API_URL", &server.url)
            .env("FLEET_API_KEY", "sk_test_0123456789abcdef");
        command
    }

    pub fn config(&self) -> std::path::PathBuf {
        self.folder.path().join("fleet/config.json")
    }
}

pub fn code(output: &Output) -> i32 {
    output.status.code().expect("a code")
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

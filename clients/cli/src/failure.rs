//! The reasons why a command fails, and their exit codes for scripts.

use std::fmt;

use serde_json::Value;

/// The reason why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The command line is wrong. The message is complete.
    Usage(clap::Error),
    /// A problem on this machine: a file, the configuration, the input.
    Local(String),
    /// There is no API key, so that the request was not sent.
    MissingKey(String),
    /// The service refused the request.
    Refused(Box<Refusal>),
    /// The service could not be reached, or did not respond in time.
    Unreachable(String),
    /// A command with several actions completed only some of them. The failures have been printed.
    Partial(String),
    /// The reader of the output has closed it, as `head` does.
    BrokenPipe,
    /// Ctrl-C was pressed at a prompt, which receives it as a character instead of a signal.
    Interrupted,
}

/// The exit code of a command that was interrupted.
pub const INTERRUPTED: u8 = 130;

/// An error response.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub status: u16,
    /// The error object, or the content that was received instead of it.
    pub body: Value,
    /// The header `Service-Request-Id`.
    pub request: Option<String>,
    /// The Idempotency-Key that was sent.
    pub idempotency_key: Option<String>,
}

/// The exit codes and their meanings, as listed by `fleet help exit-codes` and the README.
pub const EXIT_CODES: [(u8, &str); 9] = [
    (0, "Success."),
    (
        1,
        "Something on this machine: a file, the configuration, the input.",
    ),
    (
        2,
        "The command line is wrong: an unknown flag, a missing or invalid value.",
    ),
    (
        3,
        "The service refused the request: 400, 402, 404, 409 and others not listed here.",
    ),
    (
        4,
        "The key is missing, invalid, or may not do this: 401, 403.",
    ),
    (5, "Too many requests: 429, after all retries."),
    (
        6,
        "The service cannot be reached or failed: no connection, time-out, 5xx, after all retries.",
    ),
    (
        7,
        "An import or a relay did only a part; what failed was printed.",
    ),
    (INTERRUPTED, "Interrupted with Ctrl-C."),
];

impl Failure {
    /// A failure on this machine.
    pub fn local(message: impl fmt::Display) -> Self {
        Self::Local(message.to_string())
    }

    /// The failure when the local runner has refused a request because its token is missing or wrong.
    pub fn needs_local_token(mut refusal: Box<Refusal>) -> Self {
        let message = refusal.member("message").unwrap_or_default();
        let advice = "Set FLEET_LOCAL_TOKEN to the token that `cargo run` prints, or save it with `fleet profiles add`.";
        refusal.body["message"] = format!("{message}\n  {advice}").into();
        Self::Refused(refusal)
    }

    /// The failure to print the response to a request that may have changed something: it names the object.
    pub fn after(self, method: &str, response: &Value) -> Self {
        match (self, response["id"].as_str()) {
            (Self::Local(message), id) if method != "GET" => {
                let object = id.map(|id| format!("; its object is {id}"));
                let object = object.unwrap_or_default();
                Self::Local(format!("{message}\n  The request was carried out{object}"))
            }
            (failure, _) => failure,
        }
    }

    /// The exit code, from [`EXIT_CODES`].
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::BrokenPipe => 0,
            Self::Local(_) => 1,
            Self::Usage(error) if error.use_stderr() => 2,
            Self::Usage(_) => 0,
            Self::MissingKey(_) => 4,
            Self::Refused(refusal) => match refusal.status {
                401 | 403 => 4,
                429 => 5,
                500.. => 6,
                _ => 3,
            },
            Self::Unreachable(_) => 6,
            Self::Partial(_) => 7,
            Self::Interrupted => INTERRUPTED,
        }
    }
}

impl Refusal {
    /// A member of the error object, if it is a text.
    pub fn member(&self, name: &str) -> Option<&str> {
        self.body[name].as_str()
    }

    /// Whether another request with the same Idempotency-Key is still in progress.
    pub fn is_in_flight(&self) -> bool {
        self.status == 409 && self.member("type") == Some("idempotency_error")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            self.member("message")
                .unwrap_or("the service refused the request"),
        )?;
        write!(f, "\n  status  {}", self.status)?;
        for name in ["code", "param", "transaction"] {
            if let Some(value) = self.member(name) {
                write!(f, "\n  {name:<7} {value}")?;
            }
        }
        if let Some(request) = self.request.as_deref().or(self.member("request")) {
            write!(f, "\n  request {request}")?;
        }
        let others = self.body["errors"].as_array().into_iter().flatten();
        for error in others.filter(|error| error["param"] != self.body["param"]) {
            if let (Some(param), Some(message)) =
                (error["param"].as_str(), error["message"].as_str())
            {
                write!(f, "\n  also    {param}: {message}")?;
            }
        }
        if let Some(url) = self.member("doc_url") {
            write!(f, "\n  see     {url}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(error) => error.fmt(f),
            Self::Local(message)
            | Self::MissingKey(message)
            | Self::Unreachable(message)
            | Self::Partial(message) => f.write_str(message),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::BrokenPipe => f.write_str("the reader of the output has gone"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            std::io::ErrorKind::Interrupted => Self::Interrupted,
            _ => Self::local(error),
        }
    }
}

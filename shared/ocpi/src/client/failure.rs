//! Failures of requests to platforms.

use std::fmt;
use std::time::Duration;

use crate::envelope::{Received, StatusCode};
use kernel::backoff::Backoff;
use kernel::time::seconds;
use kernel::{Error, SignedDuration};

/// The number of attempts of a `GET`, and the pauses in between.
const TRIES: u32 = 3;
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(200), 3, Duration::from_millis(600));

/// The maximum `Retry-After` that is waited for within a request.
const SHORT_WAIT: SignedDuration = seconds(2);

/// The part of the body of a failed response that is read, in bytes, and shown, in characters.
const MAX_READ: usize = 1024;
const MAX_SHOWN: usize = 200;

/// The failure of a request to a platform.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The address may not be called.
    #[error("{0}")]
    Address(String),
    /// There was no response: the request may have had its effect.
    #[error("the platform cannot be reached: {0}")]
    Unreachable(String),
    /// The HTTP status, the time that the platform asks to wait, and the message in the body.
    #[error("the platform responded with HTTP {status}{explanation}")]
    Http {
        status: u16,
        retry_after: Option<SignedDuration>,
        explanation: Explanation,
    },
    /// The response is larger than this number of bytes.
    #[error("the platform's response has more than {0} bytes")]
    TooLarge(u64),
    /// The response names a next page that may not be requested.
    #[error("the platform's response cannot be read: the header Link {0}")]
    Link(&'static str),
    /// The response does not conform to the standard.
    #[error("the platform's response cannot be read: {0}")]
    Malformed(String),
    #[error("the platform responded with status code {code}: {message}", code = .0.0, message = .1)]
    Status(StatusCode, String),
}

/// The beginning of a response's body: the status code and message of its envelope if it has one, or its text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explanation(String);

impl Explanation {
    pub(super) fn of(body: &[u8]) -> Self {
        let message = match serde_json::from_slice::<Received>(body) {
            Ok(Received {
                status_code,
                status_message,
                ..
            }) => format!("{} {}", status_code.0, status_message.unwrap_or_default()),
            Err(_) => String::from_utf8_lossy(&body[..body.len().min(MAX_READ)]).into_owned(),
        };
        // A page of HTML has many lines.
        let words =
            message.split(|character: char| character.is_whitespace() || character.is_control());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        Self(words.join(" ").chars().take(MAX_SHOWN).collect())
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_str() {
            "" => Ok(()),
            message => write!(f, ": {message}"),
        }
    }
}

impl Failure {
    /// Returns whether the platform has understood the request and refuses it, so that a repetition does not help.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Http { status, .. } => (400..500).contains(status) && *status != 429,
            Self::Status(code, _) => code.0 / 1000 == 2,
            Self::Address(_) | Self::TooLarge(_) | Self::Link(_) => true,
            Self::Unreachable(_) | Self::Malformed(_) => false,
        }
    }

    /// Returns whether the platform refuses the token of the request: with HTTP 401, or with 403 as some platforms do. Such a request has
    /// had no effect, and the token may be valid again later.
    pub fn is_of_token(&self) -> bool {
        matches!(
            self,
            Self::Http {
                status: 401 | 403,
                ..
            }
        )
    }

    /// Returns the time that the platform asks to wait before the request is repeated, an hour at most.
    pub fn retry_after(&self) -> Option<SignedDuration> {
        match self {
            Self::Http { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Http { status, .. } => *status >= 500 || *status == 429,
            _ => false,
        }
    }

    /// Waits before a `GET` is repeated.
    ///
    /// # Errors
    /// The failure, if an immediate repetition does not help.
    pub(super) async fn pause(self, attempt: u32) -> Result<(), Self> {
        match self.retry_after() {
            _ if !self.is_passing() || attempt + 1 >= TRIES => Err(self),
            Some(wait) if wait > SHORT_WAIT => Err(self),
            Some(wait) => {
                tokio::time::sleep(wait.unsigned_abs()).await;
                Ok(())
            }
            None => {
                BACKOFF.pause(attempt).await;
                Ok(())
            }
        }
    }
}

impl From<Failure> for Error {
    /// For an operator or a queue: a platform that cannot be reached now may be reached later.
    fn from(failure: Failure) -> Self {
        if failure.is_refusal() {
            Self::malformed(failure.to_string())
        } else {
            Self::unavailable(failure.to_string())
        }
    }
}

/// Returns the failure for an envelope with an error.
pub(super) fn refused(code: StatusCode, message: &str) -> Failure {
    Failure::Status(code, kernel::error::excerpt(message).into())
}

/// Returns the failure for an error with its causes, without the address, which may be long.
pub(super) fn unreachable(error: &reqwest::Error) -> Failure {
    let error: &dyn std::error::Error = error;
    let causes = std::iter::successors(error.source(), |error| error.source());
    let text: Vec<String> = causes.map(ToString::to_string).collect();
    Failure::Unreachable(if text.is_empty() {
        "the request failed".into()
    } else {
        text.join(": ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_not_repeated() {
        let http = |status| Failure::Http {
            status,
            retry_after: None,
            explanation: Explanation::default(),
        };
        assert!(http(404).is_refusal() && !http(503).is_refusal());
        assert!(Failure::TooLarge(1).is_refusal());
        assert!(Failure::Link("names another host").is_refusal());
        assert!(Failure::Status(StatusCode(2001), String::new()).is_refusal());
        assert!(!Failure::Status(StatusCode(3000), String::new()).is_refusal());
        assert!(http(503).is_passing() && !Failure::Malformed(String::new()).is_passing());
    }

    #[test]
    fn a_failure_says_what_the_platform_said() {
        let failure = |body: &str| {
            let failure = Failure::Http {
                status: 400,
                retry_after: None,
                explanation: Explanation::of(body.as_bytes()),
            };
            failure.to_string()
        };
        let beginning = "the platform responded with HTTP 400";
        assert_eq!(failure(""), beginning);
        assert_eq!(
            failure(r#"{"status_code":2001,"status_message":"roles: expected one"}"#),
            format!("{beginning}: 2001 roles: expected one")
        );
        assert_eq!(
            failure("<html>\n  Bad\tgateway"),
            format!("{beginning}: <html> Bad gateway")
        );
        assert_eq!(
            failure(&"é".repeat(5_000)).chars().count(),
            beginning.len() + 2 + MAX_SHOWN
        );
    }
}

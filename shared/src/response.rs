//! The response of an operation, before it becomes an HTTP response.

/// The response to a request: a status and a JSON body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub body: Vec<u8>,
    /// What is stored for repeated requests where that differs from the body: an API key's secret is shown only once.
    pub remembered: Option<Vec<u8>>,
    /// Whether it shows a secret, so that it is encrypted where it is stored.
    pub confidential: bool,
    /// Whether it is the stored response to an earlier request with the same idempotency key.
    pub replayed: bool,
}

impl Response {
    /// 200 with this body.
    pub fn ok(body: Vec<u8>) -> Self {
        Self {
            status: 200,
            body,
            remembered: None,
            confidential: false,
            replayed: false,
        }
    }

    /// The same response, which shows a secret.
    #[must_use]
    pub fn confidential(mut self) -> Self {
        self.confidential = true;
        self
    }
}

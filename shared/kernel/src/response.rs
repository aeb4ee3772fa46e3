//! The response of an operation, before it becomes an HTTP response.

use std::marker::PhantomData;

/// The response to a request: a status and a JSON body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub body: Vec<u8>,
    /// The target of a redirect.
    pub location: Option<String>,
    /// The version of the object that it shows, for the header `ETag`.
    pub version: Option<u64>,
    /// The body that is stored for repeated requests if it differs from the body: an API key's secret is shown only once.
    pub remembered: Option<Vec<u8>>,
    /// Whether it shows a secret, so that it is encrypted when it is stored.
    pub confidential: bool,
    /// Whether it is the stored response to an earlier request with the same idempotency key.
    pub replayed: bool,
}

impl Response {
    /// Returns 200 with this body.
    pub fn ok(body: Vec<u8>) -> Self {
        Self {
            status: 200,
            body,
            location: None,
            version: None,
            remembered: None,
            confidential: false,
            replayed: false,
        }
    }

    /// Returns 302 to this address, without a body.
    pub fn redirect(location: String) -> Self {
        Self {
            status: 302,
            location: Some(location),
            ..Self::ok(Vec::new())
        }
    }

    /// Marks the response as one that shows a secret.
    #[must_use]
    pub fn confidential(mut self) -> Self {
        self.confidential = true;
        self
    }
}

/// The response of a handler that shows a `T`.
#[derive(Debug)]
pub struct Reply<T> {
    response: Response,
    shows: PhantomData<fn() -> T>,
}

impl<T> Reply<T> {
    /// Marks the response as one that shows a secret.
    #[must_use]
    pub fn confidential(self) -> Self {
        self.response.confidential().into()
    }

    /// Sets the version of the object that the response shows.
    #[must_use]
    pub fn at_version(mut self, version: u64) -> Self {
        self.response.version = Some(version);
        self
    }

    /// Sets another response that is stored for repeated requests.
    #[must_use]
    pub fn remembered_as(mut self, other: Self) -> Self {
        self.response.remembered = Some(other.response.body);
        self
    }
}

impl<T> From<Response> for Reply<T> {
    fn from(response: Response) -> Self {
        Self {
            response,
            shows: PhantomData,
        }
    }
}

impl<T> From<Reply<T>> for Response {
    fn from(reply: Reply<T>) -> Self {
        reply.response
    }
}

impl<T> AsRef<Response> for Reply<T> {
    fn as_ref(&self) -> &Response {
        &self.response
    }
}

impl AsRef<Self> for Response {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// A redirect to a file about a `T`.
#[derive(Debug)]
pub struct FileOf<T>(PhantomData<T>);

/// The representation of a deleted `T`.
#[derive(Debug)]
pub struct Deleted<T>(PhantomData<T>);

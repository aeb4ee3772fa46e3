//! A charge point operator that is based on `ocpi-kit`.
//!
//! Its objects are those of the crate's in-memory party, which a test fills and reads. Credentials and commands are implemented here,
//! because the crate leaves them to its user. The operator sends nothing by itself: a test sends results, sessions and CDRs at the
//! time it chooses. A test simulates silence, delay and repetition by not sending, sending later or sending twice.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use ocpi_kit::client::{ClientConfig, OcpiClient, OcpiRequest, Peer, PeerSession, Registration};
use ocpi_kit::server::{
    AuthenticatedPeer, CommandsReceiver, CredentialsHandler, Handled, InMemoryTokenStore,
    OcpiRouter, RequestContext, ServerConfig,
};
use ocpi_kit::testkit::MockPeer;
use ocpi_kit::transport::{CredentialsToken, OcpiError, TokenRole};
use ocpi_kit::types::{PartyRef, Url};
use ocpi_kit::v2_3_0::commands::{
    Command, CommandResponse, CommandResponseType, CommandResult, CommandResultType,
};
use ocpi_kit::v2_3_0::credentials::Credentials;
use ocpi_kit::v2_3_0::types::Role;
use ocpi_kit::{ModuleId, VersionNumber};

/// The operator.
#[derive(Clone)]
pub struct Cpo(Arc<Inner>);

struct Inner {
    version: VersionNumber,
    base: Url,
    /// The objects that it serves, and those that it has received.
    objects: MockPeer,
    tokens: Arc<InMemoryTokenStore>,
    client: OcpiClient,
    emsp: Mutex<Option<Peer>>,
    commands: Mutex<Vec<Command>>,
    answers: Mutex<VecDeque<CommandReply>>,
    /// The part of a path, and the fault of requests whose path contains it.
    fault: Mutex<Option<(String, Fault)>>,
    /// The number of requests that have failed because of a fault.
    failed: AtomicUsize,
}

/// The response to a command. A command without a chosen response is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandReply {
    Accepted,
    /// Accepted, after this result was sent.
    AcceptedAfter(CommandResultType),
    Rejected,
    NotSupported,
    UnknownSession,
}

/// The fault of a request, usually before it reaches its handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An HTTP status without an envelope.
    Status(u16),
    /// The same, after the request has had its effect.
    StatusAfterEffect(u16),
    /// HTTP status 200 and a body that is not JSON.
    Malformed,
    /// HTTP status 200 and JSON without an envelope.
    NoEnvelope,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("a lock")
}

fn token(label: &str) -> CredentialsToken {
    CredentialsToken::new(format!("network-test-{label}")).expect("a token")
}

impl Cpo {
    /// Starts an operator that supports this version, with empty lists.
    pub async fn start(version: VersionNumber) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let address = listener.local_addr().expect("an address");
        let base = Url::new(format!("http://{address}")).expect("a URL");
        let objects = MockPeer::new(base.clone(), Self::party(), Role::Cpo);
        let tokens = Arc::new(InMemoryTokenStore::new());
        let cpo = Self(Arc::new(Inner {
            version: version.clone(),
            base: base.clone(),
            objects: objects.clone(),
            tokens: tokens.clone(),
            client: OcpiClient::with_config(ClientConfig::for_testing()).expect("a client"),
            emsp: Mutex::default(),
            commands: Mutex::default(),
            answers: Mutex::default(),
            fault: Mutex::default(),
            failed: AtomicUsize::default(),
        }));
        let emsp = AuthenticatedPeer {
            peer_id: "emsp".into(),
            role: TokenRole::A,
            parties: Vec::new(),
            version: version.clone(),
        };
        tokens.insert(token("a"), emsp);
        // With the default prefix of receivers, the version details of ocpi-kit 0.4.0 contain a path for commands that it does not
        // serve.
        let router = OcpiRouter::new(version, base, tokens)
            .with_config(ServerConfig::default().one_router_per_role())
            .credentials(cpo.clone())
            .locations_sender(objects.clone())
            .tariffs_sender(objects.clone())
            .sessions_sender(objects.clone())
            .cdrs_sender(objects.clone())
            .tokens_receiver(objects)
            .commands_receiver(cpo.clone())
            .build()
            .layer(from_fn_with_state(cpo.clone(), fail));
        tokio::spawn(axum::serve(listener, router).into_future());
        cpo
    }

    /// The party whose objects it serves.
    pub fn party() -> PartyRef {
        PartyRef::new("NL", "TNM").expect("a party")
    }

    pub fn versions_url(&self) -> String {
        self.0.base.join("versions").as_str().to_owned()
    }

    /// The token with which an eMSP may register.
    pub fn token_a() -> String {
        token("a").expose_secret().to_owned()
    }

    pub fn objects(&self) -> &MockPeer {
        &self.0.objects
    }

    /// Registers at an eMSP with a token A of that eMSP.
    ///
    /// # Errors
    /// The error of the eMSP.
    pub async fn register(&self, versions_url: &str, token_a: &str) -> Result<(), OcpiError> {
        let transport = self.0.client.transport();
        let registration = Registration::new(
            Url::from(versions_url),
            CredentialsToken::new_lenient(token_a),
        );
        let discovered = registration.discover(transport).await?;
        let selected = discovered.select(transport, &self.0.version).await?;
        // The eMSP calls back with this token before it responds.
        self.accept(token("b"), Vec::new());
        let peer = selected.register(transport, &self.credentials("b")).await?;
        self.accept(token("b"), peer.parties().to_vec());
        *lock(&self.0.emsp) = Some(peer);
        Ok(())
    }

    /// The registered eMSP, as a peer of `ocpi-kit`.
    pub fn emsp(&self) -> Peer {
        lock(&self.0.emsp).clone().expect("a registration")
    }

    /// Sends requests to the registered eMSP.
    pub fn session<'a>(&'a self, emsp: &'a Peer) -> PeerSession<'a> {
        self.0.client.peer(emsp, Self::party())
    }

    /// The received commands.
    pub fn commands(&self) -> Vec<Command> {
        lock(&self.0.commands).clone()
    }

    /// Sets the response to the next command.
    pub fn answer(&self, answer: CommandReply) {
        lock(&self.0.answers).push_back(answer);
    }

    /// Sets the fault of requests whose path contains `path`, until [`Cpo::heal`].
    pub fn fail(&self, path: &str, fault: Fault) {
        *lock(&self.0.fault) = Some((path.to_owned(), fault));
    }

    /// The number of requests that have failed because of a fault.
    pub fn failed(&self) -> usize {
        self.0.failed.load(Ordering::SeqCst)
    }

    /// Removes the fault.
    pub fn heal(&self) {
        *lock(&self.0.fault) = None;
    }

    /// Sends the result of a command.
    ///
    /// # Errors
    /// The error of the eMSP.
    pub async fn result(
        &self,
        command: &Command,
        result: CommandResultType,
    ) -> Result<(), OcpiError> {
        let url = command.response_url().clone();
        let body = CommandResult::builder().result(result).build();
        let request =
            OcpiRequest::new(axum::http::Method::POST, url, ModuleId::Commands).with_body(&body)?;
        let emsp = self.emsp();
        let transport = self.0.client.transport();
        let sent =
            transport.send_with_headers::<serde_json::Value>(&request, emsp.token(), emsp.quirks());
        let (envelope, _) = sent.await?;
        if envelope.is_success() {
            Ok(())
        } else {
            envelope.into_result().map(drop)
        }
    }

    fn accept(&self, token: CredentialsToken, parties: Vec<PartyRef>) {
        let peer = AuthenticatedPeer {
            peer_id: "emsp".into(),
            role: TokenRole::C,
            parties,
            version: self.0.version.clone(),
        };
        self.0.tokens.insert(token, peer);
    }

    fn credentials(&self, label: &str) -> Credentials {
        let mut credentials = self.0.objects.credentials();
        credentials.token = token(label).to_credentials_field();
        credentials
    }

    /// Reads the endpoints of an eMSP that has sent its credentials.
    async fn read(&self, credentials: &Credentials) -> Result<Peer, OcpiError> {
        let transport = self.0.client.transport();
        let theirs = CredentialsToken::new_lenient(credentials.token.as_str());
        let registration = Registration::new(credentials.url.clone(), theirs.clone());
        let selected = registration
            .discover(transport)
            .await?
            .select(transport, &self.0.version)
            .await?;
        let mut peer = Peer::builder(self.0.version.clone(), theirs)
            .versions_url(credentials.url.clone())
            .endpoints_from(selected.details());
        for party in credentials.parties() {
            peer = peer.party(party);
        }
        Ok(peer.build())
    }
}

impl CredentialsHandler for Cpo {
    async fn get(&self, _: RequestContext) -> Handled<Credentials> {
        Ok(self.credentials("c"))
    }

    async fn post(&self, credentials: Credentials, _: RequestContext) -> Handled<Credentials> {
        if lock(&self.0.emsp).is_some() {
            return Err(OcpiError::MethodNotAllowed(
                "this party is registered already".into(),
            ));
        }
        let peer = self.read(&credentials).await?;
        self.accept(token("c"), peer.parties().to_vec());
        self.0.tokens.remove(&token("a"));
        *lock(&self.0.emsp) = Some(peer);
        Ok(self.credentials("c"))
    }

    async fn put(&self, credentials: Credentials, _: RequestContext) -> Handled<Credentials> {
        let peer = self.read(&credentials).await?;
        *lock(&self.0.emsp) = Some(peer);
        Ok(self.credentials("c"))
    }

    async fn delete(&self, _: RequestContext) -> Handled<()> {
        *lock(&self.0.emsp) = None;
        self.0.tokens.remove(&token("c"));
        Ok(())
    }
}

impl CommandsReceiver for Cpo {
    async fn command(&self, command: Command, _: RequestContext) -> Handled<CommandResponse> {
        lock(&self.0.commands).push(command.clone());
        let answer = lock(&self.0.answers).pop_front();
        let result = match answer.unwrap_or(CommandReply::Accepted) {
            CommandReply::Accepted => CommandResponseType::Accepted,
            CommandReply::AcceptedAfter(result) => {
                self.result(&command, result).await?;
                CommandResponseType::Accepted
            }
            CommandReply::Rejected => CommandResponseType::Rejected,
            CommandReply::NotSupported => CommandResponseType::NotSupported,
            CommandReply::UnknownSession => CommandResponseType::UnknownSession,
        };
        Ok(CommandResponse::builder()
            .result(result)
            .timeout(30u32)
            .build())
    }
}

/// Applies a chosen fault to requests.
async fn fail(State(cpo): State<Cpo>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let fault = lock(&cpo.0.fault).clone();
    let fault = fault.filter(|(part, _)| path.contains(part.as_str()));
    cpo.0
        .failed
        .fetch_add(usize::from(fault.is_some()), Ordering::SeqCst);
    match fault.map(|(_, fault)| fault) {
        None => next.run(request).await,
        Some(Fault::Status(status)) => error_page(status),
        Some(Fault::StatusAfterEffect(status)) => {
            next.run(request).await;
            error_page(status)
        }
        Some(Fault::Malformed) => "<html>".into_response(),
        Some(Fault::NoEnvelope) => axum::Json(serde_json::json!({"error": "none"})).into_response(),
    }
}

fn error_page(status: u16) -> Response {
    let status = StatusCode::from_u16(status).expect("a status");
    (status, "an error page").into_response()
}

//! The routes of the runner: those of the service, the console, and those below `/_local`.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::HeaderMap;
use axum::http::header::HOST;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{any, get, post};
use axum::{Json, Router};
use cpo::Cpo;
use functions::app::App;
use functions::assistants;
use functions::networks::import_stations::Imported;
use futures::FutureExt as _;
use kernel::{Error, Result};
use serde::{Deserialize, Serialize};
use tower::ServiceExt as _;
use web::edge::base_url;

use crate::accounts::{self, Remains};
use crate::console::{self, Tiles};
use crate::engine::{Engine, Moved};
use crate::guard::{self, Guard, LocalPort};
use crate::requests::{self, Requests};
use crate::service::Service;
use crate::session::{self, Session};
use crate::token::{self, Access};
use crate::{demo_network, downloads, due, inbox, networks, notices, stations};

/// The parts of the runner that its routes use.
pub struct Routes<'a> {
    pub service: &'a Service,
    pub remains: &'a Remains,
    pub network: Option<&'a Cpo>,
    pub port: LocalPort,
    pub tiles: Option<Tiles>,
}

/// The response of `GET /_local/clock`.
#[derive(Debug, Serialize)]
struct Time {
    now: kernel::Timestamp,
}

/// The body of `POST /_local/clock`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    advance_seconds: u32,
}

impl Routes<'_> {
    /// The router of every route.
    ///
    /// # Errors
    /// The console cannot be read.
    pub fn router(self) -> Result<Router, String> {
        let (port, clock) = (self.port, self.service.app.clock.clone());
        let guard = Guard {
            port,
            clock: clock.clone(),
        };
        let token = self.service.token.clone();
        let access = Access { token, port, clock };
        let console = console::router(self.tiles.as_ref())?
            .layer(from_fn_with_state(access.clone(), token::sign_in));
        let requests = Arc::new(Requests::new(self.service.app.clock.clone()));
        let private = self
            .private(requests.clone())
            .layer(from_fn_with_state(access, token::check));
        // Requests with other methods to the inbox are refused by the routes that are merged last.
        let router = console.merge(self.public(requests)).merge(private);
        Ok(router.layer(from_fn_with_state(guard, guard::check)))
    }

    /// The routes of a local run that require its token: the clock, the notices of changes, the requests, the deliveries in the inbox,
    /// stations, networks and accounts.
    fn private(&self, requests: Arc<Requests>) -> Router {
        let Remains { engine, inbox, .. } = self.remains;
        let session = session::router(Session {
            account: self.service.account.account.clone(),
            api_key: self.service.account.api_key.clone(),
        });
        let router = Router::new()
            .route("/_local/clock", get(time).post(advance))
            .route(due::ROUTE, get(due::list))
            .with_state(engine.clone())
            .route(notices::ROUTE, get(notices::listen))
            .with_state(engine.notices.clone())
            .route(
                stations::ROUTE,
                post(load_stations).layer(DefaultBodyLimit::max(stations::MAX_BODY)),
            )
            .route(
                networks::ROUTE,
                post(networks::manage)
                    .get(networks::list)
                    .layer(from_fn_with_state(engine.clone(), nudge)),
            )
            .with_state(self.service.app.clone())
            .merge(accounts::router(
                self.service.app.clone(),
                self.remains.clone(),
            ))
            .route(requests::ROUTE, get(requests::list).with_state(requests))
            .route(inbox::ROUTE, get(inbox::list).with_state(inbox.clone()))
            .route(
                "/_local/{*path}",
                any(missing).with_state(self.service.app.clone()),
            )
            .merge(session);
        match self.network {
            Some(network) => router.nest(demo_network::ROUTE, network.control()),
            None => router,
        }
    }

    /// The routes that do not require the token: those of the service, which require an API key, the files, whose links are signed,
    /// and the inbox, to which webhooks are sent.
    fn public(&self, requests: Arc<Requests>) -> Router {
        let Remains { engine, inbox, .. } = self.remains;
        let service = functions::router(self.service.app.clone())
            .layer(from_fn_with_state(engine.clone(), nudge))
            .layer(from_fn_with_state(requests, requests::log));
        let (api, app) = (service.clone(), self.service.app.clone());
        let (rate, clock) = (app.settings.rates.test, app.clock.clone());
        let assistants = assistants::router(rate, clock, move |parts| {
            let (api, host) = (api.clone(), parts.headers.get(HOST).cloned());
            let transport: assistants::Transport = Arc::new(move |mut request| {
                // Addresses in responses have the host of the request.
                request
                    .headers_mut()
                    .extend(host.clone().map(|host| (HOST, host)));
                let response = api.clone().oneshot(request);
                Box::pin(response.map(|response| response.map_err(|never| match never {})))
            });
            Ok(assistants::Connection {
                base_url: base_url(&app.settings, &parts.headers),
                transport,
            })
        });
        Router::new()
            .route(
                downloads::ROUTE,
                get(downloads::fetch).with_state(self.service.downloads.clone()),
            )
            .route(inbox::ROUTE, post(inbox::receive).with_state(inbox.clone()))
            .merge(assistants)
            .fallback_service(service)
    }
}

/// Handles every other path below `/_local`.
async fn missing(State(app): State<App>) -> Response {
    guard::refused(&*app.clock, &Error::unknown_path())
}

/// Notifies the engine that a request may have created work.
async fn nudge(State(engine): State<Arc<Engine>>, request: Request, next: Next) -> Response {
    let reads = request.method().is_safe();
    let response = next.run(request).await;
    if !reads {
        engine.nudge();
    }
    response
}

/// `POST /_local/stations`: loads stations from OCPI objects, as the function `import-stations` does on AWS.
async fn load_stations(
    State(app): State<App>,
    headers: HeaderMap,
    body: axum::body::Bytes,
) -> Result<Json<Imported>, Response> {
    let loaded = async {
        guard::check_json(&headers)?;
        stations::load(&app, web::body::read(&body, None)?).await
    };
    let loaded = loaded.await.map(Json);
    loaded.map_err(|error| guard::refused(&*app.clock, &error))
}

/// `GET /_local/clock`: returns the time of all parts of the process.
async fn time(State(engine): State<Arc<Engine>>) -> Json<Time> {
    let now = engine.now();
    Json(Time { now })
}

/// `POST /_local/clock`: moves the time of all parts of the process.
async fn advance(
    State(engine): State<Arc<Engine>>,
    headers: HeaderMap,
    body: axum::body::Bytes,
) -> Result<Json<Moved>, Response> {
    let moved = async {
        guard::check_json(&headers)?;
        let Advance { advance_seconds } = web::body::read(&body, None)?;
        // It goes on when the client closes the connection.
        let engine = engine.clone();
        let moving = tokio::spawn(async move { engine.advance(advance_seconds).await });
        moving.await.map_err(Error::internal)?
    };
    let moved = moved.await.map(Json);
    moved.map_err(|error| guard::refused(&*engine.clock, &error))
}

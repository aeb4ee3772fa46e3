//! One file per route or trigger. [`endpoints`] is the table of routes; [`router`] serves them all, [`router_of`] one.

pub mod accounts;
pub mod analytics;
pub mod api_keys;
pub mod app;
pub mod assistants;
pub mod aws;
pub mod batches;
pub mod budget;
pub mod charge_cards;
pub mod charging_sessions;
pub mod charging_stations;
pub mod credit_notes;
mod deleted;
pub mod docs;
pub mod documents;
pub mod drivers;
pub mod estimations;
pub mod events;
pub mod fleets;
pub mod function;
pub mod gateway;
pub mod invoices;
pub mod job;
pub mod jobs;
pub mod lambda;
pub mod log;
pub mod networks;
pub mod ocpi;
mod outbox;
pub mod payment_methods;
pub mod payments;
pub mod policies;
mod references;
pub mod reports;
pub mod request;
pub mod request_spec;
pub mod reservations;
mod retrieve;
mod retrieve_document;
pub mod search;
pub mod secrets;
pub mod sites;
pub mod stream;
pub mod stripe;
pub mod transactions;
pub mod vehicles;
pub mod webhook_endpoints;
pub mod webhooks;

pub use app::App;
pub use request::Request;

use axum::http::{self, HeaderValue, header};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter};
use axum::{Router, extract};
use function::{Function, Trigger};
use models::estimation::Estimation;
use models::{
    Account, ChargeCard, CreditNote, Driver, Fleet, Invoice, PaymentMethod, Policy, Reservation,
    Site, Transaction, Vehicle,
};
use payments::topup;
use request_spec::{Handles, RequestParts};
use tower::{ServiceExt as _, service_fn};
use web::deployment::Deployment;
use web::{Method, Route, edge};

/// The function for requests that match no route. It serves every route by path, so it responds as the whole service does: 401, 404, or 405
/// with the allowed methods.
pub const UNKNOWN: Function = Function {
    name: "refuse-unknown",
    description: "401, 404 or 405 for what no route takes",
    trigger: Trigger::Otherwise,
    deployment: Deployment::of_request(),
};

/// Every function that is neither a route nor a worker of jobs.
const TRIGGERED: &[Function] = &[
    docs::FUNCTION,
    assistants::FUNCTION,
    UNKNOWN,
    accounts::bootstrap::FUNCTION,
    accounts::set_status::FUNCTION,
    accounts::export::FUNCTION,
    accounts::erase::FUNCTION,
    secrets::reencrypt::FUNCTION,
    networks::import_stations::FUNCTION,
    networks::manage::FUNCTION,
    ocpi::FUNCTION,
    stream::relay::FUNCTION,
    stream::sweep::FUNCTION,
];

/// Every function that is not a route.
pub fn functions() -> impl Iterator<Item = Function> {
    TRIGGERED.iter().copied().chain(jobs::workers())
}

/// A route and its handler.
pub struct Endpoint {
    pub route: Route,
    /// The requirements of its handler on a request.
    #[cfg(feature = "document")]
    pub request_spec: fn() -> request_spec::RequestSpec,
    handler: MethodRouter<App>,
}

fn endpoint<H, T>(route: Route, handler: H) -> Endpoint
where
    H: Handles<T>,
    T: RequestParts,
{
    let route = Route {
        query: T::query_names,
        shows: H::SHOWS,
        ..route
    };
    let filter = match route.method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Delete => MethodFilter::DELETE,
    };
    Endpoint {
        route,
        #[cfg(feature = "document")]
        request_spec: T::request_spec,
        handler: handler.routed(filter),
    }
}

/// The endpoint of a route's file. Routes that do the same with different objects share a handler, which has the name of their module.
macro_rules! route {
    ($resource:ident::$verb:ident) => {
        endpoint($resource::$verb::ROUTE, $resource::$verb::handle)
    };
    ($resource:ident::$verb:ident, $object:ty) => {
        endpoint($resource::$verb::ROUTE, $verb::handle::<$object>)
    };
}

/// Runs a Lambda executable on one thread, with its log lines on standard output.
///
/// # Errors
/// Those of `serve`, or the runtime cannot be created.
pub fn run(
    serve: impl Future<Output = Result<(), lambda_runtime::Error>>,
) -> Result<(), lambda_runtime::Error> {
    tracing::subscriber::set_global_default(log::lines(log::log_level(), std::io::stdout))?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(serve)
}

/// Every route of the service.
pub fn endpoints() -> Vec<Endpoint> {
    vec![
        route!(accounts::create),
        route!(accounts::list),
        route!(accounts::retrieve),
        route!(accounts::retrieve_current),
        route!(accounts::topup, Account),
        route!(accounts::update),
        route!(analytics::retrieve),
        route!(api_keys::create),
        route!(api_keys::delete),
        route!(api_keys::list),
        route!(batches::create),
        route!(batches::list),
        route!(batches::list_results),
        route!(batches::retrieve),
        route!(charge_cards::create),
        route!(charge_cards::delete),
        route!(charge_cards::list),
        route!(charge_cards::retrieve, ChargeCard),
        route!(charge_cards::update),
        route!(charging_sessions::create),
        route!(charging_sessions::end_stalled),
        route!(charging_sessions::list),
        route!(charging_sessions::retrieve),
        route!(charging_sessions::retrieve_signed_values),
        route!(charging_sessions::review),
        route!(charging_sessions::stop),
        route!(charging_stations::list),
        route!(charging_stations::retrieve),
        route!(credit_notes::create),
        route!(credit_notes::list),
        route!(credit_notes::retrieve, CreditNote),
        route!(credit_notes::retrieve_document, CreditNote),
        route!(drivers::attach),
        route!(drivers::create),
        route!(drivers::detach),
        route!(drivers::delete),
        route!(drivers::list),
        route!(drivers::retrieve, Driver),
        route!(drivers::topup, Driver),
        route!(drivers::update),
        route!(estimations::create),
        route!(estimations::retrieve, Estimation),
        route!(events::list_deliveries),
        route!(events::list),
        route!(events::redeliver),
        route!(events::retrieve),
        route!(fleets::create),
        route!(fleets::delete),
        route!(fleets::list),
        route!(fleets::retrieve, Fleet),
        route!(fleets::topup, Fleet),
        route!(fleets::update),
        route!(payment_methods::create),
        route!(payment_methods::delete),
        route!(payment_methods::list),
        route!(payment_methods::retrieve, PaymentMethod),
        route!(payment_methods::update),
        route!(policies::create),
        route!(policies::delete),
        route!(policies::list),
        route!(policies::retrieve, Policy),
        route!(policies::update),
        route!(invoices::create),
        route!(invoices::delete),
        route!(invoices::finalize),
        route!(invoices::list),
        route!(invoices::list_line_items),
        route!(invoices::pay),
        route!(invoices::retrieve, Invoice),
        route!(invoices::retrieve_document, Invoice),
        route!(invoices::update),
        route!(invoices::void),
        route!(reports::create),
        route!(reports::list),
        route!(reports::retrieve),
        route!(reservations::cancel),
        route!(reservations::create),
        route!(reservations::find),
        route!(reservations::list),
        route!(reservations::retrieve, Reservation),
        route!(reservations::update),
        route!(search::find),
        route!(sites::create),
        route!(sites::delete),
        route!(sites::list),
        route!(sites::retrieve, Site),
        route!(sites::retrieve_plan),
        route!(sites::set_carbon),
        route!(sites::set_prices),
        route!(sites::update),
        route!(transactions::list),
        route!(transactions::refund),
        route!(transactions::retrieve, Transaction),
        route!(vehicles::create),
        route!(vehicles::delete),
        route!(vehicles::list),
        route!(vehicles::retrieve, Vehicle),
        route!(vehicles::replace_departures),
        route!(vehicles::retrieve_departures),
        route!(vehicles::retrieve_telemetry),
        route!(vehicles::update),
        route!(vehicles::update_telemetry),
        route!(webhook_endpoints::create),
        route!(webhook_endpoints::delete),
        route!(webhook_endpoints::list_deliveries),
        route!(webhook_endpoints::list),
        route!(webhook_endpoints::poll),
        route!(webhook_endpoints::replay),
        route!(webhook_endpoints::retrieve_replay),
        route!(webhook_endpoints::retrieve),
        route!(webhook_endpoints::rotate),
        route!(webhook_endpoints::test),
        route!(webhook_endpoints::update),
    ]
}

/// A router of every route, and of the pages. It does not include the tools for assistants: see [`assistants`].
pub fn router(app: App) -> Router {
    let networks = ocpi::router(app.clone());
    let routes = without_head(serve(app.clone(), endpoints()));
    let api = docs::router(app).fallback_service(routes);
    Router::new().fallback_service(service_fn(move |request: extract::Request| {
        let is_of_network = request.uri().path().starts_with("/ocpi/");
        let router = if is_of_network { &networks } else { &api };
        router.clone().oneshot(request)
    }))
}

/// Returns the routes without the HEAD that the router adds to every GET. API Gateway has no route for it: no function with the rights of
/// the path would serve it.
fn without_head(routes: Router) -> Router {
    let routes = service_fn(move |mut request: extract::Request| {
        if *request.method() == http::Method::HEAD {
            *request.method_mut() = http::Method::TRACE;
        }
        routes.clone().oneshot(request)
    });
    let allow_without_head = |mut response: Response| async {
        let allow = response.headers().get(header::ALLOW);
        let allow = allow.and_then(|allow| allow.to_str().ok());
        let allow = allow.map(|allow| allow.replace("HEAD,", "").replace(",HEAD", ""));
        if let Some(Ok(allow)) = allow.map(HeaderValue::try_from) {
            response.headers_mut().insert(header::ALLOW, allow);
        }
        response
    };
    Router::new()
        .fallback_service(routes)
        .layer(map_response(allow_without_head))
}

/// The route with that name, if there is one.
pub fn endpoint_named(name: &str) -> Option<Endpoint> {
    let mut endpoints = endpoints().into_iter();
    endpoints.find(|endpoint| endpoint.route.name == name)
}

/// A router of one route.
pub fn router_of(app: App, endpoint: Endpoint) -> Router {
    serve(app, vec![endpoint])
}

/// The deployment settings of a function that is not a route.
pub fn deployment_named(name: &str) -> Option<Deployment> {
    let function = functions().find(|function| function.name == name)?;
    Some(function.deployment)
}

fn serve(app: App, endpoints: Vec<Endpoint>) -> Router {
    let mut router = Router::new();
    for Endpoint { route, handler, .. } in endpoints {
        let admitted =
            handler.route_layer(from_fn_with_state((app.edge.clone(), route), edge::admit));
        router = router.route(route.path, admitted);
    }
    router
        .with_state(app.clone())
        .layer(from_fn_with_state(app.edge.clone(), edge::around))
}

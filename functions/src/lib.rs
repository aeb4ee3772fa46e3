//! One file per route or trigger. [`endpoints`] is the table of routes; [`router`] serves them all, [`router_of`] one.

pub mod accounts;
pub mod api_keys;
pub mod charging_sessions;
pub mod charging_stations;
pub mod docs;
pub mod drivers;
pub mod estimations;
pub mod events;
pub mod fleets;
pub mod gateway;
pub mod invoices;
mod page;
pub mod payment_methods;
pub mod payments;
pub mod policies;
mod references;
pub mod reports;
pub mod reservations;
pub mod stream;
pub mod takes;
pub mod transactions;
pub mod vehicles;
pub mod webhook_endpoints;
pub mod webhooks;

use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, MethodRouter, on};
use futures::future::BoxFuture;
use shared::http::{Method, Route, edge};
use shared::ports::Message;
use shared::{App, Error};
use takes::Arguments;

/// The functions that events start, besides those of the queues.
pub const TRIGGERS: [&str; 5] = [
    accounts::bootstrap::NAME,
    accounts::set_status::NAME,
    charging_stations::import::NAME,
    stream::relay::NAME,
    stream::sweep::NAME,
];

/// The function for requests that no route takes. It serves every route by path, so it answers as the whole service
/// does: 401, 404, or 405 with the methods there are.
pub const UNKNOWN: &str = "refuse-unknown";

/// A route and what answers on it.
pub struct Endpoint {
    pub route: Route,
    /// What its handler asks of a request.
    #[cfg(feature = "document")]
    pub takes: fn() -> takes::Takes,
    handler: MethodRouter<App>,
}

fn endpoint<H: Handler<T, App>, T: Arguments + 'static>(route: Route, handler: H) -> Endpoint {
    let filter = match route.method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Delete => MethodFilter::DELETE,
    };
    Endpoint {
        route,
        #[cfg(feature = "document")]
        takes: T::takes,
        handler: on(filter, handler),
    }
}

/// Every route of the service.
pub fn endpoints() -> Vec<Endpoint> {
    vec![
        endpoint(accounts::create::ROUTE, accounts::create::handle),
        endpoint(accounts::list::ROUTE, accounts::list::handle),
        endpoint(accounts::retrieve::ROUTE, accounts::retrieve::handle),
        endpoint(accounts::topup::ROUTE, accounts::topup::handle),
        endpoint(accounts::update::ROUTE, accounts::update::handle),
        endpoint(api_keys::create::ROUTE, api_keys::create::handle),
        endpoint(api_keys::delete::ROUTE, api_keys::delete::handle),
        endpoint(api_keys::list::ROUTE, api_keys::list::handle),
        endpoint(
            charging_sessions::create::ROUTE,
            charging_sessions::create::handle,
        ),
        endpoint(
            charging_sessions::list::ROUTE,
            charging_sessions::list::handle,
        ),
        endpoint(
            charging_sessions::retrieve::ROUTE,
            charging_sessions::retrieve::handle,
        ),
        endpoint(
            charging_sessions::stop::ROUTE,
            charging_sessions::stop::handle,
        ),
        endpoint(
            charging_stations::list::ROUTE,
            charging_stations::list::handle,
        ),
        endpoint(
            charging_stations::retrieve::ROUTE,
            charging_stations::retrieve::handle,
        ),
        endpoint(drivers::attach::ROUTE, drivers::attach::handle),
        endpoint(drivers::create::ROUTE, drivers::create::handle),
        endpoint(drivers::detach::ROUTE, drivers::detach::handle),
        endpoint(drivers::delete::ROUTE, drivers::delete::handle),
        endpoint(drivers::list::ROUTE, drivers::list::handle),
        endpoint(drivers::retrieve::ROUTE, drivers::retrieve::handle),
        endpoint(drivers::topup::ROUTE, drivers::topup::handle),
        endpoint(drivers::update::ROUTE, drivers::update::handle),
        endpoint(estimations::create::ROUTE, estimations::create::handle),
        endpoint(estimations::retrieve::ROUTE, estimations::retrieve::handle),
        endpoint(events::list::ROUTE, events::list::handle),
        endpoint(events::redeliver::ROUTE, events::redeliver::handle),
        endpoint(events::retrieve::ROUTE, events::retrieve::handle),
        endpoint(fleets::create::ROUTE, fleets::create::handle),
        endpoint(fleets::delete::ROUTE, fleets::delete::handle),
        endpoint(fleets::list::ROUTE, fleets::list::handle),
        endpoint(fleets::retrieve::ROUTE, fleets::retrieve::handle),
        endpoint(fleets::topup::ROUTE, fleets::topup::handle),
        endpoint(fleets::update::ROUTE, fleets::update::handle),
        endpoint(
            payment_methods::create::ROUTE,
            payment_methods::create::handle,
        ),
        endpoint(
            payment_methods::delete::ROUTE,
            payment_methods::delete::handle,
        ),
        endpoint(payment_methods::list::ROUTE, payment_methods::list::handle),
        endpoint(
            payment_methods::retrieve::ROUTE,
            payment_methods::retrieve::handle,
        ),
        endpoint(
            payment_methods::update::ROUTE,
            payment_methods::update::handle,
        ),
        endpoint(policies::create::ROUTE, policies::create::handle),
        endpoint(policies::delete::ROUTE, policies::delete::handle),
        endpoint(policies::list::ROUTE, policies::list::handle),
        endpoint(policies::retrieve::ROUTE, policies::retrieve::handle),
        endpoint(policies::update::ROUTE, policies::update::handle),
        endpoint(invoices::create::ROUTE, invoices::create::handle),
        endpoint(invoices::delete::ROUTE, invoices::delete::handle),
        endpoint(invoices::finalize::ROUTE, invoices::finalize::handle),
        endpoint(invoices::list::ROUTE, invoices::list::handle),
        endpoint(
            invoices::list_line_items::ROUTE,
            invoices::list_line_items::handle,
        ),
        endpoint(invoices::pay::ROUTE, invoices::pay::handle),
        endpoint(invoices::retrieve::ROUTE, invoices::retrieve::handle),
        endpoint(invoices::update::ROUTE, invoices::update::handle),
        endpoint(invoices::void::ROUTE, invoices::void::handle),
        endpoint(reports::create::ROUTE, reports::create::handle),
        endpoint(reports::list::ROUTE, reports::list::handle),
        endpoint(reports::retrieve::ROUTE, reports::retrieve::handle),
        endpoint(reservations::cancel::ROUTE, reservations::cancel::handle),
        endpoint(reservations::create::ROUTE, reservations::create::handle),
        endpoint(reservations::list::ROUTE, reservations::list::handle),
        endpoint(
            reservations::retrieve::ROUTE,
            reservations::retrieve::handle,
        ),
        endpoint(reservations::update::ROUTE, reservations::update::handle),
        endpoint(transactions::list::ROUTE, transactions::list::handle),
        endpoint(transactions::refund::ROUTE, transactions::refund::handle),
        endpoint(
            transactions::retrieve::ROUTE,
            transactions::retrieve::handle,
        ),
        endpoint(vehicles::create::ROUTE, vehicles::create::handle),
        endpoint(vehicles::delete::ROUTE, vehicles::delete::handle),
        endpoint(vehicles::list::ROUTE, vehicles::list::handle),
        endpoint(vehicles::retrieve::ROUTE, vehicles::retrieve::handle),
        endpoint(
            vehicles::retrieve_telemetry::ROUTE,
            vehicles::retrieve_telemetry::handle,
        ),
        endpoint(vehicles::update::ROUTE, vehicles::update::handle),
        endpoint(
            vehicles::update_telemetry::ROUTE,
            vehicles::update_telemetry::handle,
        ),
        endpoint(
            webhook_endpoints::create::ROUTE,
            webhook_endpoints::create::handle,
        ),
        endpoint(
            webhook_endpoints::delete::ROUTE,
            webhook_endpoints::delete::handle,
        ),
        endpoint(
            webhook_endpoints::list_deliveries::ROUTE,
            webhook_endpoints::list_deliveries::handle,
        ),
        endpoint(
            webhook_endpoints::list::ROUTE,
            webhook_endpoints::list::handle,
        ),
        endpoint(
            webhook_endpoints::retrieve::ROUTE,
            webhook_endpoints::retrieve::handle,
        ),
        endpoint(
            webhook_endpoints::rotate::ROUTE,
            webhook_endpoints::rotate::handle,
        ),
        endpoint(
            webhook_endpoints::test::ROUTE,
            webhook_endpoints::test::handle,
        ),
        endpoint(
            webhook_endpoints::update::ROUTE,
            webhook_endpoints::update::handle,
        ),
    ]
}

/// A router of every route, and of the pages.
pub fn router(app: App) -> Router {
    docs::router(app.clone()).fallback_service(serve(app, endpoints()))
}

/// A router of the route with that name, if there is one.
pub fn router_of(app: App, name: &str) -> Option<Router> {
    if name == docs::NAME {
        return Some(docs::router(app));
    }
    let endpoint = endpoints()
        .into_iter()
        .find(|endpoint| endpoint.route.name == name)?;
    Some(serve(app, vec![endpoint]))
}

fn serve(app: App, endpoints: Vec<Endpoint>) -> Router {
    let mut router = Router::new();
    for Endpoint { route, handler, .. } in endpoints {
        let admitted = handler.route_layer(from_fn_with_state((app.clone(), route), edge::admit));
        router = router.route(route.path, admitted);
    }
    router
        .with_state(app.clone())
        .layer(from_fn_with_state(app, edge::around))
}

/// Works on a message.
///
/// # Errors
/// The message is to be delivered again.
pub async fn work(app: &App, message: &Message) -> Result<(), Error> {
    // Boxed, so that none of them lies on the stack with the others.
    let done: BoxFuture<'_, Result<(), Error>> = match message {
        Message::Confirm {
            tenant,
            reservation,
            wish,
        } => Box::pin(reservations::confirm::handle(
            app,
            tenant,
            reservation,
            wish.as_deref(),
        )),
        Message::Expire {
            tenant,
            reservation,
        } => Box::pin(reservations::expire::handle(app, tenant, reservation)),
        Message::StopSession { tenant, session } => {
            Box::pin(charging_sessions::finish::handle(app, tenant, session))
        }
        Message::ChargeFee {
            tenant,
            reservation,
        } => Box::pin(reservations::charge_fee::handle(app, tenant, reservation)),
        Message::SettleSession { tenant, session } => {
            Box::pin(charging_sessions::settle::handle(app, tenant, session))
        }
        Message::Deliver {
            tenant,
            event,
            endpoint,
            attempt,
        } => Box::pin(webhooks::deliver::handle(
            app, tenant, event, endpoint, *attempt,
        )),
        Message::CheckInvoice { tenant, invoice } => {
            Box::pin(invoices::check::handle(app, tenant, invoice))
        }
        Message::RefundTransaction {
            tenant,
            transaction,
        } => Box::pin(transactions::give_back::handle(app, tenant, transaction)),
        Message::BillFleet { tenant, fleet } => Box::pin(fleets::bill::handle(app, tenant, fleet)),
        Message::GenerateReport { tenant, report } => {
            Box::pin(reports::generate::handle(app, tenant, report))
        }
    };
    done.await
}

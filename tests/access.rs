//! Which rows of the table each function may write: what its IAM policy is made from, and what a test compares its calls with.

use shared::Kind;
use shared::http::{Method, Route};
use shared::store::access::Rows;

/// Which rows a function may write. A test holds this against what the functions do.
pub fn writes(function: &str, route: Option<&Route>) -> Vec<Rows> {
    use Kind::{
        ChargingSession, Driver, Estimation, Event, Fleet, Invoice, PaymentMethod, Policy, Report,
        Reservation, Transaction, Vehicle, VehicleTelemetry, WebhookEndpoint,
    };
    use Rows::{Accounts, Calendars, EndpointCounts, Idempotency, Keys, Of, ProviderIds, Stations};
    let charge = [Of(Transaction), Accounts, Of(Driver), Of(Fleet)];
    let end_session = [
        Of(ChargingSession),
        Of(Reservation),
        Of(Fleet),
        Stations,
        Calendars,
    ];
    let mut rows = match function {
        "bootstrap-account" => vec![Accounts, Keys],
        "import-stations" => vec![Stations],
        // The lines of an invoice that is gone go with it.
        "relay-stream" => vec![Of(Event), Of(Invoice), Of(Reservation)],
        "sweep" => vec![Of(Event)],
        "confirm-reservation" => vec![Of(Reservation), Of(Event), Calendars],
        "expire-reservation" => vec![Of(Reservation), Calendars],
        "stop-session" => end_session.to_vec(),
        "settle-session" => [&[Of(ChargingSession), Of(Reservation)], &charge[..]].concat(),
        "deliver-webhook" => vec![Of(Event), Of(WebhookEndpoint)],
        "generate-report" => vec![Of(Report)],
        "check-invoice" => [
            &[Of(Invoice), Of(ChargingSession), Of(Reservation)],
            &charge[..],
        ]
        .concat(),
        "give-back" => charge.to_vec(),
        "bill-fleet" => vec![
            Of(Fleet),
            Of(Invoice),
            Of(ChargingSession),
            Of(Reservation),
            Of(Report),
        ],
        "create-payment-method" => vec![Of(PaymentMethod), ProviderIds],
        "topup-account" => vec![Accounts, Of(Transaction)],
        "topup-driver" => vec![Of(Driver), Of(Transaction)],
        "topup-fleet" => vec![Of(Fleet), Of(Transaction)],
        "attach-driver" | "detach-driver" => vec![Of(Driver), Of(Fleet)],
        "delete-driver" => vec![Of(Driver), Of(Fleet), Of(Vehicle), Of(Event)],
        "delete-fleet" => vec![Of(Fleet), Of(Event)],
        "delete-policy" => vec![Of(Policy), Of(Event)],
        "create-vehicle" => vec![Of(Vehicle), Of(VehicleTelemetry), Of(Driver), Of(Fleet)],
        "update-vehicle" => vec![Of(Vehicle), Of(Driver), Of(Fleet)],
        "delete-vehicle" => vec![
            Of(Vehicle),
            Of(VehicleTelemetry),
            Of(Driver),
            Of(Fleet),
            Of(Event),
        ],
        "update-vehicle-telemetry" => vec![Of(VehicleTelemetry)],
        "create-charging-session" | "stop-charging-session" => end_session.to_vec(),
        "create-invoice" => vec![Of(Invoice), Of(ChargingSession), Of(Reservation)],
        "pay-invoice" => [&[Of(Invoice)], &charge[..]].concat(),
        "cancel-reservation" => vec![Of(Reservation), Calendars],
        "test-webhook-endpoint" | "redeliver-event" => vec![Of(Event)],
        "create-webhook-endpoint" | "delete-webhook-endpoint" => {
            vec![Of(WebhookEndpoint), EndpointCounts]
        }
        _ => match route.map(|route| (route.method, resource(route))) {
            Some((Method::Get, _)) => Vec::new(),
            None if [functions::docs::NAME, functions::UNKNOWN].contains(&function) => Vec::new(),
            None => panic!("nobody has said what {function} writes"),
            Some((_, "accounts")) => vec![Accounts],
            Some((_, "api_keys")) => vec![Keys],
            Some((_, "drivers")) => vec![Of(Driver)],
            Some((_, "estimations")) => vec![Of(Estimation)],
            Some((_, "fleets")) => vec![Of(Fleet)],
            Some((_, "invoices")) => vec![Of(Invoice)],
            Some((_, "payment_methods")) => vec![Of(PaymentMethod)],
            Some((_, "policies")) => vec![Of(Policy)],
            Some((_, "reports")) => vec![Of(Report)],
            Some((_, "reservations")) => vec![Of(Reservation)],
            Some((_, "transactions")) => vec![Of(Transaction)],
            Some((_, "webhook_endpoints")) => vec![Of(WebhookEndpoint)],
            Some((_, other)) => panic!("nobody has said what {function} of {other} writes"),
        },
    };
    if route.is_some_and(|route| route.method != Method::Get) {
        rows.push(Idempotency);
    }
    rows
}

/// The resource in the path of a route: `fleets`.
pub fn resource(route: &Route) -> &'static str {
    route.path.split('/').nth(2).unwrap_or_default()
}

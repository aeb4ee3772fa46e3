//! The events that the command can trigger.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::catalog::Operation;
use crate::commands::CATALOG;

/// An event that the command can trigger.
#[derive(Clone)]
pub struct Event {
    /// Its type.
    pub name: &'static str,
    /// Whether the clock of the local runner has to be moved.
    pub moves_clock: bool,
    /// A description of the requests that trigger it.
    pub about: Cow<'static, str>,
}

const fn event(name: &'static str, about: &'static str) -> Event {
    Event {
        name,
        moves_clock: false,
        about: Cow::Borrowed(about),
    }
}

const fn later(name: &'static str, about: &'static str) -> Event {
    Event {
        name,
        moves_clock: true,
        about: Cow::Borrowed(about),
    }
}

/// The events that the command can trigger, in the order of the document: [`LISTED`], and those that follow from the examples of the
/// operations that create, update and delete a kind of object.
pub static EVENTS: LazyLock<Vec<Event>> = LazyLock::new(|| {
    let listed = |name: &str| LISTED.iter().find(|event| event.name == name).cloned();
    let types = CATALOG.event_types.iter();
    types
        .filter_map(|name| listed(name).or_else(|| by_example(name)))
        .collect()
});

fn by_example(name: &'static str) -> Option<Event> {
    let (kind, operation) = operation_of(name)?;
    operation_on("create", kind)?;
    let object = kind.replace('_', " ");
    let further = match operation.command.as_str() {
        "create" => String::new(),
        verb => format!(" and {verb}s it"),
    };
    Some(Event {
        name,
        moves_clock: false,
        about: format!("creates a {object}{further}").into(),
    })
}

/// The kind of object that an event concerns, and the operation that it reports: for `note.updated` that is `updateNote`.
pub fn operation_of(event: &str) -> Option<(&str, &'static Operation)> {
    let (kind, done) = event.split_once('.')?;
    Some((kind, operation_on(done.strip_suffix('d')?, kind)?))
}

/// The operation that creates, updates or deletes objects of a kind.
pub fn operation_on(verb: &str, kind: &str) -> Option<&'static Operation> {
    let id = format!("{verb}{}", kind.replace('_', ""));
    let mut operations = CATALOG
        .resources
        .iter()
        .flat_map(|resource| &resource.operations);
    operations.find(|operation| operation.id.eq_ignore_ascii_case(&id))
}

/// The events that require other requests.
pub(super) static LISTED: &[Event] = &[
    event("batch.completed", "creates a driver in a batch"),
    event("charge_card.created", "creates a charge card of a driver"),
    event(
        "charge_card.deleted",
        "creates a charge card and deletes it",
    ),
    event("charge_card.updated", "creates a charge card and blocks it"),
    event(
        "charging_session.completed",
        "starts a session and stops it",
    ),
    event(
        "charging_session.started",
        "starts a session at a free connector",
    ),
    later(
        "charging_session.updated",
        "charges for 20 minutes, paid with a card, and refunds it",
    ),
    later(
        "credit_note.created",
        "finalizes an invoice and credits the smallest amount of it",
    ),
    event("driver.attached", "attaches a new driver to a new fleet"),
    event(
        "driver.detached",
        "attaches a new driver to a new fleet and detaches it",
    ),
    later(
        "invoice.created",
        "charges for 20 minutes and creates an invoice",
    ),
    later(
        "invoice.finalized",
        "charges for 20 minutes, creates an invoice and finalizes it",
    ),
    later(
        "invoice.overdue",
        "finalizes an invoice and moves the clock beyond its due date",
    ),
    later("invoice.paid", "finalizes an invoice and pays it"),
    later(
        "invoice.payment_failed",
        "finalizes an invoice and pays it with a card that is declined",
    ),
    later("invoice.voided", "finalizes an invoice and voids it"),
    event(
        "ping",
        "creates a webhook endpoint at the local runner's inbox and tests it",
    ),
    event("report.succeeded", "creates a report"),
    event(
        "reservation.cancelled",
        "creates a reservation and cancels it",
    ),
    later(
        "reservation.completed",
        "charges within a confirmed reservation",
    ),
    event(
        "reservation.confirmed",
        "creates a reservation that begins in ten minutes",
    ),
    event("reservation.created", "creates a reservation"),
    later("reservation.expired", "lets a confirmed reservation pass"),
    later(
        "reservation.failed",
        "lets a reservation fail in an area without stations",
    ),
    event(
        "reservation.need_short",
        "reserves by need in an area without stations",
    ),
    event(
        "reservation.replanned",
        "reserves by need and changes the need",
    ),
    event(
        "reservation.updated",
        "creates a reservation and changes its end",
    ),
    later(
        "service.failed",
        "charges for 20 minutes, to be paid with a card that is declined",
    ),
    later(
        "service.refunded",
        "charges for 20 minutes, paid with a card, and refunds it",
    ),
    later(
        "service.succeeded",
        "charges for 20 minutes, paid with a card",
    ),
    event(
        "site.plan_changed",
        "gives a vehicle at a site a departure that it cannot be ready for",
    ),
    later(
        "webhook_delivery.exhausted",
        "lets every attempt fail at a receiver on this machine, for four days",
    ),
    event(
        "webhook_endpoint.disabled",
        "answers a delivery with 410 by a receiver on this machine",
    ),
    event(
        "webhook_endpoint.failing",
        "answers five deliveries with 500 by a receiver on this machine",
    ),
    later(
        "webhook_endpoint.recovered",
        "answers deliveries with 500 and then with 200 by a receiver on this machine",
    ),
];

/// The events that requests of one account in test mode cannot trigger, and the reasons.
pub static OTHERS: &[(&str, &str)] = &[
    (
        "charge_card.contested",
        "depends on another account that registers the same card",
    ),
    (
        "charging_session.cancelled",
        "depends on a charging network: `cargo run -- --network`",
    ),
    (
        "charging_session.failed",
        "depends on a charging network: `cargo run -- --network`",
    ),
    (
        "charging_session.review_opened",
        "depends on a charging network: `cargo run -- --network`",
    ),
    (
        "charging_session.stalled",
        "depends on a charging network: `cargo run -- --network`",
    ),
    ("report.failed", "depends on a fault of the service"),
    (
        "reservation.reassigned",
        "depends on other vehicles that stay at their connectors",
    ),
    (
        "reservation.unassigned",
        "depends on other vehicles that stay at their connectors",
    ),
];

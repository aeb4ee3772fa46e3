//! The events that the command can make happen.

/// An event that the command can make happen.
pub struct Event {
    /// Its type.
    pub name: &'static str,
    /// Whether the clock of the local runner has to be moved.
    pub moves_clock: bool,
    /// How the command makes it happen.
    pub about: &'static str,
}

const fn event(name: &'static str, about: &'static str) -> Event {
    Event {
        name,
        moves_clock: false,
        about,
    }
}

const fn later(name: &'static str, about: &'static str) -> Event {
    Event {
        name,
        moves_clock: true,
        about,
    }
}

/// The events that the command can make happen, in alphabetical order.
pub static EVENTS: &[Event] = &[
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
    event("driver.created", "creates a driver"),
    event("driver.deleted", "creates a driver and deletes it"),
    event(
        "driver.detached",
        "attaches a new driver to a new fleet and detaches it",
    ),
    event(
        "driver.updated",
        "creates a driver and changes its phone number",
    ),
    event("fleet.created", "creates a fleet"),
    event("fleet.deleted", "creates a fleet and deletes it"),
    event(
        "fleet.updated",
        "creates a fleet and changes its description",
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
    event("policy.created", "creates a policy"),
    event("policy.deleted", "creates a policy and deletes it"),
    event("policy.updated", "creates a policy and makes it inactive"),
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
    event("site.created", "creates a site"),
    event("site.deleted", "creates a site and deletes it"),
    event(
        "site.plan_changed",
        "gives a vehicle at a site a departure that it cannot be ready for",
    ),
    event("site.updated", "creates a site and changes its limit"),
    event("vehicle.created", "creates a vehicle"),
    event("vehicle.deleted", "creates a vehicle and deletes it"),
    event("vehicle.updated", "creates a vehicle and changes its plate"),
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

/// The events that no requests of one account in test mode lead to, and what they depend on.
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

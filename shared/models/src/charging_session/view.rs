//! The session in the form that clients see.

use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

use super::review::Review;
use super::{
    ChargingSession, CostSource, EndReason, PriceCheck, SessionCost, SessionCostLine,
    SessionFailedReason, SessionStatus, StartedBy,
};
use crate::shown_as_view::shown_as_view;
use kernel::fields::address::Country;
use kernel::{Currency, Id, Kind, Timestamp};

// The names and descriptions are those of the OpenAPI document.
#[derive(Serialize, ToSchema)]
struct View {
    id: Id,
    object: Kind,
    /// Minor units of `currency`, tax included, that the charging network has billed in addition after the price was final; below zero if
    /// it has credited more. They are billed or returned as adjustments: the whole cost of the session is `amount_due` plus `amount_paid`
    /// plus `amount_adjusted`.
    amount_adjusted: i64,
    /// Minor units of `currency` not yet paid; live while the session is active.
    amount_due: i64,
    /// Minor units of `currency`.
    amount_paid: i64,
    /// The part of `amount_paid` that refunds of the session's charge have returned. A refund of the invoice that the session was paid
    /// with is shown on the invoice.
    amount_refunded: i64,
    /// When the vehicle stopped drawing energy, because the battery was full, `session_limit` was reached or the session
    /// ended; null while it charges. PARKING_TIME counts from here to `session_ended`.
    #[schema(required)]
    charging_ended: Option<Timestamp>,
    /// Id of the charging station at which the vehicle charges.
    charging_station: Id,
    /// The connector within the station.
    connector: String,
    /// The parts of `amount_due` plus `amount_paid`: one line for each price that applied, live while the session is active. The `gross`
    /// of the lines add up to `amount_due` plus `amount_paid`, their `net` to `net` and their `tax` to `tax`. Empty if the price is
    /// unknown.
    cost_breakdown: Vec<SessionCostLine>,
    /// Where the amounts come from; null unless the session is active or completed. At a network's station the amounts are final when
    /// they come from a CDR, and three days after the end of the session without one.
    #[schema(required)]
    cost_source: Option<CostSource>,
    /// Country of the station, whose tax applies.
    country: Country,
    created: Timestamp,
    /// Currency of all amounts of the session.
    currency: Currency,
    /// Id of the driver who charges.
    driver: Id,
    /// When the session ends at the latest, by what is known so far. It can end earlier: by `stop`, or because the connector
    /// is reserved meanwhile for a time after charging has ended.
    #[schema(required)]
    ends_by: Option<Timestamp>,
    /// The reason why it ends at `ends_by`.
    #[schema(required)]
    ends_by_reason: Option<EndReason>,
    /// Wh; live while the session is active. At a network's station it is the energy that the network has reported.
    energy_consumed: i64,
    /// Why a session at a network's station failed.
    #[schema(required)]
    failed_reason: Option<SessionFailedReason>,
    /// Id of the fleet that the vehicle belonged to when the session started.
    fleet: Id,
    /// The invoice that bills the session; null before there is one. If that invoice was voided or its draft deleted, it no longer bills
    /// the session, and the next invoice of the session replaces it here.
    #[schema(required)]
    invoice: Option<Id>,
    /// Minor units of `currency` without tax; live while the session is active.
    net: i64,
    /// Id of the payment method that is charged when the session ends; null if the session is billed by an invoice.
    payment_method: Option<Id>,
    /// kW at which the vehicle charges: the most that connector and vehicle have in common.
    power: f64,
    /// The price that a network bills compared with the price by the tariff that the station had when the session began; null if the
    /// network has billed nothing, or the tariff is unknown.
    #[schema(required)]
    price_check: Option<PriceCheck>,
    /// The reservation that the session fulfils.
    #[schema(required)]
    reservation: Option<Id>,
    /// Set while a price of the charging network waits for a decision, because it is not plausible. If the price was final before, only
    /// the difference waits. Otherwise the amounts of the session are those of `review.ours` meanwhile, no invoice includes the session,
    /// and nothing is charged for it.
    #[schema(required)]
    review: Option<Review>,
    /// Null while pending or active.
    session_ended: Option<Timestamp>,
    /// Wh at which the session stops by itself.
    session_limit: Option<u32>,
    /// When the session began; while it is pending, when it was requested.
    session_started: Timestamp,
    /// Set while the session is active and its charging network has not reported on it for 24 hours after the request to stop it. `POST
    /// /v1/charging_sessions/{id}/end` ends such a session.
    #[schema(required)]
    stalled_at: Option<Timestamp>,
    /// How the session was started: with a request, or with a charge card.
    started_by: StartedBy,
    /// Whether the session waits for the charging network, is in progress, or how it ended.
    status: SessionStatus,
    /// Minor units of tax in `currency`; live while the session is active.
    tax: i64,
    updated: Timestamp,
    /// Id of the vehicle that is charged.
    vehicle: Id,
}

impl From<ChargingSession> for View {
    fn from(session: ChargingSession) -> Self {
        let ChargingSession {
            id,
            charging_station,
            connector,
            country,
            created,
            currency,
            driver,
            fleet,
            invoice,
            payment_method,
            power,
            reservation,
            session_limit,
            session_started,
            started_by,
            state,
            updated,
            vehicle,
        } = session;
        let charged = state.charged();
        let ends_by = state.ends_by();
        let cost = state.cost();
        let total = cost.map_or_else(Default::default, |cost| cost.total);
        let price = state.final_price();
        Self {
            id,
            object: Kind::ChargingSession,
            amount_adjusted: price.map_or(0, |price| price.adjusted.gross),
            amount_due: cost.map_or(0, SessionCost::due),
            amount_paid: cost.map_or(0, |cost| cost.paid),
            amount_refunded: cost.map_or(0, |cost| cost.refunded),
            charging_ended: charged.ended,
            charging_station,
            connector,
            cost_breakdown: cost.map_or_else(Vec::new, |cost| cost.lines.clone()),
            cost_source: cost.map(|cost| cost.source),
            country,
            created,
            currency,
            driver,
            ends_by: ends_by.map(|ends_by| ends_by.at),
            ends_by_reason: ends_by.map(|ends_by| ends_by.reason),
            energy_consumed: charged.energy,
            failed_reason: state.failed_reason(),
            fleet,
            invoice,
            net: total.net,
            payment_method,
            power,
            price_check: state.price_check(),
            reservation,
            review: state.review().map(Review::from),
            session_ended: state.ended(),
            session_limit,
            session_started,
            stalled_at: state.at_network().and_then(|network| network.stalled_at),
            started_by,
            status: state.status(),
            tax: total.tax(),
            updated,
            vehicle,
        }
    }
}

shown_as_view!(ChargingSession, "ChargingSession");

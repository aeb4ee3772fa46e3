//! Invoices: what the charging sessions of a window cost, and the fees of reservations that were over in it, as one bill. What
//! was charged before is on it as paid, so that the invoices of a period show everything that the period cost, and a
//! `cost_analysis` of the same fleet and period adds up to the same amounts.
//!
//! draft → open → paid | void | uncollectible; uncollectible → void. A draft can also be deleted. Overdue is an open
//! invoice past its due date, not a status of its own.

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::adjustment::Adjustment;
use super::body::RequestBody;
use super::charging_session::network::Total;
use super::charging_session::{ChargingSession, Names, PriceCheck, SessionInternal, SessionStatus};
use super::charging_station::PriceType;
use super::event_type::EventType;
use super::payment_method::{PaymentMethod, PaymentMethodInternal};
use super::reservation::{Fee, Reservation};
use super::stored::{Object, Stored};
use super::transaction::{Transaction, TransactionStatus, TransactionType};
use super::{check_size, sized};
use crate::error::{Code, Error, Result};
use crate::fields::metadata::{Metadata, MetadataChange};
use crate::fields::patch::{Change, Patch};
use crate::fields::text::Description;
use crate::id::{Id, Kind};
use crate::money::Currency;
use crate::origin::Mode;
use crate::size::Size;
use crate::time::{DAY, MINUTE, Timestamp};

/// How many line items an invoice shows; the others are on pages of their own.
pub const SHOWN_LINES: usize = 100;
/// How large the lines are, together, that an invoice shows itself, in bytes of JSON.
const SHOWN_BYTES: usize = 96 * 1024;
/// How long after its creation an invoice is due, in milliseconds.
const TERM: i64 = 30 * DAY;
const LONGEST_PERIOD: i64 = 366 * DAY;
/// How long an attempt to pay may take before it counts as interrupted, in milliseconds.
const LEASE: i64 = MINUTE;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Invoice {
    pub id: Id,
    pub object: Kind,
    /// Minor units of `currency`; 0 once paid.
    pub amount_due: i64,
    /// Minor units of `currency`, sessions that were paid before among them; null while nothing is paid.
    pub amount_paid: Option<i64>,
    pub created: Timestamp,
    pub currency: Currency,
    pub description: Option<Description>,
    /// By default 30 days after `created`.
    pub due_date: Timestamp,
    /// Null for an invoice of the whole account.
    pub fleet: Option<Id>,
    /// One for each session, each fee and each adjustment, the newest first; at most 100 are shown here.
    pub line_items: Vec<LineItem>,
    /// Whether there are more than `line_items` shows: `GET /v1/invoices/{id}/line_items` lists them all.
    pub line_items_has_more: bool,
    pub metadata: Metadata,
    pub paid_at: Option<Timestamp>,
    pub payment_method: Option<Id>,
    /// Exclusive.
    pub period_end: Timestamp,
    /// Inclusive.
    pub period_start: Timestamp,
    pub status: InvoiceStatus,
}

impl Object for Invoice {
    type Internal = InvoiceInternal;

    const KIND: Kind = Kind::Invoice;

    fn id(&self) -> &Id {
        &self.id
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InvoiceStatus {
    Draft,
    Open,
    Paid,
    Void,
    Uncollectible,
}

/// What a list can be filtered by: a status, or that an open invoice is past its due date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InvoiceFilter {
    Draft,
    Open,
    Paid,
    Void,
    Uncollectible,
    Overdue,
}

/// One entry of an invoice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LineItem {
    /// The number of the session, the reservation or the adjustment that the line bills.
    pub id: Id,
    /// Minor units, tax included: `quantity` times `unit_amount`. For a session it is the sum of the session's
    /// `cost_breakdown`; an adjustment is below zero where a charging network has credited something.
    pub amount: i64,
    /// Null for the fee of a reservation.
    pub charging_session: Option<Id>,
    #[serde(default)]
    #[schema(required)]
    pub charging_station: Option<Id>,
    /// The connector within the station.
    #[serde(default)]
    #[schema(required, example = "1")]
    pub connector: Option<String>,
    #[schema(
        example = "AB12 CDE, Ada Byron: 11.010 kWh at Depot, connector 1, 2026-03-01 08:00 to 08:30 (Europe/London)"
    )]
    pub description: String,
    #[serde(default)]
    #[schema(required)]
    pub driver: Option<Id>,
    /// What the driver was called when the session started; null for a fee.
    #[serde(default)]
    #[schema(required, example = "Ada Byron")]
    pub driver_name: Option<String>,
    /// Seconds from `started` to `ended`.
    #[serde(default)]
    #[schema(required, example = 1802)]
    pub duration_seconds: Option<i64>,
    /// When the session ended; the end of the reserved window for a fee.
    #[serde(default)]
    #[schema(required)]
    pub ended: Option<Timestamp>,
    pub energy_wh: i64,
    /// Whether the session was free of charge: `amount` is 0.
    #[serde(default)]
    #[schema(required)]
    pub free: bool,
    /// Minor units without tax.
    pub net: i64,
    /// Minor units per kWh, a decimal number, as in the session's `cost_breakdown`; null where none or several energy prices
    /// applied.
    #[serde(default)]
    #[schema(required, example = "45")]
    pub price_per_kwh: Option<String>,
    /// What a charging network bills for the session, compared with the price by its tariff, as in the session; null for everything
    /// else.
    #[serde(default)]
    #[schema(required)]
    pub price_check: Option<PriceCheck>,
    pub quantity: u32,
    /// The vehicle's plate when the session started; null for a fee.
    #[serde(default)]
    #[schema(required, example = "AB12 CDE")]
    pub registration_plate: Option<String>,
    /// The reservation whose fee this is.
    pub reservation: Option<Id>,
    /// When the session started; the start of the reserved window for a fee.
    #[serde(default)]
    #[schema(required)]
    pub started: Option<Timestamp>,
    /// What the station was called when the session started; null for a fee.
    #[serde(default)]
    #[schema(required, example = "Depot")]
    pub station_name: Option<String>,
    /// Minor units of tax.
    pub tax: i64,
    #[serde(rename = "type")]
    pub kind: LineType,
    /// Minor units, tax included.
    pub unit_amount: i64,
    #[serde(default)]
    #[schema(required)]
    pub vehicle: Option<Id>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineType {
    EnergySession,
    ReservationFee,
    /// What a charging network billed or credited for a session after the session's price was final.
    Adjustment,
}

/// What the invoice's row keeps to itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InvoiceInternal {
    /// Attempts to pay begun so far.
    pub attempts: u32,
    /// The one whose end is not written down yet.
    pub attempt: Option<Attempt>,
    /// When a draft is finalized by itself: one that was made at the end of a billing cycle.
    #[serde(default)]
    pub finalize_at: Option<Timestamp>,
    /// Whether `invoice.overdue` was sent for the current due date.
    pub overdue_notified: bool,
    /// Whether the invoice was paid and its sessions do not say so yet.
    #[serde(default)]
    pub sessions_unpaid: bool,
    /// When the next [`Concern`] of the invoice is due.
    #[serde(rename = "next")]
    pub next_action_at: Option<Timestamp>,
}

/// What the service has to do about an invoice by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concern {
    /// An attempt to pay was interrupted, and has to be finished.
    LostPayment,
    Overdue,
    /// The time has come to finalize the draft.
    Final,
    /// The invoice is paid, and its sessions do not say so yet.
    UnpaidSessions,
}

/// An attempt to pay. It is written before the provider is called, so that an interrupted one is resumed under
/// the same key: whatever happened, the money moves once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub number: u32,
    pub method: PaymentMethod,
    pub method_internal: PaymentMethodInternal,
    pub begun: Timestamp,
    /// The transaction of the charge, pending until the attempt ends.
    pub transaction: Id,
}

/// The body of `POST /v1/invoices`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewInvoice {
    /// Inclusive: sessions that ended at or after this moment.
    pub period_start: Timestamp,
    /// Exclusive, after `period_start` by at most 366 days.
    pub period_end: Timestamp,
    /// Limits the invoice to one fleet.
    #[serde(default)]
    pub fleet: Option<Id>,
    /// Default: the fleet's currency, else the account's. Sessions in others are left for an invoice in theirs.
    #[serde(default)]
    pub currency: Option<Currency>,
    /// A memo shown on the invoice.
    #[serde(default)]
    pub description: Option<Description>,
    #[serde(default)]
    pub metadata: MetadataChange,
}

impl RequestBody for NewInvoice {
    const INVALID: Option<Code> = Some(Code::InvoiceValidationError);
}

/// The body of `POST /v1/invoices/{id}`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InvoiceChange {
    #[serde(default)]
    pub description: Patch<Description>,
    #[serde(default)]
    pub due_date: Change<Timestamp>,
    #[serde(default)]
    pub metadata: MetadataChange,
}

impl RequestBody for InvoiceChange {
    const INVALID: Option<Code> = Some(Code::InvoiceValidationError);
}

/// The body of `POST /v1/invoices/{id}/pay`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PayInvoice {
    /// Default: the account's `preferences.default_payment_method`.
    #[serde(default)]
    pub payment_method: Option<Id>,
}

impl RequestBody for PayInvoice {
    const INVALID: Option<Code> = Some(Code::InvoiceValidationError);
}

/// A session, or a reservation with its fee, that an invoice may bill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Billable {
    pub line: LineItem,
    /// Its id.
    pub what: Id,
    /// Minor units that were paid already.
    pub paid: i64,
    /// The version of its row.
    pub version: u64,
    /// The invoice that claimed it.
    pub claimed_by: Option<Id>,
}

impl NewInvoice {
    /// Checks the rules that depend on the body alone.
    ///
    /// # Errors
    /// `invoice_validation_error` with the field at fault.
    pub fn check(&self) -> Result<()> {
        if self.period_end <= self.period_start {
            return Err(invalid("period_end", "must lie after period_start"));
        }
        if self.period_end.millis_since(self.period_start) > LONGEST_PERIOD {
            return Err(invalid(
                "period_end",
                "must lie at most 366 days after period_start",
            ));
        }
        Metadata::new(self.metadata.clone())
            .map(drop)
            .map_err(|error| error.coded(Some(Code::InvoiceValidationError)))
    }

    /// The line of a session, if an invoice in this currency bills it: completed, ended within the window, and not about
    /// to be charged from its own payment method. One at a network's station is billed by the window in which its price became final.
    /// Where nothing operates stations no session is billed.
    pub fn bills(
        &self,
        mode: Mode,
        currency: Currency,
        stored: &Stored<ChargingSession>,
    ) -> Option<Billable> {
        let (session, internal) = (&stored.object, &stored.internal);
        let (ended, billed_at) = (session.session_ended?, stored.billed_at()?);
        let bills = stored.operation(mode).is_operated()
            && session.status == SessionStatus::Completed
            && internal.next_action_at.is_none()
            && session.currency == currency
            && (self.period_start..self.period_end).contains(&billed_at)
            && self.fleet.as_ref().is_none_or(|id| *id == session.fleet);
        bills.then(|| Billable {
            line: LineItem::of(session, internal, ended),
            what: session.id.clone(),
            paid: session.amount_paid,
            version: stored.version,
            claimed_by: internal.invoice.clone(),
        })
    }

    /// The line of an adjustment, if an invoice in this currency bills it: one that was made before the end of the window. What of an
    /// earlier window no invoice has billed is on the next one.
    pub fn bills_adjustment(
        &self,
        currency: Currency,
        stored: &Stored<Adjustment>,
    ) -> Option<Billable> {
        let adjustment = &stored.object;
        let bills = adjustment.currency == currency
            && adjustment.created < self.period_end
            && self.fleet.as_ref().is_none_or(|id| *id == adjustment.fleet);
        bills.then(|| Billable {
            line: adjustment.line.clone(),
            what: adjustment.id.clone(),
            paid: 0,
            version: stored.version,
            claimed_by: stored.internal.invoice.clone(),
        })
    }

    /// The line of a reservation's fee, if an invoice in this currency bills it: of a reservation that was over within the
    /// window, and not about to be charged from its own payment method. A fee that was charged is on the invoice as paid.
    pub fn bills_fee(&self, currency: Currency, stored: &Stored<Reservation>) -> Option<Billable> {
        let (reservation, internal) = (&stored.object, &stored.internal);
        let fee = stored.fee()?;
        let bills = internal.next_action_at.is_none()
            && reservation.currency == currency
            && (self.period_start..self.period_end).contains(&fee.since)
            && (self.fleet.is_none() || self.fleet == internal.fleet);
        bills.then(|| Billable {
            line: LineItem::of_fee(reservation, &fee),
            what: reservation.id.clone(),
            paid: fee.paid,
            version: stored.version,
            claimed_by: internal.invoice.clone(),
        })
    }
}

impl InvoiceFilter {
    /// What the members of an invoice must be that a filter of this name lets through.
    pub fn conditions(name: Option<&str>, now: Timestamp) -> Vec<(&'static str, String)> {
        match name {
            None => Vec::new(),
            Some("overdue") => vec![
                ("status", "open".to_owned()),
                ("due_date<", now.to_string()),
            ],
            Some(status) => vec![("status", status.to_owned())],
        }
    }
}

impl LineItem {
    fn of(session: &ChargingSession, internal: &SessionInternal, ended: Timestamp) -> Self {
        let gross = session.amount_due + session.amount_paid;
        let Names {
            driver,
            registration_plate,
            station,
        } = &internal.names;
        let started = session.session_started;
        Self {
            id: session.id.as_kind(Kind::LineItem),
            amount: gross,
            charging_session: Some(session.id.clone()),
            charging_station: Some(session.charging_station.clone()),
            connector: Some(session.connector.clone()),
            description: describe(session, internal, ended),
            driver: Some(session.driver.clone()),
            driver_name: some(driver),
            duration_seconds: Some(ended.millis_since(started) / 1000),
            ended: Some(ended),
            energy_wh: session.energy_consumed,
            free: gross == 0,
            net: internal.net,
            price_per_kwh: price_per_kwh(session),
            price_check: session.price_check,
            quantity: 1,
            registration_plate: some(registration_plate),
            // A reservation here is one whose fee is billed.
            reservation: None,
            started: Some(started),
            station_name: some(station),
            tax: internal.tax,
            kind: LineType::EnergySession,
            unit_amount: gross,
            vehicle: Some(session.vehicle.clone()),
        }
    }

    /// The line of what a network bills for a session after its price was final; none for a session that has not ended.
    pub(super) fn of_adjustment(
        id: &Id,
        stored: &Stored<ChargingSession>,
        more: Total,
        cdr: &str,
    ) -> Option<Self> {
        let ended = stored.object.session_ended?;
        let session = Self::of(&stored.object, &stored.internal, ended);
        Some(Self {
            id: id.as_kind(Kind::LineItem),
            amount: more.gross,
            description: format!("Adjustment by CDR {cdr}: {}", session.description),
            energy_wh: 0,
            free: false,
            kind: LineType::Adjustment,
            net: more.net,
            price_check: None,
            price_per_kwh: None,
            tax: more.gross - more.net,
            unit_amount: more.gross,
            ..session
        })
    }

    /// Fees carry no tax: no tax rate is known for them.
    fn of_fee(reservation: &Reservation, fee: &Fee) -> Self {
        let (from, until) = (reservation.reserved_start, reservation.reserved_end);
        let lasts = |from: Timestamp| until.map(|until| until.millis_since(from) / 1000);
        Self {
            id: reservation.id.as_kind(Kind::LineItem),
            amount: fee.amount,
            charging_session: None,
            charging_station: reservation.charging_station.clone(),
            connector: reservation.connector.clone(),
            description: reservation.fee_description(),
            driver: Some(reservation.driver.clone()),
            driver_name: None,
            duration_seconds: from.and_then(lasts),
            ended: until,
            energy_wh: 0,
            free: false,
            net: fee.amount,
            price_per_kwh: None,
            price_check: None,
            quantity: 1,
            registration_plate: None,
            reservation: Some(reservation.id.clone()),
            started: from,
            station_name: None,
            tax: 0,
            kind: LineType::ReservationFee,
            unit_amount: fee.amount,
            vehicle: Some(reservation.vehicle.clone()),
        }
    }
}

/// How many of these lines an invoice shows itself.
fn shown_lines(billed: &[Billable]) -> Result<usize> {
    let mut bytes = 0;
    for (place, one) in billed.iter().take(SHOWN_LINES).enumerate() {
        bytes += Size::of(&one.line)?.bytes;
        if bytes > SHOWN_BYTES {
            return Ok(place);
        }
    }
    Ok(billed.len().min(SHOWN_LINES))
}

fn some(name: &str) -> Option<String> {
    (!name.is_empty()).then(|| name.to_owned())
}

/// The price of a kWh, where one price applied.
fn price_per_kwh(session: &ChargingSession) -> Option<String> {
    let lines = session.cost_breakdown.iter();
    let mut energy = lines.filter(|line| line.kind == PriceType::Energy);
    match (energy.next(), energy.next()) {
        (Some(line), None) => Some(line.unit_price.clone()),
        _ => None,
    }
}

/// A session in words: who charged how much, where and when, in the station's local time.
fn describe(session: &ChargingSession, internal: &SessionInternal, ended: Timestamp) -> String {
    let wh = session.energy_consumed;
    let energy = format!("{}.{:03} kWh", wh / 1000, wh % 1000);
    let free = match session.amount_due + session.amount_paid {
        0 => ", free of charge",
        _ => "",
    };
    let (names, connector) = (&internal.names, &session.connector);
    if *names == Names::default() {
        return format!("Charging, {energy}, ended {ended}{free}");
    }
    let (zone, name) = match &internal.zone {
        Some(zone) => (zone.rules(), zone.as_str()),
        None => (TimeZone::UTC, "UTC"),
    };
    let local = |moment: Timestamp| moment.civil_in(&zone);
    let (from, until) = (local(session.session_started), local(ended));
    let last = match from.date() == until.date() {
        true => "%H:%M",
        false => "%Y-%m-%d %H:%M",
    };
    let (from, until) = (from.strftime("%Y-%m-%d %H:%M"), until.strftime(last));
    let Names {
        driver,
        registration_plate,
        station,
    } = names;
    format!(
        "{registration_plate}, {driver}: {energy} at {station}, connector {connector}, {from} to {until} ({name}){free}"
    )
}

impl Invoice {
    /// A new draft of these sessions and fees, newest first.
    ///
    /// # Errors
    /// 400 if metadata exceeds its limits.
    pub fn new(
        new: NewInvoice,
        id: Id,
        currency: Currency,
        billed: Vec<Billable>,
        now: Timestamp,
    ) -> Result<Stored<Self>> {
        let total: i64 = billed.iter().map(|one| one.line.amount).sum();
        let paid: i64 = billed.iter().map(|one| one.paid).sum();
        let shown = shown_lines(&billed)?;
        let invoice = Self {
            id,
            object: Kind::Invoice,
            amount_due: total - paid,
            amount_paid: (paid != 0).then_some(paid),
            created: now,
            currency,
            description: new.description,
            due_date: now.plus_millis(TERM),
            fleet: new.fleet,
            line_items_has_more: billed.len() > shown,
            line_items: billed.into_iter().take(shown).map(|one| one.line).collect(),
            metadata: Metadata::new(new.metadata)?,
            paid_at: None,
            payment_method: None,
            period_end: new.period_end,
            period_start: new.period_start,
            status: InvoiceStatus::Draft,
        };
        let invoice =
            sized(invoice).map_err(|error| error.coded(Some(Code::InvoiceValidationError)))?;
        Ok(Stored::new(invoice).recording(EventType::InvoiceCreated))
    }

    /// Checks that the invoice may be deleted.
    ///
    /// # Errors
    /// 409 unless it is a draft.
    pub fn check_deletable(&self) -> Result<()> {
        if self.status != InvoiceStatus::Draft {
            return Err(Error::conflict(
                "Only a draft can be deleted; an open invoice can be voided.",
                Some(Kind::Invoice.name()),
            ));
        }
        Ok(())
    }

    /// Checks that the invoice may be paid.
    ///
    /// # Errors
    /// `invoice_payment_invalid_state` unless it is open.
    pub fn check_payable(&self) -> Result<()> {
        if self.status != InvoiceStatus::Open {
            return Err(
                Code::InvoicePaymentInvalidState.because("Only an open invoice can be paid.")
            );
        }
        Ok(())
    }

    /// Checks that the invoice may be paid with a method: the account's, or its own fleet's.
    ///
    /// # Errors
    /// `payment_method_scope_invalid` for a driver's and another fleet's.
    pub fn check_method(&self, method: &PaymentMethod) -> Result<()> {
        let belongs =
            method.driver.is_none() && (method.fleet.is_none() || method.fleet == self.fleet);
        if !belongs {
            return Err(Code::PaymentMethodScopeInvalid
                .because("The payment method belongs to a driver or to another fleet.")
                .at(Kind::PaymentMethod.name()));
        }
        Ok(())
    }

    fn transaction(&self, attempt: &Attempt, status: TransactionStatus) -> Transaction {
        Transaction {
            id: attempt.transaction.clone(),
            object: Kind::Transaction,
            amount: self.amount_due,
            charging_session: None,
            created: attempt.begun,
            currency: self.currency,
            description: self.bill(),
            driver: None,
            fleet: self.fleet.clone(),
            payment_method: Some(attempt.method.id.clone()),
            status,
            kind: TransactionType::Charge,
            vehicle: None,
        }
    }

    /// What a charge for the invoice is called.
    pub fn bill(&self) -> String {
        format!("Invoice {}", self.id)
    }
}

impl Stored<Invoice> {
    /// Applies an update to a draft or open invoice; what the body leaves out stays.
    ///
    /// # Errors
    /// `invoice_update_invalid_state` in any other state.
    pub fn update(&mut self, change: InvoiceChange) -> Result<()> {
        if !matches!(
            self.object.status,
            InvoiceStatus::Draft | InvoiceStatus::Open
        ) {
            return Err(Code::InvoiceUpdateInvalidState
                .because("Only a draft or an open invoice can be updated."));
        }
        let InvoiceChange {
            description,
            due_date,
            metadata,
        } = change;
        description.apply(&mut self.object.description);
        self.internal.overdue_notified &= due_date == Change::Keep;
        due_date.apply(&mut self.object.due_date);
        self.object
            .metadata
            .merge(metadata)
            .map_err(|error| error.coded(Some(Code::InvoiceValidationError)))?;
        check_size(&self.object)
            .map_err(|error| error.coded(Some(Code::InvoiceValidationError)))?;
        self.schedule();
        Ok(())
    }

    /// Updates the time of the next action.
    fn schedule(&mut self) {
        let attempt = self.internal.attempt.as_ref();
        let lost = attempt.map(|attempt| attempt.begun.plus_millis(LEASE));
        let overdue = self.object.due_date.plus_millis(1);
        let overdue = (!self.internal.overdue_notified).then_some(overdue);
        self.internal.next_action_at = match self.object.status {
            InvoiceStatus::Draft => self.internal.finalize_at,
            InvoiceStatus::Open => lost.into_iter().chain(overdue).min(),
            InvoiceStatus::Paid if self.internal.sessions_unpaid => self.object.paid_at,
            _ => None,
        };
    }

    /// What has to be done about the invoice now.
    pub fn concern(&self, now: Timestamp) -> Option<Concern> {
        let lost = |attempt: &Attempt| attempt.begun.plus_millis(LEASE) <= now;
        if self.object.status == InvoiceStatus::Draft {
            self.internal
                .finalize_at
                .filter(|at| *at <= now)
                .map(|_| Concern::Final)
        } else if self.object.status == InvoiceStatus::Paid && self.internal.sessions_unpaid {
            Some(Concern::UnpaidSessions)
        } else if self.object.status != InvoiceStatus::Open {
            None
        } else if self.internal.attempt.as_ref().is_some_and(lost) {
            Some(Concern::LostPayment)
        } else {
            (self.object.due_date < now && !self.internal.overdue_notified)
                .then_some(Concern::Overdue)
        }
    }

    /// Records that the invoice is overdue.
    pub fn mark_overdue(&mut self) {
        self.record(EventType::InvoiceOverdue);
        self.internal.overdue_notified = true;
        self.schedule();
    }

    /// Schedules the finalization of a draft.
    pub fn finalize_later(&mut self, at: Timestamp) {
        self.internal.finalize_at = Some(at);
        self.schedule();
    }

    /// Records that all sessions and fees of the paid invoice are marked as paid.
    pub fn mark_lines_paid(&mut self) {
        self.internal.sessions_unpaid = false;
        self.schedule();
    }

    /// Locks the lines and opens the invoice for payment. One on which nothing is due is paid by that.
    ///
    /// # Errors
    /// `invoice_finalize_invalid_state` unless it is a draft.
    pub fn finalize(&mut self, now: Timestamp) -> Result<()> {
        if self.object.status != InvoiceStatus::Draft {
            return Err(Code::InvoiceFinalizeInvalidState.because("Only a draft can be finalized."));
        }
        self.object.status = InvoiceStatus::Open;
        self.record(EventType::InvoiceFinalized);
        if self.object.amount_due == 0 {
            self.settle(None, now);
        }
        self.schedule();
        Ok(())
    }

    fn settle(&mut self, method: Option<Id>, now: Timestamp) {
        self.internal.sessions_unpaid = self.object.amount_due > 0;
        self.object.amount_paid =
            Some(self.object.amount_paid.unwrap_or(0) + self.object.amount_due);
        self.object.amount_due = 0;
        self.object.paid_at = Some(now);
        self.object.payment_method = method;
        self.object.status = InvoiceStatus::Paid;
        self.record(EventType::InvoicePaid);
    }

    /// Voids the invoice, so that its sessions can be billed by another.
    ///
    /// # Errors
    /// `invoice_void_invalid_state` unless it is open or uncollectible, and while a payment is in progress.
    pub fn void(&mut self) -> Result<()> {
        let refuse = |why: &'static str| Err(Code::InvoiceVoidInvalidState.because(why));
        if !matches!(
            self.object.status,
            InvoiceStatus::Open | InvoiceStatus::Uncollectible
        ) {
            return refuse("Only an open or uncollectible invoice can be voided.");
        }
        if self.internal.attempt.is_some() {
            return refuse("A payment of the invoice is in progress.");
        }
        self.object.status = InvoiceStatus::Void;
        self.record(EventType::InvoiceVoided);
        self.schedule();
        Ok(())
    }

    /// Starts an attempt to pay, and returns the pending transaction of its charge.
    pub fn begin_payment(
        &mut self,
        method: PaymentMethod,
        method_internal: PaymentMethodInternal,
        now: Timestamp,
    ) -> Transaction {
        self.internal.attempts += 1;
        let attempt = Attempt {
            number: self.internal.attempts,
            method,
            method_internal,
            begun: now,
            transaction: Id::new(Kind::Transaction, now),
        };
        let transaction = self
            .object
            .transaction(&attempt, TransactionStatus::Pending);
        self.internal.attempt = Some(attempt);
        self.schedule();
        transaction
    }

    /// Ends an attempt to pay, and returns the transaction of its charge with the outcome.
    pub fn end_payment(
        &mut self,
        attempt: &Attempt,
        succeeded: bool,
        now: Timestamp,
    ) -> Transaction {
        let status = match succeeded {
            true => TransactionStatus::Succeeded,
            false => TransactionStatus::Failed,
        };
        let transaction = self.object.transaction(attempt, status);
        self.internal.attempt = None;
        if succeeded {
            self.settle(Some(attempt.method.id.clone()), now);
        } else {
            self.record(EventType::InvoicePaymentFailed);
        }
        self.schedule();
        transaction
    }
}

impl Attempt {
    /// What makes a repetition of the charge recognisable.
    pub fn key(&self, invoice: &Id) -> String {
        format!("{invoice} attempt {}", self.number)
    }
}

fn invalid(param: &'static str, message: &'static str) -> Error {
    Error::invalid(param, message).coded(Some(Code::InvoiceValidationError))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::models::charging_session::SessionStatus;
    use serde_json::json;

    pub fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    /// A completed session of 30 kWh that cost 11.90 with 1.90 of tax.
    pub fn session(number: u128, ended: &str) -> Stored<ChargingSession> {
        let json = json!({"id": Id::from_number(Kind::ChargingSession, number), "object": "charging_session",
            "amount_due": 1190, "amount_paid": 0, "charging_station": Id::from_number(Kind::ChargingStation, 1),
            "connector": "1", "country": "GB", "created": ended, "currency": "eur",
            "driver": Id::from_number(Kind::Driver, 1), "energy_consumed": 30_007, "fleet": Id::from_number(Kind::Fleet, 1),
            "payment_method": null, "session_ended": ended, "session_limit": null, "session_started": ended,
            "status": "completed", "updated": ended, "vehicle": Id::from_number(Kind::Vehicle, 1)});
        let internal = SessionInternal {
            net: 1000,
            tax: 190,
            ..SessionInternal::default()
        };
        Stored::with_internal(serde_json::from_value(json).unwrap(), internal)
    }

    fn new(json: serde_json::Value) -> NewInvoice {
        serde_json::from_value(json).unwrap()
    }

    fn march() -> NewInvoice {
        new(json!({"period_start": "2026-03-01T00:00:00Z", "period_end": "2026-04-01T00:00:00Z"}))
    }

    fn simulated() -> Mode {
        Mode::Test
    }

    fn eur() -> Currency {
        Currency::from_code("eur").unwrap()
    }

    #[test]
    fn a_line_says_who_charged_where_when_and_at_what_price() {
        let mut session = session(1, "2026-03-05T08:30:00Z");
        session.object.session_started = at("2026-03-05T08:00:00Z");
        let line = json!({"type": "ENERGY", "description": "Energy", "quantity": "30.007", "unit": "kWh",
            "unit_price": "39.66", "tax_included": true, "tax_percent": "19", "net": 1000, "tax": 190, "gross": 1190});
        session.object.cost_breakdown = vec![serde_json::from_value(line.clone()).unwrap()];
        session.internal.zone = Some("Europe/Amsterdam".to_owned().try_into().unwrap());
        session.internal.names = Names {
            driver: "Ada Byron".into(),
            registration_plate: "AB12 CDE".into(),
            station: "Depot".into(),
        };
        let bill = |session: &Stored<ChargingSession>| {
            let billed = march().bills(simulated(), eur(), session);
            billed.unwrap().line
        };
        let shown = bill(&session);
        assert_eq!(
            shown.description,
            "AB12 CDE, Ada Byron: 30.007 kWh at Depot, connector 1, 2026-03-05 09:00 to 09:30 (Europe/Amsterdam)"
        );
        let name = |name: Option<String>| name.unwrap();
        assert_eq!(
            [
                name(shown.driver_name),
                name(shown.registration_plate),
                name(shown.station_name),
                name(shown.price_per_kwh)
            ],
            ["Ada Byron", "AB12 CDE", "Depot", "39.66"]
        );
        assert_eq!((shown.duration_seconds, shown.free), (Some(1800), false));
        // Two energy prices have no one price, and what is free says so.
        let line = serde_json::from_value(line).unwrap();
        session.object.cost_breakdown.push(line);
        session.object.amount_due = 0;
        let shown = bill(&session);
        assert_eq!((shown.price_per_kwh, shown.free), (None, true));
        assert!(
            shown.description.ends_with(", free of charge"),
            "{}",
            shown.description
        );
    }

    fn invoice(paid: i64) -> Stored<Invoice> {
        let mut session = session(1, "2026-03-05T00:00:00Z");
        session.object.amount_paid = paid;
        session.object.amount_due -= paid;
        let billable = march().bills(simulated(), eur(), &session).unwrap();
        let id = Id::from_number(Kind::Invoice, 1);
        let now = at("2026-04-02T00:00:00Z");
        Invoice::new(march(), id, eur(), vec![billable], now).unwrap()
    }

    fn method(json: serde_json::Value) -> PaymentMethod {
        let mut body = json!({"id": Id::from_number(Kind::PaymentMethod, 1), "object": "payment_method", "card": null,
            "created": "2026-03-01T00:00:00Z", "driver": null, "fleet": null, "metadata": {}, "type": "card",
            "updated": "2026-03-01T00:00:00Z"});
        body.as_object_mut()
            .unwrap()
            .extend(json.as_object().unwrap().clone());
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn the_window_begins_inclusive_and_ends_exclusive() {
        for (ended, bills) in [
            ("2026-02-28T23:59:59.999Z", false),
            ("2026-03-01T00:00:00.000Z", true),
            ("2026-03-31T23:59:59.999Z", true),
            ("2026-04-01T00:00:00.000Z", false),
        ] {
            let session = session(1, ended);
            assert_eq!(
                march().bills(simulated(), eur(), &session).is_some(),
                bills,
                "{ended}"
            );
        }
    }

    #[test]
    fn only_completed_sessions_of_the_currency_and_the_fleet_are_billed() {
        let session = session(1, "2026-03-05T00:00:00Z");
        assert!(
            march()
                .bills(simulated(), Currency::USD, &session)
                .is_none()
        );
        let mut fleet = march();
        fleet.fleet = Some(Id::from_number(Kind::Fleet, 2));
        assert!(fleet.bills(simulated(), eur(), &session).is_none());
        fleet.fleet = Some(session.object.fleet.clone());
        assert!(fleet.bills(simulated(), eur(), &session).is_some());
        for status in [
            SessionStatus::Active,
            SessionStatus::Cancelled,
            SessionStatus::Failed,
        ] {
            let mut session = session.clone();
            session.object.status = status;
            assert!(march().bills(simulated(), eur(), &session).is_none());
        }
    }

    #[test]
    fn the_lines_add_up_to_what_is_due_and_paid() {
        for (paid, amount_paid) in [(0, None), (190, Some(190)), (1190, Some(1190))] {
            let invoice = invoice(paid).object;
            assert_eq!(
                (invoice.amount_due, invoice.amount_paid),
                (1190 - paid, amount_paid)
            );
            let line = &invoice.line_items[0];
            assert_eq!(
                (line.amount, line.unit_amount, line.net, line.tax),
                (1190, 1190, 1000, 190)
            );
            assert!(
                line.description.contains("30.007 kWh"),
                "{}",
                line.description
            );
        }
    }

    #[test]
    fn a_period_is_at_least_something_and_at_most_366_days() {
        for (start, end, valid) in [
            ("2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z", false),
            ("2026-03-01T00:00:00Z", "2026-02-01T00:00:00Z", false),
            ("2026-03-01T00:00:00Z", "2026-03-01T00:00:00.001Z", true),
            ("2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z", true),
            ("2024-01-01T00:00:00Z", "2025-01-01T00:00:00.001Z", false),
        ] {
            let body = new(json!({"period_start": start, "period_end": end}));
            assert_eq!(body.check().is_ok(), valid, "{start} {end}");
        }
    }

    #[test]
    fn a_draft_is_finalized_once_and_one_with_nothing_due_is_paid_by_it() {
        let now = at("2026-04-03T00:00:00Z");
        let mut open = invoice(0);
        assert_eq!(open.void().unwrap_err().status(), 409);
        open.finalize(now).unwrap();
        assert_eq!(
            (open.object.status, open.object.paid_at),
            (InvoiceStatus::Open, None)
        );
        assert_eq!(open.finalize(now).unwrap_err().status(), 409);
        let mut settled = invoice(1190);
        settled.finalize(now).unwrap();
        assert_eq!(
            (settled.object.status, settled.object.paid_at),
            (InvoiceStatus::Paid, Some(now))
        );
        assert_eq!(
            (settled.object.amount_due, settled.object.amount_paid),
            (0, Some(1190))
        );
        assert!(settled.update(InvoiceChange::default()).is_err());
        assert!(settled.void().is_err());
    }

    #[test]
    fn paying_moves_what_is_due_to_what_is_paid_and_a_decline_leaves_it() {
        let now = at("2026-04-03T00:00:00Z");
        let mut invoice = invoice(190);
        invoice.finalize(now).unwrap();
        let mut keys = Vec::new();
        for succeeded in [false, true] {
            invoice.begin_payment(method(json!({})), PaymentMethodInternal::default(), now);
            let attempt = invoice.internal.attempt.clone().unwrap();
            keys.push(attempt.key(&invoice.object.id));
            assert!(invoice.void().is_err());
            let transaction = invoice.end_payment(&attempt, succeeded, now);
            assert_eq!(transaction.amount, 1000);
            assert_eq!(
                transaction.status == TransactionStatus::Succeeded,
                succeeded
            );
        }
        assert_ne!(keys[0], keys[1]);
        assert_eq!(
            (invoice.object.amount_due, invoice.object.amount_paid),
            (0, Some(1190))
        );
        assert_eq!(
            (invoice.object.status, invoice.object.paid_at),
            (InvoiceStatus::Paid, Some(now))
        );
        assert!(invoice.object.check_payable().is_err());
    }

    #[test]
    fn an_invoice_is_paid_by_its_account_or_its_fleet() {
        let mut invoice = invoice(0).object;
        let (one, two) = (
            Id::from_number(Kind::Fleet, 1),
            Id::from_number(Kind::Fleet, 2),
        );
        let of_fleet = method(json!({"fleet": one}));
        let of_driver = method(json!({"driver": Id::from_number(Kind::Driver, 1)}));
        assert!(invoice.check_method(&method(json!({}))).is_ok());
        assert!(invoice.check_method(&of_fleet).is_err());
        assert!(invoice.check_method(&of_driver).is_err());
        invoice.fleet = Some(one);
        assert!(invoice.check_method(&of_fleet).is_ok());
        invoice.fleet = Some(two);
        assert!(invoice.check_method(&of_fleet).is_err());
    }

    #[test]
    fn an_open_invoice_is_looked_at_when_it_falls_overdue_or_a_payment_is_lost() {
        let now = at("2026-04-03T00:00:00Z");
        let mut invoice = invoice(0);
        assert_eq!(
            (invoice.internal.next_action_at, invoice.concern(now)),
            (None, None)
        );
        invoice.finalize(now).unwrap();
        let late = invoice.object.due_date.plus_millis(1);
        assert_eq!(invoice.internal.next_action_at, Some(late));
        assert_eq!(invoice.concern(invoice.object.due_date), None);
        assert_eq!(invoice.concern(late), Some(Concern::Overdue));
        let method = method(json!({}));
        invoice.begin_payment(method, PaymentMethodInternal::default(), now);
        let lost = now.plus_millis(LEASE);
        assert_eq!(
            (invoice.internal.next_action_at, invoice.concern(now)),
            (Some(lost), None)
        );
        assert_eq!(invoice.concern(lost), Some(Concern::LostPayment));
        let attempt = invoice.internal.attempt.clone().unwrap();
        invoice.end_payment(&attempt, false, now);
        invoice.mark_overdue();
        assert_eq!(
            (invoice.internal.next_action_at, invoice.concern(late)),
            (None, None)
        );
        let later = InvoiceChange {
            due_date: Change::Set(late),
            ..InvoiceChange::default()
        };
        invoice.update(later).unwrap();
        assert_eq!(invoice.internal.next_action_at, Some(late.plus_millis(1)));
        invoice.void().unwrap();
        assert_eq!(invoice.internal.next_action_at, None);
    }
}

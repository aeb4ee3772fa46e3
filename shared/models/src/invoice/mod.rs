//! Invoices: the cost of the charging sessions of a window, and the fees of reservations that ended in it, as one bill. Amounts that were
//! charged before are on it as paid. The invoices of a period therefore show everything that the period cost, and a `cost_analysis` of the
//! same fleet and period adds up to the same amounts.
//!
//! draft → open → paid | void | uncollectible; uncollectible → void. A draft can also be deleted. Overdue is an open
//! invoice past its due date, not a status of its own.

mod billing;
mod crediting;
mod credits;
pub mod line_item;
mod parties;
#[cfg(test)]
pub mod tests;
pub mod totals;
mod transitions;

use std::iter;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use self::billing::{Billable, NewInvoice};
pub use self::credits::{Credits, SetOff, gross};
pub use self::line_item::{FeeNames, LineItem, LineType};
pub use self::parties::{Buyer, Seller};
pub use self::totals::{InvoiceTotals, TaxAmount, TaxCategory, by_rate};
use super::action::Action;
use super::body::RequestBody;
use super::condition::Condition;
use super::event_type::EventType;
use super::party::Language;
use super::payment_method::{PaymentMethod, PaymentMethodInternal};
use super::search::SearchField;
use super::stored::{Object, Stored, is_default};
use super::transaction::{Transaction, TransactionStatus, TransactionType};
use super::{MAX_OBJECT, sized};
use kernel::fields::metadata::{Metadata, MetadataChange};
use kernel::fields::patch::{Change, Patch};
use kernel::fields::text::{Description, ZoneName};
use kernel::size::Size;
use kernel::time::MINUTE;
use kernel::{Code, Currency, Id, Kind, Result, SignedDuration, Timestamp};

/// The maximum number of line items that an invoice shows itself; all of them can be listed page by page.
pub const SHOWN_LINES: usize = 100;
/// The maximum total size of the lines that an invoice shows itself, in bytes of JSON.
const SHOWN_BYTES: usize = 96 * 1024;
/// The duration after which an unfinished attempt to pay counts as interrupted.
const LEASE: SignedDuration = MINUTE;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Invoice {
    pub id: Id,
    pub object: Kind,
    /// Amount due in minor units of `currency`; 0 when the invoice is paid.
    pub amount_due: i64,
    /// Amount paid in minor units of `currency`, including sessions that were paid before; null if nothing is paid.
    pub amount_paid: Option<i64>,
    /// The fleet, or the account for an invoice of the whole account, as it was when the invoice was finalized; null for a draft, and if
    /// the fleet was deleted before.
    #[schema(required)]
    pub buyer: Option<Buyer>,
    pub created: Timestamp,
    /// Currency of all amounts of the invoice.
    pub currency: Currency,
    /// Text that the invoice shows; null if it is not set.
    pub description: Option<Description>,
    /// Time by which the invoice has to be paid. By default it is `billing_details.payment_terms_days` of the account, or 30 days, after
    /// `created`.
    pub due_date: Timestamp,
    /// When the invoice was finalized; null for a draft.
    #[schema(required)]
    pub finalized_at: Option<Timestamp>,
    /// Id of the fleet; null for an invoice of the whole account.
    pub fleet: Option<Id>,
    /// Lines of the invoice: one for each session, each fee and each adjustment, the newest first; at most 100 are shown here.
    pub line_items: Vec<LineItem>,
    /// Whether the invoice has more lines than `line_items` shows: `GET /v1/invoices/{id}/line_items` lists all of them.
    pub line_items_has_more: bool,
    pub metadata: Metadata,
    /// Number `<prefix><year>-<sequence>`, without gaps for each account, mode and year; null for a draft.
    #[schema(required, example = "2026-17")]
    pub number: Option<String>,
    /// Time at which the invoice was paid; null until then.
    pub paid_at: Option<Timestamp>,
    /// Id of the payment method that has paid it; null until then.
    pub payment_method: Option<Id>,
    /// End of the billed period, exclusive.
    pub period_end: Timestamp,
    /// Start of the billed period, inclusive.
    pub period_start: Timestamp,
    /// The account as it was when the invoice was finalized; null for a draft.
    #[schema(required)]
    pub seller: Option<Seller>,
    /// Stage of the invoice. An overdue invoice is `open`, with a `due_date` that has passed.
    pub status: InvoiceStatus,
    /// Sums of the line items, with the amounts paid, due and refunded.
    #[serde(default)]
    #[schema(required)]
    pub totals: InvoiceTotals,
}

impl Object for Invoice {
    type Internal = InvoiceInternal;

    const KIND: Kind = Kind::Invoice;

    fn id(&self) -> &Id {
        &self.id
    }

    fn names(&self) -> Vec<(SearchField, &str)> {
        let number = self.number.iter();
        number
            .map(|number| (SearchField::Number, number.as_str()))
            .collect()
    }

    fn shown_version(stored: &Stored<Self>) -> u64 {
        stored.version.saturating_sub(stored.internal.hidden_writes)
    }

    fn next_action(stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        let at = stored.concerns().map(|(at, _)| at).min();
        at.map(|at| (at, Action::CheckInvoice))
    }
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum InvoiceStatus {
    Draft,
    Open,
    Paid,
    Void,
    Uncollectible,
}

/// The filter of a list of invoices: a status, or open and past the due date.
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

/// The internal state of an invoice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InvoiceInternal {
    /// The number of attempts to pay so far.
    pub attempts: u32,
    /// The attempt in progress, whose outcome is not stored yet.
    pub attempt: Option<Attempt>,
    /// The amounts that credit notes have credited.
    #[serde(default, skip_serializing_if = "is_default")]
    pub credits: Credits,
    /// When the service finalizes the draft, if it was created at the end of a billing cycle.
    pub finalize_at: Option<Timestamp>,
    /// The number of writes that have changed only this internal state.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hidden_writes: u64,
    /// Data that the documents show and the invoice does not; none for a draft.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issued: Option<Issued>,
    /// The transaction of the charge that has paid it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paid_by: Option<Id>,
    /// Whether `invoice.overdue` was sent for the current due date.
    pub overdue_notified: bool,
    /// Whether the invoice was paid and its sessions are not marked as paid yet.
    pub sessions_unpaid: bool,
}

/// A task of the service for an invoice, without a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concern {
    /// An attempt to pay was interrupted and has to be finished.
    LostPayment,
    Overdue,
    /// The draft is to be finalized.
    Final,
    /// The invoice is paid, and its sessions are not marked as paid yet.
    UnpaidSessions,
}

/// An attempt to pay. It is stored before the provider is called, so that an interrupted attempt is resumed under the same idempotency key
/// and the amount is charged only once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub number: u32,
    pub method: PaymentMethod,
    pub method_internal: PaymentMethodInternal,
    pub begun: Timestamp,
    /// The transaction of the charge, pending until the attempt ends.
    pub transaction: Id,
    /// When the provider is asked again, if it has not decided for an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
}

/// The data that is added to an invoice when it is finalized.
#[derive(Debug, Clone)]
pub struct Issue {
    pub number: String,
    pub seller: Seller,
    pub buyer: Option<Buyer>,
    pub language: Language,
    /// The time zone of the seller, which decides the day of issue.
    pub seller_zone: ZoneName,
    /// The time zone of the buyer, in which the times of lines are shown.
    pub buyer_zone: ZoneName,
}

/// The state of an invoice at its finalization. Its documents always show this state, even if they are created again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    pub language: Language,
    pub seller_zone: ZoneName,
    pub buyer_zone: ZoneName,
    pub due_date: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// The amount that was paid before, in minor units.
    pub prepaid: i64,
    /// The part of `prepaid` that was refunded before, in minor units.
    #[serde(default, skip_serializing_if = "is_default")]
    pub refunded: i64,
}

/// The body of `POST /v1/invoices/{id}`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InvoiceChange {
    /// Text that the invoice shows. Null removes it.
    #[serde(default)]
    pub description: Patch<Description>,
    /// Time by which the invoice has to be paid.
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
    /// Id of the payment method. Default: the `preferences.default_payment_method` of the account, else of the fleet.
    pub payment_method: Option<Id>,
}

impl RequestBody for PayInvoice {
    const INVALID: Option<Code> = Some(Code::InvoiceValidationError);
}

impl InvoiceStatus {
    /// Checks whether the invoice is finalized, and neither paid nor given up.
    pub fn is_open(self) -> bool {
        match self {
            Self::Open => true,
            Self::Draft | Self::Paid | Self::Void | Self::Uncollectible => false,
        }
    }

    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl InvoiceFilter {
    /// Returns the status of the listed invoices.
    pub fn status(self) -> InvoiceStatus {
        match self {
            Self::Draft => InvoiceStatus::Draft,
            Self::Open | Self::Overdue => InvoiceStatus::Open,
            Self::Paid => InvoiceStatus::Paid,
            Self::Void => InvoiceStatus::Void,
            Self::Uncollectible => InvoiceStatus::Uncollectible,
        }
    }

    /// Returns the conditions that the listed invoices meet.
    pub fn conditions(self, now: Timestamp) -> Vec<Condition<'static>> {
        let status = Condition::equals("status", self.status());
        let overdue = (self == Self::Overdue).then_some(Condition::Before {
            member: "due_date",
            at: now,
        });
        std::iter::once(status).chain(overdue).collect()
    }
}

/// Returns the number of these lines that an invoice shows itself: the first 100, and at most 96 KiB of them.
///
/// # Errors
/// `Internal` if a line cannot be serialized.
pub fn shown_lines(billed: &[Billable]) -> Result<usize> {
    lines_within(SHOWN_BYTES, billed.iter().map(|billable| &billable.line))
}

/// Returns the number of the first lines, at most 100, that have at most this total size in bytes of JSON.
fn lines_within<'a>(most: usize, lines: impl Iterator<Item = &'a LineItem>) -> Result<usize> {
    let (mut shown, mut bytes) = (0, 0);
    for line in lines.take(SHOWN_LINES) {
        bytes += Size::of(line)?.bytes;
        if bytes > most {
            break;
        }
        shown += 1;
    }
    Ok(shown)
}

impl Invoice {
    /// Returns a new draft of these sessions and fees, newest first, that is due a `term` after its creation. It is created at the time in
    /// its id.
    ///
    /// # Errors
    /// 400 if metadata exceeds its limits.
    pub fn new(
        new: NewInvoice,
        id: Id,
        currency: Currency,
        billed: Vec<Billable>,
        term: SignedDuration,
        now: Timestamp,
    ) -> Result<Stored<Self>> {
        let paid: i64 = billed.iter().map(|billable| billable.paid).sum();
        let refunded = billed.iter().map(|billable| billable.refunded).sum();
        let lines = billed.iter().map(|billable| billable.line.sums());
        let totals = InvoiceTotals::of(lines, paid);
        let totals = InvoiceTotals { refunded, ..totals };
        let mut credits = Credits::default();
        for billable in &billed {
            credits.add_lines(&billable.credits);
        }
        let internal = InvoiceInternal {
            credits,
            ..InvoiceInternal::default()
        };
        let shown = shown_lines(&billed)?;
        let created = id.time(Kind::Invoice).unwrap_or(now);
        let invoice = Self {
            id,
            object: Kind::Invoice,
            amount_due: totals.due,
            amount_paid: (paid != 0).then_some(paid),
            buyer: None,
            created,
            currency,
            description: new.description,
            due_date: created.plus(term),
            finalized_at: None,
            fleet: new.fleet,
            line_items_has_more: billed.len() > shown,
            line_items: billed
                .into_iter()
                .take(shown)
                .map(|billable| billable.line)
                .collect(),
            metadata: Metadata::new(new.metadata)?,
            number: None,
            paid_at: None,
            payment_method: None,
            period_end: new.period_end,
            period_start: new.period_start,
            seller: None,
            status: InvoiceStatus::Draft,
            totals,
        };
        let invoice =
            sized(invoice).map_err(|error| error.coded(Some(Code::InvoiceValidationError)))?;
        Ok(Stored::with_internal(invoice, internal).recording(EventType::InvoiceCreated))
    }

    /// Returns the number of lines that the draft shows itself if this one is added before the others. With them it is not larger than an
    /// object may be after a request.
    ///
    /// # Errors
    /// `Internal` if a line cannot be serialized.
    pub fn shown_with(&self, line: &LineItem) -> Result<usize> {
        let lines = Size::of(&self.line_items)?.bytes;
        let others = Size::of(self)?.bytes - lines;
        let most = SHOWN_BYTES.min(MAX_OBJECT.saturating_sub(others));
        lines_within(most, iter::once(line).chain(&self.line_items))
    }

    /// Returns the size of the texts that requests set, in bytes of JSON.
    fn text_size(&self) -> Result<usize> {
        Ok(Size::of(&(&self.description, &self.metadata))?.bytes)
    }

    /// Checks that the invoice may be finalized.
    ///
    /// # Errors
    /// `invoice_finalize_invalid_state` unless it is a draft.
    pub fn check_finalizable(&self) -> Result<()> {
        if self.status != InvoiceStatus::Draft {
            return Err(Code::InvoiceFinalizeInvalidState.because("Only a draft can be finalized."));
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

    /// Checks that the invoice may be paid with a payment method of the account or of its own fleet.
    ///
    /// # Errors
    /// `payment_method_scope_invalid` for a payment method of a driver or of another fleet.
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
            amount_refunded: 0,
            charge: None,
            charging_session: None,
            created: attempt.begun,
            credit_note: None,
            currency: self.currency,
            description: self.bill(),
            destination: None,
            driver: None,
            failed_reason: None,
            fleet: self.fleet.clone(),
            invoice: Some(self.id.clone()),
            payment_method: Some(attempt.method.id.clone()),
            reason: None,
            reservation: None,
            status,
            kind: TransactionType::Charge,
            vehicle: None,
        }
    }

    /// Returns the description of a charge for the invoice.
    pub fn bill(&self) -> String {
        format!("Invoice {}", self.id)
    }
}

impl Attempt {
    /// Returns the key by which a repetition of the charge is recognised.
    pub fn key(&self, invoice: &Id) -> String {
        format!("{invoice} attempt {}", self.number)
    }
}

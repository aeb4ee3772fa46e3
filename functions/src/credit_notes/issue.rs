//! Issuing a credit note: its number, the deduction from the invoice, and the refunds of the rest, in one transaction.

use std::time::Duration;

use kernel::backoff::Backoff;
use kernel::{Error, Kind};
use models::credit_note::Credit;
use models::transaction::RefundDestination;
use models::{Account, CreditNote, Invoice, Stored};
use table::UnitOfWork;

use super::refund;
use crate::App;

/// The maximum number of attempts to issue a credit note when its number or its invoice is changed concurrently, and the pauses in between.
pub const ISSUE_ATTEMPTS: u32 = 200;
pub const BACKOFF: Backoff = Backoff::new(Duration::from_millis(10), 2, Duration::from_millis(320));

/// Issues a credit note of a final invoice, and begins its refunds. The caller writes it together with the invoice. The commit fails with
/// `Contended` if another credit note was given the number, or if the invoice or one of its charges has changed.
///
/// # Errors
/// Those of [`Stored::credit`] and `refund::begin`.
pub async fn issue(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    invoice: &mut Stored<Invoice>,
    credit: Credit,
    destination: Option<RefundDestination>,
) -> Result<Stored<CreditNote>, Error> {
    let mut note = issue_refunded(app, tx, invoice, credit).await?;
    let refunded = refund::begin(app, tx, invoice, &note.object, destination).await?;
    note.object.totals.refunded = refunded;
    Ok(note)
}

/// Issues a credit note like [`issue`], for an amount that was already refunded or need not be.
///
/// # Errors
/// Those of [`Stored::credit`]; `Unavailable` if DynamoDB cannot be reached.
pub async fn issue_refunded(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    invoice: &mut Stored<Invoice>,
    credit: Credit,
) -> Result<Stored<CreditNote>, Error> {
    let (tenant, now) = (&tx.origin().tenant, tx.origin().now);
    let account = app.store.get::<Account>(tenant, &tenant.account).await?;
    let details = account.object.billing_details;
    let year = details.year(now);
    let sequence = tx.next_number(Kind::CreditNote, year).await?;
    CreditNote::issue(
        invoice,
        credit,
        details.credit_note_number(year, sequence),
        now,
    )
}

//! Marks the sessions and fees of an invoice as paid, once it is paid, and its adjustments as those of a paid invoice.

use kernel::{Error, Id, Origin};
use models::invoice::LineType;
use models::{ChargingSession, Invoice, Reservation, Stored};
use table::UnitOfWork;

use crate::App;
use table::list::{Cursor, PageRequest};
use table::stored_item::ById;

/// The number of sessions, reservations or adjustments that are written at once.
const BATCH: usize = 50;

/// Marks every session, reservation and adjustment, and then the invoice's lines. An interrupted run is repeated.
pub async fn handle(app: &App, origin: &Origin, mut invoice: Stored<Invoice>) -> Result<(), Error> {
    let mut page_request = PageRequest::first(BATCH);
    loop {
        let page = app
            .store
            .lines(&origin.tenant, &invoice.object, &page_request)
            .await?;
        let lines = page.items;
        let of = |id: fn(_) -> Option<Id>| lines.iter().filter_map(id).collect::<Vec<Id>>();
        let (invoice_id, now) = (Some(&invoice.object.id), origin.now);
        let mut tx = app.store.begin(origin);
        let sessions = of(|line| match line.kind {
            // The session itself may be on another invoice.
            LineType::Adjustment => None,
            _ => line.charging_session.clone(),
        });
        let pay = |session: &mut Stored<ChargingSession>| {
            session.object.invoice.as_ref() == invoice_id && session.object.mark_paid(now)
        };
        save_paid(app, &mut tx, &sessions, pay).await?;
        let reservations = of(|line| match line.kind {
            // The fee of the reservation that a session fulfilled may be on another invoice.
            LineType::EnergySession => None,
            _ => line.reservation.clone(),
        });
        let pay = |reservation: &mut Stored<Reservation>| {
            reservation.internal.invoice.as_ref() == invoice_id && reservation.mark_fee_paid(now)
        };
        save_paid(app, &mut tx, &reservations, pay).await?;
        tx.commit_without_response().await?;
        match lines.last() {
            Some(last) if page.older => page_request.from = Cursor::After(last.id.clone()),
            _ => break,
        }
    }
    mark_adjustments(app, origin, &invoice).await?;
    invoice.mark_lines_paid();
    app.store.save(origin, &mut invoice).await
}

/// Marks the adjustments that the invoice has claimed. Those for which it has a credit note are not lines of it.
async fn mark_adjustments(
    app: &App,
    origin: &Origin,
    invoice: &Stored<Invoice>,
) -> Result<(), Error> {
    let mut claimed = app.store.open_adjustments(&origin.tenant).await?;
    claimed.retain(|adjustment| adjustment.internal.invoice.as_ref() == Some(&invoice.object.id));
    for batch in claimed.chunks_mut(BATCH) {
        let mut tx = app.store.begin(origin);
        for adjustment in batch {
            adjustment.mark_invoice_paid();
            tx.save(adjustment)?;
        }
        tx.commit_without_response().await?;
    }
    Ok(())
}

/// Adds the objects that `pay` has changed to the unit of work.
async fn save_paid<T: ById>(
    app: &App,
    tx: &mut UnitOfWork<'_>,
    ids: &[Id],
    pay: impl Fn(&mut Stored<T>) -> bool,
) -> Result<(), Error> {
    for mut stored in app.store.get_all::<T>(&tx.origin().tenant, ids).await? {
        if pay(&mut stored) {
            tx.save(&mut stored)?;
        }
    }
    Ok(())
}

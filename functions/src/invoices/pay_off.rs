//! What becomes of what an invoice bills when it is paid.

use shared::models::charging_session::ChargingSession;
use shared::models::invoice::Invoice;
use shared::models::reservation::Reservation;
use shared::origin::Origin;
use shared::store::Changes;
use shared::store::list::{From, Slice};
use shared::store::row::Row;
use shared::{App, Error, Id};

/// How many sessions and reservations are written at once.
const BATCH: usize = 50;

/// Has every session and reservation say that it is paid, then the invoice that they all do. Whatever cuts this short, it is
/// done again.
pub async fn handle(app: &App, origin: &Origin, mut row: Row<Invoice>) -> Result<(), Error> {
    let mut slice = Slice::first(BATCH);
    loop {
        let page = app.store.lines(&origin.tenant, &row.object, &slice).await?;
        let lines = page.rows;
        let of = |id: fn(_) -> Option<Id>| lines.iter().filter_map(id).collect::<Vec<Id>>();
        let mut changes = Changes::new();
        let sessions = of(|line| line.charging_session.clone());
        pay_sessions(app, origin, &mut changes, &row.object.id, &sessions).await?;
        let reservations = of(|line| line.reservation.clone());
        pay_fees(app, origin, &mut changes, &row.object.id, &reservations).await?;
        app.store.commit_later(origin, changes).await?;
        match lines.last() {
            Some(last) if page.older => slice.from = From::After(last.id.clone()),
            _ => break,
        }
    }
    row.object.tell_paid_off(&mut row.private);
    let mut changes = Changes::new();
    app.store.replace(&mut changes, origin, &row)?;
    app.store.commit_later(origin, changes).await
}

async fn pay_sessions(
    app: &App,
    origin: &Origin,
    changes: &mut Changes,
    invoice: &Id,
    ids: &[Id],
) -> Result<(), Error> {
    let rows = app.store.get_all::<ChargingSession>(&origin.tenant, ids);
    for mut row in rows.await? {
        let billed = row.private.invoice.as_ref() == Some(invoice);
        if billed && row.object.pay_off(origin.now) {
            app.store.replace(changes, origin, &row)?;
        }
    }
    Ok(())
}

async fn pay_fees(
    app: &App,
    origin: &Origin,
    changes: &mut Changes,
    invoice: &Id,
    ids: &[Id],
) -> Result<(), Error> {
    let rows = app.store.get_all::<Reservation>(&origin.tenant, ids);
    for mut row in rows.await? {
        let billed = row.private.invoice.as_ref() == Some(invoice);
        if billed && row.object.pay_off(&mut row.private, origin.now) {
            app.store.replace(changes, origin, &row)?;
        }
    }
    Ok(())
}

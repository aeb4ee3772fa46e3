//! What becomes of what an invoice bills when it is paid.

use shared::models::charging_session::ChargingSession;
use shared::models::invoice::Invoice;
use shared::models::reservation::Reservation;
use shared::origin::Origin;
use shared::store::Changes;
use shared::store::list::{From, Slice};
use shared::store::row::{ById, Row};
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
        let (invoice, now) = (Some(&row.object.id), origin.now);
        let mut changes = Changes::new();
        let sessions = of(|line| line.charging_session.clone());
        let pay = |row: &mut Row<ChargingSession>| {
            row.private.invoice.as_ref() == invoice && row.object.pay_off(now)
        };
        replace_paid(app, origin, &mut changes, &sessions, pay).await?;
        let reservations = of(|line| line.reservation.clone());
        let pay = |row: &mut Row<Reservation>| {
            row.private.invoice.as_ref() == invoice && row.object.pay_off(&mut row.private, now)
        };
        replace_paid(app, origin, &mut changes, &reservations, pay).await?;
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

/// Adds the rows to the changes in which `pay` found something to pay.
async fn replace_paid<T: ById>(
    app: &App,
    origin: &Origin,
    changes: &mut Changes,
    ids: &[Id],
    pay: impl Fn(&mut Row<T>) -> bool,
) -> Result<(), Error> {
    for mut row in app.store.get_all::<T>(&origin.tenant, ids).await? {
        if pay(&mut row) {
            app.store.replace(changes, origin, &row)?;
        }
    }
    Ok(())
}

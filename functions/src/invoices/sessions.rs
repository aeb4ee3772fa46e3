//! What becomes of an invoice's sessions when it is paid.

use shared::models::charging_session::ChargingSession;
use shared::models::invoice::Invoice;
use shared::origin::Origin;
use shared::store::Changes;
use shared::store::list::{From, Slice};
use shared::store::row::Row;
use shared::{App, Error, Id};

/// How many sessions are written at once.
const BATCH: usize = 50;

/// Has every session say that it is paid, then the invoice that they all do. Whatever cuts this short, it is done again.
pub async fn pay_off(app: &App, origin: &Origin, mut row: Row<Invoice>) -> Result<(), Error> {
    let mut slice = Slice::first(BATCH);
    loop {
        let page = app.store.lines(&origin.tenant, &row.object, &slice).await?;
        let ids = page.rows.into_iter().map(|line| line.charging_session);
        let ids: Vec<Id> = ids.collect();
        let mut changes = Changes::new();
        for mut session in app
            .store
            .get_all::<ChargingSession>(&origin.tenant, &ids)
            .await?
        {
            let billed = session.private.invoice.as_ref() == Some(&row.object.id);
            if billed && session.object.pay_off(origin.now) {
                app.store.replace(&mut changes, origin, &session)?;
            }
        }
        app.store.commit_later(origin, changes).await?;
        match ids.into_iter().last() {
            Some(last) if page.older => slice.from = From::After(last),
            _ => break,
        }
    }
    row.object.tell_paid_off(&mut row.private);
    let mut changes = Changes::new();
    app.store.replace(&mut changes, origin, &row)?;
    app.store.commit_later(origin, changes).await
}

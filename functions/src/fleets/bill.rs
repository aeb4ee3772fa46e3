//! `bill-fleet`: when a billing period of a fleet is over, drafts an invoice of what it owes in each currency, to be
//! finalized a day later; when a reporting period is over, asks for its report. A period without sessions has neither.

use shared::deployment::Deployment;
use shared::models::fleet::{Fleet, FleetInternal};
use shared::origin::{Origin, Tenant};
use shared::ports::Work;

use shared::models::stored::Stored;
use shared::store::access::Rows;
use shared::{App, Error, Id, Kind};

use crate::function::Function;
use crate::{invoices, reports};

pub const FUNCTION: Function = Function::worker(
    Work::BillFleet,
    Deployment::in_background()
        .memory(512)
        .timeout(300)
        .writing(&[
            Rows::Of(Kind::Fleet),
            Rows::Of(Kind::Invoice),
            Rows::Of(Kind::ChargingSession),
            Rows::Of(Kind::Reservation),
            Rows::Of(Kind::Report),
        ]),
);

pub async fn handle(app: &App, tenant: &Tenant, id: &Id) -> Result<(), Error> {
    let Some(row) = app.store.find::<Fleet>(tenant, id).await? else {
        return Ok(());
    };
    let origin = Origin::background(tenant.clone(), app.now());
    let (fleet, mut internal) = (&row.object, row.internal.clone());
    let (bill, report) = (internal.to_bill(origin.now), internal.to_report(origin.now));
    if let Some(period) = bill
        && !invoices::recur::draft_all(app, &origin, fleet, period).await?
    {
        // The sweep comes back to it.
        return Ok(());
    }
    if let Some(period) = report {
        reports::recur::ask(app, &origin, fleet, period).await?;
    }
    if bill.or(report).is_none() {
        return Ok(());
    }
    fleet.turn_over(&mut internal, origin.now);
    turn_over(app, &origin, &row, internal).await
}

/// Lets the next periods begin, unless somebody else has or the fleet has changed: then the message comes again.
async fn turn_over(
    app: &App,
    origin: &Origin,
    row: &Stored<Fleet>,
    internal: FleetInternal,
) -> Result<(), Error> {
    let mut tx = app.store.begin(origin);
    tx.plan_fleet(row, &internal)?;
    tx.commit_without_response().await
}

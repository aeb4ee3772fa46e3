//! `bill-fleet`: when a billing period of a fleet is over, drafts an invoice of the amounts due in each currency, to be
//! finalized a day later; when a reporting period is over, creates its report. A period without sessions has neither.

use kernel::{Error, Id, Kind, Origin, Tenant};
use models::Fleet;
use models::ports::JobSubject;
use serde::{Deserialize, Serialize};
use web::deployment::Deployment;

use table::access::Items;

use crate::function::Function;
use crate::job::Job;
use crate::{App, invoices, reports};

/// Drafts the invoice and creates the report of a fleet whose billing or reporting period is over.
#[derive(Debug, Serialize, Deserialize)]
pub struct BillFleet {
    pub tenant: Tenant,
    pub fleet: Id,
}

impl Job for BillFleet {
    const NAME: &'static str = "bill-fleet";
    const FUNCTION: Function = Function::worker(
        Self::NAME,
        Deployment::in_background()
            .memory(512)
            .timeout(300)
            .writing(&[
                Items::Of(Kind::Fleet),
                Items::Of(Kind::Invoice),
                Items::Of(Kind::Adjustment),
                Items::Of(Kind::ChargingSession),
                Items::Of(Kind::Reservation),
                Items::Of(Kind::Report),
            ]),
    );

    fn subject(&self) -> JobSubject {
        JobSubject::of(&self.tenant, &self.fleet)
    }

    async fn run(self, app: &App) -> Result<(), Error> {
        let Self { tenant, fleet: id } = &self;
        let Some(mut fleet) = app.store.find::<Fleet>(tenant, id).await? else {
            return Ok(());
        };
        let origin = Origin::background(tenant.clone(), app.now());
        let read = fleet.next_action_at();
        let bill = fleet.internal.to_bill(origin.now);
        let report = fleet.internal.to_report(origin.now);
        if let Some(period) = bill
            && !invoices::recur::draft_all(app, &origin, &fleet.object, period).await?
        {
            // The sweep finds the fleet again.
            return Ok(());
        }
        if let Some(period) = report {
            reports::recur::ask(app, &origin, &fleet.object, period).await?;
        }
        if bill.or(report).is_none() {
            return Ok(());
        }
        fleet.turn_over(origin.now);
        // The commit fails if the periods or the fleet's settings have changed in the meantime. Then the message is repeated.
        let mut tx = app.store.begin(&origin);
        tx.save_periods(&fleet, read)?;
        tx.commit_without_response().await
    }
}

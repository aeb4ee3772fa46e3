//! Requests for a charging window in an area, or for the energy that a vehicle needs by a time. A reservation is assigned a station and a
//! connector when it is confirmed.

mod admit;
mod book;
pub mod cancel;
pub mod charge_fee;
pub mod confirm;
pub mod create;
pub mod expire;
pub mod find;
pub(crate) mod keep;
pub mod list;
pub mod matcher;
pub mod outward;
mod plan;
pub mod replan;
pub mod retrieve;
pub mod unused;
pub mod update;

use crate::App;
use crate::job::Job as _;
use crate::stream::actions;
use crate::stream::change::{Change, OnChange};
use confirm::ConfirmReservation;
use kernel::{Result, Tenant};
use models::ports::Message;
use models::{Action, Reservation, Stored};
use outward::CancelAtNetwork;

impl OnChange for Reservation {
    /// Cancels the reservation at the network of its station, if it differs now from the one that the network has.
    async fn on_change(app: &App, change: &Change<Self>) -> Result<()> {
        let before = change.before.as_ref();
        let Some((station, outward)) =
            before.and_then(|before| change.after.to_cancel(before, app.now()))
        else {
            return Ok(());
        };
        let job = CancelAtNetwork {
            tenant: change.tenant.clone(),
            reservation: change.after.object.id.clone(),
            station: station.clone(),
            outward: outward.to_owned(),
        };
        job.send(app).await
    }

    /// The message contains the request, so that an attempt to confirm can read its objects at the same time.
    fn next_message(tenant: &Tenant, stored: &Stored<Self>) -> Result<Option<Message>> {
        let Some((_, action)) = stored.next_action() else {
            return Ok(None);
        };
        let mut message = actions::message(tenant, &stored.object.id, action)?;
        if let (Action::ConfirmReservation, Some(message)) = (action, &mut message) {
            let job = ConfirmReservation {
                tenant: tenant.clone(),
                reservation: stored.object.id.clone(),
                request: Some(Box::new(stored.request())),
            };
            message.body = job.message()?.body;
        }
        Ok(message)
    }
}

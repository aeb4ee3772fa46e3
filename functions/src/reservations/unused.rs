//! Bills the price of a station's network for a reservation that was never used ([`models::reservation::unused`]).

use crate::App;
use kernel::{Error, Id, Origin};
use models::charging_session::network::Billed;
use models::ports::network::Subject;
use models::reservation::unused::UnusedOutcome;
use models::{Account, Adjustment, Reservation};
use table::networks::ReceivedObject;

/// Applies a CDR to the reservation that it is for. Returns whether the CDR belongs to the reservation; nothing is billed for a CDR that does
/// not, or whose amount is not plausible. `command` is the RESERVE_NOW that the CDR names, if any.
///
/// # Errors
/// `Contended` if the reservation or the CDR changes in the meantime, `Unavailable` if DynamoDB cannot be reached.
pub async fn bill(
    app: &App,
    object: &ReceivedObject,
    subject: &Subject,
    command: Option<&Id>,
    cdr: &Billed,
) -> Result<bool, Error> {
    let Subject { tenant, id } = subject;
    let Some(mut reservation) = app.store.find::<Reservation>(tenant, id).await? else {
        return Ok(false);
    };
    let origin = Origin::background(tenant.clone(), app.now());
    let account = app.store.get::<Account>(tenant, &tenant.account).await?;
    let account = account.object;
    reservation.tax_unused_fee(account.fee_tax_percent());
    let limits = &app.settings.plausibility;
    let outcome = reservation.take_unused_cdr(command, cdr, limits, origin.now);
    let mut tx = app.store.begin(&origin);
    match outcome {
        UnusedOutcome::NotDue | UnusedOutcome::Implausible => return Ok(false),
        UnusedOutcome::Known => {}
        UnusedOutcome::Noted => tx.save(&mut reservation)?,
        UnusedOutcome::Adjusted(more) => {
            let country = account.country();
            let adjustment =
                Adjustment::of_reservation(&reservation, more, country, &cdr.id, origin.now);
            tx.save(&mut reservation)?;
            if let Some(mut adjustment) = adjustment {
                tx.create(&mut adjustment)?;
            }
        }
    }
    if object.matched.is_none() {
        tx.put_received(&ReceivedObject {
            matched: Some(subject.clone()),
            ..object.clone()
        })?;
    }
    tx.commit_without_response().await?;
    Ok(true)
}

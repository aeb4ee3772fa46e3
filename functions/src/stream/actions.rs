//! The messages of next actions: which one has an action done, and which one an object waits for.

use serde_dynamo::{AttributeValue, Item};
use shared::App;
use shared::error::{Error, Result};
use shared::id::{Id, Kind};
use shared::models::action::Action;
use shared::models::charging_session::ChargingSession;
use shared::models::reservation::Reservation;
use shared::models::stored::Stored;
use shared::origin::Tenant;
use shared::ports::Message;
use shared::store::row::decode;
use shared::time::Timestamp;

/// The message that has an action done; none for the deliveries of an event, which the relay plans itself.
fn message(tenant: &Tenant, id: &Id, action: Action) -> Option<Message> {
    let (mode, tenant, id) = (tenant.mode, tenant.clone(), id.clone());
    let message = match action {
        Action::ConfirmReservation => Message::Confirm {
            tenant,
            reservation: id,
            request: None,
        },
        Action::ReserveAtNetwork => Message::ReserveAtNetwork {
            tenant,
            reservation: id,
        },
        Action::ExpireReservation => Message::Expire {
            tenant,
            reservation: id,
        },
        Action::ChargeFee => Message::ChargeFee {
            tenant,
            reservation: id,
        },
        Action::StopSession => Message::StopSession {
            tenant,
            session: id,
        },
        Action::OperateSession => Message::OperateSession {
            tenant,
            session: id,
        },
        Action::SettleSession => Message::SettleSession {
            tenant,
            session: id,
        },
        Action::CheckInvoice => Message::CheckInvoice {
            tenant,
            invoice: id,
        },
        Action::GenerateReport => Message::GenerateReport { tenant, report: id },
        Action::SettleTransaction => Message::SettleTransaction {
            tenant,
            transaction: id,
        },
        Action::BillFleet => Message::BillFleet { tenant, fleet: id },
        Action::ExpireCard => Message::RefreshTokens {
            tenant,
            of: id,
            after: None,
        },
        Action::PullNetwork => Message::SyncNetwork { mode, network: id },
        Action::PlanDeliveries => return None,
    };
    Some(message)
}

/// The message that a reservation waits for.
fn of_reservation(tenant: &Tenant, stored: &Stored<Reservation>) -> Option<Message> {
    let (_, action) = stored.next_action()?;
    let mut message = message(tenant, &stored.object.id, action)?;
    if let Message::Confirm { request, .. } = &mut message {
        *request = Some(Box::new(stored.request()));
    }
    Some(message)
}

fn of_session(tenant: &Tenant, stored: &Stored<ChargingSession>) -> Option<Message> {
    let (_, action) = stored.next_action()?;
    message(tenant, &stored.object.id, action)
}

/// The message that an object waits for whose kind has one action only.
fn of_kind(tenant: &Tenant, id: &Id) -> Option<Message> {
    let action = match id.kind()? {
        Kind::ChargeCard => Action::ExpireCard,
        Kind::Fleet => Action::BillFleet,
        Kind::Invoice => Action::CheckInvoice,
        Kind::Network => Action::PullNetwork,
        Kind::Report => Action::GenerateReport,
        Kind::Transaction => Action::SettleTransaction,
        _ => return None,
    };
    message(tenant, id, action)
}

/// The message that the object of an item waits for, and when it is due.
pub(super) fn next_message(
    tenant: &Tenant,
    id: &Id,
    item: &Item,
) -> Result<Option<(Timestamp, Message)>> {
    let Some(AttributeValue::S(at)) = item.get("next_at") else {
        return Ok(None);
    };
    let at = Timestamp::parse(at).map_err(Error::permanent)?;
    let message = match id.kind() {
        Some(Kind::Reservation) => of_reservation(tenant, &decode(item.clone())?),
        Some(Kind::ChargingSession) => of_session(tenant, &decode(item.clone())?),
        _ => of_kind(tenant, id),
    };
    Ok(message.map(|message| (at, message)))
}

/// The message that an object waits for as it is in the table now.
pub(super) async fn current_message(
    app: &App,
    tenant: &Tenant,
    id: &Id,
) -> Result<Option<Message>> {
    Ok(match id.kind() {
        Some(Kind::Reservation) => {
            let found = app.store.find::<Reservation>(tenant, id).await?;
            found.and_then(|stored| of_reservation(tenant, &stored))
        }
        Some(Kind::ChargingSession) => {
            let found = app.store.find::<ChargingSession>(tenant, id).await?;
            found.and_then(|stored| of_session(tenant, &stored))
        }
        _ => of_kind(tenant, id),
    })
}

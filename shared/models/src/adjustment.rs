//! Adjustments: what a charging network bills, or credits, for a session after the session's price was final, or for a reservation that was
//! not used after the reservation's fee was charged or invoiced.
//!
//! An adjustment is on the next invoice as a line of its own. It never changes, and is on at most one invoice that is not void.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::charging_session::ChargingSession;
use super::charging_session::network::Total;
use super::invoice::line_item::LineItem;
use super::network::ObjectId;
use super::reservation::Reservation;
use super::stored::{Object, Stored};
use kernel::id::{Id, Kind};
use kernel::money::Currency;
use kernel::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Adjustment {
    pub id: Id,
    pub object: Kind,
    /// What the network calls the CDR; empty for a session that is billed without one.
    pub cdr: String,
    pub created: Timestamp,
    /// Currency of the adjusted session.
    pub currency: Currency,
    /// Id of the fleet that is billed.
    pub fleet: Id,
    /// The line of the invoice that bills it; its amount is below zero for a credit.
    pub line: LineItem,
}

/// The internal state of an adjustment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdjustmentInternal {
    /// The invoice that has claimed it.
    pub invoice: Option<Id>,
}

impl Object for Adjustment {
    type Internal = AdjustmentInternal;

    const KIND: Kind = Kind::Adjustment;

    fn id(&self) -> &Id {
        &self.id
    }
}

impl Adjustment {
    /// What a CDR, or that there is none, adds to the price of a session that has ended; none for one that has not.
    pub fn of_session(
        session: &Stored<ChargingSession>,
        more: Total,
        cdr: Option<&ObjectId>,
        now: Timestamp,
    ) -> Option<Stored<Self>> {
        let id = Id::new(Kind::Adjustment, now);
        let cdr = cdr.map(|cdr| cdr.id().as_str());
        let line = LineItem::of_adjustment(&id, session, more, cdr)?;
        let session = &session.object;
        Some(Stored::new(Self {
            id,
            object: Kind::Adjustment,
            cdr: cdr.unwrap_or_default().to_owned(),
            created: now,
            currency: session.currency,
            fleet: session.fleet.clone(),
            line,
        }))
    }

    /// What a CDR adds to the fee of a reservation that was not used, in minor units; none for a reservation without a fleet.
    pub fn of_reservation(
        reservation: &Stored<Reservation>,
        more: i64,
        cdr: &ObjectId,
        now: Timestamp,
    ) -> Option<Stored<Self>> {
        let id = Id::new(Kind::Adjustment, now);
        let cdr = cdr.id().to_string();
        Some(Stored::new(Self {
            line: LineItem::of_fee_adjustment(&id, reservation, more, &cdr),
            id,
            object: Kind::Adjustment,
            cdr,
            created: now,
            currency: reservation.object.currency,
            fleet: reservation.internal.fleet.clone()?,
        }))
    }
}

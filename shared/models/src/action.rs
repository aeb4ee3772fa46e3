//! The actions that the service performs on stored objects without a request.

use kernel::Kind;

/// The next action on an object. Its time follows from the object's state ([`super::stored::Object::next_action`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Try to confirm a pending reservation, or to find another connector for a confirmed one.
    ConfirmReservation,
    /// Take the next step of a confirmed reservation at the network of its station.
    ReserveAtNetwork,
    /// Expire a confirmed reservation whose vehicle has not arrived.
    ExpireReservation,
    /// Charge the fee of a reservation that is over.
    ChargeFee,
    /// Extend the hold of a simulated session, or end the session.
    StopSession,
    /// Take the next step of a session at a network's station.
    OperateSession,
    /// Charge the payment method of a session that has ended.
    SettleSession,
    /// Finalize or resume the payment of an invoice, or report that it is overdue.
    CheckInvoice,
    /// Make an attempt to generate a report.
    GenerateReport,
    /// Send a pending refund, or finish a top-up.
    SettleTransaction,
    /// Draft the invoice and create the report of a period of a fleet that is over.
    BillFleet,
    /// Expire a charge card.
    ExpireCard,
    /// Pull the changed objects of a charging network.
    PullNetwork,
    /// Plan the deliveries of an event.
    PlanDeliveries,
    /// Probe a webhook endpoint that fails, or send the deliveries that were held for it.
    ResumeEndpoint,
    /// Replay events to a webhook endpoint.
    ReplayEvents,
    /// Execute the plan of a site and compute the plan again.
    PlanSite,
    /// Apply a credit of a charging network.
    ApplyCredit,
    /// Process the bodies of a batch.
    RunBatch,
}

impl Action {
    /// The action's part of the name of a schedule, at most ten characters.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ConfirmReservation => "confirm",
            Self::ReserveAtNetwork => "reserve",
            Self::ExpireReservation => "expire",
            Self::ChargeFee => "charge-fee",
            Self::StopSession => "stop",
            Self::OperateSession => "operate",
            Self::SettleSession => "settle",
            Self::CheckInvoice => "check",
            Self::GenerateReport => "generate",
            Self::SettleTransaction => "settle",
            Self::BillFleet => "bill",
            Self::ExpireCard => "expire",
            Self::PullNetwork => "pull",
            Self::PlanDeliveries => "plan",
            Self::ResumeEndpoint => "resume",
            Self::ReplayEvents => "replay",
            Self::PlanSite => "plan",
            Self::ApplyCredit => "credit",
            Self::RunBatch => "run",
        }
    }

    /// Returns the next actions that objects of a kind can have and that are scheduled.
    pub const fn of(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::Reservation => &[
                Self::ConfirmReservation,
                Self::ReserveAtNetwork,
                Self::ExpireReservation,
                Self::ChargeFee,
            ],
            Kind::ChargingSession => {
                &[Self::StopSession, Self::OperateSession, Self::SettleSession]
            }
            Kind::Invoice => &[Self::CheckInvoice],
            Kind::Report => &[Self::GenerateReport],
            Kind::Transaction => &[Self::SettleTransaction],
            Kind::Fleet => &[Self::BillFleet],
            Kind::ChargeCard => &[Self::ExpireCard],
            Kind::Network => &[Self::PullNetwork],
            Kind::WebhookEndpoint => &[Self::ResumeEndpoint],
            Kind::WebhookReplay => &[Self::ReplayEvents],
            Kind::Site => &[Self::PlanSite],
            Kind::Adjustment => &[Self::ApplyCredit],
            Kind::Batch => &[Self::RunBatch],
            _ => &[],
        }
    }
}

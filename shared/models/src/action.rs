//! What the service does about stored objects by itself, without a request.

/// The next step of an object at a moment that follows from its state ([`super::stored::Object::next_action`]).
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
    /// Pull what has changed at a charging network.
    PullNetwork,
    /// Plan the deliveries of an event.
    PlanDeliveries,
}

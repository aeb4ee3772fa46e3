//! The actions that the service performs on stored objects without a request.

use kernel::Kind;

macro_rules! actions {
    ($($(#[$doc:meta])* $variant:ident $name:literal $kind:ident,)*) => {
        /// The next action on an object. Its time follows from the object's state ([`super::stored::Object::next_action`]).
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Action { $($(#[$doc])* $variant,)* }

        impl Action {
            pub const ALL: &[Action] = &[$(Action::$variant,)*];

            /// The action's part of the name of a schedule, at most ten characters.
            pub const fn as_str(self) -> &'static str {
                match self { $(Action::$variant => $name,)* }
            }

            /// Returns the kind of the objects that the action is performed on.
            pub const fn kind(self) -> Kind {
                match self { $(Action::$variant => Kind::$kind,)* }
            }
        }
    };
}

actions! {
    /// Try to confirm a pending reservation, or to find another connector for a confirmed one.
    ConfirmReservation "confirm" Reservation,
    /// Take the next step of a confirmed reservation at the network of its station.
    ReserveAtNetwork "reserve" Reservation,
    /// Expire a confirmed reservation whose vehicle has not arrived.
    ExpireReservation "expire" Reservation,
    /// Charge the fee of a reservation that is over.
    ChargeFee "charge-fee" Reservation,
    /// Extend the hold of a simulated session, or end the session.
    StopSession "stop" ChargingSession,
    /// Take the next step of a session at a network's station.
    OperateSession "operate" ChargingSession,
    /// Charge the payment method of a session that has ended.
    SettleSession "settle" ChargingSession,
    /// Finalize or resume the payment of an invoice, or report that it is overdue.
    CheckInvoice "check" Invoice,
    /// Make an attempt to generate a report.
    GenerateReport "generate" Report,
    /// Send a pending refund, or finish a top-up.
    SettleTransaction "settle" Transaction,
    /// Draft the invoice and create the report of a period of a fleet that is over.
    BillFleet "bill" Fleet,
    /// Expire a charge card.
    ExpireCard "expire" ChargeCard,
    /// Pull the changed objects of a charging network.
    PullNetwork "pull" Network,
    /// Plan the deliveries of an event.
    PlanDeliveries "plan" Event,
    /// Probe a webhook endpoint that fails, or send the deliveries that were held for it.
    ResumeEndpoint "resume" WebhookEndpoint,
    /// Replay events to a webhook endpoint.
    ReplayEvents "replay" WebhookReplay,
    /// Execute the plan of a site and compute the plan again.
    PlanSite "plan" Site,
    /// Apply a credit of a charging network.
    ApplyCredit "credit" Adjustment,
    /// Process the bodies of a batch.
    RunBatch "run" Batch,
}

impl Action {
    /// Returns the next actions that objects of a kind can have.
    pub fn of(kind: Kind) -> impl Iterator<Item = Self> {
        let all = Self::ALL.iter().copied();
        all.filter(move |action| action.kind() == kind)
    }

    /// Checks whether a message with a schedule brings the action about. The relay itself plans the deliveries of an event.
    pub fn is_scheduled(self) -> bool {
        self != Self::PlanDeliveries
    }
}

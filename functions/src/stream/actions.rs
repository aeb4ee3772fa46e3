//! The jobs of next actions: the job that executes each action, and its message.

use kernel::{Id, Result, Tenant};
use models::Action;
use models::ports::{Message, action_schedule};

use crate::batches::run::RunBatch;
use crate::charge_cards::refresh::RefreshTokens;
use crate::charging_sessions::operate::OperateSession;
use crate::charging_sessions::settle::SettleSession;
use crate::charging_sessions::stop_at_limit::StopSession;
use crate::credit_notes::apply::ApplyCredit;
use crate::fleets::bill::BillFleet;
use crate::invoices::check::CheckInvoice;
use crate::job::{Job as _, registry};
use crate::networks::sync::SyncNetwork;
use crate::reports::generate::GenerateReport;
use crate::reservations::charge_fee::ChargeReservationFee;
use crate::reservations::confirm::ConfirmReservation;
use crate::reservations::expire::ExpireReservation;
use crate::reservations::outward::ReserveAtNetwork;
use crate::sites::execute::PlanSite;
use crate::transactions::settle::SettleTransaction;
use crate::webhooks::deliver::DeliverWebhook;
use crate::webhooks::replay::ReplayEvents;
use crate::webhooks::resume::ResumeEndpoint;

/// The message of a job; none for a job without fields, whose messages are sent otherwise.
macro_rules! message_of {
    ($job:ident { $($fields:tt)* }) => {
        Some($job { $($fields)* }.message()?)
    };
    ($job:ident) => {
        None
    };
}

/// Registers the job of each action, and fills it in for an object of a tenant.
macro_rules! jobs {
    ($tenant:ident, $id:ident: $($action:ident => $job:ident $({ $($fields:tt)* })?,)*) => {
        registry! {
            /// The jobs that objects wait for, and the job that the deliveries of an event wait for.
            pub(crate) const JOBS: $($job,)*
        }

        /// The message of the job that executes an action; none for the deliveries of an event, which the relay plans itself.
        pub(crate) fn message(tenant: &Tenant, id: &Id, action: Action) -> Result<Option<Message>> {
            let schedule = action_schedule(id, action);
            let ($tenant, $id) = (tenant.clone(), id.clone());
            let message = match action {
                $(Action::$action => message_of!($job $({ $($fields)* })?),)*
            };
            Ok(message.map(|message| Message { schedule, ..message }))
        }
    };
}

jobs! { tenant, id:
    ConfirmReservation => ConfirmReservation { tenant, reservation: id, request: None },
    ExpireReservation => ExpireReservation { tenant, reservation: id },
    ChargeFee => ChargeReservationFee { tenant, reservation: id },
    ReserveAtNetwork => ReserveAtNetwork { tenant, reservation: id },
    ExpireCard => RefreshTokens { tenant, of: id, after: None, is_page: false },
    StopSession => StopSession { tenant, session: id },
    SettleSession => SettleSession { tenant, session: id },
    OperateSession => OperateSession { tenant, session: id },
    PlanDeliveries => DeliverWebhook,
    ReplayEvents => ReplayEvents { tenant, replay: id },
    ResumeEndpoint => ResumeEndpoint { tenant, endpoint: id },
    GenerateReport => GenerateReport { tenant, report: id },
    CheckInvoice => CheckInvoice { tenant, invoice: id },
    ApplyCredit => ApplyCredit { tenant, adjustment: id },
    SettleTransaction => SettleTransaction { tenant, transaction: id },
    BillFleet => BillFleet { tenant, fleet: id },
    PullNetwork => SyncNetwork { mode: tenant.mode, network: id },
    PlanSite => PlanSite { tenant, site: id, request: 0 },
    RunBatch => RunBatch { tenant, batch: id },
}

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
use crate::job::{Job, RegisteredJob};
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

/// The jobs that objects wait for, and the job that the deliveries of an event wait for.
pub(crate) const JOBS: &[RegisteredJob] = &[
    RegisteredJob::of::<ConfirmReservation>(),
    RegisteredJob::of::<ExpireReservation>(),
    RegisteredJob::of::<ChargeReservationFee>(),
    RegisteredJob::of::<ReserveAtNetwork>(),
    RegisteredJob::of::<RefreshTokens>(),
    RegisteredJob::of::<StopSession>(),
    RegisteredJob::of::<SettleSession>(),
    RegisteredJob::of::<OperateSession>(),
    RegisteredJob::of::<DeliverWebhook>(),
    RegisteredJob::of::<ReplayEvents>(),
    RegisteredJob::of::<ResumeEndpoint>(),
    RegisteredJob::of::<GenerateReport>(),
    RegisteredJob::of::<CheckInvoice>(),
    RegisteredJob::of::<ApplyCredit>(),
    RegisteredJob::of::<SettleTransaction>(),
    RegisteredJob::of::<BillFleet>(),
    RegisteredJob::of::<SyncNetwork>(),
    RegisteredJob::of::<PlanSite>(),
    RegisteredJob::of::<RunBatch>(),
];

/// The message of the job that executes an action; none for the deliveries of an event, which the relay plans itself.
#[rustfmt::skip]
pub(crate) fn message(tenant: &Tenant, id: &Id, action: Action) -> Result<Option<Message>> {
    let schedule = action_schedule(id, action);
    let (mode, tenant, id) = (tenant.mode, tenant.clone(), id.clone());
    let message = match action {
        Action::ConfirmReservation => ConfirmReservation { tenant, reservation: id, request: None }.message(),
        Action::ReserveAtNetwork => ReserveAtNetwork { tenant, reservation: id }.message(),
        Action::ExpireReservation => ExpireReservation { tenant, reservation: id }.message(),
        Action::ChargeFee => ChargeReservationFee { tenant, reservation: id }.message(),
        Action::StopSession => StopSession { tenant, session: id }.message(),
        Action::OperateSession => OperateSession { tenant, session: id }.message(),
        Action::SettleSession => SettleSession { tenant, session: id }.message(),
        Action::CheckInvoice => CheckInvoice { tenant, invoice: id }.message(),
        Action::GenerateReport => GenerateReport { tenant, report: id }.message(),
        Action::SettleTransaction => SettleTransaction { tenant, transaction: id }.message(),
        Action::BillFleet => BillFleet { tenant, fleet: id }.message(),
        Action::ExpireCard => RefreshTokens::of(&tenant, &id).message(),
        Action::PullNetwork => SyncNetwork { mode, network: id }.message(),
        Action::ResumeEndpoint => ResumeEndpoint { tenant, endpoint: id }.message(),
        Action::ReplayEvents => ReplayEvents { tenant, replay: id }.message(),
        Action::ApplyCredit => ApplyCredit { tenant, adjustment: id }.message(),
        Action::PlanSite => PlanSite::when_due(tenant, id).message(),
        Action::RunBatch => RunBatch { tenant, batch: id }.message(),
        Action::PlanDeliveries => return Ok(None),
    };
    message.map(|message| Some(Message { schedule, ..message }))
}

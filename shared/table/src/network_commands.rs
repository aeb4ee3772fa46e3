//! Commands that were sent to networks, and their results.

use serde::{Deserialize, Serialize};

use super::item::{STATE, read_state, state};
use super::keys::Key;
use super::{Store, client, n, new_item};
use kernel::time::days;
use kernel::{Error, Id, Mode, Result, SignedDuration, Timestamp};
use models::charging_session::SessionFailedReason;
use models::network::Owner;
use models::ports::network::{
    CommandKind, CommandResponse, CommandResult, ReserveOutcome, Subject,
};

/// A command that was sent to a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SentCommand {
    pub id: Id,
    /// The party that it was sent to.
    pub to: Owner,
    pub command: CommandKind,
    /// The subject of the command, such as a charging session or a reservation.
    pub subject: Subject,
    pub sent: Timestamp,
    /// The operator's response; `None` while there is none, or if it could not be read.
    pub response: Option<CommandResponse>,
    /// The time after which the result counts as lost.
    pub deadline: Timestamp,
    /// The results in the order in which they arrived; [`SentCommand::result`] returns the effective one.
    pub results: Vec<CommandOutcome>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutcome {
    pub result: CommandResult,
    pub received: Timestamp,
}

/// The maximum number of results of one command that are kept.
const MAX_RESULTS: usize = 10;

/// The time for which a command is kept.
const COMMAND_KEPT: SignedDuration = days(30);

impl Store {
    /// Returns a command that was sent.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn command(&self, mode: Mode, id: &Id) -> Result<Option<SentCommand>> {
        let item = self.item(Key::NetworkCommand { mode, id }, true).await?;
        item.map(|item| read_state(&item)).transpose()
    }

    /// Stores a command before it is sent, and later with the operator's response.
    ///
    /// # Errors
    /// `Contended` if a result arrived in the meantime; `Unavailable` if DynamoDB cannot be reached.
    pub async fn put_command(
        &self,
        mode: Mode,
        command: &SentCommand,
        results_before: Option<usize>,
    ) -> Result<()> {
        let key = Key::NetworkCommand {
            mode,
            id: &command.id,
        };
        let mut item = new_item(key);
        item.insert(STATE.into(), state(command)?);
        item.insert("results".into(), n(command.results.len()));
        item.insert("version".into(), n(command.results.len() + 1));
        let expiry = command.sent.plus(COMMAND_KEPT);
        item.insert("ttl".into(), n(expiry.unix_seconds()));
        let put = self.client.put_item().table_name(&self.table);
        let put = put.set_item(Some(item));
        let put = match results_before {
            None => put.condition_expression("attribute_not_exists(pk)"),
            Some(before) => put
                .condition_expression("results = :before")
                .expression_attribute_values(":before", n(before)),
        };
        let put = put.send().await;
        client::if_met(put)?.map(drop).ok_or(Error::Contended)
    }
}

impl SentCommand {
    /// Returns the effective result: the first one, unless it is a time-out, after which the station may still have executed the command.
    pub fn result(&self) -> Option<CommandResult> {
        let mut results = self.results.iter().map(|outcome| outcome.result);
        let final_one = results
            .clone()
            .find(|result| *result != CommandResult::TimedOut);
        final_one.or_else(|| results.next())
    }

    /// Returns the outcome of a command to start a session: it was started, or the reason of the failure. Returns `None` while that is
    /// open, and for any other command.
    pub fn start_outcome(&self) -> Option<Result<(), SessionFailedReason>> {
        if self.command != CommandKind::Start {
            return None;
        }
        if self.is_refused() {
            return Some(Err(SessionFailedReason::NetworkRejected));
        }
        match self.result()? {
            CommandResult::Accepted => Some(Ok(())),
            CommandResult::TimedOut => None,
            CommandResult::OutOfOrder => Some(Err(SessionFailedReason::OutOfOrder)),
            CommandResult::Failed => Some(Err(SessionFailedReason::Other)),
            CommandResult::ReservationEnded
            | CommandResult::Occupied
            | CommandResult::NotSupported
            | CommandResult::Rejected
            | CommandResult::UnknownReservation
            | CommandResult::Unknown => Some(Err(SessionFailedReason::NetworkRejected)),
        }
    }

    /// Returns the outcome of a command to reserve an EVSE.
    pub fn reserve_outcome(&self) -> ReserveOutcome {
        let mut results = self.results.iter().map(|outcome| outcome.result);
        // A network may end a reservation that it has accepted.
        if results.any(|result| result == CommandResult::ReservationEnded) {
            return ReserveOutcome::Refused;
        }
        match self.result() {
            None | Some(CommandResult::TimedOut) => ReserveOutcome::Open,
            Some(CommandResult::Accepted) => ReserveOutcome::Kept,
            Some(_) => ReserveOutcome::Refused,
        }
    }

    /// Returns whether the charging point has accepted a profile; `None` while that is open, and for any other command.
    pub fn profile_outcome(&self) -> Option<bool> {
        if self.command != CommandKind::SetProfile {
            return None;
        }
        let refused = self.is_refused().then_some(false);
        refused.or_else(|| Some(self.result()? == CommandResult::Accepted))
    }

    /// Returns whether the charging point has cleared a profile, or has none.
    pub fn has_cleared_profile(&self) -> bool {
        let cleared = [CommandResult::Accepted, CommandResult::Unknown];
        self.command == CommandKind::ClearProfile
            && self
                .result()
                .is_some_and(|result| cleared.contains(&result))
    }

    fn is_refused(&self) -> bool {
        self.response
            .is_some_and(|response| response != CommandResponse::Accepted)
    }

    /// Adds a result that has arrived. Results after the tenth are ignored.
    pub fn add_result(&mut self, result: CommandResult, now: Timestamp) {
        if self.results.len() < MAX_RESULTS {
            self.results.push(CommandOutcome {
                result,
                received: now,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::{Kind, Tenant};
    use models::network::PartyId;

    fn command(command: CommandKind, results: &[CommandResult]) -> SentCommand {
        let now = Timestamp::from_unix_millis(1_800_000_000_000);
        let number = |kind| Id::from_number(kind, 1);
        let tenant = Tenant::new(number(Kind::Account), Mode::Test);
        let party = PartyId::new("NL", "EXA").unwrap();
        let mut sent = SentCommand {
            id: number(Kind::NetworkCommand),
            to: Owner::new(number(Kind::Network), party),
            command,
            subject: Subject::new(tenant, number(Kind::ChargingSession)),
            sent: now,
            response: Some(CommandResponse::Accepted),
            deadline: now,
            results: Vec::new(),
        };
        for result in results {
            sent.add_result(*result, now);
        }
        sent
    }

    #[test]
    fn the_result_after_a_time_out_decides_about_a_start() {
        use CommandResult::{Accepted, Failed, Occupied, OutOfOrder, TimedOut, Unknown};
        let start =
            |results: &[CommandResult]| command(CommandKind::Start, results).start_outcome();
        for open in [&[][..], &[TimedOut]] {
            assert_eq!(start(open), None);
        }
        assert_eq!(start(&[TimedOut, Accepted, Failed]), Some(Ok(())));
        for (result, reason) in [
            (OutOfOrder, SessionFailedReason::OutOfOrder),
            (Failed, SessionFailedReason::Other),
            (Occupied, SessionFailedReason::NetworkRejected),
            (Unknown, SessionFailedReason::NetworkRejected),
        ] {
            assert_eq!(start(&[result]), Some(Err(reason)));
        }
        assert_eq!(command(CommandKind::Stop, &[Failed]).start_outcome(), None);
    }

    #[test]
    fn an_accepted_reservation_can_end_at_the_station() {
        use CommandResult::{Accepted, Occupied, ReservationEnded, TimedOut};
        for (results, outcome) in [
            (&[][..], ReserveOutcome::Open),
            (&[TimedOut], ReserveOutcome::Open),
            (&[TimedOut, Accepted], ReserveOutcome::Kept),
            (&[Accepted, ReservationEnded], ReserveOutcome::Refused),
            (&[Occupied], ReserveOutcome::Refused),
        ] {
            let reserve = command(CommandKind::Reserve, results);
            assert_eq!(reserve.reserve_outcome(), outcome, "{results:?}");
        }
    }
}

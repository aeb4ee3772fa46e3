//! `GET /_local/events`: notices of changes as server-sent events, so that the console need not poll.
//!
//! Terms. A *notice* names the kind and the id of an object that has changed, and no other data: a client that needs more reads the
//! object with an API key. Notices concern the account and the mode of the run's API key, and charging stations, which belong to no
//! account and which every key of the mode may read. They are numbered from 1 in each run.
//!
//! Events of a connection. `ready` comes first: the account and the mode, a name of the run, the number of the last notice, and the
//! service's time. A client that has the same run and number has missed nothing. `change` is an object, `clock` is the service's time
//! after it was moved, and `heartbeat` is sent every 15 seconds to show that the connection is alive.
//!
//! Invariants. The relay reports a change after relaying it, so that its consequences can be read as well. At most [`KEPT`] notices
//! are in memory, for all connections together. A connection whose client reads too slowly loses the oldest ones and is sent `missed`
//! instead; the client then reads everything again. The connections end when the runner stops.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::stream::{Stream, unfold};
use kernel::{Id, Kind, Tenant, Timestamp};
use models::ports::Clock;
use serde::Serialize;
use serde_json::json;
use table::keys;
use tokio::sync::broadcast::{self, Receiver, Sender, error::RecvError};

use crate::session::of_own_origin;

pub const ROUTE: &str = "/_local/events";

/// The number of notices that are kept for connections that have not read them.
const KEPT: usize = 1_024;

/// The interval of heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The notices of a run.
pub struct Notices {
    tenant: Tenant,
    run: String,
    clock: Arc<dyn Clock>,
    /// The interval after which a connection without notices is sent an event.
    heartbeat: Duration,
    state: Mutex<Published>,
}

struct Published {
    /// The number of the last notice.
    last: u64,
    /// None after the runner has stopped.
    sender: Option<Sender<Notice>>,
}

#[derive(Debug, Clone)]
struct Notice {
    number: u64,
    subject: Subject,
}

/// The subject of a notice.
#[derive(Debug, Clone, PartialEq)]
enum Subject {
    Change(Object),
    Clock(Timestamp),
}

/// An object that has changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Object {
    object: Kind,
    id: Id,
}

impl Notices {
    /// Creates the notices of a run. `run` differs from the name of every other run.
    pub fn new(tenant: Tenant, run: String, clock: Arc<dyn Clock>) -> Self {
        let (sender, _) = broadcast::channel(KEPT);
        let state = Mutex::new(Published {
            last: 0,
            sender: Some(sender),
        });
        Self {
            tenant,
            run,
            clock,
            heartbeat: HEARTBEAT,
            state,
        }
    }

    /// The object that an item of the table belongs to, by the item's key. None for objects that the run's API key may not read.
    pub fn object_of(&self, (pk, sk): (&str, &str)) -> Option<Object> {
        let own = |tenant: &Tenant| *tenant == self.tenant;
        let of_tenant = keys::parse_object(pk)
            .or_else(|| keys::parse_event(pk, sk))
            .or_else(|| {
                keys::parse_delivery(pk, sk).map(|(tenant, _, delivery)| (tenant, delivery))
            });
        let id = match of_tenant {
            Some((tenant, id)) => own(&tenant).then_some(id),
            None => match keys::parse_station(pk) {
                Some((mode, station)) => (mode == self.tenant.mode).then_some(station),
                None => keys::parse_account(pk).filter(|account| *account == self.tenant.account),
            },
        }?;
        id.kind().map(|object| Object { object, id })
    }

    /// Notifies the connections of objects that have changed.
    pub fn changed(&self, objects: BTreeSet<Object>) {
        for object in objects {
            self.publish(Subject::Change(object));
        }
    }

    /// Notifies the connections of the new time after the clock was moved.
    pub fn moved(&self, now: Timestamp) {
        self.publish(Subject::Clock(now));
    }

    /// Ends the connections. Connections that are opened later end at once.
    pub fn end(&self) {
        self.state().sender = None;
    }

    fn publish(&self, subject: Subject) {
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        if let Some(sender) = &state.sender {
            // Sending fails if there are no connections.
            drop(sender.send(Notice { number, subject }));
        }
    }

    /// Returns the number of the last notice, and a receiver of those after it.
    fn subscribe(&self) -> (u64, Option<Receiver<Notice>>) {
        let state = self.state();
        let receiver = state.sender.as_ref().map(Sender::subscribe);
        (state.last, receiver)
    }

    fn state(&self) -> MutexGuard<'_, Published> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the events of a connection.
    fn connect(&self) -> impl Stream<Item = Result<Event, Infallible>> + use<> {
        let (last, receiver) = self.subscribe();
        let Tenant { account, mode } = &self.tenant;
        let now = self.clock.now();
        let ready =
            json!({"account": account, "mode": mode, "run": self.run, "last": last, "now": now});
        let first = event("ready", &ready);
        let heartbeat = self.heartbeat;
        unfold(
            (Some(first), receiver),
            move |(first, receiver)| async move {
                let mut receiver = receiver?;
                let event = match first {
                    Some(first) => first,
                    None => next(&mut receiver, heartbeat).await?,
                };
                Some((Ok(event), (None, Some(receiver))))
            },
        )
    }
}

/// Returns the next event of a connection. None when the runner stops.
async fn next(receiver: &mut Receiver<Notice>, heartbeat: Duration) -> Option<Event> {
    let received = tokio::time::timeout(heartbeat, receiver.recv()).await;
    match received {
        Ok(Ok(Notice { number, subject })) => {
            let event = match &subject {
                Subject::Change(object) => event("change", object),
                Subject::Clock(now) => event("clock", &json!({"now": now})),
            };
            Some(event.id(number.to_string()))
        }
        Ok(Err(RecvError::Lagged(_))) => Some(event("missed", &json!({}))),
        Ok(Err(RecvError::Closed)) => None,
        Err(_) => Some(event("heartbeat", &json!({}))),
    }
}

fn event(name: &str, data: &impl Serialize) -> Event {
    let data = serde_json::to_string(data);
    let data = data.unwrap_or_else(|_| unreachable!("texts and numbers are JSON"));
    Event::default().event(name).data(data)
}

/// `GET /_local/events`: streams the notices from now on.
pub async fn listen(State(notices): State<Arc<Notices>>) -> Response {
    of_own_origin(Sse::new(notices.connect()).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;
    use functions::aws::SystemClock;
    use futures::StreamExt as _;
    use kernel::Mode;

    fn notices() -> Notices {
        let account = Id::new(Kind::Account, SystemClock.now());
        let tenant = Tenant::new(account, Mode::Test);
        Notices::new(tenant, "a run".into(), Arc::new(SystemClock))
    }

    fn fleet() -> Object {
        Object {
            object: Kind::Fleet,
            id: Id::new(Kind::Fleet, SystemClock.now()),
        }
    }

    #[test]
    fn notices_are_of_the_account_its_mode_and_stations() {
        let notices = notices();
        let Object { id, .. } = fleet();
        let own = |mode: Mode, account: &Id| {
            let tenant = Tenant::new(account.clone(), mode);
            let key = keys::Key::Object {
                tenant: &tenant,
                id: &id,
            };
            let (pk, sk) = key.pair();
            notices.object_of((&pk, &sk)).map(|object| object.id)
        };
        let account = notices.tenant.account.clone();
        assert_eq!(own(Mode::Test, &account), Some(id.clone()));
        assert_eq!(own(Mode::Live, &account), None);
        let other = Id::new(Kind::Account, SystemClock.now());
        assert_eq!(own(Mode::Test, &other), None);

        let of_account = |id: &Id| notices.object_of((&format!("ACCOUNT#{id}"), "#"));
        assert!(of_account(&account).is_some() && of_account(&other).is_none());
        let station = Id::new(Kind::ChargingStation, SystemClock.now());
        let of_station = |mode: &str| notices.object_of((&format!("{mode}#{station}"), "#"));
        assert!(of_station("test").is_some() && of_station("live").is_none());
    }

    #[tokio::test]
    async fn a_slow_reader_misses_the_oldest_notices_and_is_told() {
        let notices = notices();
        let (last, receiver) = notices.subscribe();
        let mut receiver = receiver.unwrap();
        assert_eq!(last, 0);
        for _ in 0..KEPT + 10 {
            notices.changed([fleet()].into());
        }
        let is_missed = receiver.recv().await.unwrap_err();
        assert_eq!(is_missed, RecvError::Lagged(10));
        for number in 11..=(KEPT as u64) + 10 {
            assert_eq!(receiver.recv().await.unwrap().number, number);
        }
        assert!(receiver.is_empty());
        assert_eq!(notices.subscribe().0, (KEPT as u64) + 10);
    }

    #[tokio::test]
    async fn an_idle_connection_receives_heartbeats_until_the_end() {
        let mut notices = notices();
        notices.heartbeat = Duration::from_millis(10);
        let mut events = Box::pin(notices.connect());
        for _ in 0..3 {
            assert!(events.next().await.is_some());
        }
        notices.end();
        assert!(events.next().await.is_none());
        let mut later = Box::pin(notices.connect());
        assert!(later.next().await.is_none());
    }
}

//! The reactions of the network to a START_SESSION: results, reports and CDRs, which are planned at random and performed when they are due.

use kernel::time::{hours, minutes};
use kernel::{Id, Mode, Timestamp};
use serde_json::{Value, json};
use tests::faulty::Dice;
use tests::platform::Behaviour;
use tests::stage::Stage;

use super::{Act, Charge, Network};

impl Network {
    /// Chooses the responses to the next commands. The later actions may contradict them.
    pub(super) fn prepare_reactions(&mut self, dice: &Dice) {
        let mut script = self.cpo.script();
        while script.next_commands.len() < 6 {
            let respond = |result: &str| Behaviour::Respond {
                data: json!({"result": result, "timeout": 30}),
            };
            let say = |text: &str| Behaviour::Say { text: text.into() };
            script.next_commands.push_back(match dice.below(20) {
                0 => respond("REJECTED"),
                1 => Behaviour::Status { http: 500 },
                2 => Behaviour::Close,
                3 => say("<html>"),
                4 => say("{}"),
                _ => respond("ACCEPTED"),
            });
        }
    }

    pub(super) fn due(&self, now: Timestamp) -> Option<usize> {
        let due = self.agenda.iter().enumerate();
        let due = due.filter(|(_, (at, ..))| *at <= now);
        due.min_by_key(|(place, (at, ..))| (*at, *place))
            .map(|(place, _)| place)
    }

    /// Plans the consequences of a START_SESSION.
    pub(super) async fn plan(&mut self, stage: &Stage, command: Value) {
        let now = stage.app.now();
        let reference = command["authorization_reference"].as_str().expect("an id");
        let reference = Id::from(reference);
        let stored = stage.app.store.command(Mode::Test, &reference);
        let stored = stored.await.expect("the table").expect("the command");
        let session = stored.subject.id.to_string();
        let is_new = self.charges.iter().all(|charge| charge.session != session);
        assert!(is_new, "seed {}: {session} is started twice", stage.seed);
        let place = self.charges.len();
        let dice = &stage.dice;
        let mut plan = |at: Timestamp, act| self.agenda.push((at, place, act));
        // A random time between two numbers of minutes.
        let between = |low: u64, high: u64| minutes((low + dice.below(high - low)) as i64);
        for percent in [80, 15] {
            if dice.percent(percent) {
                let result = match dice.below(8) {
                    0 => "REJECTED",
                    1 => "FAILED",
                    2 => "TIMEOUT",
                    3 => "EVSE_OCCUPIED",
                    _ => "ACCEPTED",
                };
                plan(now.plus(between(0, 4)), Act::Result(result));
            }
        }
        let begins = dice.percent(80);
        let mut began = now;
        if begins {
            began = now.plus(if dice.percent(70) {
                between(0, 4)
            } else {
                between(4, 15)
            });
            plan(began, Act::Begin);
            for _ in 0..dice.below(4) {
                plan(began.plus(between(1, 300)), Act::Grow);
            }
        }
        let ended = began.plus(if dice.percent(85) {
            between(10, 600)
        } else {
            // The session continues for days.
            between(2 * 24 * 60, 6 * 24 * 60)
        });
        if begins && dice.percent(88) {
            plan(ended, Act::End);
        }
        if dice.percent(if begins { 80 } else { 20 }) {
            let billed = ended.plus(match dice.below(10) {
                0..=5 => between(0, 120),
                6 | 7 => between(60, 48 * 60),
                _ => between(73 * 60, 200 * 60),
            });
            plan(billed, Act::Bill);
            for (percent, act) in [
                (20, Act::Repeat),
                (10, Act::Forge),
                (25, Act::Bill),
                (25, Act::Credit),
                (10, Act::Credit),
            ] {
                if dice.percent(percent) {
                    plan(billed.plus(between(0, 90 * 60) - hours(3)), act);
                }
            }
        }
        self.charges.push(Charge {
            session,
            id: format!("S{place}"),
            command,
            began: now,
            sent: None,
            is_over: false,
            reports: Vec::new(),
            cdrs: Vec::new(),
            decisions: Vec::new(),
            ended: None,
        });
    }

    pub(super) async fn perform(&mut self, stage: &Stage, place: usize, act: Act) {
        let is_over = self.charges[place].is_over;
        match act {
            Act::Result(result) => self.give_result(stage, place, result).await,
            Act::Begin if !is_over => {
                self.charges[place].began = stage.app.now();
                self.report(stage, place, "ACTIVE").await;
            }
            Act::Grow if !is_over && self.charges[place].sent.is_some() => {
                self.grow(stage, place).await;
            }
            Act::End if !is_over => self.end(stage, place).await,
            Act::Bill => self.bill(stage, place).await,
            Act::Repeat | Act::Forge => self.bill_again(stage, place, act).await,
            Act::Credit => self.credit(stage, place).await,
            Act::Begin | Act::Grow | Act::End => {}
        }
    }

    async fn give_result(&self, stage: &Stage, place: usize, result: &str) {
        let url = self.charges[place].command["response_url"].as_str();
        let url = url.expect("a URL");
        let path = &url[url.find("/ocpi/").expect("a path")..];
        let body = json!({"result": result});
        self.send(stage, "POST", path, &body, 1000).await;
    }
}

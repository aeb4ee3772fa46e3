//! Each command to a network with each of its faults: the response is lost, never comes, is an error or cannot be parsed; the
//! station's result comes too late, twice, or out of order. Each case ends in one defined state, in time, and nothing is billed or
//! reserved twice.

use std::collections::BTreeSet;

use kernel::time::days;
use serde_json::{Value, json};
use tests::TestApp;
use tests::platform::{Behaviour, Connected, Received, send};

use crate::network_reservations::{CANCEL, RESERVE, is_at, reserved};
use crate::network_sessions::{Scene, energy, failed, is};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Lost,
    Fails(u16),
    Hangs,
    Malformed(&'static str),
    Late,
    Twice,
    Reordered,
}

use Fault::{Fails, Hangs, Late, Lost, Malformed, Reordered, Twice};

const FAULTS: [Fault; 10] = [
    Lost,
    Fails(500),
    Fails(503),
    Hangs,
    Malformed("<html>"),
    Malformed("{\"status_code\": 1000, \"timestamp\": \"2026-01-01T00:00:00Z\"}"),
    Malformed("{\"error\": \"none\"}"),
    Late,
    Twice,
    Reordered,
];

/// Sets the network's behaviour for the next command.
fn prepare(cpo: &Connected, fault: Fault) {
    let reaction = match fault {
        Lost => Behaviour::Close,
        Fails(status) => Behaviour::Status { http: status },
        Hangs => Behaviour::Hang,
        Malformed(text) => Behaviour::Say { text: text.into() },
        Late | Twice | Reordered => return,
    };
    cpo.script().next_commands.push_back(reaction);
}

/// The network sends the result of a command.
async fn result(app: &TestApp, cpo: &Connected, command: &Received, result: &str) {
    let url = command.body["response_url"].as_str().expect("a URL");
    let body = json!({"result": result});
    let answer = send(app, &cpo.token, "POST", url, Some(&body), &[]).await;
    assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
    app.drain().await;
}

/// The last command of a name.
fn last(scene: &Scene, name: &str) -> Received {
    scene.commands(name).pop().expect("a command")
}

#[tokio::test]
async fn a_start_fault_fails_the_session_and_bills_it_at_most_once() {
    let scene = Scene::new().await;
    let start = "START_SESSION";
    for (place, fault) in FAULTS.into_iter().enumerate() {
        prepare(&scene.cpo, fault);
        let session = scene.start().await;
        let command = last(&scene, start);
        let soon = match fault {
            Fails(_) => failed("other"),
            _ => is("pending"),
        };
        assert_eq!(scene.status(&session).await, soon, "{fault:?}");
        let (app, cpo) = (&scene.app, &scene.cpo);
        if fault == Twice {
            result(app, cpo, &command, "ACCEPTED").await;
            result(app, cpo, &command, "ACCEPTED").await;
        }
        if fault != Reordered {
            scene.app.advance(300).await;
            let late = match fault {
                Fails(_) => failed("other"),
                Twice => failed("not_plugged_in"),
                _ => failed("network_timeout"),
            };
            assert_eq!(scene.status(&session).await, late, "{fault:?}");
            if fault == Late {
                result(app, cpo, &command, "ACCEPTED").await;
                assert_eq!(scene.status(&session).await, late, "{fault:?}");
            }
            assert_eq!(scene.invoice().await.1, [], "{fault:?}");
        }
        // The command had its effect although it failed.
        let theirs = scene.session(json!({"id": format!("S{place}")}));
        scene.report(&theirs).await;
        assert_eq!(scene.status(&session).await, is("active"), "{fault:?}");
        if fault == Reordered {
            result(app, cpo, &command, "REJECTED").await;
            assert_eq!(scene.status(&session).await, is("active"), "{fault:?}");
        }
        scene.app.advance(3600).await;
        scene.complete(&theirs).await;
        let cdr = scene.cdr(&theirs, json!({"id": format!("C{place}")}));
        scene.bill(&cdr).await;
        assert_eq!(scene.status(&session).await, is("completed"), "{fault:?}");
        assert_eq!(scene.invoice().await.1, [energy(968)], "{fault:?}");
        assert_eq!(scene.commands(start).len(), place + 1, "{fault:?}");
    }
    assert!(scene.commands("STOP_SESSION").is_empty());
}

#[tokio::test]
async fn a_faulty_stop_is_repeated_until_the_network_reports_the_end() {
    let scene = Scene::new().await;
    let stop = "STOP_SESSION";
    for (place, fault) in FAULTS.into_iter().enumerate() {
        let session = scene.start().await;
        let theirs = scene.session(json!({"id": format!("S{place}")}));
        scene.report(&theirs).await;
        let before = scene.commands(stop).len();
        prepare(&scene.cpo, fault);
        scene.stop(&session).await.expect(200);
        assert_eq!(scene.commands(stop).len(), before + 1, "{fault:?}");
        assert_eq!(scene.status(&session).await, is("active"), "{fault:?}");
        let (app, cpo, command) = (&scene.app, &scene.cpo, last(&scene, stop));
        if fault == Twice {
            result(app, cpo, &command, "ACCEPTED").await;
            result(app, cpo, &command, "FAILED").await;
        }
        if fault != Reordered {
            // The session continues until the network reports otherwise.
            scene.app.advance(310).await;
            assert_eq!(scene.commands(stop).len(), before + 2, "{fault:?}");
            assert_eq!(scene.status(&session).await, is("active"), "{fault:?}");
        }
        scene.app.advance(3600).await;
        let sent = scene.commands(stop).len();
        scene.complete(&theirs).await;
        let cdr = scene.cdr(&theirs, json!({"id": format!("C{place}")}));
        scene.bill(&cdr).await;
        if matches!(fault, Late | Reordered) {
            result(app, cpo, &command, "REJECTED").await;
        }
        scene.app.advance(1800).await;
        assert_eq!(scene.commands(stop).len(), sent, "{fault:?}");
        assert_eq!(scene.status(&session).await, is("completed"), "{fault:?}");
        assert_eq!(scene.invoice().await.1, [energy(968)], "{fault:?}");
    }
}

/// The reservations at the network that the commands refer to.
fn named(commands: &[Received]) -> Vec<String> {
    let ids = commands.iter();
    let ids = ids.map(|command| command.body["reservation_id"].as_str().expect("an id"));
    ids.map(str::to_owned).collect()
}

/// The lines of an invoice of everything that was not invoiced.
async fn lines(app: &TestApp) -> Value {
    let now = app.now();
    let body = json!({"period_start": now.plus(days(-30)), "period_end": now, "currency": "eur"});
    let invoice = app.alice.post_ok("/v1/invoices", body).await;
    invoice["line_items"].clone()
}

#[tokio::test]
async fn a_faulty_reserve_now_leaves_one_reservation_at_the_network() {
    let mut stage = reserved().await;
    for (place, fault) in FAULTS.into_iter().enumerate() {
        if place > 0 {
            stage.reserve().await;
        }
        stage.until(16).await;
        let (before, cancelled) = (stage.sent(RESERVE).len(), stage.sent(CANCEL).len());
        prepare(&stage.cpo, fault);
        stage.until(15).await;
        let first = stage.sent(RESERVE)[before].clone();
        match fault {
            Twice => {
                stage.result(&first, "ACCEPTED").await;
                stage.result(&first, "ACCEPTED").await;
            }
            Reordered => {
                stage.result(&first, "CANCELED_RESERVATION").await;
                stage.result(&first, "ACCEPTED").await;
            }
            // The command has failed, and another one was sent at once.
            _ if stage.sent(RESERVE).len() > before + 1 => {}
            // Its result counts as lost after a minute.
            _ => {
                assert!(is_at(&stage.reservation().await, &first), "{fault:?}");
                stage.app.advance(65).await;
            }
        }
        let sent = stage.sent(RESERVE)[before..].to_vec();
        let times = if fault == Twice { 1 } else { 2 };
        assert_eq!(sent.len(), times, "{fault:?}");
        let kept = sent.last().expect("a command");
        if fault != Twice {
            assert_ne!(kept.body["evse_uid"], first.body["evse_uid"], "{fault:?}");
            stage.result(kept, "ACCEPTED").await;
            stage.result(&first, "ACCEPTED").await;
        }
        stage.app.advance(90).await;
        let reservation = stage.reservation().await;
        assert_eq!(reservation["status"], "confirmed", "{fault:?}");
        assert!(is_at(&reservation, kept), "{fault:?}: {reservation}");
        stage.cancel().await;
        stage.app.advance(3600).await;
        assert_eq!(stage.reservation().await["status"], "cancelled");
        // Each reservation that the network may have kept was cancelled once.
        let (all, ended) = (stage.sent(RESERVE), stage.sent(CANCEL));
        assert_eq!(all.len(), before + times, "{fault:?}");
        let (sent, ended) = (named(&sent), named(&ended[cancelled..]));
        assert_eq!(sent.len(), ended.len(), "{fault:?}");
        let set = |ids: Vec<String>| ids.into_iter().collect::<BTreeSet<String>>();
        assert_eq!(set(sent), set(ended), "{fault:?}");
    }
    assert_eq!(lines(&stage.app).await, json!([]));
}

#[tokio::test]
async fn a_cancellation_that_goes_wrong_cancels_and_is_not_repeated() {
    let mut stage = reserved().await;
    for (place, fault) in FAULTS.into_iter().enumerate() {
        if place > 0 {
            stage.reserve().await;
        }
        stage.until(15).await;
        let kept = stage.sent(RESERVE).pop().expect("a command");
        stage.result(&kept, "ACCEPTED").await;
        let (reserved, before) = (stage.sent(RESERVE).len(), stage.sent(CANCEL).len());
        prepare(&stage.cpo, fault);
        stage.cancel().await;
        assert_eq!(stage.reservation().await["status"], "cancelled");
        let command = stage.sent(CANCEL).pop().expect("a command");
        assert_eq!(command.body["reservation_id"], kept.body["reservation_id"]);
        let (app, cpo) = (&stage.app, &stage.cpo);
        match fault {
            Late => {
                stage.app.advance(600).await;
                result(app, cpo, &command, "UNKNOWN_RESERVATION").await;
            }
            Twice => {
                result(app, cpo, &command, "ACCEPTED").await;
                result(app, cpo, &command, "FAILED").await;
            }
            Reordered => result(app, cpo, &kept, "ACCEPTED").await,
            _ => {}
        }
        stage.app.advance(3600).await;
        assert_eq!(stage.reservation().await["status"], "cancelled");
        assert_eq!(stage.sent(CANCEL).len(), before + 1, "{fault:?}");
        assert_eq!(stage.sent(RESERVE).len(), reserved, "{fault:?}");
    }
    assert_eq!(lines(&stage.app).await, json!([]));
}

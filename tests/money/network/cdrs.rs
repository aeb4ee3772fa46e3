//! The CDRs that the network sends: correct, false, repeated, corrected and credited.

use kernel::Currency;
use kernel::time::{hours, minutes};
use serde_json::{Value, json};
use tests::platform::fixture;
use tests::stage::Stage;
use tests::with;

use super::{Act, Cdr, Charge, Network, by_tariff, code, kwh};

impl Network {
    /// Bills a session, or bills it again.
    pub(super) async fn bill(&mut self, stage: &Stage, place: usize) {
        let dice = &stage.dice;
        let wh = match dice.below(12) {
            0 => 0,
            1 => -5,
            _ => dice.below(60_000) as i64,
        };
        let tenths = match dice.below(16) {
            0 => 0,
            1 => -(dice.below(9_000) as i64),
            // An absurdly high amount.
            2 => 1_000_000_000_000_000,
            3..=8 => dice.below(200_000) as i64,
            _ => by_tariff(wh.max(0)) * 10,
        };
        let currency = self.currency(dice);
        let id = {
            let charge = &self.charges[place];
            let bills = charge.cdrs.iter().filter(|cdr| !cdr.is_credit).count();
            format!("{}-{}", charge.id, bills + 1)
        };
        self.send_cdr(stage, place, (id, tenths, currency, wh), None)
            .await;
    }

    /// Credits an amount that was billed, or will be.
    pub(super) async fn credit(&mut self, stage: &Stage, place: usize) {
        let (dice, charge) = (&stage.dice, &self.charges[place]);
        let bills = || charge.cdrs.iter().filter(|cdr| !cdr.is_credit);
        let last = bills().next_back();
        let billed = last.map_or(700, |cdr| cdr.gross.clamp(0, 1_000_000));
        let tenths = match dice.below(8) {
            0 => billed * 10,
            1 => -billed * 25,
            2 | 3 => -billed * 4,
            _ => -billed * 10,
        };
        let currency = last.map_or(self.currencies[0], |cdr| cdr.currency);
        let currency = if dice.percent(10) {
            self.currency(dice)
        } else {
            currency
        };
        let credited = last.map_or_else(|| format!("{}-1", charge.id), |cdr| cdr.id.clone());
        let credited = dice.percent(80).then_some(credited);
        let id = format!("{}-X{}", charge.id, charge.cdrs.len());
        self.send_cdr(stage, place, (id, tenths, currency, 0), Some(credited))
            .await;
    }

    /// Credits 40 % of one of these sessions, if one has a valid CDR that was not credited, and no decision about its price.
    pub async fn credit_one_of(&mut self, stage: &Stage, sessions: &[Value]) -> bool {
        let billed = |charge: &Charge| {
            let session = sessions
                .iter()
                .find(|session| session["id"] == charge.session)?;
            let [cdr] = &charge.cdrs[..] else {
                return None;
            };
            let is_plain = charge.decisions.is_empty() && session["review"].is_null();
            let is_final = session["cost_source"] == "cdr";
            let can_be_credited = cdr.is_usable && !cdr.is_credit && cdr.gross >= 10;
            (is_plain && is_final && can_be_credited)
                .then(|| (cdr.id.clone(), -cdr.gross * 4, cdr.currency))
        };
        let found = self.charges.iter().enumerate();
        let mut found = found.filter_map(|(place, charge)| Some((place, billed(charge)?)));
        let Some((place, (cdr, tenths, currency))) = found.next() else {
            return false;
        };
        let id = format!("{}-X", self.charges[place].id);
        let credit = (id, tenths, currency, 0);
        self.send_cdr(stage, place, credit, Some(Some(cdr))).await;
        true
    }

    /// Sends a CDR with its id, amount, currency and energy. A credit refers to the credited CDR.
    async fn send_cdr(
        &mut self,
        stage: &Stage,
        place: usize,
        (id, tenths, currency, wh): (String, i64, Currency, i64),
        credit: Option<Option<String>>,
    ) {
        let (dice, now) = (&stage.dice, stage.app.now());
        let (cost, gross) = self.cost(dice, tenths, currency);
        let charge = &self.charges[place];
        let own = format!("/v1/charging_sessions/{}", charge.session);
        let own = stage.get(&own).await["status"].clone();
        // If the service already has the session, the CDR need not contain the command's reference.
        let is_known = charge.sent.is_some() && (own == "active" || own == "completed");
        let command = &charge.command;
        let reference = if is_known && dice.percent(15) {
            Value::Null
        } else {
            command["authorization_reference"].clone()
        };
        let named = if !reference.is_null() && dice.percent(10) {
            Value::Null
        } else {
            json!(charge.id)
        };
        let ended = match dice.below(8) {
            0 => charge.began.plus(hours(-2)),
            1 => now.plus(hours(2)),
            _ => now,
        };
        // A correction may be older than the CDR that it corrects.
        let updated = if dice.percent(15) {
            now.plus(-minutes(1 + dice.below(3000) as i64))
        } else {
            now
        };
        let mut location = fixture("cdr")["cdr_location"].clone();
        location["evse_uid"] = command["evse_uid"].clone();
        let tokens = self.token(&command["token"]);
        let body = with(
            fixture("cdr"),
            json!({"party_id": self.party, "id": id, "session_id": named, "start_date_time": charge.began,
                "end_date_time": ended, "cdr_token": tokens, "cdr_location": location, "charging_periods": [],
                "tariffs": [], "authorization_reference": reference, "currency": code(currency), "total_cost": cost,
                "total_energy": kwh(wh), "total_time": 1, "credit": credit.is_some(),
                "credit_reference_id": credit.clone().flatten(), "last_updated": updated}),
        );
        self.send(stage, "POST", "/ocpi/2.2.1/cdrs", &body, 1000)
            .await;
        self.charges[place].cdrs.push(Cdr {
            id,
            body,
            sent: now,
            is_usable: wh >= 0 && tenths.abs() < 1_000_000_000_000,
            wh,
            gross,
            currency,
            is_credit: credit.is_some(),
            credits: credit.flatten(),
        });
    }

    /// Sends a CDR a second time. A CDR with changed content is refused, because CDRs do not change.
    pub(super) async fn bill_again(&self, stage: &Stage, place: usize, act: Act) {
        let cdrs: Vec<&Cdr> = self.charges[place].cdrs.iter().collect();
        let Some(cdr) = stage.one_of(&cdrs) else {
            return;
        };
        let (body, code) = match act {
            Act::Forge => {
                let cost = json!({"excl_vat": 77, "incl_vat": 88});
                (with(cdr.body.clone(), json!({"total_cost": cost})), 2001)
            }
            _ => (cdr.body.clone(), 1000),
        };
        self.send(stage, "POST", "/ocpi/2.2.1/cdrs", &body, code)
            .await;
    }
}

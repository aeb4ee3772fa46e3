//! Objects that a test needs: stations, bodies of requests, and items that no client could write.

use kernel::time::{hours, minutes};
use kernel::{Currency, Id, Kind, Money, Origin, Tenant};
use models::charging_session::SessionInternal;
use models::payment_method::PaymentMethodInternal;
use models::{ChargingSession, PaymentMethod, Stored, Transaction};
use serde_json::{Value, json};
use table::keys::Partition;
use table::list::PageRequest;
use table::stored_item::Record;

use crate::{Client, Crew, TestApp, cables, with};

impl TestApp {
    /// A fleet, a driver attached to it, and a Type2 vehicle in it.
    pub async fn crew(&self, client: &Client) -> Crew {
        client.crew().await
    }

    /// Adds a station with two free Type2 connectors of 22 kW, `1` and `2`, at 45 pence per kWh with 20 % VAT included. It is at 10°,
    /// 10°, far from all others.
    pub async fn station(&self, change: Value) -> String {
        self.station_in(&self.alice, change).await
    }

    /// The same station, in the mode of the client's key.
    pub async fn station_in(&self, client: &Client, change: Value) -> String {
        let id = Id::new(Kind::ChargingStation, self.now()).to_string();
        self.import_station(client.tenant(), &id, change).await;
        id
    }

    /// Adds a station with two EVSEs: `A` has the Type2 connectors `1` and `2`, `B` has `3`. Otherwise it is as
    /// [`TestApp::station`] makes it.
    pub async fn station_with_cables(&self, change: Value) -> String {
        self.station(with(json!({"connectors": cables()}), change))
            .await
    }

    /// Imports the station again, with these members and otherwise as [`TestApp::station`] creates it.
    pub async fn change_station(&self, id: &str, change: Value) {
        self.import_station(self.alice.tenant(), id, change).await;
    }

    async fn import_station(&self, tenant: Tenant, id: &str, change: Value) {
        let connector =
            |id: &str| json!({"id": id, "power": 22.0, "status": "available", "type": "Type2"});
        let station = json!({
            "id": id, "object": "charging_station", "created": self.now(), "updated": self.now(), "name": "Depot",
            "address": {"line1": "1 Dock Road", "city": "London", "postal_code": "E16 1AA", "country": "GB"},
            "availability": {"connectors_available": 2, "connectors_total": 2, "opening_hours": [], "range": []},
            "capabilities": {"24_7_access": true, "amenities": [], "payment_methods": [], "requires_membership": false,
                "reservable": true},
            "connectors": [connector("1"), connector("2")], "location": {"latitude": 10.0, "longitude": 10.0},
            "operator": "Voltway", "operator_contact": "", "status": "active", "timezone": "UTC",
            "pricing": [{"currency": "gbp", "price": 45, "step_size": 1, "tax": "vat", "tax_included": true,
                "tax_percent": "20", "type": "ENERGY"}],
        });
        let station = serde_json::from_value(with(station, change)).expect("a station");
        let origin = kernel::Origin::background(tenant, self.now());
        let imported = self.app().store.import_stations(&origin, vec![station]);
        imported.await.expect("the station is stored");
    }

    /// The body of a session on a station's first connector.
    pub fn session(&self, crew: &Crew, station: &str) -> Value {
        json!({"charging_station": station, "connector": "1", "driver": crew.driver, "vehicle": crew.vehicle})
    }

    /// The body of a reservation this number of minutes ahead, for an hour in central London, where demo stations are.
    pub fn reservation(&self, crew: &Crew, minutes: i64) -> Value {
        json!({
            "driver": crew.driver, "vehicle": crew.vehicle, "connector_type": ["Type2"],
            "ideal_start": self.in_minutes(minutes), "ideal_end": self.in_minutes(minutes + 60),
            "location": {"latitude": 51.507, "longitude": -0.128, "radius": 8000},
        })
    }

    /// Writes an item of alice's that no client could write.
    pub(super) async fn store<T: Record>(&self, mut stored: Stored<T>) -> String {
        let tenant = self.alice.tenant();
        let origin = Origin::background(tenant, self.now());
        self.app()
            .store
            .create(&origin, &mut stored)
            .await
            .expect("the object is stored");
        stored.object.id().to_string()
    }

    /// A session that ended a moment ago, with 30 kWh for 11.90, with changed members.
    pub async fn completed_session(&self, crew: &Crew, change: Value) -> String {
        let now = self.now();
        let started = now.plus(hours(-2));
        // The time of new ids never lies in the past.
        let seed = Id::new(Kind::ChargingSession, now);
        let id = Id::derived(Kind::ChargingSession, started, seed.as_str());
        let session = json!({"id": id, "amount_due": 1190, "amount_paid": 0,
            "charging_station": Id::from_number(Kind::ChargingStation, 1), "connector": "1", "country": "GB",
            "created": started, "currency": "usd", "driver": crew.driver, "energy_consumed": 30_000, "fleet": crew.fleet,
            "power": 22.0, "session_ended": now.plus(minutes(-1)), "session_started": started, "started_by": "api",
            "status": "completed", "updated": now, "vehicle": crew.vehicle});
        let mut session = with(session, change);
        let (due, paid) = (&session["amount_due"], &session["amount_paid"]);
        let gross = due.as_i64().expect("an amount") + paid.as_i64().expect("an amount");
        let (status, ended) = (&session["status"], &session["session_ended"]);
        let charged = json!({"energy": session["energy_consumed"]});
        let cost = json!({"total": {"net": gross.min(1000), "gross": gross}, "paid": paid, "source": "tariff"});
        session["state"] = match status.as_str() {
            Some("completed") => {
                json!({"status": status, "ended": ended, "charged": charged, "cost": cost,
                "settlement": {"final": {"at": ended}}})
            }
            Some("failed") => json!({"status": status, "ended": ended, "charged": charged}),
            _ => {
                json!({"status": status, "charged": charged, "cost": cost, "operated_by": {"network": {"heard_at": now}}})
            }
        };
        let session: ChargingSession = serde_json::from_value(session).expect("a session");
        let internal = SessionInternal {
            evse: "1".to_owned(),
            ..SessionInternal::default()
        };
        self.store(Stored::with_internal(session, internal)).await
    }

    /// Creates a card of alice's account with this token, with changed members.
    pub async fn payment_method(&self, token: &str, change: Value) -> String {
        let now = self.now();
        let method = json!({"id": Id::new(Kind::PaymentMethod, now), "object": "payment_method", "card": null,
            "created": now, "driver": null, "fleet": null, "metadata": {}, "type": "card", "updated": now});
        let method: PaymentMethod = serde_json::from_value(with(method, change)).expect("a method");
        let internal = PaymentMethodInternal {
            token: Some(token.to_owned()),
            customer: None,
        };
        self.store(Stored::with_internal(method, internal)).await
    }

    /// A client's transactions in test mode, newest first.
    pub async fn transactions(&self, client: &Client) -> Vec<Transaction> {
        let tenant = client.tenant();
        let partition = Partition::Kind {
            tenant: &tenant,
            kind: Kind::Transaction,
        };
        let (store, page_request) = (&self.app().store, PageRequest::first(100));
        let found = store.list(partition, &page_request, vec![]).await;
        let transactions = found.expect("a list").items.into_iter();
        transactions
            .map(|stored: Stored<Transaction>| stored.object)
            .collect()
    }

    /// A transaction of the client's account, as a charge would create it.
    pub async fn transaction(&self, client: &Client, movement: Value) -> String {
        use models::Transaction;
        use models::transaction::{Movement, TransactionStatus, TransactionType};
        let id = |name: &str| movement[name].as_str().map(Id::from);
        let movement = Movement {
            kind: TransactionType::Charge,
            amount: Money::new(1250, Currency::USD),
            description: "Charging".into(),
            payment_method: id("payment_method"),
            driver: id("driver"),
            fleet: id("fleet"),
            vehicle: id("vehicle"),
            charging_session: None,
        };
        let status = if movement.driver.is_some() {
            TransactionStatus::Succeeded
        } else {
            TransactionStatus::Failed
        };
        let transaction = Transaction::new(movement, status, self.now());
        let id = transaction.id.to_string();
        let tenant = client.tenant();
        let origin = kernel::origin::Origin::background(tenant, self.now());
        let mut tx = self.app().store.begin(&origin);
        let internal = models::transaction::TransactionInternal::charged("a sample".into());
        let mut stored = Stored::with_internal(transaction, internal);
        tx.create(&mut stored).expect("an item of the transaction");
        tx.commit_without_response()
            .await
            .expect("the transaction is stored");
        id
    }
}

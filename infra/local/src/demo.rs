//! The tenant of the sample events in `events/`: an account with a key, a fleet, a driver, a vehicle, a payment method, a transaction
//! and a policy, with the ids that the samples use. It exists in embedded tables only, so its well-known key gives no access to
//! anything else.

use kernel::{Error, Id, Kind, Money, Origin, Result, Timestamp};
use models::api_key::{ApiKeyInternal, Scope, Secret};
use models::transaction::{Movement, TransactionInternal, TransactionStatus, TransactionType};
use models::{Account, ApiKey, Driver, Fleet, PaymentMethod, Policy, Stored, Transaction, Vehicle};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use functions::App;

/// The key of the tenant.
pub const KEY: &str =
    "sk_test_01a1f00000007000800000000000000100000000000000000000000000000de03535f1d9";

/// The number in the account's id; the numbers of the other objects follow it.
const FIRST: u128 = 0x01a1_f000_0000_7000_8000_0000_0000_0001;

/// Creates the tenant, unless it exists.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn create(app: &App) -> Result<()> {
    let (secret, tenant) =
        Secret::parse(KEY).ok_or_else(|| Error::internal("the sample key is malformed"))?;
    let account = app.store.find::<Account>(&tenant, &tenant.account).await?;
    if account.is_some() {
        return Ok(());
    }
    let now = app.now();
    let mut account = Account::new(
        body(json!({"name": "Sample account", "email": "ops@fleet.example", "type": "business"}))?,
        now,
    )?;
    account.id = tenant.account.clone();
    let new = body(json!({"name": "Sample fleet", "email": "ops@fleet.example",
        "address": {"line1": "1 Bow Road", "city": "London", "postal_code": "E3 4LH", "country": "GB"}}))?;
    let mut fleet = Fleet::new(new, &account, now)?;
    fleet.clear_events();
    fleet.object.id = id(Kind::Fleet, 1);
    let new = body(json!({"name": "Sample driver", "email": "driver@fleet.example"}))?;
    let mut driver = Driver::new(new, &account, now)?;
    driver.clear_events();
    driver.object.id = id(Kind::Driver, 2);
    let new = body(
        json!({"fleet": fleet.object.id, "registration_plate": "AB12 CDE", "vin": "WVWZZZ1KZAW000001",
        "battery_capacity": 60_000, "charging_standard": "Type2", "drivers": [driver.object.id]}),
    )?;
    let mut vehicle = Vehicle::new(new, now)?;
    vehicle.clear_events();
    vehicle.object.id = id(Kind::Vehicle, 3);
    fleet.object.total_vehicles = 1;
    driver.object.vehicles.push(vehicle.object.id.clone());
    let details = app.payments.of(tenant.mode)?.method("tok_success").await?;
    let new = body(json!({"type": "card", "token": "tok_success"}))?;
    let (mut method, token) = PaymentMethod::new(new, details.unwrap_or_default(), now)?;
    method.id = id(Kind::PaymentMethod, 9);
    let mut charge = charge(&driver.object, &vehicle.object, &method.id, now);
    let new = body(json!({"name": "Sample policy", "rules": {"max_price_per_kwh": 100}}))?;
    let mut policy = Policy::new(new, now)?;
    policy.clear_events();
    policy.object.id = id(Kind::Policy, 11);
    let origin = Origin::background(tenant, now);
    let mut tx = app.store.begin(&origin);
    tx.create(&mut Stored::new(account))?;
    tx.create(&mut api_key(&secret, now))?;
    tx.create(&mut fleet)?;
    tx.create(&mut driver)?;
    tx.create(&mut vehicle)?;
    tx.create(&mut Stored::with_internal(method, token))?;
    tx.create(&mut charge)?;
    tx.create(&mut policy)?;
    tx.commit_without_response().await
}

fn charge(driver: &Driver, vehicle: &Vehicle, method: &Id, now: Timestamp) -> Stored<Transaction> {
    let movement = Movement {
        kind: TransactionType::Charge,
        amount: Money::new(1_250, driver.preferences.currency),
        description: "Charging".into(),
        payment_method: Some(method.clone()),
        driver: Some(driver.id.clone()),
        fleet: Some(vehicle.fleet.clone()),
        vehicle: Some(vehicle.id.clone()),
        charging_session: None,
    };
    let mut transaction = Transaction::new(movement, TransactionStatus::Succeeded, now);
    transaction.id = id(Kind::Transaction, 10);
    let internal = TransactionInternal::charged("a sample".to_owned());
    Stored::with_internal(transaction, internal)
}

fn api_key(secret: &Secret, now: Timestamp) -> Stored<ApiKey> {
    let key = ApiKey {
        id: id(Kind::ApiKey, 7),
        object: Kind::ApiKey,
        created: now,
        expires_at: None,
        last4: KEY[KEY.len() - 4..].to_owned(),
        last_used: None,
        livemode: false,
        scopes: vec![Scope::Everything],
        secret: None,
    };
    let internal = ApiKeyInternal {
        hash: secret.hash(),
        version: None,
    };
    Stored::with_internal(key, internal)
}

/// The id of an object of the tenant.
fn id(kind: Kind, number: u128) -> Id {
    Id::from_number(kind, FIRST + number)
}

fn body<T: DeserializeOwned>(body: Value) -> Result<T> {
    serde_json::from_value(body).map_err(Error::internal)
}

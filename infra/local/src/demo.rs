//! The tenant of the sample events in `events/`: an account with a key, a fleet, a driver, a vehicle, a payment method, a
//! transaction and a policy, under the ids the samples name. It exists on embedded tables only, so its well-known key opens
//! nothing else.

use kernel::error::{Error, Result};
use kernel::money::Money;
use kernel::origin::Origin;
use models::account::Account;
use models::api_key::{ApiKey, ApiKeyInternal, Scope, Secret};
use models::driver::Driver;
use models::fleet::Fleet;
use models::payment_method::PaymentMethod;
use models::policy::Policy;
use models::transaction::{
    Movement, Transaction, TransactionInternal, TransactionStatus, TransactionType,
};
use models::vehicle::Vehicle;
use serde_json::json;

use functions::App;
use kernel::{Id, Kind};
use models::stored::Stored;

/// The key of the tenant.
pub const KEY: &str =
    "sk_test_01a1f00000007000800000000000000100000000000000000000000000000de03535f1d9";

/// The number in the account's id; the others follow.
const FIRST: u128 = 0x01a1_f000_0000_7000_8000_0000_0000_0001;

/// Makes the tenant, where it is not there yet.
pub async fn create(app: &App) -> Result<()> {
    let (secret, tenant) =
        Secret::parse(KEY).ok_or_else(|| Error::internal("the sample key is malformed"))?;
    if app
        .store
        .find::<Account>(&tenant, &tenant.account)
        .await?
        .is_some()
    {
        return Ok(());
    }
    let now = app.now();
    let origin = Origin::background(tenant.clone(), now);
    let body = json!({"name": "Sample account", "email": "ops@fleet.example", "type": "business"});
    let mut account = Account::new(serde_json::from_value(body).map_err(Error::internal)?, now)?;
    account.id = tenant.account.clone();
    let body = json!({"name": "Sample fleet", "email": "ops@fleet.example",
        "address": {"line1": "1 Bow Road", "city": "London", "postal_code": "E3 4LH", "country": "GB"}});
    let mut fleet = Fleet::new(
        serde_json::from_value(body).map_err(Error::internal)?,
        &account,
        now,
    )?;
    fleet.clear_events();
    fleet.object.id = Id::from_number(Kind::Fleet, FIRST + 1);
    let body = json!({"name": "Sample driver", "email": "driver@fleet.example"});
    let mut driver = Driver::new(
        serde_json::from_value(body).map_err(Error::internal)?,
        &account,
        now,
    )?;
    driver.clear_events();
    driver.object.id = Id::from_number(Kind::Driver, FIRST + 2);
    let body = json!({"fleet": fleet.object.id, "registration_plate": "AB12 CDE", "vin": "WVWZZZ1KZAW000001",
        "battery_capacity": 60_000, "charging_standard": "Type2", "drivers": [driver.object.id]});
    let mut vehicle = Vehicle::new(serde_json::from_value(body).map_err(Error::internal)?, now)?;
    vehicle.clear_events();
    vehicle.object.id = Id::from_number(Kind::Vehicle, FIRST + 3);
    fleet.object.total_vehicles = 1;
    driver.object.vehicles.push(vehicle.object.id.clone());
    let body = json!({"type": "card", "token": "tok_success"});
    let known = app.payments.of(tenant.mode)?.method("tok_success").await?;
    let body = serde_json::from_value(body).map_err(Error::internal)?;
    let (mut method, token) = PaymentMethod::new(body, known.unwrap_or_default(), now)?;
    method.id = Id::from_number(Kind::PaymentMethod, FIRST + 9);
    let movement = Movement {
        kind: TransactionType::Charge,
        amount: Money::new(1_250, driver.object.preferences.currency),
        description: "Charging".into(),
        payment_method: Some(method.id.clone()),
        driver: Some(driver.object.id.clone()),
        fleet: Some(fleet.object.id.clone()),
        vehicle: Some(vehicle.object.id.clone()),
        charging_session: None,
    };
    let mut transaction = Transaction::new(movement, TransactionStatus::Succeeded, now);
    transaction.id = Id::from_number(Kind::Transaction, FIRST + 10);
    let body = json!({"name": "Sample policy", "rules": {"max_price_per_kwh": 100}});
    let mut policy = Policy::new(serde_json::from_value(body).map_err(Error::internal)?, now)?;
    policy.clear_events();
    policy.object.id = Id::from_number(Kind::Policy, FIRST + 11);
    let key = ApiKey {
        id: Id::from_number(Kind::ApiKey, FIRST + 7),
        object: Kind::ApiKey,
        created: now,
        expires_at: None,
        last4: KEY[KEY.len() - 4..].to_owned(),
        last_used: None,
        livemode: false,
        scopes: vec![Scope::Everything],
        secret: None,
    };
    let mut tx = app.store.begin(&origin);
    tx.create(&mut Stored::new(account))?;
    tx.create(&mut Stored::with_internal(
        key,
        ApiKeyInternal {
            hash: secret.hash(),
            version: None,
        },
    ))?;
    tx.create(&mut fleet)?;
    tx.create(&mut driver)?;
    tx.create(&mut vehicle)?;
    tx.create(&mut Stored::with_internal(method, token))?;
    tx.create(&mut Stored::with_internal(
        transaction,
        TransactionInternal::charged("a sample".to_owned()),
    ))?;
    tx.create(&mut policy)?;
    tx.commit_without_response().await
}

//! Checks that what a body names is there, and what follows from it.

use shared::models::account::Account;
use shared::models::charging_session::{ChargingSession, SessionStatus};
use shared::models::driver::{Driver, DriverPreferencesChange};
use shared::models::fleet::Fleet;
use shared::models::patch::Change;
use shared::models::reservation::{Reservation, ReservationStatus};
use shared::models::vehicle::Vehicle;
use shared::money::Currency;
use shared::origin::{Origin, Tenant};
use shared::store::keys::Partition;
use shared::store::list::Slice;
use shared::store::row::Row;
use shared::time::DAY;
use shared::{App, Error, Id, Kind};

/// 404 `policy_not_found` unless every policy is there.
pub async fn policies(app: &App, tenant: &Tenant, ids: Option<&[Id]>) -> Result<(), Error> {
    all(
        app,
        tenant,
        Kind::Policy,
        "policy_ids",
        ids.unwrap_or_default(),
    )
    .await
}

/// 404 `payment_method_not_found` unless it is there.
pub async fn payment_method(app: &App, tenant: &Tenant, id: Option<&Id>) -> Result<(), Error> {
    match id {
        Some(id) => {
            all(
                app,
                tenant,
                Kind::PaymentMethod,
                Kind::PaymentMethod.name(),
                std::slice::from_ref(id),
            )
            .await
        }
        None => Ok(()),
    }
}

/// 404 for a payment method or a preferred station that is not there.
pub async fn driver_preferences(
    app: &App,
    tenant: &Tenant,
    change: Option<&DriverPreferencesChange>,
) -> Result<(), Error> {
    let Some(change) = change else {
        return Ok(());
    };
    payment_method(app, tenant, change.default_payment_method.value()).await?;
    match &change.preferred_charging_stations {
        Change::Set(ids) => {
            all(
                app,
                tenant,
                Kind::ChargingStation,
                "preferences.preferred_charging_stations",
                ids,
            )
            .await
        }
        Change::Keep => Ok(()),
    }
}

async fn all(app: &App, tenant: &Tenant, kind: Kind, param: &str, ids: &[Id]) -> Result<(), Error> {
    if ids.is_empty() || ids.len() > shared::models::MAX_LIST {
        return Ok(());
    }
    let mut distinct = ids.to_vec();
    distinct.sort();
    distinct.dedup();
    match app.store.missing(tenant, kind, &distinct).await? {
        Some(_) => Err(Error::not_found(kind).at(param)),
        None => Ok(()),
    }
}

/// The currency of what a driver does with a vehicle: the driver's own choice, else the fleet's, else the account's.
pub async fn currency(
    app: &App,
    tenant: &Tenant,
    driver: &Row<Driver>,
    vehicle: &Vehicle,
) -> Result<Currency, Error> {
    if driver.private.currency_chosen {
        return Ok(driver.object.preferences.currency);
    }
    match app.store.find::<Fleet>(tenant, &vehicle.fleet).await? {
        Some(fleet) => Ok(fleet.object.preferences.default_currency),
        None => Ok(app
            .store
            .get::<Account>(tenant, &tenant.account)
            .await?
            .object
            .default_currency),
    }
}

/// How far back a session may have started that is still under way, in milliseconds: it lasts a day at most, and whoever
/// ends it may come late.
const UNDER_WAY: i64 = 2 * DAY;

/// The session of a driver or vehicle that is under way, if there is one.
pub async fn charging(
    app: &App,
    origin: &Origin,
    kind: Kind,
    id: &Id,
    fleet: Option<&Id>,
) -> Result<Option<Id>, Error> {
    let (tenant, session) = (&origin.tenant, Kind::ChargingSession);
    let partition = match fleet {
        Some(fleet) => Partition::Fleet {
            tenant,
            fleet,
            kind: session,
        },
        None => Partition::Kind {
            tenant,
            kind: session,
        },
    };
    let filter = vec![
        ("status", SessionStatus::Active.as_str().to_owned()),
        (kind.name(), id.to_string()),
    ];
    let mut slice = Slice::first(1);
    slice.range.0 = Id::first_number(origin.now.plus_millis(-UNDER_WAY));
    let found = app
        .store
        .list::<ChargingSession>(partition, &slice, filter)
        .await?;
    Ok(found.rows.into_iter().next().map(|row| row.object.id))
}

/// 409 while a session of this driver or vehicle is under way.
pub async fn not_charging(app: &App, origin: &Origin, kind: Kind, id: &Id) -> Result<(), Error> {
    match charging(app, origin, kind, id, None).await? {
        Some(session) => {
            let message = format!("The session {session} is under way.");
            Err(Error::conflict(message, Some(kind.name())))
        }
        None => Ok(()),
    }
}

/// 409 while a pending or confirmed reservation waits for this driver or vehicle.
pub async fn unreserved(app: &App, tenant: &Tenant, kind: Kind, id: &Id) -> Result<(), Error> {
    for status in [ReservationStatus::Pending, ReservationStatus::Confirmed] {
        let filter = vec![
            ("status", status.as_str().to_owned()),
            (kind.name(), id.to_string()),
        ];
        let partition = Partition::Kind {
            tenant,
            kind: Kind::Reservation,
        };
        let found = app
            .store
            .list::<Reservation>(partition, &Slice::first(1), filter)
            .await?;
        if let Some(row) = found.rows.first() {
            let message = format!("The reservation {} still waits for it.", row.object.id);
            return Err(Error::conflict(message, Some(kind.name())));
        }
    }
    Ok(())
}

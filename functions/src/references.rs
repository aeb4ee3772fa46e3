//! Checks that the objects that a body names exist, and reads settings that depend on them.

use crate::{App, Request};
use kernel::fields::party::TaxPercent;
use kernel::fields::patch::{Change, Patch};
use kernel::time::days;
use kernel::{Code, Currency, Error, Id, Kind, Origin, SignedDuration, Tenant};
use models::account::AccountStatus;
use models::charging_session::SessionStatus;
use models::driver::DriverPreferencesChange;
use models::payment_method::{NewPaymentMethod, Payer};
use models::report::ReportFilters;
use models::reservation::Terms;
use models::{Account, ChargingSession, Condition, Driver, Fleet, PaymentMethod, Stored};
use table::keys::Partition;
use table::list::{Among, PageRequest};
use table::stored_item::ById;

/// The caller's account or one of its children, if it may be changed: 403 if it is suspended, 404 `account_not_found` if it is closed or
/// another account.
pub async fn active_account(request: &Request, id: &Id) -> Result<Stored<Account>, Error> {
    let account = request.store().account(request.tenant(), id).await?;
    match account.object.status {
        AccountStatus::Active => Ok(account),
        AccountStatus::Suspended => Err(Error::suspended()),
        AccountStatus::Closed => Err(Error::not_found(Kind::Account)),
    }
}

/// 404 `policy_not_found` unless every policy exists.
pub async fn policies(request: &Request, ids: Option<&[Id]>) -> Result<(), Error> {
    all(request, Kind::Policy, "policy_ids", ids.unwrap_or_default()).await
}

/// 404 `fleet_not_found` unless every fleet of a list exists.
pub async fn fleets(request: &Request, ids: Option<&[Id]>) -> Result<(), Error> {
    all(request, Kind::Fleet, "fleets", ids.unwrap_or_default()).await
}

/// The payment method that a body names, if any: 404 `payment_method_not_found` unless it exists, 400 `payment_method_scope_invalid` unless
/// the payer may use it.
pub async fn payment_method(
    app: &App,
    tenant: &Tenant,
    id: Option<&Id>,
    payer: Payer<'_>,
    param: &str,
) -> Result<Option<Stored<PaymentMethod>>, Error> {
    let Some(id) = id else {
        return Ok(None);
    };
    let read = app.store.load::<PaymentMethod>(tenant, id).await;
    let method = read.map_err(|error| error.at(param))?;
    method
        .object
        .check_payer(payer)
        .map_err(|error| error.at(param))?;
    Ok(Some(method))
}

/// The payment method for a session or a fee if the request names none: the default of the driver, else of the fleet, else of the account.
pub async fn default_method_of_drive(
    app: &App,
    tenant: &Tenant,
    driver: &Driver,
    fleet: Option<&Fleet>,
) -> Result<Option<Id>, Error> {
    let of_driver = driver.preferences.default_payment_method.as_ref();
    let of_fleet = fleet.and_then(|fleet| fleet.preferences.default_payment_method.as_ref());
    if let Some(method) = of_driver.or(of_fleet) {
        return Ok(Some(method.clone()));
    }
    let account = app.store.get::<Account>(tenant, &tenant.account).await?;
    Ok(account.default_payment_method(tenant.mode).cloned())
}

/// Checks the change of a default payment method: sessions and fees are charged to it without naming it. `current` is the one before.
///
/// # Errors
/// 403 `authentication_error` if the key lacks `payment_methods:write`; 404 `payment_method_not_found`; 400
/// `payment_method_scope_invalid` for a method of another owner.
pub async fn default_payment_method(
    request: &Request,
    tenant: &Tenant,
    change: &Patch<Id>,
    current: Option<&Id>,
    payer: Payer<'_>,
) -> Result<(), Error> {
    let param = "preferences.default_payment_method";
    let replaced = current.filter(|_| *change == Patch::Clear);
    request
        .check_charge(change.value().or(replaced))
        .map_err(|error| error.at(param))?;
    payment_method(&request.app, tenant, change.value(), payer, param)
        .await
        .map(drop)
}

/// 404 `payment_method_owner_not_found` for an owner that does not exist.
pub async fn payment_method_owner(request: &Request, new: &NewPaymentMethod) -> Result<(), Error> {
    let unknown = Code::PaymentMethodOwnerNotFound;
    owner::<Driver>(request, new.driver.as_ref(), unknown).await?;
    owner::<Fleet>(request, new.fleet.as_ref(), unknown).await
}

/// 404 `payment_method_scope_not_found` for an owner that does not exist, 400 `payment_method_scope_invalid` for two owners.
pub async fn payment_method_scope(
    request: &Request,
    driver: Option<&Id>,
    fleet: Option<&Id>,
) -> Result<(), Error> {
    if driver.is_some() && fleet.is_some() {
        return Err(Code::PaymentMethodScopeInvalid
            .because("A payment method has one owner: filter by driver or by fleet.")
            .at(Kind::Fleet.name()));
    }
    let unknown = Code::PaymentMethodScopeNotFound;
    owner::<Driver>(request, driver, unknown).await?;
    owner::<Fleet>(request, fleet, unknown).await
}

async fn owner<T: ById>(request: &Request, id: Option<&Id>, unknown: Code) -> Result<(), Error> {
    let Some(id) = id else {
        return Ok(());
    };
    let name = T::KIND.name();
    match request.find::<T>(id).await? {
        Some(_) => Ok(()),
        None => Err(unknown.because(format!("No such {name}.")).at(name)),
    }
}

/// The driver that a list is filtered by, if any: 404 for a driver or fleet that does not exist, 404 `driver_or_fleet_not_found` for a
/// driver who is not attached to the fleet.
pub async fn driver_and_fleet(
    request: &Request,
    driver: Option<&Id>,
    fleet: Option<&Id>,
) -> Result<Option<Driver>, Error> {
    if let Some(fleet) = fleet {
        request.get::<Fleet>(fleet).await?;
    }
    let Some(driver) = driver else {
        return Ok(None);
    };
    let driver = request.get::<Driver>(driver).await?.object;
    attached(Some(&driver), fleet)?;
    Ok(Some(driver))
}

/// 404 `driver_or_fleet_not_found` for a driver who is not attached to the fleet that a list is filtered by, if any. A deleted driver is
/// attached to no fleet.
pub fn attached(driver: Option<&Driver>, fleet: Option<&Id>) -> Result<(), Error> {
    let is_attached = |fleet| driver.is_some_and(|driver| driver.fleets.contains(fleet));
    if fleet.is_none_or(is_attached) {
        return Ok(());
    }
    Err(Code::DriverOrFleetNotFound
        .because("The driver is not attached to this fleet.")
        .at(Kind::Driver.name()))
}

/// The driver, vehicle or fleet by which a list is filtered, if the filter is given; none for one that was deleted, so that its history is
/// listed. 404 for one that never existed. Nothing is stored of a deleted object: it is known by the objects of these kinds that name it.
pub async fn past<T: ById>(
    request: &Request,
    id: Option<&Id>,
    kinds: &[Kind],
) -> Result<Option<T>, Error> {
    let (store, tenant) = (request.store(), request.tenant());
    let Some(id) = id else {
        return Ok(None);
    };
    if let Some(found) = store.find_lately::<T>(tenant, id).await? {
        return Ok(Some(found.object));
    }
    // No object names what cannot be an id.
    let kinds = if id.is(T::KIND) { kinds } else { &[] };
    for kind in kinds.iter().copied() {
        let partition = match T::KIND {
            Kind::Driver => Partition::Driver { tenant, driver: id },
            Kind::Vehicle => {
                let vehicle = id;
                Partition::Vehicle { tenant, vehicle }
            }
            _ => Partition::Fleet {
                tenant,
                fleet: id,
                kind,
            },
        };
        let newest = store.newest_id(partition, kind, Vec::new()).await?;
        // The lists by driver and by vehicle have no tenant in their keys.
        if let Some(newest) = newest
            && store.missing(tenant, kind, &[newest]).await?.is_none()
        {
            return Ok(None);
        }
    }
    Err(Error::not_found(T::KIND))
}

/// 409 while a payment method is a default, or an open reservation or an active session uses it.
pub async fn unused_payment_method(request: &Request, method: &PaymentMethod) -> Result<(), Error> {
    let tenant = request.tenant();
    let param = Some(Kind::PaymentMethod.name());
    let account = request.load::<Account>(&tenant.account).await?;
    if account.default_payment_method(tenant.mode) == Some(&method.id) {
        let message = "The payment method is the account's default.";
        return Err(Error::conflict(message, param));
    }
    let is_default = Condition::equals("preferences.default_payment_method", &method.id);
    let named = newest_that(request, &[Kind::Driver, Kind::Fleet], &is_default).await?;
    if let Some(named) = named {
        let message = format!("The payment method is the default of {named}.");
        return Err(Error::conflict(message, param));
    }
    match request.store().open_with(tenant, &method.id).await? {
        None => Ok(()),
        Some(session) if session.is(Kind::ChargingSession) => {
            let message = format!("The session {session} pays with it.");
            Err(Error::conflict(message, param))
        }
        Some(reservation) => {
            let message = format!("The reservation {reservation} still waits for it.");
            Err(Error::conflict(message, param))
        }
    }
}

/// 409 while a fleet, driver or vehicle names the policy.
pub async fn unnamed_policy(request: &Request, id: &Id) -> Result<(), Error> {
    let kinds = [Kind::Fleet, Kind::Driver, Kind::Vehicle];
    let names_policy = Condition::Contains {
        member: "policy_ids",
        value: id.to_string(),
    };
    match newest_that(request, &kinds, &names_policy).await? {
        Some(named) => {
            let message = format!("The policy is named by {named}.");
            Err(Error::conflict(message, Some(Kind::Policy.name())))
        }
        None => Ok(()),
    }
}

/// The newest object that meets a condition, from the first of these kinds that has one. This reads the lists of these kinds, so it is for
/// rare operations, such as the deletion of an object that they name. A request that follows immediately may name it again.
async fn newest_that(
    request: &Request,
    kinds: &[Kind],
    condition: &Condition<'_>,
) -> Result<Option<Id>, Error> {
    let (store, tenant) = (request.store(), request.tenant());
    for kind in kinds.iter().copied() {
        let partition = Partition::Kind { tenant, kind };
        let found = store
            .newest_id(partition, kind, vec![condition.clone()])
            .await?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// 404 for a preferred station that does not exist, and the checks of a default payment method. A driver who is being created has no
/// payment methods yet.
pub async fn driver_preferences(
    request: &Request,
    driver: Option<&Driver>,
    change: Option<&DriverPreferencesChange>,
) -> Result<(), Error> {
    let Some(change) = change else {
        return Ok(());
    };
    let tenant = request.tenant();
    let payer = driver.map_or(Payer::account(), |driver| Payer::driver(&driver.id));
    let current = driver.and_then(|driver| driver.preferences.default_payment_method.as_ref());
    default_payment_method(
        request,
        tenant,
        &change.default_payment_method,
        current,
        payer,
    )
    .await?;
    match &change.preferred_charging_stations {
        Change::Set(ids) => {
            all(
                request,
                Kind::ChargingStation,
                "preferences.preferred_charging_stations",
                ids,
            )
            .await
        }
        Change::Keep => Ok(()),
    }
}

/// 404 with the code of its kind for a vehicle, driver or station of a report's filters that does not exist.
pub async fn report_filters(request: &Request, filters: &ReportFilters) -> Result<(), Error> {
    let (store, tenant) = (request.store(), request.tenant());
    for (name, kind, ids) in [
        ("vehicle", Kind::Vehicle, &filters.vehicle),
        ("driver", Kind::Driver, &filters.driver),
        ("station", Kind::ChargingStation, &filters.station),
    ] {
        let ids = ids.as_deref().unwrap_or_default();
        let mut distinct = ids.to_vec();
        distinct.sort();
        distinct.dedup();
        if let Some(missing) = store.missing(tenant, kind, &distinct).await? {
            let place = ids.iter().position(|id| *id == missing).unwrap_or_default();
            let param = format!("parameters.filters.{name}[{place}]");
            return Err(Error::not_found(kind).at(param));
        }
    }
    Ok(())
}

async fn all(request: &Request, kind: Kind, param: &str, ids: &[Id]) -> Result<(), Error> {
    if ids.is_empty() || ids.len() > models::MAX_LIST {
        return Ok(());
    }
    let (store, tenant) = (request.store(), request.tenant());
    let mut distinct = ids.to_vec();
    distinct.sort();
    distinct.dedup();
    match store.missing(tenant, kind, &distinct).await? {
        Some(_) => Err(Error::not_found(kind).at(param)),
        None => Ok(()),
    }
}

/// The currency for a driver and a vehicle of the fleet: the driver's own choice, else the fleet's, else the account's.
pub async fn currency(
    app: &App,
    tenant: &Tenant,
    driver: &Stored<Driver>,
    fleet: Option<&Fleet>,
) -> Result<Currency, Error> {
    if let Some(chosen) = driver.chosen_currency() {
        return Ok(chosen);
    }
    if let Some(fleet) = fleet {
        return Ok(fleet.preferences.default_currency);
    }
    let account = app.store.get::<Account>(tenant, &tenant.account).await?;
    Ok(account.object.default_currency)
}

/// The terms of a new reservation.
///
/// # Errors
/// `Unavailable` if DynamoDB cannot be reached.
pub async fn terms(
    request: &Request,
    driver: &Stored<Driver>,
    fleet: Option<&Fleet>,
) -> Result<Terms, Error> {
    let fee = request.app.settings.reservation_fee;
    let fee_tax_percent = match fee {
        // If the network of the station bills a fee, the rate is read then.
        0 => TaxPercent::default(),
        _ => {
            let account = request.account().await?;
            account.object.fee_tax_percent()
        }
    };
    Ok(Terms {
        currency: currency(&request.app, request.tenant(), driver, fleet).await?,
        fee,
        fee_tax_percent,
    })
}

/// 409 while the wallet of an object that is to be deleted contains money.
pub fn empty_wallet(kind: Kind, balance: i64) -> Result<(), Error> {
    if balance == 0 {
        return Ok(());
    }
    let message = format!(
        "The {} still has money in its wallet; please refund its top-ups and the refunds that the wallet has received.",
        kind.name()
    );
    Err(Error::conflict(message, Some(kind.name())))
}

/// The time since its start for which a session is looked for: it lasts a day at most, but a network may report for longer that it is active.
const UNDER_WAY: SignedDuration = days(30);

/// The pending or active session of a driver or vehicle, if any.
pub async fn charging(
    app: &App,
    origin: &Origin,
    kind: Kind,
    id: &Id,
    fleet: Option<&Id>,
) -> Result<Option<Id>, Error> {
    let tenant = &origin.tenant;
    let partition = match kind {
        Kind::Vehicle => Partition::Vehicle {
            tenant,
            vehicle: id,
        },
        _ => Partition::Driver { tenant, driver: id },
    };
    let mut page_request = PageRequest::first(1);
    page_request.range.0 = Id::first_number(origin.now.plus(-UNDER_WAY));
    let open = [SessionStatus::Active, SessionStatus::Pending].map(SessionStatus::as_str);
    let among = Among {
        member: "state.status",
        values: &open,
    };
    let filter = Condition::given(Kind::Fleet.name(), fleet);
    let filter = filter.into_iter().collect();
    let found = app
        .store
        .newest_among::<ChargingSession>(partition, page_request, filter, among)
        .await?;
    Ok(found.map(|session| session.id))
}

/// 409 while a session of this driver or vehicle is active.
pub async fn not_charging(request: &Request, kind: Kind, id: &Id) -> Result<(), Error> {
    match charging(&request.app, &request.origin, kind, id, None).await? {
        Some(session) => {
            let message = format!("The session {session} is active.");
            Err(Error::conflict(message, Some(kind.name())))
        }
        None => Ok(()),
    }
}

/// 409 while this driver or vehicle has a pending or confirmed reservation.
pub async fn unreserved(request: &Request, kind: Kind, id: &Id) -> Result<(), Error> {
    match request.store().open_with(request.tenant(), id).await? {
        Some(reservation) => {
            let message = format!("The reservation {reservation} still waits for it.");
            Err(Error::conflict(message, Some(kind.name())))
        }
        None => Ok(()),
    }
}

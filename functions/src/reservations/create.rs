//! `POST /v1/reservations`: creates a pending reservation. It is confirmed about 30 minutes before `ideal_start`. With `need` in place of a
//! window, the cheapest block of time is chosen in which the vehicle gets what it needs; the confirmation chooses again.

use crate::App;
use axum::extract::State;
use kernel::Reply;
use kernel::{Code, Error, Kind};
use models::api_key::Resource;
use models::charging::matching;
use models::charging::policies::{Allowed, PolicyContext};
use models::driver::Driver;
use models::fleet::Fleet;
use models::payment_method::{Payer, PaymentMethod};
use models::reservation::need::ReplanReason;
use models::reservation::{NewReservation, Reservation, Terms};
use models::vehicle::Vehicle;
use models::vehicle_telemetry::VehicleTelemetry;
use web::route::CHARGES_IF_NAMED;
use web::{Body, RequestContext, Route};

use super::plan::PlanInputs;
use crate::{policies, references};

pub const ROUTE: Route = Route::post(
    "create-reservation",
    "/v1/reservations",
    Resource::Reservations,
)
.refusing(&[
    Code::DriverNotFound,
    Code::VehicleNotFound,
    Code::PaymentMethodNotFound,
    Code::PolicyBlocked,
    Code::PaymentMethodScopeInvalid,
])
.sometimes_requiring(&[CHARGES_IF_NAMED])
.memory(512)
.reading_side_by_side();

pub async fn handle(
    context: RequestContext,
    State(app): State<App>,
    Body(new): Body<NewReservation>,
) -> Result<Reply<Allowed<Reservation>>, Error> {
    let tenant = context.tenant();
    context.check_charge(new.payment_method.as_ref())?;
    new.check(context.now())?;
    // The body names no fleet. It is likely the one that the tenant has reserved for the last time.
    let last_fleet = app.last_fleets.get(tenant, context.now());
    let named = [(Kind::Driver, &new.driver), (Kind::Vehicle, &new.vehicle)];
    let method = new.payment_method.as_ref();
    let method = method.map(|id| (Kind::PaymentMethod, id));
    let fleet = last_fleet.as_ref().map(|id| (Kind::Fleet, id));
    let ids = named.into_iter().chain(method).chain(fleet);
    let mut found = app.store.find_together(tenant, ids).await?;
    let driver = found.require::<Driver>(&new.driver)?;
    let vehicle = found.require::<Vehicle>(&new.vehicle)?;
    if let Some(id) = &new.payment_method {
        let method = found.require::<PaymentMethod>(id);
        let payer = Payer::of_drive(&driver.object, &vehicle.object.fleet);
        let checked = method.and_then(|method| method.object.check_payer(payer));
        checked.map_err(|error| error.at(Kind::PaymentMethod.name()))?;
    }
    let id = &vehicle.object.fleet;
    let fleet = if last_fleet.as_ref() == Some(id) {
        found.take::<Fleet>(id)?
    } else {
        app.last_fleets
            .insert(tenant.clone(), id.clone(), context.now());
        app.store.find::<Fleet>(tenant, id).await?
    };
    let fleet = fleet.map(|row| row.object);
    let currency = references::currency(&app, tenant, &driver, fleet.as_ref()).await?;
    let new = match &new.payment_method {
        // Nothing is charged for a reservation without a fee.
        None if app.settings.reservation_fee > 0 => {
            let (driver, fleet) = (&driver.object, fleet.as_ref());
            let method = references::default_method_of_drive(&app, tenant, driver, fleet).await?;
            NewReservation {
                payment_method: method,
                ..new
            }
        }
        _ => new,
    };
    let terms = Terms {
        currency,
        fee: app.settings.reservation_fee,
        fee_tax_percent: references::fee_tax_percent(&app, tenant).await?,
    };
    let (driver, vehicle) = (driver.object, vehicle.object);
    let mut reservation = Reservation::new(new, &driver, &vehicle, terms, context.now())?;
    let rules = policies::of(&app, tenant, Some(&driver), fleet.as_ref(), &vehicle).await?;
    let plan = PolicyContext {
        station: None,
        area: Some(reservation.object.location.into()),
        windows: &matching::windows(&reservation.object, context.now()),
        currency,
        zone: &Fleet::zone(fleet.as_ref()),
    };
    let policy_warnings = policies::check(&rules, &plan)?;
    if reservation.object.need.is_some() {
        let area = reservation.object.location.into();
        let (telemetry, stations) = tokio::try_join!(
            app.store
                .find::<VehicleTelemetry>(tenant, &vehicle.telemetry),
            app.store.indexed_stations(tenant, area),
        )?;
        let inputs = PlanInputs {
            driver: &driver,
            vehicle: &vehicle,
            fleet: fleet.as_ref(),
            policies: &rules,
            telemetry: telemetry.as_ref().map(|row| &row.object),
            stations: &stations,
        };
        let (because, now) = (ReplanReason::Update, context.now());
        let planning = super::plan::plan(&app, tenant, &mut reservation, inputs, because, now);
        Box::pin(planning).await?;
    }
    let made = Allowed {
        object: reservation.object.clone(),
        policy_warnings,
    };
    let response = context.respond(&made)?;
    let mut tx = app.store.begin(&context.origin);
    tx.create(&mut reservation)?;
    tx.commit(response).await
}

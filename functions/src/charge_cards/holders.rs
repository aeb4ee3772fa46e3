//! Checks the driver and the vehicle of a card.

use shared::models::charge_card::ChargeCard;
use shared::models::driver::Driver;
use shared::models::vehicle::Vehicle;
use shared::origin::Tenant;
use shared::{App, Code, Error};

/// Checks that the driver and the vehicle that a card names are there, and belong together.
///
/// # Errors
/// 404 `driver_not_found` or `vehicle_not_found`; 400 `owner_scope_invalid` for a driver who is neither one of the vehicle's nor in
/// its fleet.
pub async fn check(app: &App, tenant: &Tenant, card: &ChargeCard) -> Result<(), Error> {
    let mut found = app.store.find_together(tenant, card.holders()).await?;
    let driver = match &card.driver {
        Some(driver) => Some(found.require::<Driver>(driver)?.object),
        None => None,
    };
    let vehicle = match &card.vehicle {
        Some(vehicle) => Some(found.require::<Vehicle>(vehicle)?.object),
        None => None,
    };
    match (driver, vehicle) {
        (Some(driver), Some(vehicle)) if !driver.may_drive(&vehicle) => {
            let message = "The driver is neither one of the vehicle's nor in its fleet.";
            Err(Code::OwnerScopeInvalid.because(message).at("driver"))
        }
        _ => Ok(()),
    }
}

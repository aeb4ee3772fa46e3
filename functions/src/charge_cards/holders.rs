//! Checks the driver and the vehicle of a card.

use crate::Request;
use kernel::{Code, Error};
use models::charge_card::MAX_CARDS_OF_DRIVER;
use models::{ChargeCard, Driver, Vehicle};
use table::charge_cards::CardCount;

/// Checks that the driver and the vehicle that a card names exist and belong together. Returns the driver.
///
/// # Errors
/// 404 `driver_not_found` or `vehicle_not_found`; 400 `owner_scope_invalid` for a driver who is neither assigned to the vehicle nor in its
/// fleet.
pub async fn check(request: &Request, card: &ChargeCard) -> Result<Option<Driver>, Error> {
    let (store, tenant) = (request.store(), request.tenant());
    let mut found = store.find_together(tenant, card.holders()).await?;
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
        (driver, _) => Ok(driver),
    }
}

/// Counts the cards of a driver who is to receive another card.
///
/// # Errors
/// 409 `charge_card_conflict` if the driver already has the maximum number of cards.
pub async fn count(request: &Request, driver: &Driver) -> Result<CardCount, Error> {
    let count = request.store().card_count(request.tenant(), driver).await?;
    if count.rfid >= MAX_CARDS_OF_DRIVER {
        let message = "A driver has at most 20 RFID cards.";
        return Err(Code::ChargeCardConflict.because(message).at("driver"));
    }
    Ok(count)
}

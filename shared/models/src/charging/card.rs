//! The drivers and vehicles that may charge with a charge card, and the token that represents the card at networks.
//!
//! A session has a driver and a vehicle. A card that names both determines them. A card that names only a driver may be used for
//! the vehicles of the driver, in their order; a card that names only a vehicle, by the vehicle's drivers. A card of a driver who
//! has no vehicles and is in a fleet, and a card of a vehicle without drivers, can be used only with a reservation: networks have
//! to request authorization for them.
//!
//! A token is valid while its card is active, and all objects that the card depends on are active: the account and the accounts
//! above it, the driver, the vehicle, and a fleet. Its `whitelist` is `ALLOWED`, so that an offline station lets the card charge,
//! unless the authorization depends on the place or the time: then it is `NEVER`. A token does not contain the name of a person or
//! an account.

use sha2::{Digest, Sha256};

use crate::charge_card::{CardStatus, CardType, ChargeCard};
use crate::driver::Driver;
use crate::fleet::Fleet;
use crate::network::PartyId;
use crate::policy::{Policy, PolicyMode};
use crate::stored::Stored;
use crate::token::{Token, TokenType, Whitelist};
use crate::vehicle::Vehicle;
use kernel::{Id, Timestamp};

/// The objects that a card depends on, in their present state.
#[derive(Debug, Clone, Default)]
pub struct CardContext {
    /// Whether the account and all accounts above it are active.
    pub account_is_active: bool,
    /// The driver of the card; of a card without one, the drivers of its vehicle.
    pub drivers: Vec<Stored<Driver>>,
    /// The vehicle of the card; of a card without one, the vehicles of its driver.
    pub vehicles: Vec<Vehicle>,
    /// The fleets of these drivers and vehicles.
    pub fleets: Vec<Fleet>,
    /// The policies that these drivers, vehicles and the vehicles' fleets name.
    pub policies: Vec<Policy>,
}

/// A driver with a vehicle and its fleet.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    pub driver: &'a Stored<Driver>,
    pub vehicle: &'a Vehicle,
    pub fleet: &'a Fleet,
}

impl Pair<'_> {
    /// Checks whether all three are active.
    pub fn is_active(&self) -> bool {
        self.driver.object.is_active() && self.vehicle.is_active() && self.fleet.is_active()
    }
}

/// Whether a card may be used, regardless of the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardValidity {
    Valid,
    /// The card is pending, blocked or lost, or an object that it depends on is not active.
    Blocked,
    Expired,
}

impl CardContext {
    /// Returns the drivers and vehicles that may charge, in the order of preference.
    pub fn pairs(&self) -> impl Iterator<Item = Pair<'_>> {
        self.all_pairs().filter(Pair::is_active)
    }

    /// Returns the drivers and the vehicles that they may drive, also those that are not active.
    pub fn all_pairs(&self) -> impl Iterator<Item = Pair<'_>> {
        self.drivers.iter().flat_map(move |driver| {
            self.vehicles.iter().filter_map(move |vehicle| {
                let fleet = self.fleet(&vehicle.fleet)?;
                driver.object.may_drive(vehicle).then_some(Pair {
                    driver,
                    vehicle,
                    fleet,
                })
            })
        })
    }

    fn fleet(&self, id: &Id) -> Option<&Fleet> {
        self.fleets.iter().find(|fleet| fleet.id == *id)
    }

    fn is_active_fleet(&self, id: &Id) -> bool {
        self.fleet(id).is_some_and(Fleet::is_active)
    }

    /// Returns the driver that the card names, if the driver exists and is active.
    fn named_driver(&self, card: &ChargeCard) -> Option<&Driver> {
        let named = card.driver.as_ref()?;
        let mut drivers = self.drivers.iter().map(|driver| &driver.object);
        drivers.find(|driver| driver.id == *named && driver.is_active())
    }

    /// Checks whether the card may be used.
    pub fn validity(&self, card: &ChargeCard, now: Timestamp) -> CardValidity {
        match card.status {
            CardStatus::Pending | CardStatus::Blocked | CardStatus::Lost => {
                return CardValidity::Blocked;
            }
            CardStatus::Active | CardStatus::Expired => {}
        }
        if card.has_expired(now) {
            return CardValidity::Expired;
        }
        let is_usable = match (card.kind, self.named_driver(card)) {
            // The request that starts a session names the vehicle.
            (CardType::App, Some(driver)) => {
                let (of_driver, of_vehicles) = (&driver.fleets, &self.vehicles);
                let mut fleets = of_driver
                    .iter()
                    .chain(of_vehicles.iter().map(|vehicle| &vehicle.fleet))
                    .peekable();
                fleets.peek().is_none() || fleets.any(|fleet| self.is_active_fleet(fleet))
            }
            (CardType::App, None) => false,
            (CardType::Rfid, _) => self.pairs().next().is_some() || self.may_use_reservation(card),
        };
        if self.account_is_active && is_usable {
            CardValidity::Valid
        } else {
            CardValidity::Blocked
        }
    }

    /// Checks whether the card can be used with a reservation, which names the driver or the vehicle that the card does not name.
    pub fn may_use_reservation(&self, card: &ChargeCard) -> bool {
        match (&card.driver, &card.vehicle) {
            (Some(_), None) => self.named_driver(card).is_some_and(|driver| {
                let mut fleets = driver.fleets.iter();
                fleets.any(|fleet| self.is_active_fleet(fleet))
            }),
            (None, Some(named)) => self.vehicles.iter().any(|vehicle| {
                vehicle.id == *named && vehicle.is_active() && self.is_active_fleet(&vehicle.fleet)
            }),
            _ => false,
        }
    }

    /// Returns the active policies in enforcement mode.
    pub fn enforced(&self) -> impl Iterator<Item = &Policy> {
        let policies = self.policies.iter();
        policies.filter(|policy| policy.is_active() && policy.mode == PolicyMode::Enforcement)
    }

    /// Returns the token of the card.
    pub fn token(&self, card: &ChargeCard, issuer: &Issuer<'_>, now: Timestamp) -> Token {
        let depends = self
            .enforced()
            .any(|policy| policy.rules.depend_on_station() || policy.rules.depend_on_time());
        let is_certain = card.kind == CardType::App || self.pairs().next().is_some();
        let mut drivers = self.drivers.iter().map(|driver| &driver.object);
        let driver = drivers.find(|driver| card.driver.as_ref() == Some(&driver.id));
        Token {
            owner: issuer.party.clone(),
            uid: card.uid.as_str().to_owned(),
            kind: token_type(card.kind),
            contract_id: contract_id(issuer.party, card),
            group_id: driver.map(|driver| {
                let app_card = ChargeCard::of_app(driver, now).object;
                app_card.uid.as_str().chars().take(GROUP_DIGITS).collect()
            }),
            visual_number: card
                .visual_number
                .as_ref()
                .map(|number| number.as_str().to_owned()),
            issuer: issuer.name.to_owned(),
            valid: self.validity(card, now) == CardValidity::Valid,
            whitelist: if depends || !is_certain {
                Whitelist::Never
            } else {
                Whitelist::Allowed
            },
            last_updated: now,
        }
    }
}

/// The party as which this service issues tokens.
#[derive(Debug, Clone, Copy)]
pub struct Issuer<'a> {
    pub party: &'a PartyId,
    pub name: &'a str,
}

/// Returns the type of a card's token at networks.
pub fn token_type(card: CardType) -> TokenType {
    match card {
        CardType::Rfid => TokenType::Rfid,
        CardType::App => TokenType::AppUser,
    }
}

/// The number of characters in a group id: OCPP 1.5 and 1.6 allow no more (OCPI, `Token.group_id`).
const GROUP_DIGITS: usize = 20;

/// The number of characters after the C in a contract id.
const CONTRACT_DIGITS: usize = 8;

/// The number of characters of an eMAID's country and provider, and of an eMAID without separators.
const PROVIDER: usize = 5;
const EMAID: usize = PROVIDER + 1 + CONTRACT_DIGITS;
const EMAID_WITH_CHECK_DIGIT: usize = EMAID + 1;

/// Returns the contract id of a card, in the form of an eMAID (ISO 15118-2, annex H.1) without a check digit. It is derived from
/// the card's id.
fn contract_id(party: &PartyId, card: &ChargeCard) -> String {
    let (country, party) = (party.country_code(), party.party_id());
    format!("{country}-{party}-{}", contract_of(card))
}

/// Returns whether a network that names a contract id may mean the card. Networks also send empty or shortened contract ids and
/// placeholders, so that only one in the form of an eMAID can be that of another card. Separators, upper and lower case and a check digit
/// do not matter.
pub fn may_be_contract_of(card: &ChargeCard, contract_id: &str) -> bool {
    may_be_contract(&contract_of(card), contract_id)
}

/// Returns whether a network that names a contract id may mean the card that a token represents, as [`may_be_contract_of`] does.
pub fn may_be_contract_of_token(token: &Token, contract_id: &str) -> bool {
    let own = token.contract_id.rsplit('-').next().unwrap_or_default();
    may_be_contract(own, contract_id)
}

/// Returns whether a contract id may be the one with this part after its party.
fn may_be_contract(own: &str, contract_id: &str) -> bool {
    part_after_party(contract_id).is_none_or(|part| part == own)
}

/// Returns whether two contract ids are the same and whole, as far as [`may_be_contract_of`] distinguishes them.
pub fn is_same_contract(contract_id: &str, other: &str) -> bool {
    let parts = part_after_party(contract_id).zip(part_after_party(other));
    parts.is_some_and(|(part, other)| part == other)
}

/// Returns the part of a contract id that follows the party, if it has the form of an eMAID.
fn part_after_party(contract_id: &str) -> Option<String> {
    let characters = contract_id.chars().filter(char::is_ascii_alphanumeric);
    let characters = characters.collect::<String>().to_ascii_uppercase();
    let is_emaid = matches!(characters.len(), EMAID..=EMAID_WITH_CHECK_DIGIT)
        && characters.starts_with(|first: char| first.is_ascii_alphabetic())
        && characters[PROVIDER..].starts_with('C');
    is_emaid.then(|| characters[PROVIDER..EMAID].to_owned())
}

/// Returns the part of a card's contract id that follows the party.
fn contract_of(card: &ChargeCard) -> String {
    const ALPHABET: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let digest = Sha256::digest(card.id.as_str());
    let mut number = digest
        .iter()
        .take(8)
        .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let mut digits = String::from("C");
    for _ in 0..CONTRACT_DIGITS {
        let digit = usize::try_from(number % 36).unwrap_or_default();
        digits.push(char::from(ALPHABET[digit]));
        number /= 36;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Kind;
    use serde_json::{Value, json};

    const AT: &str = "2026-03-01T08:00:00.000Z";

    fn now() -> Timestamp {
        Timestamp::parse(AT).unwrap()
    }

    fn fleet(status: &str) -> Fleet {
        serde_json::from_value(json!({"id": Id::from_number(Kind::Fleet, 1), "object": "fleet", "created": AT, "description": "",
            "email": "a@b.example", "address": {"city": "London", "country": "GB", "line1": "1", "line2": "",
            "postal_code": "E3", "state": ""}, "metadata": {}, "metric_system": "international_system", "name": "N",
            "phone": null, "policy_ids": [], "preferences": {"billing_cycle": "monthly", "default_currency": "usd",
            "default_payment_method": null, "notifications": true, "report_frequency": "weekly"}, "status": status,
            "timezone": "UTC", "total_drivers": 0, "total_energy_consumed_kwh": 0.0, "total_sessions": 0,
            "total_vehicles": 0, "updated": AT, "wallet_balance": 0}))
        .unwrap()
    }

    fn driver(change: Value) -> Stored<Driver> {
        let mut driver = json!({"id": Id::from_number(Kind::Driver, 1), "object": "driver", "created": AT,
            "email": "ada@fleet.example", "fleets": [Id::from_number(Kind::Fleet, 1)], "license_number": null,
            "metadata": {}, "name": "Ada", "phone": null, "policy_ids": [], "preferences": {"charging_speed": "any",
            "currency": "usd", "default_payment_method": null, "max_price_per_kwh": null, "notifications": true,
            "preferred_charging_stations": [], "preferred_cpos": []}, "status": "active", "updated": AT,
            "vehicles": [Id::from_number(Kind::Vehicle, 1)], "wallet_balance": 0});
        change
            .as_object()
            .unwrap()
            .iter()
            .for_each(|(name, value)| driver[name] = value.clone());
        Stored::new(serde_json::from_value(driver).unwrap())
    }

    fn vehicle(status: &str) -> Vehicle {
        serde_json::from_value(json!({"id": Id::from_number(Kind::Vehicle, 1), "object": "vehicle", "battery_capacity": 60000,
            "charging_standard": "Type2", "created": AT, "drivers": [Id::from_number(Kind::Driver, 1)],
            "fleet": Id::from_number(Kind::Fleet, 1), "information": {"make": "", "model": "", "year": ""},
            "metadata": {}, "policy_ids": [], "registration_plate": "AB12 CDE", "status": status,
            "telemetry": Id::from_number(Kind::VehicleTelemetry, 1), "updated": AT, "vin": "V"}))
        .unwrap()
    }

    fn context() -> CardContext {
        CardContext {
            account_is_active: true,
            drivers: vec![driver(json!({}))],
            vehicles: vec![vehicle("active")],
            fleets: vec![fleet("active")],
            policies: Vec::new(),
        }
    }

    fn card(driver: bool, vehicle: bool) -> ChargeCard {
        let body = json!({"uid": "04a1", "driver": driver.then(|| Id::from_number(Kind::Driver, 1)),
            "vehicle": vehicle.then(|| Id::from_number(Kind::Vehicle, 1))});
        ChargeCard::new(serde_json::from_value(body).unwrap(), now())
            .unwrap()
            .object
    }

    fn token(context: &CardContext, card: &ChargeCard) -> (bool, Whitelist) {
        let party = PartyId::new("GB", "FCS").unwrap();
        let issuer = Issuer {
            party: &party,
            name: "Fleet Charging Service",
        };
        let token = context.token(card, &issuer, now());
        assert!(token.contract_id.starts_with("GB-FCS-C") && token.contract_id.len() == 16);
        (token.valid, token.whitelist)
    }

    #[test]
    fn a_contract_id_is_of_another_card_only_if_it_is_whole() {
        let card = card(true, true);
        let party = PartyId::new("GB", "FCS").unwrap();
        let own = contract_id(&party, &card);
        for same in [
            own.clone(),
            own.to_lowercase(),
            own.replace('-', ""),
            own.replace('-', "*") + "-5",
            own[..12].to_owned(),
            String::new(),
            "NA".to_owned(),
            "NL-XXX-1".to_owned(),
            "é".repeat(14),
        ] {
            assert!(may_be_contract_of(&card, &same), "{same}");
        }
        for other in ["GB-FCS-C00000001", "gbfcsc00000001", "DE-8AC-C12E46L89-5"] {
            assert!(!may_be_contract_of(&card, other), "{other}");
        }
    }

    #[test]
    fn a_token_is_valid_while_all_objects_of_its_card_are_active() {
        let cards = [card(true, true), card(true, false), card(false, true)];
        for card in &cards {
            assert_eq!(token(&context(), card), (true, Whitelist::Allowed));
            let mut of_account = context();
            of_account.account_is_active = false;
            assert!(!token(&of_account, card).0);
            let mut of_driver = context();
            of_driver.drivers = vec![driver(json!({"status": "suspended"}))];
            // A vehicle whose driver is not active may still be charged on another driver's reservation.
            let is_of_vehicle = card.driver.is_none();
            assert_eq!(token(&of_driver, card).0, is_of_vehicle);
            let mut of_fleet = context();
            of_fleet.fleets = vec![fleet("suspended")];
            assert!(!token(&of_fleet, card).0);
            for status in [CardStatus::Blocked, CardStatus::Lost, CardStatus::Expired] {
                let card = ChargeCard {
                    status,
                    ..card.clone()
                };
                assert!(!token(&context(), &card).0);
            }
            let card = ChargeCard {
                valid_until: Some(now()),
                ..card.clone()
            };
            assert_eq!(context().validity(&card, now()), CardValidity::Expired);
        }
        let mut of_vehicle = context();
        of_vehicle.vehicles = vec![vehicle("inactive")];
        assert!(!token(&of_vehicle, &cards[0]).0 && !token(&of_vehicle, &cards[2]).0);
        // The driver may be given another vehicle of the fleet.
        assert_eq!(token(&of_vehicle, &cards[1]), (true, Whitelist::Never));
    }

    #[test]
    fn a_card_without_a_driver_is_not_valid() {
        let mut alone = context();
        alone.vehicles.clear();
        assert_eq!(token(&alone, &card(true, false)), (true, Whitelist::Never));
        alone.drivers = vec![driver(json!({"fleets": [], "vehicles": []}))];
        assert!(!token(&alone, &card(true, false)).0);
        let unassigned = ChargeCard {
            driver: None,
            vehicle: None,
            ..card(true, false)
        };
        let empty = CardContext {
            account_is_active: true,
            ..CardContext::default()
        };
        assert!(!token(&empty, &unassigned).0);
    }

    #[test]
    fn an_app_card_needs_no_vehicle_and_shares_the_drivers_group() {
        let driver = driver(json!({"fleets": [], "vehicles": []}));
        let app_card = ChargeCard::of_app(&driver.object, now()).object;
        let alone = CardContext {
            account_is_active: true,
            drivers: vec![driver],
            ..CardContext::default()
        };
        assert_eq!(token(&alone, &app_card), (true, Whitelist::Allowed));
        let party = PartyId::new("GB", "FCS").unwrap();
        let issuer = Issuer {
            party: &party,
            name: "S",
        };
        let group = |card: &ChargeCard| context().token(card, &issuer, now()).group_id;
        let of_driver = group(&app_card);
        assert_eq!(of_driver.as_ref().map(String::len), Some(GROUP_DIGITS));
        assert_eq!(group(&card(true, true)), of_driver);
        assert_eq!(group(&card(false, true)), None);
        let shown = serde_json::to_string(&context().token(&card(true, true), &issuer, now()));
        let shown = shown.unwrap();
        for private in ["Ada", "fleet.example", "drv_", "veh_", "acct_", "AB12"] {
            assert!(!shown.contains(private), "{shown}");
        }
    }

    #[test]
    fn a_network_has_to_ask_when_a_policy_depends_on_place_or_time() {
        for (rules, whitelist) in [
            (json!({}), Whitelist::Allowed),
            (json!({"denied_operators": ["V"]}), Whitelist::Never),
            (json!({"max_price_per_kwh": 60}), Whitelist::Never),
            (
                json!({"time_windows": [{"start_time": "20:00", "end_time": "06:00"}]}),
                Whitelist::Never,
            ),
        ] {
            let body = json!({"name": "P", "rules": rules});
            let policy = Policy::new(serde_json::from_value(body).unwrap(), now());
            let mut context = context();
            context.policies = vec![policy.unwrap().object];
            assert_eq!(token(&context, &card(true, true)), (true, whitelist));
            context.policies[0].mode = PolicyMode::Suggestion;
            assert_eq!(token(&context, &card(true, true)).1, Whitelist::Allowed);
        }
    }
}

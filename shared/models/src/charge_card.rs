//! Charge cards: the identification of a driver at a charging station of a network.
//!
//! Terms. An *RFID card* is held to the reader of a charging station. An *app card* has no physical form: the service creates one for every
//! driver, and sessions that are started through the API use it. A card refers to who charges: a driver, a vehicle, or both. Networks
//! receive cards as tokens ([`crate::charging::card`]).
//!
//! Life cycle: active, blocked and lost are set by requests. A card becomes `expired` when `valid_until` has passed, and what it was before
//! when that is moved into the future. If the driver or the vehicle of a card is deleted, the card no longer refers to it and can be
//! assigned to another one; without its driver it is blocked, because it may be anywhere. The app card of a driver is deleted with the
//! driver.
//!
//! Uids. One card of a mode *holds* a uid, across all accounts and without regard to upper and lower case: taps and authorizations of the
//! uid belong to this card, and networks receive its token. A card of another account with the same uid is *pending*: it claims the uid,
//! the holder's account gets the event `charge_card.contested`, and an operator decides who holds the uid from then on (`manage-networks`).
//! Neither account receives information about the other. A decision makes the card that loses the uid pending. When the card that holds a
//! uid is deleted while others claim it, no card holds it until an operator decides, so that waiting for the deletion is no way to get a
//! uid; only the account that has held it may create a card with it again that holds it at once.
//!
//! Invariants: at most one card of a mode holds a uid. No two cards of an account and mode have the same uid. The uid and the type of
//! a card do not change. A pending card becomes active by a decision only. A driver has at most 20 RFID cards; the app card does not
//! count.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::action::Action;
use super::body::RequestBody;
use super::check_size;
use super::driver::Driver;
use super::event_type::EventType;
use super::network::is_path_step;
use super::stored::{Object, Stored};
use kernel::fields::metadata::{Metadata, MetadataChange};
use kernel::fields::patch::{Change, Patch};
use kernel::{Code, Error, Id, Kind, Result, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChargeCard {
    pub id: Id,
    pub object: Kind,
    pub created: Timestamp,
    /// The driver who charges with the card; null if the vehicle alone decides.
    pub driver: Option<Id>,
    pub metadata: Metadata,
    /// Whether the card may start sessions.
    pub status: CardStatus,
    /// Whether the card is a physical RFID card or the identification of an app.
    #[serde(rename = "type")]
    pub kind: CardType,
    /// Number of the card, unique among the cards of an account and mode, regardless of upper and lower case. If a card of another account
    /// holds the uid, this card is `pending`.
    pub uid: CardUid,
    pub updated: Timestamp,
    /// Time at which the card expires; null if it does not expire.
    pub valid_until: Option<Timestamp>,
    /// The vehicle that is charged with the card; null if the driver alone decides.
    pub vehicle: Option<Id>,
    /// Number that is printed on the card. It is sent to networks.
    pub visual_number: Option<VisualNumber>,
}

impl Object for ChargeCard {
    type Internal = ChargeCardInternal;

    const KIND: Kind = Kind::ChargeCard;

    fn id(&self) -> &Id {
        &self.id
    }

    fn next_action(stored: &Stored<Self>) -> Option<(Timestamp, Action)> {
        let at = stored.internal.next_action_at;
        at.map(|at| (at, Action::ExpireCard))
    }
}

/// The internal state of a card.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChargeCardInternal {
    /// When the card expires; none if it has expired already.
    #[serde(rename = "next", skip_serializing_if = "Option::is_none")]
    pub next_action_at: Option<Timestamp>,
    /// The time of the newest claim of the uid for which an event was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contested: Option<Timestamp>,
    /// `blocked` or `lost`, if the card was that before it expired or became pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld: Option<CardStatus>,
}

/// The maximum number of RFID cards of a driver.
pub const MAX_CARDS_OF_DRIVER: usize = 20;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardType {
    /// A card that is held to the reader of a charging station.
    #[default]
    Rfid,
    /// The card that the service creates for a driver, with which sessions are started through the API.
    App,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardStatus {
    /// A card of another account holds the `uid`. The card is refused at charging stations until an operator decides that it
    /// holds the uid.
    Pending,
    #[default]
    Active,
    /// Refused at charging stations until it is active again.
    Blocked,
    /// Refused at charging stations, because it is not with its owner.
    Lost,
    /// `valid_until` has passed.
    Expired,
}

/// Defines a validated text type of a card.
macro_rules! text_of_card {
    ($(#[$doc:meta])* $name:ident, $is_valid:expr, $shape:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = &'static str;

            fn try_from(text: String) -> Result<Self, &'static str> {
                let is_valid: fn(&str) -> bool = $is_valid;
                if is_valid(&text) {
Ok(Self(text))
} else {
Err($shape)
}
            }
        }
    };
}

text_of_card! {
    /// The number that identifies a card at a charging station (OCPI: `CiString(36)`): 1 to 36 visible ASCII characters, and neither `.` nor
    /// `..`, which are steps in the paths of other platforms.
    CardUid,
    |text| (1..=36).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && !is_path_step(text),
    "expected 1 to 36 visible ASCII characters, and neither . nor .."
}

text_of_card! {
    /// The number that is printed on a card (OCPI: `string(64)`).
    VisualNumber,
    |text| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || b" ./-".contains(&byte);
        (1..=64).contains(&text.len())
            && text.bytes().all(inner)
            && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
    },
    "expected 1 to 64 letters, digits, spaces, dots, slashes or hyphens, the first a letter or digit"
}

/// The body of `POST /v1/charge_cards`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewChargeCard {
    /// Unique number of the card, as the reader of a charging station reads it. Not case-sensitive.
    pub uid: CardUid,
    /// Id of the driver who charges with the card. Required unless `vehicle` is given.
    pub driver: Option<Id>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// Always `rfid`: only the service creates cards of the type `app`.
    #[serde(rename = "type", default)]
    pub kind: CardType,
    /// Time at which the card expires, in the future.
    pub valid_until: Option<Timestamp>,
    /// Id of the vehicle that is charged with the card. Required unless `driver` is given.
    pub vehicle: Option<Id>,
    /// Number that is printed on the card.
    pub visual_number: Option<VisualNumber>,
}

impl RequestBody for NewChargeCard {}

/// The body of `POST /v1/charge_cards/{id}`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChargeCardChange {
    /// Id of the driver who holds the card from now on. Null removes the driver.
    #[serde(default)]
    pub driver: Patch<Id>,
    #[serde(default)]
    pub metadata: MetadataChange,
    /// `active`, `blocked` or `lost`. A card becomes `expired` when its `valid_until` has passed. The status of a `pending` card cannot be
    /// changed.
    #[serde(default)]
    pub status: Change<CardStatus>,
    /// Time at which the card expires. When this time of an expired card is moved into the future or removed, the card has the status again
    /// that it had before.
    #[serde(default)]
    pub valid_until: Patch<Timestamp>,
    /// Id of the vehicle that the card belongs to from now on. Null removes the vehicle.
    #[serde(default)]
    pub vehicle: Patch<Id>,
    /// Number that is printed on the card. Null removes it.
    #[serde(default)]
    pub visual_number: Patch<VisualNumber>,
}

impl RequestBody for ChargeCardChange {}

impl ChargeCardChange {
    /// Checks whether the change has members that only RFID cards allow: all but the status and the metadata.
    fn is_of_rfid_cards_only(&self) -> bool {
        self.driver != Patch::Keep
            || self.vehicle != Patch::Keep
            || self.valid_until != Patch::Keep
            || self.visual_number != Patch::Keep
    }
}

impl ChargeCard {
    /// Returns a new, active RFID card.
    ///
    /// # Errors
    /// 400 for a card without driver and vehicle, of the type `app`, or that has expired; 400 if metadata exceeds its limits.
    pub fn new(new: NewChargeCard, now: Timestamp) -> Result<Stored<Self>> {
        if new.kind == CardType::App {
            let message = "the service makes the cards of the type app, one for every driver";
            return Err(Error::invalid("type", message));
        }
        let card = Self {
            id: Id::new(Kind::ChargeCard, now),
            object: Kind::ChargeCard,
            created: now,
            driver: new.driver,
            metadata: Metadata::new(new.metadata)?,
            status: CardStatus::Active,
            kind: CardType::Rfid,
            uid: new.uid,
            updated: now,
            valid_until: new.valid_until,
            vehicle: new.vehicle,
            visual_number: new.visual_number,
        };
        card.check_holder()?;
        let mut card = Stored::new(card).recording(EventType::ChargeCardCreated);
        card.expire_at(now)?;
        check_size(&card.object)?;
        Ok(card)
    }

    /// Returns the app card of a driver. Its id follows from the driver, so any code that needs the card first can create it. The card
    /// counts as created with the driver, as its id says. No event is sent for it.
    pub fn of_app(driver: &Driver, now: Timestamp) -> Stored<Self> {
        let id = Self::app_card_of(driver);
        let digest = Sha256::digest(id.as_str());
        let uid = hex::encode_upper(&digest[..16]);
        Stored::new(Self {
            id,
            object: Kind::ChargeCard,
            created: driver.created,
            driver: Some(driver.id.clone()),
            metadata: Metadata::default(),
            status: CardStatus::Active,
            kind: CardType::App,
            uid: CardUid(uid),
            updated: now,
            valid_until: None,
            vehicle: None,
            visual_number: None,
        })
    }

    /// Returns the id of the app card of a driver.
    pub fn app_card_of(driver: &Driver) -> Id {
        Id::derived(Kind::ChargeCard, driver.created, driver.id.as_str())
    }

    fn check_holder(&self) -> Result<()> {
        match (&self.driver, &self.vehicle) {
            (None, None) => {
                let message = "a card belongs to a driver, to a vehicle, or to both";
                Err(Error::invalid("driver", message))
            }
            _ => Ok(()),
        }
    }

    /// Returns the driver and the vehicle of the card, with their kinds.
    pub fn holders(&self) -> impl Iterator<Item = (Kind, &Id)> {
        let driver = self.driver.iter().map(|driver| (Kind::Driver, driver));
        let vehicle = self.vehicle.iter().map(|vehicle| (Kind::Vehicle, vehicle));
        driver.chain(vehicle)
    }

    /// Checks whether the card has expired, even if its status has not been updated yet.
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.status == CardStatus::Expired || self.valid_until.is_some_and(|until| until <= now)
    }
}

impl Stored<ChargeCard> {
    /// Applies an update. Omitted fields keep their values.
    ///
    /// # Errors
    /// `charge_card_conflict` for a change that an app card does not allow; 400 for a card without driver and vehicle, for the status
    /// `expired`, for a time in the past, and for metadata beyond its limits.
    pub fn update(&mut self, change: ChargeCardChange, now: Timestamp) -> Result<()> {
        let unchanged = self.clone();
        check_expiry(change.valid_until.value().copied(), now)?;
        if self.object.kind == CardType::App && change.is_of_rfid_cards_only() {
            let message = "Only the status and the metadata of an app card can be changed.";
            return Err(Code::ChargeCardConflict.because(message));
        }
        let ChargeCardChange {
            driver,
            metadata,
            status,
            valid_until,
            vehicle,
            visual_number,
        } = change;
        let moves = driver != Patch::Keep || vehicle != Patch::Keep;
        let extends = valid_until != Patch::Keep;
        driver.apply(&mut self.object.driver);
        vehicle.apply(&mut self.object.vehicle);
        valid_until.apply(&mut self.object.valid_until);
        visual_number.apply(&mut self.object.visual_number);
        self.object.metadata.merge(metadata)?;
        if moves {
            self.object.check_holder()?;
        }
        let before = self.object.status;
        if let Change::Set(status) = status {
            let is_new = status != before;
            if is_new && matches!(status, CardStatus::Expired | CardStatus::Pending) {
                let message = "a card expires by its valid_until: expected active, blocked or lost";
                return Err(Error::invalid("status", message));
            }
            if is_new && before == CardStatus::Pending {
                let message = "A card of another account holds the uid. An operator decides which card holds it.";
                return Err(Code::ChargeCardConflict.because(message).at("status"));
            }
            self.object.status = status;
        } else if extends && self.object.status == CardStatus::Expired {
            self.restore();
        }
        let is_active = self.object.status == CardStatus::Active;
        if extends || (is_active && self.object.valid_until.is_some()) {
            self.expire_at(now)?;
        }
        if *self == unchanged {
            return Ok(());
        }
        self.object.updated = now;
        self.record(EventType::ChargeCardUpdated);
        check_size(&self.object)
    }

    /// Schedules the moment at which the card expires.
    fn expire_at(&mut self, now: Timestamp) -> Result<()> {
        let until = self.object.valid_until;
        check_expiry(until, now)?;
        // A pending card cannot be used, and expires when it holds the uid.
        self.internal.next_action_at = until.filter(|_| self.object.status != CardStatus::Pending);
        Ok(())
    }

    /// Makes the card expired or pending.
    fn suspend(&mut self, status: CardStatus) {
        let before = std::mem::replace(&mut self.object.status, status);
        if matches!(before, CardStatus::Blocked | CardStatus::Lost) {
            self.internal.withheld = Some(before);
        }
    }

    /// Gives an expired or pending card the status that it had before.
    fn restore(&mut self) {
        self.object.status = self.internal.withheld.take().unwrap_or_default();
    }

    /// Makes a new card pending until an operator decides about its uid.
    pub fn wait_for_uid(&mut self) {
        self.suspend(CardStatus::Pending);
        self.internal.next_action_at = None;
    }

    /// Applies a decision about the uid: a pending card that holds it becomes what it was before, or expired if its time has passed, and any
    /// other card that does not hold it becomes pending. Returns whether anything changed.
    pub fn settle_uid(&mut self, holds_uid: bool, now: Timestamp) -> bool {
        if holds_uid == (self.object.status != CardStatus::Pending) {
            return false;
        }
        if holds_uid {
            self.restore();
            self.internal.next_action_at = self.object.valid_until;
            self.object.updated = now;
            if !self.expire(now) {
                self.record(EventType::ChargeCardUpdated);
            }
        } else {
            self.wait_for_uid();
            self.object.updated = now;
            self.record(EventType::ChargeCardUpdated);
        }
        true
    }

    /// Records that another account claims the uid that the card holds. Returns false if this claim was recorded before.
    pub fn contest(&mut self, claimed: Timestamp) -> bool {
        let is_new = self
            .internal
            .contested
            .is_none_or(|before| before < claimed);
        if is_new {
            self.internal.contested = Some(claimed);
            self.record(EventType::ChargeCardContested);
        }
        is_new
    }

    /// Expires the card if its time has passed. Returns whether anything changed. A card that is blocked or lost expires too.
    pub fn expire(&mut self, now: Timestamp) -> bool {
        if !self.is_due(Action::ExpireCard, now) {
            return false;
        }
        self.internal.next_action_at = None;
        self.suspend(CardStatus::Expired);
        self.object.updated = now;
        self.record(EventType::ChargeCardUpdated);
        true
    }

    /// Removes a deleted driver or vehicle from the card. A card that loses its driver is blocked: whoever has it now could charge as a
    /// driver of its vehicle. Returns whether the card referred to it.
    pub fn release(&mut self, holder: &Id, now: Timestamp) -> bool {
        let of_driver = self.object.driver.take_if(|driver| driver == holder);
        let of_vehicle = self.object.vehicle.take_if(|vehicle| vehicle == holder);
        if of_driver.is_none() && of_vehicle.is_none() {
            return false;
        }
        match self.object.status {
            CardStatus::Active if of_driver.is_some() => self.object.status = CardStatus::Blocked,
            CardStatus::Expired | CardStatus::Pending if of_driver.is_some() => {
                self.internal.withheld.get_or_insert(CardStatus::Blocked);
            }
            _ => {}
        }
        self.object.updated = now;
        self.record(EventType::ChargeCardUpdated);
        true
    }

    /// Records that the card is deleted by a request.
    ///
    /// # Errors
    /// `charge_card_conflict` for an app card, which exists as long as its driver.
    pub fn delete(&mut self) -> Result<()> {
        if self.object.kind == CardType::App {
            let message = "The app card of a driver is deleted with the driver; it can be blocked.";
            return Err(Code::ChargeCardConflict.because(message));
        }
        self.record(EventType::ChargeCardDeleted);
        Ok(())
    }
}

fn check_expiry(until: Option<Timestamp>, now: Timestamp) -> Result<()> {
    if until.is_some_and(|until| until <= now) {
        return Err(Error::invalid("valid_until", "must be in the future"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::time::{DAY, millis};
    use serde_json::json;

    fn now() -> Timestamp {
        Timestamp::parse("2026-03-01T08:00:00Z").unwrap()
    }

    fn card(valid_until: Option<Timestamp>) -> Stored<ChargeCard> {
        let vehicle = Id::from_number(Kind::Vehicle, 1);
        let body = json!({"uid": "04A1B2C3", "vehicle": vehicle, "valid_until": valid_until});
        let mut card = ChargeCard::new(serde_json::from_value(body).unwrap(), now()).unwrap();
        card.mark_written();
        card
    }

    fn change(body: serde_json::Value) -> ChargeCardChange {
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn a_card_expires_once_and_comes_back_when_it_is_extended() {
        let until = now().plus(DAY);
        let mut card = card(Some(until));
        assert!(!card.expire(until.plus(millis(-1))));
        assert!(card.object.has_expired(until) && !card.object.has_expired(now()));
        assert!(card.expire(until));
        assert_eq!(card.object.status, CardStatus::Expired);
        assert_eq!(card.events(), [EventType::ChargeCardUpdated]);
        assert!(!card.expire(until));
        let refused = card.update(change(json!({"status": "active"})), until);
        assert!(refused.is_err());
        let mut card = self::card(Some(until));
        card.expire(until);
        let later = until.plus(DAY);
        card.update(change(json!({"valid_until": later})), until)
            .unwrap();
        assert_eq!(card.object.status, CardStatus::Active);
        assert_eq!(card.internal.next_action_at, Some(later));
        card.update(change(json!({"valid_until": null})), until)
            .unwrap();
        assert_eq!(card.internal.next_action_at, None);
    }

    #[test]
    fn a_card_that_is_blocked_stays_blocked_when_it_is_extended() {
        let mut card = card(None);
        card.update(change(json!({"status": "blocked"})), now())
            .unwrap();
        let later = now().plus(DAY);
        card.update(change(json!({"valid_until": later})), now())
            .unwrap();
        assert_eq!(card.object.status, CardStatus::Blocked);
        assert!(
            card.update(change(json!({"status": "expired"})), now())
                .is_err()
        );
    }

    #[test]
    fn a_card_that_was_lost_is_lost_again_after_a_renewal() {
        let until = now().plus(DAY);
        let mut card = card(Some(until));
        card.update(change(json!({"status": "lost"})), now())
            .unwrap();
        assert!(card.expire(until));
        assert_eq!(card.object.status, CardStatus::Expired);
        // A dispute about the uid changes nothing of that.
        assert!(card.settle_uid(false, until) && card.settle_uid(true, until));
        card.update(change(json!({"valid_until": null})), until)
            .unwrap();
        assert_eq!(card.object.status, CardStatus::Lost);
        card.update(change(json!({"status": "active"})), until)
            .unwrap();
        assert!(card.settle_uid(false, until) && card.settle_uid(true, until));
        assert_eq!(card.object.status, CardStatus::Active);
    }

    #[test]
    fn a_card_is_blocked_when_its_driver_is_deleted() {
        let driver = Id::from_number(Kind::Driver, 1);
        let until = now().plus(DAY);
        for expires in [false, true] {
            let mut card = card(Some(until));
            card.object.driver = Some(driver.clone());
            if expires {
                card.expire(until);
            }
            assert!(card.release(&driver, until));
            card.update(change(json!({"valid_until": null})), until)
                .unwrap();
            assert_eq!(card.object.status, CardStatus::Blocked);
        }
    }

    #[test]
    fn a_card_keeps_a_holder_unless_its_holder_is_deleted() {
        let mut card = card(None);
        let vehicle = card.object.vehicle.clone().unwrap();
        let none = card.clone().update(change(json!({"vehicle": null})), now());
        assert!(none.is_err());
        assert!(!card.release(&Id::from_number(Kind::Vehicle, 2), now()));
        assert!(card.release(&vehicle, now()));
        assert_eq!(card.object.holders().count(), 0);
        assert_eq!(card.object.status, CardStatus::Active);
        // A card without a driver and a vehicle can still be updated.
        card.update(change(json!({"status": "lost"})), now())
            .unwrap();
    }

    #[test]
    fn a_uid_is_visible_ascii() {
        for uid in ["0", "04A1B2C3D4E5F6", "DE-8AC-C12E46L89#1"] {
            assert!(CardUid::try_from(uid.to_owned()).is_ok(), "{uid}");
        }
        for uid in ["", "04 A1", "ü", "a\n", &"0".repeat(37)] {
            assert!(CardUid::try_from(uid.to_owned()).is_err(), "{uid}");
        }
        assert!(VisualNumber::try_from("DF000-2001-8999".to_owned()).is_ok());
        for number in ["", " 1", "Zoë", "<b>", &"0".repeat(65)] {
            assert!(VisualNumber::try_from(number.to_owned()).is_err());
        }
    }
}

//! Payment methods: the cards, bank accounts and wallets that are charged. A provider's token represents a card or bank account; this
//! service never receives its number.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::RequestBody;
use super::driver::Driver;
use super::stored::Object;
use super::test_token::{is_test_token, test_tokens};
use super::{check_size, sized};
use kernel::error::Violation;
use kernel::fields::card::Card;
use kernel::fields::metadata::{Metadata, MetadataChange};
use kernel::time::days;
use kernel::{Code, Error, Id, Kind, Mode, Result, SignedDuration, Timestamp};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PaymentMethod {
    pub id: Id,
    pub object: Kind,
    /// Card that is charged; null for other types.
    pub card: Option<Card>,
    pub created: Timestamp,
    /// Id of the driver who owns it; if `fleet` is null too, the account owns it.
    pub driver: Option<Id>,
    /// Id of the fleet that owns it; null if a driver or the account does.
    pub fleet: Option<Id>,
    pub metadata: Metadata,
    /// Kind of payment method.
    #[serde(rename = "type")]
    pub kind: PaymentMethodType,
    pub updated: Timestamp,
}

/// A card or bank account as the provider shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderMethod {
    /// `None` for a bank account.
    pub card: Option<Card>,
    /// The provider's customer that the method is attached to.
    pub customer: Option<String>,
    /// The provider's ids that only one account may use: the customer and the token. Empty for test tokens, which
    /// every account uses.
    pub exclusive: Vec<String>,
}

impl Object for PaymentMethod {
    type Internal = PaymentMethodInternal;

    const KIND: Kind = Kind::PaymentMethod;

    fn id(&self) -> &Id {
        &self.id
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaymentMethodType {
    Card,
    BankAccount,
    /// Pays from its owner's `wallet_balance`, never below zero.
    Wallet,
}

/// The internal state of a payment method.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentMethodInternal {
    /// The provider's token; none for a wallet.
    pub token: Option<String>,
    /// The provider's customer that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer: Option<String>,
}

/// A payment method that was deleted. It is kept for a while, because amounts that became due before the deletion are still charged to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeletedPaymentMethod {
    pub method: PaymentMethod,
    pub deleted: Timestamp,
}

impl Object for DeletedPaymentMethod {
    type Internal = PaymentMethodInternal;

    const KIND: Kind = Kind::PaymentMethod;

    fn id(&self) -> &Id {
        &self.method.id
    }
}

/// How long a deleted payment method is kept.
const DELETED_KEPT: SignedDuration = days(90);

impl DeletedPaymentMethod {
    pub fn kept_until(&self) -> Timestamp {
        self.deleted.plus(DELETED_KEPT)
    }
}

/// The body of `POST /v1/payment_methods`.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPaymentMethod {
    /// Kind of payment method. `wallet` pays from the owner's `wallet_balance`.
    #[serde(rename = "type")]
    pub kind: PaymentMethodType,
    /// The payment provider's token for the card or bank account; never its number. Required unless the type is `wallet`, for which it must
    /// be omitted. In test mode one of `tok_success`, `tok_declined`, `tok_insufficient_funds`, `tok_expired`; in live mode a provider's
    /// token such as `pm_…`.
    pub token: Option<String>,
    /// Id of the driver who owns it; not together with `fleet`. Without either, the account owns it.
    pub driver: Option<Id>,
    /// Id of the fleet that owns it; not together with `driver`.
    pub fleet: Option<Id>,
    #[serde(default)]
    pub metadata: MetadataChange,
}

impl RequestBody for NewPaymentMethod {
    const INVALID: Option<Code> = Some(Code::PaymentMethodInvalidInput);
}

/// The body of `POST /v1/payment_methods/{id}`.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PaymentMethodChange {
    #[serde(default)]
    pub metadata: MetadataChange,
}

impl RequestBody for PaymentMethodChange {
    const INVALID: Option<Code> = Some(Code::PaymentMethodInvalidInput);
}

/// The maximum length of a token, in characters.
const MAX_TOKEN: usize = 255;

fn invalid(param: &str, message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Code::PaymentMethodInvalidInput.because(message).at(param)
}

impl NewPaymentMethod {
    /// Checks the rules that depend on the body alone, and returns the token.
    ///
    /// # Errors
    /// `payment_method_scope_invalid` for two owners; `payment_method_invalid_input` for a token that is missing, not of
    /// this mode, or the number of a card.
    pub fn check(&self, mode: Mode) -> Result<Option<&str>> {
        if self.driver.is_some() && self.fleet.is_some() {
            return Err(Code::PaymentMethodScopeInvalid
                .because("A payment method belongs to a driver, to a fleet, or to the account.")
                .at("fleet"));
        }
        match (self.kind, self.token.as_deref()) {
            (PaymentMethodType::Wallet, None) => Ok(None),
            (PaymentMethodType::Wallet, Some(_)) => {
                Err(invalid("token", "a wallet takes no token"))
            }
            (_, None) => {
                let missing = vec![Violation::missing("token")];
                Err(invalid("token", "is required").violating(missing))
            }
            (_, Some(token)) => check_token(token, mode).map(|()| Some(token)),
        }
    }
}

fn check_token(token: &str, mode: Mode) -> Result<()> {
    if is_card_number(token) {
        return Err(invalid(
            "token",
            "this looks like the number of a card: send the token your payment provider gave for it, never the number",
        ));
    }
    match mode {
        Mode::Test if !is_test_token(token) => Err(invalid(
            "token",
            format!("in test mode the token must be one of {}", test_tokens()),
        )),
        Mode::Live if is_test_token(token) => {
            Err(invalid("token", "test tokens mean nothing in live mode"))
        }
        Mode::Live if !is_providers(token) => Err(invalid(
            "token",
            "expected a token of the payment provider, such as pm_…",
        )),
        _ => Ok(()),
    }
}

/// Checks whether a text has 13 to 19 digits, grouped or not.
fn is_card_number(token: &str) -> bool {
    let digits = token.chars().filter(|c| !c.is_whitespace() && *c != '-');
    let (count, all) = digits.fold((0, true), |(count, all), c| {
        (count + 1, all && c.is_ascii_digit())
    });
    all && (13..=19).contains(&count)
}

fn is_providers(token: &str) -> bool {
    let word = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    token.len() <= MAX_TOKEN
        && token
            .split_once('_')
            .is_some_and(|(kind, rest)| matches!(kind, "tok" | "pm") && word(rest))
}

/// The payer, whose payment methods may be used.
#[derive(Debug, Clone, Copy, Default)]
pub struct Payer<'a> {
    pub driver: Option<&'a Id>,
    pub fleet: Option<&'a Id>,
}

impl<'a> Payer<'a> {
    /// Returns the account as the payer.
    pub fn account() -> Self {
        Self::default()
    }

    pub fn fleet(fleet: &'a Id) -> Self {
        Self {
            fleet: Some(fleet),
            ..Self::default()
        }
    }

    pub fn driver(driver: &'a Id) -> Self {
        Self {
            driver: Some(driver),
            ..Self::default()
        }
    }

    /// Returns a driver with a vehicle of a fleet as the payer: the payment methods of either may be used.
    pub fn of_drive(driver: &'a Driver, fleet: &'a Id) -> Self {
        Self {
            driver: Some(&driver.id),
            fleet: Some(fleet),
        }
    }
}

impl PaymentMethod {
    /// Returns a new payment method with its internal state.
    ///
    /// # Errors
    /// 400 if metadata exceeds its limits.
    pub fn new(
        new: NewPaymentMethod,
        provider: ProviderMethod,
        now: Timestamp,
    ) -> Result<(Self, PaymentMethodInternal)> {
        let method = Self {
            id: Id::new(Kind::PaymentMethod, now),
            object: Kind::PaymentMethod,
            card: provider
                .card
                .filter(|_| new.kind == PaymentMethodType::Card),
            created: now,
            driver: new.driver,
            fleet: new.fleet,
            metadata: Metadata::new(new.metadata).map_err(coded)?,
            kind: new.kind,
            updated: now,
        };
        let method = sized(method).map_err(coded)?;
        let internal = PaymentMethodInternal {
            token: new.token,
            customer: provider.customer,
        };
        Ok((method, internal))
    }

    /// Applies an update. Omitted fields keep their values.
    ///
    /// # Errors
    /// 400 if metadata exceeds its limits.
    pub fn update(&mut self, change: PaymentMethodChange, now: Timestamp) -> Result<()> {
        let PaymentMethodChange { metadata } = change;
        let unchanged = self.metadata.clone();
        self.metadata.merge(metadata).map_err(coded)?;
        if self.metadata == unchanged {
            return Ok(());
        }
        self.updated = now;
        check_size(self).map_err(coded)
    }

    /// Checks whether this payer may use the payment method. Every payer may use the account's; those of a driver or fleet may be used by
    /// that one only.
    ///
    /// # Errors
    /// `payment_method_scope_invalid` for a method of another owner.
    pub fn check_payer(&self, payer: Payer<'_>) -> Result<()> {
        let fits =
            |owner: &Option<Id>, payer: Option<&Id>| owner.is_none() || owner.as_ref() == payer;
        if fits(&self.driver, payer.driver) && fits(&self.fleet, payer.fleet) {
            return Ok(());
        }
        let message = "The payment method belongs to another driver or fleet.";
        Err(Code::PaymentMethodScopeInvalid.because(message))
    }
}

fn coded(error: Error) -> Error {
    error.coded(Some(Code::PaymentMethodInvalidInput))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn check(body: Value, mode: Mode) -> Result<Option<String>> {
        let new: NewPaymentMethod = serde_json::from_value(body).unwrap();
        new.check(mode).map(|token| token.map(str::to_owned))
    }

    #[test]
    fn each_mode_takes_its_own_tokens() {
        let card = |token: &str| json!({"type": "card", "token": token});
        for (token, test, live) in [
            ("tok_success", true, false),
            ("tok_expired", true, false),
            ("tok_1MqLiJLkdIwHu7ix", false, true),
            ("pm_1MqLiJLkdIwHu7ix", false, true),
            ("tok_", false, false),
            ("card_1", false, false),
            ("tok_a b", false, false),
            ("", false, false),
            ("4242424242424242", false, false),
        ] {
            assert_eq!(check(card(token), Mode::Test).is_ok(), test, "{token}");
            assert_eq!(check(card(token), Mode::Live).is_ok(), live, "{token}");
        }
    }

    #[test]
    fn the_number_of_a_card_is_refused_however_it_is_written() {
        for number in [
            "4242424242424242",
            "4242 4242 4242 4242",
            "4242-4242-4242-4242",
            "378282246310005",
            "4222222222222",
            "6304000000000000000",
        ] {
            for mode in [Mode::Test, Mode::Live] {
                let refused = check(json!({"type": "card", "token": number}), mode).unwrap_err();
                assert!(refused.is(Code::PaymentMethodInvalidInput));
                assert!(refused.to_string().contains("never the number"), "{number}");
                assert!(!refused.to_string().contains(number));
            }
        }
        assert!(!is_card_number("424242424242") && !is_card_number("tok_4242424242424242"));
    }

    #[test]
    fn a_wallet_takes_no_token_and_everything_else_needs_one() {
        for mode in [Mode::Test, Mode::Live] {
            assert!(check(json!({"type": "wallet"}), mode).unwrap().is_none());
            assert!(check(json!({"type": "wallet", "token": "tok_success"}), mode).is_err());
            assert!(check(json!({"type": "card"}), mode).is_err());
            assert!(check(json!({"type": "bank_account"}), mode).is_err());
        }
        let two = json!({"type": "wallet", "driver": "a", "fleet": "b"});
        assert!(
            check(two, Mode::Test)
                .unwrap_err()
                .is(Code::PaymentMethodScopeInvalid)
        );
    }

    #[test]
    fn a_method_pays_for_its_owner_and_the_accounts_for_everybody() {
        let now = Timestamp::from_unix_millis(0);
        let (ada, bob) = (Id::new(Kind::Driver, now), Id::new(Kind::Driver, now));
        let fleet = Id::new(Kind::Fleet, now);
        let make = |owner: Value| {
            let new = serde_json::from_value(owner).unwrap();
            PaymentMethod::new(new, ProviderMethod::default(), now)
                .unwrap()
                .0
        };
        let hers = make(json!({"type": "wallet", "driver": ada}));
        let fleets = make(json!({"type": "wallet", "fleet": fleet}));
        let accounts = make(json!({"type": "wallet"}));
        let drive = Payer {
            driver: Some(&ada),
            fleet: Some(&fleet),
        };
        for (method, payer, want) in [
            (&hers, Payer::driver(&ada), true),
            (&hers, Payer::driver(&bob), false),
            (&hers, Payer::fleet(&fleet), false),
            (&hers, Payer::account(), false),
            (&hers, drive, true),
            (&fleets, drive, true),
            (&fleets, Payer::driver(&ada), false),
            (&fleets, Payer::account(), false),
            (&accounts, drive, true),
            (&accounts, Payer::account(), true),
        ] {
            assert_eq!(method.check_payer(payer).is_ok(), want);
        }
    }
}

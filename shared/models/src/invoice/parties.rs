//! The seller and the buyer of an invoice: copies of the details of the account and the fleet when the invoice was finalized.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::account::Account;
use crate::fleet::Fleet;
use kernel::Id;
use kernel::fields::address::Address;
use kernel::fields::party::{Bic, ElectronicAddress, Iban, VatId};
use kernel::fields::text::{Email, Name, Text};

/// The seller of an invoice as it was when the invoice was finalized.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Seller {
    /// Id of the account.
    pub account: Id,
    /// Postal address; null if it was not set.
    pub address: Option<Address>,
    /// BIC of the bank to which an invoice is paid; null if it was not set.
    pub bic: Option<Bic>,
    /// Address for electronic invoices, such as a Peppol participant; null if it is not set.
    pub electronic_address: Option<ElectronicAddress>,
    /// Contact address.
    pub email: Email,
    /// IBAN to which an invoice is paid; null if it was not set.
    pub iban: Option<Iban>,
    /// Registered name.
    pub legal_name: Name,
    /// Number in the commercial register; null if it is not set.
    pub registration_number: Option<Text<256>>,
    /// VAT identifier with the prefix of its country, such as `DE123456789`; null if it is not set.
    pub vat_id: Option<VatId>,
}

/// The buyer of an invoice as it was when the invoice was finalized: a fleet, or the account itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Buyer {
    /// Postal address; null if it was not set.
    pub address: Option<Address>,
    /// Text that the buyer requires on its invoices, such as the number of an order; null if it was not set.
    pub buyer_reference: Option<Text<256>>,
    /// Address for electronic invoices, such as a Peppol participant; null if it is not set.
    pub electronic_address: Option<ElectronicAddress>,
    /// Contact address.
    pub email: Email,
    /// Id of the fleet; null for an invoice of the whole account.
    pub fleet: Option<Id>,
    /// Registered name.
    pub legal_name: Name,
    /// Number in the commercial register; null if it is not set.
    pub registration_number: Option<Text<256>>,
    /// VAT identifier with the prefix of its country, such as `DE123456789`; null if it is not set.
    pub vat_id: Option<VatId>,
}

impl Seller {
    pub fn of(account: &Account) -> Self {
        let details = account.billing_details.clone();
        Self {
            account: account.id.clone(),
            address: details.billing_address,
            bic: details.bic,
            electronic_address: details.electronic_address,
            email: account.email.clone(),
            iban: details.iban,
            legal_name: details.legal_name.unwrap_or_else(|| account.name.clone()),
            registration_number: account.registration_number.clone(),
            vat_id: details.vat_id,
        }
    }
}

impl Buyer {
    /// Returns the account as the buyer of an invoice of the whole account.
    pub fn of_account(account: &Account) -> Self {
        let seller = Seller::of(account);
        Self {
            address: seller.address,
            buyer_reference: None,
            electronic_address: seller.electronic_address,
            email: seller.email,
            fleet: None,
            legal_name: seller.legal_name,
            registration_number: seller.registration_number,
            vat_id: seller.vat_id,
        }
    }

    pub fn of_fleet(fleet: &Fleet) -> Self {
        let details = fleet.billing_details.clone();
        let address = details.billing_address;
        Self {
            address: Some(address.unwrap_or_else(|| fleet.address.clone())),
            buyer_reference: details.buyer_reference,
            electronic_address: details.electronic_address,
            email: fleet.email.clone(),
            fleet: Some(fleet.id.clone()),
            legal_name: details.legal_name.unwrap_or_else(|| fleet.name.clone()),
            registration_number: details.registration_number,
            vat_id: details.vat_id,
        }
    }
}

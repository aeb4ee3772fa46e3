//! The details that accounts and fleets show on invoices, as sellers and as buyers.

use jiff::tz::TimeZone;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use kernel::fields::address::Address;
use kernel::fields::party::{
    Bic, ElectronicAddress, Iban, InvoicePrefix, PaymentTerm, TaxPercent, VatId, listed,
};
use kernel::fields::patch::Patch;
use kernel::fields::text::{Name, Text, ZoneName};
use kernel::time::days;
use kernel::{SignedDuration, Timestamp};

/// The details of an account as the seller on its invoices, and its settings for issuing them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BillingDetails {
    /// Address that invoices show; null if it is not set.
    pub billing_address: Option<Address>,
    /// BIC of the bank to which invoices are paid; null if it is not set.
    pub bic: Option<Bic>,
    /// Address for electronic invoices, such as a Peppol participant; null if it is not set.
    pub electronic_address: Option<ElectronicAddress>,
    /// IBAN to which invoices are paid; null if it is not set.
    pub iban: Option<Iban>,
    /// Prefix of the numbers of invoices: `<prefix><year>-<sequence>`.
    pub invoice_prefix: Option<InvoicePrefix>,
    /// Registered name that invoices show. Null: the account's `name`.
    pub legal_name: Option<Name>,
    /// Number of days after its creation at which an invoice is due. Null: 30.
    pub payment_terms_days: Option<PaymentTerm>,
    /// Tax that reservation fees include, in percent. It applies to reservations that are created later, and to fees that
    /// only a charging network bills later. Null: 0.
    pub reservation_fee_tax_percent: Option<TaxPercent>,
    /// Time zone that decides in which year an invoice is finalized. Null: UTC.
    pub timezone: Option<ZoneName>,
    /// VAT identifier with the prefix of its country, such as `DE123456789`; null if it is not set.
    pub vat_id: Option<VatId>,
}

/// A change of an account's billing details. Omitted fields keep their values.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BillingDetailsChange {
    /// Address that invoices show. Null removes it.
    #[serde(default)]
    pub billing_address: Patch<Address>,
    /// BIC of the bank to which invoices are paid, 8 or 11 characters. Null removes it.
    #[serde(default)]
    pub bic: Patch<Bic>,
    /// Address for electronic invoices, such as a Peppol participant. Null removes it.
    #[serde(default, deserialize_with = "listed")]
    pub electronic_address: Patch<ElectronicAddress>,
    /// IBAN to which invoices are paid; blanks are removed. Null removes it.
    #[serde(default)]
    pub iban: Patch<Iban>,
    /// Prefix of the numbers of later invoices: `<prefix><year>-<sequence>`. It must not end in `CN`, in upper or lower case, because the
    /// numbers of credit notes are `<prefix>CN<year>-<sequence>`. Null restores the default.
    #[serde(default, deserialize_with = "distinct_prefix")]
    pub invoice_prefix: Patch<InvoicePrefix>,
    /// Registered name that invoices show. Null: the `name`.
    #[serde(default)]
    pub legal_name: Patch<Name>,
    /// Days after its creation at which an invoice is due. Null: 30.
    #[serde(default)]
    pub payment_terms_days: Patch<PaymentTerm>,
    /// Tax that the fees of later reservations include, and fees that only a charging network bills later, in percent. Null: 0.
    #[serde(default)]
    pub reservation_fee_tax_percent: Patch<TaxPercent>,
    /// Time zone in which the year of an invoice's number begins. Null: UTC.
    #[serde(default)]
    pub timezone: Patch<ZoneName>,
    /// VAT identifier with the prefix of its country, such as `DE123456789`. Null removes it.
    #[serde(default)]
    pub vat_id: Patch<VatId>,
}

/// Reads the prefix of a request. A stored prefix is read as it is.
fn distinct_prefix<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Patch<InvoicePrefix>, D::Error> {
    let prefix = Patch::deserialize(deserializer)?;
    if let Patch::Set(prefix) = &prefix {
        InvoicePrefix::check_distinct(prefix).map_err(D::Error::custom)?;
    }
    Ok(prefix)
}

/// The details of a fleet as the buyer on its invoices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FleetBillingDetails {
    /// Address that invoices show. Null: the fleet's `address`.
    pub billing_address: Option<Address>,
    /// Text that the buyer requires on its invoices, such as the number of an order; null if it is not set.
    pub buyer_reference: Option<Text<256>>,
    /// Address for electronic invoices, such as a Peppol participant; null if it is not set.
    pub electronic_address: Option<ElectronicAddress>,
    /// The language of the labels in documents. Null: `en`.
    #[schema(required)]
    pub language: Option<Language>,
    /// Registered name that invoices show. Null: the fleet's `name`.
    pub legal_name: Option<Name>,
    /// Number in the commercial register; null if it is not set.
    pub registration_number: Option<Text<256>>,
    /// VAT identifier with the prefix of its country, such as `DE123456789`; null if it is not set.
    pub vat_id: Option<VatId>,
}

/// The language of the labels in documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    #[default]
    En,
    De,
}

/// A change of a fleet's billing details. Omitted fields keep their values.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FleetBillingDetailsChange {
    /// Address that invoices show. Null: the fleet's `address`.
    #[serde(default)]
    pub billing_address: Patch<Address>,
    /// Text that the buyer requires on its invoices, such as the number of an order. Null removes it.
    #[serde(default)]
    pub buyer_reference: Patch<Text<256>>,
    /// Address for electronic invoices, such as a Peppol participant. Null removes it.
    #[serde(default, deserialize_with = "listed")]
    pub electronic_address: Patch<ElectronicAddress>,
    /// The language of the labels in documents. Null: `en`.
    #[serde(default)]
    pub language: Patch<Language>,
    /// Registered name that invoices show. Null: the `name`.
    #[serde(default)]
    pub legal_name: Patch<Name>,
    /// Number of the buyer in its commercial register. Null removes it.
    #[serde(default)]
    pub registration_number: Patch<Text<256>>,
    /// VAT identifier with the prefix of its country, such as `DE123456789`. Null removes it.
    #[serde(default)]
    pub vat_id: Patch<VatId>,
}

impl BillingDetails {
    /// Returns the time between the creation of an invoice and its due date.
    pub fn payment_term(&self) -> SignedDuration {
        days(self.payment_terms_days.map_or(30, PaymentTerm::days))
    }

    /// Returns the year for the number of an invoice that is finalized now.
    pub fn year(&self, now: Timestamp) -> i16 {
        let zone = self.timezone.as_ref();
        let zone = zone.map_or(TimeZone::UTC, ZoneName::rules);
        now.date_in(&zone).year()
    }

    /// Returns the number of an invoice that is finalized in that year.
    pub fn number(&self, year: i16, sequence: u64) -> String {
        format!("{}{year}-{sequence}", self.prefix())
    }

    /// Returns the number of a credit note of that year.
    pub fn credit_note_number(&self, year: i16, sequence: u64) -> String {
        format!("{}CN{year}-{sequence}", self.prefix())
    }

    fn prefix(&self) -> &str {
        let prefix = self.invoice_prefix.as_ref();
        prefix.map_or("", InvoicePrefix::as_str)
    }

    /// Applies a change. Omitted fields keep their values.
    pub fn update(&mut self, change: BillingDetailsChange) {
        let BillingDetailsChange {
            billing_address,
            bic,
            electronic_address,
            iban,
            invoice_prefix,
            legal_name,
            payment_terms_days,
            reservation_fee_tax_percent,
            timezone,
            vat_id,
        } = change;
        billing_address.apply(&mut self.billing_address);
        bic.apply(&mut self.bic);
        electronic_address.apply(&mut self.electronic_address);
        iban.apply(&mut self.iban);
        invoice_prefix.apply(&mut self.invoice_prefix);
        legal_name.apply(&mut self.legal_name);
        payment_terms_days.apply(&mut self.payment_terms_days);
        reservation_fee_tax_percent.apply(&mut self.reservation_fee_tax_percent);
        timezone.apply(&mut self.timezone);
        vat_id.apply(&mut self.vat_id);
    }
}

impl FleetBillingDetails {
    /// Applies a change. Omitted fields keep their values.
    pub fn update(&mut self, change: FleetBillingDetailsChange) {
        let FleetBillingDetailsChange {
            billing_address,
            buyer_reference,
            electronic_address,
            language,
            legal_name,
            registration_number,
            vat_id,
        } = change;
        billing_address.apply(&mut self.billing_address);
        buyer_reference.apply(&mut self.buyer_reference);
        electronic_address.apply(&mut self.electronic_address);
        language.apply(&mut self.language);
        legal_name.apply(&mut self.legal_name);
        registration_number.apply(&mut self.registration_number);
        vat_id.apply(&mut self.vat_id);
    }
}

//! Conversion of parties, currencies, languages and tax categories to the terms of the documents.

use documents::Party;
use kernel::Currency;
use kernel::fields::address::Address;
use kernel::fields::party::{ElectronicAddress, VatId};
use kernel::fields::text::{Name, Text};
use models::invoice::{Buyer, Seller, TaxCategory};
use models::party::Language;

pub fn currency(currency: Currency) -> documents::Currency {
    documents::Currency {
        code: currency.as_str().to_owned(),
        decimals: currency.exponent(),
    }
}

pub fn language(language: Language) -> documents::Language {
    match language {
        Language::En => documents::Language::En,
        Language::De => documents::Language::De,
    }
}

pub fn category(category: TaxCategory) -> documents::TaxCategory {
    match category {
        TaxCategory::S => documents::TaxCategory::Standard,
        TaxCategory::Z => documents::TaxCategory::Zero,
        TaxCategory::E => documents::TaxCategory::Exempt,
    }
}

pub fn seller(seller: Option<&Seller>) -> documents::Seller {
    let Some(seller) = seller else {
        return documents::Seller::default();
    };
    documents::Seller {
        party: party(
            &seller.legal_name,
            seller.vat_id.as_ref(),
            seller.registration_number.as_ref(),
            seller.address.as_ref(),
            seller.electronic_address.as_ref(),
        ),
        iban: seller.iban.clone().map(Into::into),
        bic: seller.bic.clone().map(Into::into),
    }
}

pub fn buyer(buyer: Option<&Buyer>) -> documents::Buyer {
    let Some(buyer) = buyer else {
        return documents::Buyer::default();
    };
    documents::Buyer {
        party: party(
            &buyer.legal_name,
            buyer.vat_id.as_ref(),
            buyer.registration_number.as_ref(),
            buyer.address.as_ref(),
            buyer.electronic_address.as_ref(),
        ),
        reference: buyer
            .buyer_reference
            .as_ref()
            .map(|text| text.as_str().to_owned()),
    }
}

fn party(
    name: &Name,
    vat_id: Option<&VatId>,
    registration_number: Option<&Text<256>>,
    address: Option<&Address>,
    electronic_address: Option<&ElectronicAddress>,
) -> Party {
    let unless_empty = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Party {
        legal_name: Some(name.as_str().to_owned()),
        vat_id: vat_id.map(|id| id.as_str().to_owned()),
        registration_number: registration_number.map(|number| number.as_str().to_owned()),
        address: address.map(|address| documents::Address {
            line1: address.line1.as_str().to_owned(),
            line2: unless_empty(address.line2.as_str()),
            postal_code: address.postal_code.as_str().to_owned(),
            city: address.city.as_str().to_owned(),
            state: unless_empty(address.state.as_str()),
            country: address.country.as_str().to_owned(),
        }),
        electronic_address: electronic_address.map(|address| documents::ElectronicAddress {
            scheme: address.scheme.as_str().to_owned(),
            value: address.value.as_str().to_owned(),
        }),
    }
}

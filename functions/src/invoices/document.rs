//! The documents of a final invoice: a PDF, and XML in the two syntaxes of EN 16931.
//!
//! A document follows from the invoice as it was finalized, so the same document is made however often and whenever it is made. The job
//! `make-documents` makes all of them at the finalization, which does not wait for it; a request for one that is not there makes that one.
//! They are kept below `documents/` in the bucket, where nothing expires and the erasure of an account deletes nothing: what was issued has
//! to be kept for the legal term.

use std::iter::once;

use documents::{Document, DocumentKind, Line, Party, Period, Unit, Unwritable};
use jiff::tz::TimeZone;
use kernel::fields::address::Address;
use kernel::fields::party::{ElectronicAddress, VatId};
use kernel::fields::text::{Name, Text};
use kernel::origin::Tenant;
use kernel::time::{Timestamp, millis};
use kernel::{Error, Kind};
use models::invoice::{Buyer, Invoice, Issued, LineItem, LineType, Seller, TaxAmount, TaxCategory};
use models::party::Language;
use models::stored::Stored;
use serde::Deserialize;
use table::list::{Cursor, PageRequest};
use utoipa::ToSchema;

use crate::App;

/// How many lines are read at once.
const BATCH: usize = 100;

/// The form of a document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DocumentFormat {
    /// A PDF/A-3 with the CII inside (Factur-X), if the invoice can be written as CII.
    #[default]
    Pdf,
    /// EN 16931 in UBL 2.1.
    Ubl,
    /// EN 16931 in UN/CEFACT CII.
    Cii,
}

impl DocumentFormat {
    pub const ALL: [Self; 3] = [Self::Pdf, Self::Ubl, Self::Cii];

    /// What the name of a file ends with.
    fn ending(self) -> &'static str {
        match self {
            Self::Pdf => ".pdf",
            Self::Ubl => "-ubl.xml",
            Self::Cii => "-cii.xml",
        }
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Pdf => "application/pdf",
            Self::Ubl | Self::Cii => "application/xml",
        }
    }
}

/// The keys of the documents of an invoice in the bucket, without their endings.
///
/// # Errors
/// 409 for a draft.
fn key(tenant: &Tenant, invoice: &Invoice) -> Result<String, Error> {
    let number = invoice.number.as_deref().ok_or_else(|| {
        let message = "A draft has no documents; they are made when it is finalized.";
        Error::conflict(message, Some(Kind::Invoice.name()))
    })?;
    let (account, mode, id) = (&tenant.account, tenant.mode, &invoice.id);
    let number = number.replace('/', "-");
    Ok(format!("documents/{account}/{mode}/{id}/{number}"))
}

/// The key of a document, which is made if it is not there.
///
/// # Errors
/// 409 for a draft, and for an invoice that cannot be written in this format; `Unavailable` if DynamoDB or the bucket cannot be reached.
pub async fn find_or_make(
    app: &App,
    tenant: &Tenant,
    row: &Stored<Invoice>,
    format: DocumentFormat,
) -> Result<String, Error> {
    let key = format!("{}{}", key(tenant, &row.object)?, format.ending());
    if app.files.list(&key).await?.contains(&key) {
        return Ok(key);
    }
    let document = document_of(app, tenant, row).await?;
    make(app, key, document, format).await
}

/// Makes every document of a final invoice that can be written.
///
/// # Errors
/// 409 for a draft; `Unavailable` if DynamoDB or the bucket cannot be reached.
pub async fn make_all(app: &App, tenant: &Tenant, row: &Stored<Invoice>) -> Result<(), Error> {
    let key = key(tenant, &row.object)?;
    let document = document_of(app, tenant, row).await?;
    for format in DocumentFormat::ALL {
        let key = format!("{key}{}", format.ending());
        match make(app, key, document.clone(), format).await {
            // The request for it says why.
            Err(Error::Client(_)) | Ok(_) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn make(
    app: &App,
    key: String,
    document: Document,
    format: DocumentFormat,
) -> Result<String, Error> {
    let written = tokio::task::spawn_blocking(move || write(&document, format));
    let content = written.await.map_err(Error::internal)??;
    app.files.put(&key, format.content_type(), content).await?;
    Ok(key)
}

fn write(document: &Document, format: DocumentFormat) -> Result<Vec<u8>, Error> {
    let written = match format {
        DocumentFormat::Pdf => return documents::pdf(document).map_err(Error::internal),
        DocumentFormat::Ubl => documents::ubl(document),
        DocumentFormat::Cii => documents::cii(document),
    };
    written.map_err(|error| match error {
        Unwritable::Missing(fields) => {
            let message = format!(
                "The invoice was finalized without what EN 16931 requires: {}.",
                fields.join(", ")
            );
            let first = fields.into_iter().next().unwrap_or_default();
            Error::conflict(message, Some(&first))
        }
        Unwritable::Decimals(_) => {
            let message = format!("{error}; the invoice has a PDF only.");
            Error::conflict(message, Some("format"))
        }
        error @ (Unwritable::Invalid(_) | Unwritable::TooLarge(_)) => Error::internal(error),
    })
}

/// Reads the lines of a final invoice, and puts together what its documents show.
async fn document_of(app: &App, tenant: &Tenant, row: &Stored<Invoice>) -> Result<Document, Error> {
    let mut lines = Vec::new();
    let mut page_request = PageRequest::first(BATCH);
    loop {
        let page = app.store.lines(tenant, &row.object, &page_request).await?;
        let last = page.rows.last().map(|line| line.id.clone());
        lines.extend(page.rows);
        match last {
            Some(last) if page.older => page_request.from = Cursor::After(last),
            _ => break,
        }
    }
    // The oldest first.
    lines.reverse();
    let issued = row.internal.issued.as_ref();
    let issued = issued.ok_or_else(|| Error::internal("a final invoice that was not issued"))?;
    Ok(of_invoice(&row.object, issued, &lines))
}

fn of_invoice(invoice: &Invoice, issued: &Issued, lines: &[LineItem]) -> Document {
    let (seller_zone, buyer_zone) = (issued.seller_zone.rules(), issued.buyer_zone.rules());
    let issue_date = invoice.finalized_at.unwrap_or(invoice.created);
    let lines: Vec<Line> = lines
        .iter()
        .flat_map(|line| lines_of(line, issued.language, &buyer_zone))
        .collect();
    let gross = documents::Totals::of(&lines).map_or(invoice.totals.gross, |totals| totals.gross);
    Document {
        kind: DocumentKind::Invoice,
        number: invoice.number.clone().unwrap_or_default(),
        issue_date: issue_date.date_in(&seller_zone),
        due_date: Some(issued.due_date.date_in(&seller_zone)),
        period: Some(Period {
            start: invoice.period_start.date_in(&buyer_zone),
            end: invoice.period_end.plus(-millis(1)).date_in(&buyer_zone),
        }),
        currency: documents::Currency {
            code: invoice.currency.as_str().to_owned(),
            decimals: invoice.currency.exponent(),
        },
        language: match issued.language {
            Language::En => documents::Language::En,
            Language::De => documents::Language::De,
        },
        seller: invoice.seller.as_ref().map(seller).unwrap_or_default(),
        buyer: invoice.buyer.as_ref().map(buyer).unwrap_or_default(),
        preceding_invoice: None,
        payment_terms: None,
        exemption_reason: None,
        prepaid: issued.prepaid,
        rounding: invoice.totals.gross - gross,
        lines,
    }
}

/// The lines of a document that stand for a line of the invoice: one for each rate of tax, the first with the energy.
fn lines_of(line: &LineItem, language: Language, zone: &TimeZone) -> Vec<Line> {
    let none = TaxAmount {
        country: None,
        tax_percent: "0".to_owned().try_into().unwrap_or_default(),
        category: TaxCategory::Z,
        net: line.net,
        tax: line.tax,
    };
    let rates: Vec<&TaxAmount> = match &line.taxes[..] {
        // A session that is free of charge has no rates.
        [] => once(&none).collect(),
        taxes => taxes.iter().collect(),
    };
    let energy = once((line.energy_wh > 0).then_some(line.energy_wh));
    let text = |id: &Option<kernel::Id>| id.as_ref().map(ToString::to_string);
    rates
        .into_iter()
        .zip(energy.chain(std::iter::repeat(None)))
        .map(|(rate, energy_wh)| Line {
            description: description(line, language),
            quantity: 1.into(),
            unit: Unit::Piece,
            net_amount: rate.net,
            tax_percent: rate.tax_percent.decimal(),
            tax_category: match rate.category {
                TaxCategory::S => documents::TaxCategory::Standard,
                TaxCategory::Z => documents::TaxCategory::Zero,
                TaxCategory::E => documents::TaxCategory::Exempt,
            },
            energy_wh,
            period: period(line.started, line.ended, zone),
            plate: line.registration_plate.clone(),
            driver: line.driver_name.clone(),
            station: line.station_name.clone(),
            session: text(&line.charging_session),
            reservation: text(&line.reservation),
        })
        .collect()
}

fn period(
    from: Option<Timestamp>,
    until: Option<Timestamp>,
    zone: &TimeZone,
) -> Option<Period<jiff::civil::DateTime>> {
    Some(Period {
        start: from?.civil_in(zone),
        end: until?.civil_in(zone),
    })
}

/// What a line charges for. Who charged where and when stands beside it.
fn description(line: &LineItem, language: Language) -> String {
    let described = match (line.kind, language) {
        (LineType::Adjustment, _) => &line.description,
        (LineType::EnergySession, Language::En) => "Charging session",
        (LineType::EnergySession, Language::De) => "Ladevorgang",
        (LineType::ReservationFee, Language::En) => "Reservation fee",
        (LineType::ReservationFee, Language::De) => "Reservierungsgebühr",
    };
    described.to_owned()
}

fn seller(seller: &Seller) -> documents::Seller {
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

fn buyer(buyer: &Buyer) -> documents::Buyer {
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

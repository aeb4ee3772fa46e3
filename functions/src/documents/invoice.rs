//! The content of the documents of a final invoice.

use std::iter::once;

use documents::{Document, DocumentKind, Line, Period, Unit};
use jiff::tz::TimeZone;
use kernel::time::millis;
use kernel::{Error, Tenant, Timestamp};
use models::charging_station::PriceType;
use models::invoice::{Issued, LineItem, LineType, TaxAmount, TaxCategory};
use models::party::Language;
use models::{Invoice, Stored};
use table::list::{Cursor, PageRequest};

use super::Documented;
use super::parties::{buyer, category, currency, language, seller};
use crate::App;

/// The number of lines that are read at once.
const BATCH: usize = 100;

impl Documented for Invoice {
    fn number(&self) -> Option<&str> {
        self.number.as_deref()
    }

    async fn document(
        app: &App,
        tenant: &Tenant,
        invoice: &Stored<Self>,
    ) -> Result<Document, Error> {
        document_of(app, tenant, invoice).await
    }
}

/// Reads the lines of a final invoice, and assembles the content of its documents.
async fn document_of(
    app: &App,
    tenant: &Tenant,
    invoice: &Stored<Invoice>,
) -> Result<Document, Error> {
    let mut lines = lines_of_invoice(app, tenant, &invoice.object).await?;
    // Oldest first.
    lines.reverse();
    let issued = invoice.internal.issued.as_ref();
    let issued = issued.ok_or_else(|| Error::internal("a final invoice that was not issued"))?;
    Ok(of_invoice(&invoice.object, issued, &lines))
}

/// Reads all lines of an invoice, newest first.
pub(super) async fn lines_of_invoice(
    app: &App,
    tenant: &Tenant,
    invoice: &Invoice,
) -> Result<Vec<LineItem>, Error> {
    let mut lines = Vec::new();
    let mut page_request = PageRequest::first(BATCH);
    loop {
        let page = app.store.lines(tenant, invoice, &page_request).await?;
        let last = page.items.last().map(|line| line.id.clone());
        lines.extend(page.items);
        match last {
            Some(last) if page.older => page_request.from = Cursor::After(last),
            _ => return Ok(lines),
        }
    }
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
        currency: currency(invoice.currency),
        language: language(issued.language),
        seller: seller(invoice.seller.as_ref()),
        buyer: buyer(invoice.buyer.as_ref()),
        preceding_invoice: None,
        note: issued.description.clone().map(String::from),
        payment_terms: None,
        exemption_reason: None,
        prepaid: issued.prepaid,
        refunded: issued.refunded,
        rounding: invoice.totals.gross - gross,
        lines,
        time_zone: Some(issued.buyer_zone.as_str().to_owned()),
    }
}

/// The document lines for a line of the invoice: one for each tax rate, that of the energy price with the energy.
pub(super) fn lines_of(line: &LineItem, language: Language, zone: &TimeZone) -> Vec<Line> {
    let none = TaxAmount {
        country: None,
        tax_percent: "0".to_owned().try_into().unwrap_or_default(),
        category: TaxCategory::E,
        net: line.net,
        tax: line.tax,
    };
    let rates: Vec<&TaxAmount> = match &line.taxes[..] {
        // A session without prices has no rates: its tariff names no tax.
        [] => once(&none).collect(),
        taxes => taxes.iter().collect(),
    };
    let energy = line
        .tax_components
        .iter()
        .position(|prices| prices.contains(&PriceType::Energy));
    let text = |id: &Option<kernel::Id>| id.as_ref().map(ToString::to_string);
    rates
        .into_iter()
        .enumerate()
        .map(|(at, rate)| Line {
            description: description(line, at, language),
            quantity: 1.into(),
            unit: Unit::Piece,
            net_amount: rate.net,
            tax_percent: rate.tax_percent.decimal(),
            tax_category: category(rate.category),
            energy_wh: (at == energy.unwrap_or(0) && line.energy_wh > 0).then_some(line.energy_wh),
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

/// The description of the part of a line with its tax rate at a place: the thing that is charged for. The driver or vehicle, the place and
/// the time are separate fields.
fn description(line: &LineItem, at: usize, language: Language) -> String {
    let described = match (line.kind, language) {
        (LineType::Adjustment, _) => &line.description,
        (LineType::EnergySession, Language::En) => "Charging session",
        (LineType::EnergySession, Language::De) => "Ladevorgang",
        (LineType::ReservationFee, Language::En) => "Reservation fee",
        (LineType::ReservationFee, Language::De) => "Reservierungsgebühr",
    };
    let prices = line.tax_components.get(at).into_iter().flatten();
    let prices: Vec<&str> = prices.map(|price| name(*price, language)).collect();
    if prices.is_empty() {
        described.to_owned()
    } else {
        format!("{described}: {}", prices.join(", "))
    }
}

fn name(price: PriceType, language: Language) -> &'static str {
    let (english, german) = match price {
        PriceType::Energy => ("energy", "Energie"),
        PriceType::Time => ("charging time", "Ladezeit"),
        PriceType::ParkingTime => ("parking time", "Parkzeit"),
        PriceType::Flat => ("start fee", "Startgebühr"),
        PriceType::MinPrice => ("minimum price", "Mindestpreis"),
        PriceType::MaxPrice => ("maximum price", "Höchstpreis"),
    };
    match language {
        Language::En => english,
        Language::De => german,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_energy_is_on_the_part_with_the_energy_price() {
        let tax = |percent: &str, net: i64, tax: i64| json!({"country": "DE", "tax_percent": percent, "category": "S", "net": net, "tax": tax});
        let line = json!({"id": kernel::Id::from_number(kernel::Kind::LineItem, 1), "amount": 1297, "description": "", "energy_wh": 11_010,
            "free": false, "net": 1100, "quantity": 1, "tax": 197, "taxes": [tax("7", 100, 7), tax("19", 1000, 190)],
            "tax_components": [["FLAT"], ["ENERGY", "PARKING_TIME"]], "type": "energy_session", "unit_amount": 1297});
        let line: LineItem = serde_json::from_value(line).unwrap();
        for (language, names) in [
            (
                Language::En,
                [
                    "Charging session: start fee",
                    "Charging session: energy, parking time",
                ],
            ),
            (
                Language::De,
                ["Ladevorgang: Startgebühr", "Ladevorgang: Energie, Parkzeit"],
            ),
        ] {
            let parts = lines_of(&line, language, &TimeZone::UTC);
            let described: Vec<_> = parts.iter().map(|part| &part.description).collect();
            assert_eq!(described, names);
            let energy: Vec<_> = parts.iter().map(|part| part.energy_wh).collect();
            assert_eq!(energy, [None, Some(11_010)]);
        }
    }
}

//! Documents for tests, benchmarks and validators: a plain one, and random ones of every kind.
#![allow(dead_code, reason = "each program uses some of them")]

use documents::{
    Address, Buyer, Currency, Document, DocumentKind, ElectronicAddress, Language, Line, Party,
    Period, PrecedingInvoice, Seller, TaxCategory, Totals, Unit,
};
use jiff::ToSpan;
use jiff::civil::date;
use rust_decimal::Decimal;

/// A sequence of numbers that its seed determines (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        i64::try_from((mixed ^ (mixed >> 31)) >> 2).unwrap_or(0) % limit
    }

    fn one_in(&mut self, of: i64) -> bool {
        self.below(of) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        let at = self.below(i64::try_from(of.len()).unwrap_or(1));
        of[usize::try_from(at).unwrap_or(0)]
    }
}

fn address(line1: &str, postal_code: &str, city: &str, country: &str) -> Option<Address> {
    Some(Address {
        line1: line1.to_owned(),
        line2: None,
        postal_code: postal_code.to_owned(),
        city: city.to_owned(),
        state: None,
        country: country.to_owned(),
    })
}

/// Returns a session of the given number, with one tax rate.
pub fn session(number: i64, net_amount: i64, tax_percent: i64) -> Line {
    let energy_wh = 20_000 + number * 137 % 60_000;
    let start = date(2026, 10, 1).at(7, 40, 0, 0) + (number * 37 % 40_000).minutes();
    let cities = [
        "Köln Mediapark",
        "Gent Korenmarkt",
        "Lyon Part-Dieu",
        "Kraków Główny",
    ];
    let city = cities[usize::try_from(number % 4).unwrap_or(0)];
    Line {
        description: format!("Charging session, {city}"),
        quantity: Decimal::new(energy_wh, 3),
        unit: Unit::KilowattHour,
        net_amount,
        tax_percent: tax_percent.into(),
        tax_category: TaxCategory::Standard,
        energy_wh: Some(energy_wh),
        period: Some(Period {
            start,
            end: start + (20 + number * 13 % 80).minutes(),
        }),
        plate: Some(format!("K-FC {}", 100 + number % 900)),
        driver: Some("Zoë Müller-Łukasiewicz".to_owned()),
        station: Some(format!("{city} {}", 1 + number % 12)),
        session: Some(format!("cs_019ab4c2e7f37d0a8c1d{number:012}")),
        reservation: (number % 3 == 0).then(|| format!("res_019ab4c2e7f37d0a8c1d{number:012}")),
    }
}

/// Returns a fee or an adjustment: neither energy nor a station.
pub fn fee(description: &str, net_amount: i64, tax_percent: i64) -> Line {
    Line {
        description: description.to_owned(),
        quantity: Decimal::ONE,
        unit: Unit::Piece,
        energy_wh: None,
        period: None,
        plate: None,
        driver: None,
        station: None,
        session: None,
        ..session(0, net_amount, tax_percent)
    }
}

/// Returns an invoice in euros with that many sessions.
pub fn invoice(language: Language, sessions: i64) -> Document {
    Document {
        kind: DocumentKind::Invoice,
        number: "FC2026-000042".to_owned(),
        issue_date: date(2026, 11, 1),
        due_date: Some(date(2026, 11, 15)),
        period: Some(Period {
            start: date(2026, 10, 1),
            end: date(2026, 10, 31),
        }),
        currency: Currency {
            code: "EUR".to_owned(),
            decimals: 2,
        },
        language,
        seller: Seller {
            party: Party {
                legal_name: Some("Rheinstrom Flottenladen GmbH".to_owned()),
                vat_id: Some("DE123456789".to_owned()),
                registration_number: Some("HRB 98765".to_owned()),
                address: address("Im Mediapark 5", "50670", "Köln", "DE"),
                electronic_address: Some(ElectronicAddress {
                    scheme: "EM".to_owned(),
                    value: "rechnung@rheinstrom.example".to_owned(),
                }),
            },
            iban: Some("DE02120300000000202051".to_owned()),
            bic: Some("BYLADEM1001".to_owned()),
        },
        buyer: Buyer {
            party: Party {
                legal_name: Some("Vlaamse Koeriers NV".to_owned()),
                vat_id: Some("BE0123456749".to_owned()),
                registration_number: Some("0123.456.749".to_owned()),
                address: address("Korenmarkt 16", "9000", "Gent", "BE"),
                electronic_address: Some(ElectronicAddress {
                    scheme: "0208".to_owned(),
                    value: "0123456749".to_owned(),
                }),
            },
            reference: Some("FLEET-7731".to_owned()),
        },
        preceding_invoice: None,
        note: Some("Charging in October, order 4711".to_owned()),
        payment_terms: None,
        exemption_reason: None,
        prepaid: 0,
        refunded: 0,
        rounding: 0,
        lines: (0..sessions)
            .map(|number| session(number, 731 + number * 911 % 5_000, 19))
            .collect(),
        time_zone: Some("Europe/Brussels".to_owned()),
    }
}

/// Returns a credit note of the plain invoice.
pub fn credit_note(language: Language) -> Document {
    Document {
        kind: DocumentKind::CreditNote,
        number: "FC2026-C000003".to_owned(),
        issue_date: date(2026, 11, 9),
        due_date: None,
        preceding_invoice: Some(PrecedingInvoice {
            number: "FC2026-000042".to_owned(),
            issue_date: Some(date(2026, 11, 1)),
        }),
        lines: vec![session(1, 547, 19)],
        ..invoice(language, 0)
    }
}

/// Returns documents that show the layout of pages, by name.
pub fn named() -> Vec<(&'static str, Document)> {
    let long = |text: &str| Some(format!("{text} ").repeat(18));
    let mut names = invoice(Language::En, 3);
    names.seller.party.legal_name = long("Rheinstrom Flotte");
    names.buyer.party.legal_name = Some("Donaudampfschifffahrt".repeat(12));
    for party in [&mut names.seller.party, &mut names.buyer.party] {
        if let Some(address) = &mut party.address {
            address.line1 = "Korenmarkt 16, Hof 7, ".repeat(11);
            address.line2 = long("Building");
            address.city = "Sint-Katelijne-Waver ".repeat(12);
        }
    }
    names.buyer.reference = Some("FLEET7731".repeat(28));
    names.lines[1].description = "Adjustment of an earlier invoice ".repeat(200);
    let mut dinars = invoice(Language::En, 2);
    dinars.currency = Currency {
        code: "KWD".to_owned(),
        decimals: 3,
    };
    let mut empty = invoice(Language::De, 0);
    empty.seller.party = Party::default();
    empty.buyer.party.address = None;
    let mut settled = invoice(Language::De, 4);
    settled.prepaid = Totals::of(&settled.lines).map_or(0, |totals| totals.gross);
    settled
        .lines
        .push(fee("Gutschrift eines Betreibers", -1_250, 19));
    settled.lines.push(Line {
        tax_category: TaxCategory::Exempt,
        ..fee("Reservierungsgebühr", 500, 0)
    });
    vec![
        ("three-lines", invoice(Language::En, 3)),
        ("120-lines", invoice(Language::De, 120)),
        ("credit-note", credit_note(Language::En)),
        ("settled", settled),
        ("long-names", names),
        ("dinars", dinars),
        ("empty", empty),
    ]
}

/// Returns a random document: any mix of sessions with one or several rates, free sessions, fees and adjustments, in any currency with at
/// most two decimals, taxed, exempt, at a rate of zero, with reverse charge or out of scope.
pub fn random(seed: u64) -> Document {
    let mut random = Random(seed);
    let language = random.pick(&[Language::En, Language::De]);
    let mut document = if random.one_in(4) {
        credit_note(language)
    } else {
        invoice(language, 0)
    };
    document.number = format!("FC2026-{seed:06}");
    let (code, decimals) =
        random.pick(&[("EUR", 2), ("EUR", 2), ("GBP", 2), ("SEK", 2), ("JPY", 0)]);
    document.currency = Currency {
        code: code.to_owned(),
        decimals,
    };
    document.issue_date = date(2026, 1, 1) + random.below(365).days();
    document.due_date = (document.due_date).map(|_| document.issue_date + random.below(60).days());
    let out_of_scope = random.one_in(10);
    for number in 0..=random.below(24) {
        document.lines.extend(lines(&mut random, number));
    }
    untax(&mut random, &mut document.lines, out_of_scope);
    if random.one_in(2) {
        document.rounding = random.below(7) - 3;
    }
    let charged = Totals::of(&document.lines).map_or(0, |totals| totals.gross) + document.rounding;
    document.prepaid = match random.below(3) {
        0 => charged,
        1 => random.below(charged.abs().max(1)),
        _ => 0,
    };
    if random.one_in(3) {
        document.payment_terms = Some("Payable within 14 days, without deduction".to_owned());
    }
    if random.one_in(4) {
        document.seller.iban = None;
    }
    if random.one_in(4) {
        document.seller.party.legal_name = Some("Strom & Söhne <\u{fffe}GmbH>".to_owned());
    }
    if random.one_in(4) {
        document.buyer.party.legal_name =
            Some("Ærø & Søn <Transport> \u{1}ApS \"Nord\"".to_owned());
    }
    document
}

/// Sets the tax of all lines, of some or of none to zero.
fn untax(random: &mut Random, lines: &mut [Line], out_of_scope: bool) {
    if out_of_scope {
        for line in lines {
            line.tax_category = TaxCategory::OutOfScope;
            line.tax_percent = Decimal::ZERO;
        }
    } else if random.one_in(3) {
        let category = random.pick(&[
            TaxCategory::Zero,
            TaxCategory::Exempt,
            TaxCategory::ReverseCharge,
        ]);
        let all = random.one_in(2);
        for line in lines {
            if all || random.one_in(3) {
                line.tax_category = category;
                line.tax_percent = Decimal::ZERO;
            }
        }
    }
}

fn lines(random: &mut Random, number: i64) -> Vec<Line> {
    let rates: &[(i64, u32)] = &[(19, 0), (7, 0), (21, 0), (55, 1), (255, 1), (20, 0)];
    let rate = |random: &mut Random| {
        let (percent, scale) = random.pick(rates);
        Decimal::new(percent, scale)
    };
    match random.below(8) {
        0 => vec![session(number, 0, 19)],
        1 => vec![fee("Reservation fee", 100 + random.below(900), 0)]
            .into_iter()
            .map(|line| Line {
                tax_category: TaxCategory::Zero,
                ..line
            })
            .collect(),
        2 => vec![Line {
            tax_percent: rate(random),
            ..fee("Adjustment", -random.below(3_000), 0)
        }],
        3 => {
            // Energy, and idle minutes at another rate.
            let energy = Line {
                tax_percent: rate(random),
                ..session(number, random.below(9_000), 0)
            };
            let idle = Line {
                description: "Idle time".to_owned(),
                quantity: Decimal::new(random.below(9_000), 2),
                unit: Unit::Minute,
                tax_percent: rate(random),
                net_amount: random.below(4_000),
                energy_wh: None,
                ..energy.clone()
            };
            vec![energy, idle]
        }
        _ => vec![Line {
            tax_percent: rate(random),
            ..session(number, random.below(1_000_000), 0)
        }],
    }
}

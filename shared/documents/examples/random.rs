//! Writes random documents for the judges of `tests/documents`: `random NUMBER FOLDER`.
#![allow(clippy::print_stdout)]

mod samples;

use std::error::Error;
use std::path::PathBuf;

use documents::{Document, Totals, cii, ubl};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let number: u64 = arguments.next().ok_or("the number of documents")?.parse()?;
    let folder = PathBuf::from(arguments.next().ok_or("the folder to write to")?);
    for seed in 0..number {
        let document = samples::random(seed);
        let path = |extension: &str| folder.join(format!("{seed:04}.{extension}"));
        std::fs::write(path("ubl.xml"), ubl(&document)?)?;
        std::fs::write(path("cii.xml"), cii(&document)?)?;
        std::fs::write(path("json"), input(&document)?.to_string())?;
    }
    println!("{number} documents in {}", folder.display());
    Ok(())
}

/// The document as the judges read it.
fn input(document: &Document) -> Result<serde_json::Value, Box<dyn Error>> {
    let totals = Totals::of(&document.lines)?;
    let lines = document.lines.iter().map(|line| {
        json!({
            "net": line.net_amount,
            "percent": line.tax_percent.to_string(),
            "category": line.tax_category.code(),
        })
    });
    let by_rate = totals.by_rate.iter().map(|rate| {
        json!({
            "category": rate.category.code(),
            "percent": rate.percent.to_string(),
            "net": rate.net,
            "tax": rate.tax,
        })
    });
    Ok(json!({
        "number": document.number,
        "decimals": document.currency.decimals,
        "seller": document.seller.party.legal_name,
        "buyer": document.buyer.party.legal_name,
        "prepaid": document.prepaid,
        "rounding": document.rounding,
        "lines": lines.collect::<Vec<_>>(),
        "totals": {
            "net": totals.net,
            "tax": totals.tax,
            "gross": totals.gross,
            "due": totals.due(document.prepaid, document.rounding)?,
            "by_rate": by_rate.collect::<Vec<_>>(),
        },
    }))
}

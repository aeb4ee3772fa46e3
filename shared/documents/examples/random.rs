//! Writes documents for the validators of `tests/documents`: `random NUMBER FOLDER [PDFS]` writes that many random ones, all or `PDFS` of
//! them also as PDF, and a few to look at.
#![allow(clippy::print_stdout)]

mod samples;

use std::error::Error;
use std::path::PathBuf;

use documents::{Document, Totals, cii, pdf, ubl};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let number: u64 = arguments.next().ok_or("the number of documents")?.parse()?;
    let folder = PathBuf::from(arguments.next().ok_or("the folder to write to")?);
    let pdfs = arguments.next().map_or(Ok(number), |pdfs| pdfs.parse())?;
    let random = (0..number).map(|seed| {
        (
            format!("random-{seed:04}"),
            samples::random(seed),
            seed < pdfs,
        )
    });
    let named = samples::named()
        .into_iter()
        .map(|(name, document)| (name.to_owned(), document, true));
    for (name, document, has_pdf) in random.chain(named) {
        let path = |extension: &str| folder.join(format!("{name}.{extension}"));
        match (ubl(&document), cii(&document)) {
            (Ok(ubl), Ok(cii)) => {
                std::fs::write(path("ubl.xml"), ubl)?;
                std::fs::write(path("cii.xml"), cii)?;
            }
            (Err(error), _) | (_, Err(error)) => println!("{name} has a PDF only: {error}"),
        }
        if has_pdf {
            std::fs::write(path("pdf"), pdf(&document)?)?;
        }
        std::fs::write(path("json"), input(&document)?.to_string())?;
    }
    Ok(())
}

/// Returns the document in the form that the validators read.
fn input(document: &Document) -> Result<serde_json::Value, Box<dyn Error>> {
    let totals = Totals::of(&document.lines)?;
    let lines = document.lines.iter().map(|line| {
        json!({
            "net": line.net_amount,
            "percent": line.tax_percent.to_string(),
            "category": line.tax_category.code(),
        })
    });
    Ok(json!({
        "number": document.number,
        "language": document.language.code(),
        "decimals": document.currency.decimals,
        "seller": document.seller.party.legal_name,
        "buyer": document.buyer.party.legal_name,
        "prepaid": document.prepaid,
        "rounding": document.rounding,
        "lines": lines.collect::<Vec<_>>(),
        "gross": totals.gross,
    }))
}

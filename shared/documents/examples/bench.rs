//! Prints the CPU time and the peak memory of generating the documents of an invoice: `bench [LINES]`, 1,000 by default. Needs Linux, and
//! `--release` for meaningful figures.
#![allow(clippy::print_stdout)]

mod samples;

use std::error::Error;
use std::fs::read_to_string;

use documents::{Language, cii, pdf, ubl};

/// The number of ticks of `/proc/self/stat` per second.
const TICKS: u64 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let lines = std::env::args()
        .nth(1)
        .map_or(Ok(1_000), |lines| lines.parse())?;
    let document = samples::invoice(Language::De, lines);
    let sizes =
        [ubl(&document)?, cii(&document)?, pdf(&document)?].map(|written| written.len() / 1_024);
    println!(
        "{lines} lines: UBL {} KiB, CII {} KiB, PDF {} KiB",
        sizes[0], sizes[1], sizes[2]
    );

    let stat = read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').ok_or("/proc/self/stat has no name")?;
    let ticks = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(str::parse::<u64>);
    let ticks = ticks.sum::<Result<u64, _>>()?;
    let status = read_to_string("/proc/self/status")?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .ok_or("/proc/self/status has no VmHWM")?;
    println!(
        "CPU time: {} ms, peak memory: {}",
        ticks * 1_000 / TICKS,
        peak.trim()
    );
    Ok(())
}

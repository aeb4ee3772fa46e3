//! The state of a search at one moment: the pairs that are known, what can still be read, and the bounds of the cheapest price.

use std::collections::{BTreeMap, BTreeSet};

use super::prospects::{Prospect, Unread};
use crate::charging::effective_price::PricePerKwh;
use crate::charging::matching::Candidate;
use crate::charging::matching::score::Merits;
use kernel::{Currency, Id, Window};

/// A candidate in the best of its windows that are priced in one currency, or whose price is unknown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair<'a> {
    /// The index of the candidate in the list of candidates.
    pub(super) place: usize,
    pub(super) candidate: &'a Candidate,
    pub(super) window: Window,
    pub(super) merits: Merits,
    /// Its points without the surcharge.
    pub(super) base: i64,
    pub(super) price: Option<PricePerKwh>,
    /// The lowest price in the same currency of the candidate in a free window.
    pub(super) lowest: Option<PricePerKwh>,
}

/// A station or a candidate that can be read next.
#[derive(Debug, Clone, Copy)]
pub(super) enum Open<'a> {
    Station(&'a Unread),
    Candidate(&'a Candidate),
}

/// The state of a search at one moment.
pub(super) struct State<'a> {
    pub(super) pairs: Vec<Pair<'a>>,
    open: Vec<(Open<'a>, Prospect)>,
    pub(super) prices: Prices,
}

/// The bounds of the lowest price of a pair, in each currency.
#[derive(Debug, Default)]
pub(super) struct Prices {
    /// The lowest of the known pairs: the final one is at most that.
    pub(super) known: BTreeMap<Currency, i64>,
    /// The lowest of all that may become pairs: the final one is at least that.
    possible: BTreeMap<Currency, i64>,
}

/// The pairs of a candidate that can be its best, by the currency of their prices; pairs of unknown price are a group of their own.
/// A pair is left out if a pair before it in its group, with a smaller shift, has a price that is as low. While the candidate's
/// calendar is unknown, each of them can be the best.
pub(super) struct BestPairs<'a>(BTreeMap<Option<Currency>, Vec<Pair<'a>>>);

impl<'a> BestPairs<'a> {
    /// Chooses among the pairs of a candidate, which are in the order of their shift.
    pub(super) fn of(candidate: &Candidate, pairs: impl Iterator<Item = Pair<'a>>) -> Self {
        let mut best: BTreeMap<_, Vec<Pair<'a>>> = BTreeMap::new();
        for pair in pairs {
            let currency = pair.price.map(|price| price.currency);
            let of_currency = best.entry(currency).or_default();
            let before = of_currency.last();
            if before.is_none_or(|before| pair.price < before.price) {
                of_currency.push(pair);
            }
            if !candidate.prices.depend_on_window() {
                break;
            }
        }
        for of_currency in best.values_mut() {
            let lowest = of_currency.last().and_then(|pair| pair.price);
            for pair in of_currency {
                pair.lowest = lowest;
            }
        }
        Self(best)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Pair<'a>> {
        self.0.values().flatten()
    }

    /// Returns the best pair of each currency, and of unknown price.
    pub(super) fn best(&self) -> impl Iterator<Item = Pair<'a>> {
        let by_currency = self.0.values();
        by_currency.filter_map(|pairs| {
            let best = pairs.iter().min_by_key(|pair| pair.prospect().total());
            best.copied()
        })
    }
}

impl Prices {
    fn lower(prices: &mut BTreeMap<Currency, i64>, price: Option<PricePerKwh>) {
        if let Some(PricePerKwh {
            currency,
            minor_units,
        }) = price
        {
            let lowest = prices.entry(currency).or_insert(minor_units);
            *lowest = minor_units.min(*lowest);
        }
    }

    /// Checks whether the cheapest price of a pair in this currency is still unknown.
    fn is_open(&self, currency: Currency) -> bool {
        self.known.get(&currency) != self.possible.get(&currency)
    }
}

impl Pair<'_> {
    pub(super) fn prospect(&self) -> Prospect {
        Prospect {
            base: self.base,
            price: self.price,
            lowest: self.lowest,
        }
    }

    /// Returns the key that orders pairs of equal score.
    pub(super) fn tie_break(&self) -> impl Ord + use<> {
        (
            self.merits.shift,
            self.window.from,
            self.candidate.station.clone(),
            self.candidate.connector.clone(),
        )
    }
}

impl<'a> State<'a> {
    pub(super) fn new(pairs: Vec<Pair<'a>>, open: Vec<(Open<'a>, Prospect)>) -> Self {
        let mut prices = Prices::default();
        for pair in &pairs {
            Prices::lower(&mut prices.known, pair.lowest);
            Prices::lower(&mut prices.possible, pair.lowest);
        }
        for (_, prospect) in &open {
            Prices::lower(&mut prices.possible, prospect.lowest);
        }
        Self {
            pairs,
            open,
            prices,
        }
    }

    /// Returns the stations that can be booked.
    pub(super) fn stations_of_pairs(&self) -> BTreeSet<&'a Id> {
        let pairs = self.pairs.iter();
        pairs.map(|pair| &pair.candidate.station).collect()
    }

    /// Returns the stations that were read and of which it is unknown whether they can be booked.
    pub(super) fn stations_left_open(&self) -> BTreeSet<&'a Id> {
        let of_pairs = self.stations_of_pairs();
        let open = self.open.iter().filter_map(|(open, _)| match open {
            Open::Station(_) => None,
            Open::Candidate(candidate) => Some(&candidate.station),
        });
        open.filter(|station| !of_pairs.contains(station)).collect()
    }

    /// Returns the stations and candidates that can come before one of the `pair_count` best pairs: the one with the lowest possible
    /// score first.
    pub(super) fn can_come_first(&self, pair_count: usize) -> Vec<(Open<'a>, i64)> {
        // Only the better pair of each connector counts.
        let mut highest: BTreeMap<usize, i64> = BTreeMap::new();
        for pair in &self.pairs {
            let score = pair.prospect().score(&self.prices.possible);
            let best = highest.entry(pair.place).or_insert(score);
            *best = score.min(*best);
        }
        let limit = lowest(highest.into_values().collect(), pair_count);
        // Against pairs of the same currency the sums of base and price decide, whatever the cheapest price is.
        let mut totals: BTreeMap<Option<Currency>, Vec<i64>> = BTreeMap::new();
        for pair in &self.pairs {
            let prospect = pair.prospect();
            let of_currency = totals.entry(prospect.currency()).or_default();
            of_currency.push(prospect.total());
        }
        let limits: BTreeMap<Option<Currency>, Option<i64>> = totals
            .into_iter()
            .map(|(currency, totals)| (currency, lowest(totals, pair_count)))
            .collect();
        let within = |limit: Option<i64>, points: i64| limit.is_none_or(|limit| points <= limit);
        let open = self.open.iter().filter_map(|(open, prospect)| {
            let points = prospect.score(&self.prices.known);
            let of_currency = limits.get(&prospect.currency()).copied().flatten();
            let can_win = within(limit, points) && within(of_currency, prospect.total());
            can_win.then_some((*open, points))
        });
        sorted(open.collect())
    }

    /// Returns the cheapest unread stations and open candidates in the currencies whose cheapest price decides which pairs are the
    /// best.
    pub(super) fn can_change_the_order(&self, pair_count: usize) -> Vec<(Open<'a>, i64)> {
        let pairs = self.pairs.iter();
        let mut pairs: Vec<(usize, Prospect)> =
            pairs.map(|pair| (pair.place, pair.prospect())).collect();
        pairs.sort_by_key(|(_, pair)| pair.score(&self.prices.possible));
        let mut connectors = BTreeSet::new();
        let first = pairs.iter().take_while(|(connector, _)| {
            connectors.insert(*connector);
            connectors.len() <= pair_count
        });
        let first = first.count();
        let pairs: Vec<Prospect> = pairs.into_iter().map(|(_, pair)| pair).collect();
        let mut undecided: BTreeSet<Currency> = BTreeSet::new();
        for (place, pair) in pairs.iter().take(first).enumerate() {
            let highest = pair.score(&self.prices.possible);
            let others = pairs[place + 1..].iter();
            for other in others.filter(|other| other.currency() != pair.currency()) {
                if other.score(&self.prices.known) <= highest {
                    undecided.extend([pair.currency(), other.currency()].into_iter().flatten());
                }
            }
        }
        undecided.retain(|currency| self.prices.is_open(*currency));
        let open = self.open.iter().filter_map(|(open, prospect)| {
            let price = prospect.lowest?;
            let known = self.prices.known.get(&price.currency);
            let is_cheaper = known.is_none_or(|known| price.minor_units < *known);
            (undecided.contains(&price.currency) && is_cheaper)
                .then_some((*open, price.minor_units))
        });
        sorted(open.collect())
    }
}

fn sorted(mut open: Vec<(Open<'_>, i64)>) -> Vec<(Open<'_>, i64)> {
    // If two are equal, the candidate comes first, because it is closer to a result than a station.
    open.sort_by_key(|(open, points)| (*points, matches!(open, Open::Station(_))));
    open
}

/// Returns the `rank`-th lowest of these numbers. None if there are fewer.
fn lowest(mut numbers: Vec<i64>, rank: usize) -> Option<i64> {
    numbers.sort_unstable();
    numbers.get(rank.checked_sub(1)?).copied()
}

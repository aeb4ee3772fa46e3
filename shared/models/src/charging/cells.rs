//! The index of stations by place: the keys under which a station is found, and the key ranges that cover a place.
//!
//! Terms. A *cell* is a hexagon (in twelve places a pentagon) of the H3 grid. Every cell is divided into seven cells of the
//! next finer resolution. A station lies in one cell of resolution 8, about 0.9 km from edge to edge; the *region* of the
//! station is the cell of resolution 1 above it, about 700 km from edge to edge. The region is the hash key of the index, and
//! the fine cell is the range key. The names of the fine cells of a coarser cell are consecutive, so any cell of
//! resolution 1 to 8 is one range of keys, and neighbours are often consecutive too.
//!
//! Covering a place. [`cover`] descends from the coarsest cells to a resolution that fits the size of the place and leaves out
//! every cell that is too far away to contain a point of it. The cells that remain are merged into at most [`RANGES`]
//! ranges, or [`RANGES_ALONG_ROUTE`]: a merged range also contains the cells between two others, and the smallest of these
//! gaps are merged first. A search reads the ranges and compares the exact distance of each station it finds.
//!
//! Invariant. Every station of a place is in one of its ranges. Only distances from the centres of cells are compared, so this
//! holds at the poles, at the antimeridian and at the pentagons as everywhere else.
//!
//! Regions of resolution 1 are the finest for which the limits hold for every circle of up to 100 km. Measured on 100,000
//! stations, three quarters of them in cities, a circle of 100 km takes 4 ranges with regions of resolution 1 or 2, 8 with
//! resolution 3 and 32 with resolution 4, and a route of 2,000 km takes up to 8, 18 and more. The resolution of the regions
//! does not change what the ranges of a small circle read. DynamoDB divides a busy region by the range key.

use std::cmp::Reverse;
use std::f64::consts::PI;
use std::sync::LazyLock;

use h3o::{CellIndex, LatLng, Resolution};

use super::search::Place;
use crate::charging_station::Point;

/// The maximum number of ranges that cover a circle. Close to a pentagon, where regions are small, a circle can touch more regions
/// than this; then there is one range for each region.
pub const RANGES: usize = 4;

/// The maximum number of ranges that cover the strip along a route, unless it touches more regions.
pub const RANGES_ALONG_ROUTE: usize = 8;

const REGION: Resolution = Resolution::One;
const FINE: Resolution = Resolution::Eight;

/// For each resolution from 0 to 8, the largest distance in metres between the centre of a cell and a point whose fine cell
/// lies below that cell. The fine cells of a cell reach beyond its edges: at most by a twentieth of the distance from its
/// centre to its corners, which is up to 1,383 km at resolution 0 and becomes smaller by the square root of seven from one
/// resolution to the next.
const REACH: [f64; 9] = [
    1_460_000.0,
    560_000.0,
    212_000.0,
    80_500.0,
    30_500.0,
    11_500.0,
    4_350.0,
    1_650.0,
    600.0,
];

/// The mean area of a cell of resolution 8, in square metres.
const FINE_AREA: f64 = 737_328.0;

/// The approximate number of cells that a place may consist of. More cells describe its edge better and take longer to find.
const CELLS: f64 = 120.0;

/// The cells of resolution 0 and their centres.
static BASE_CELLS: LazyLock<Vec<(CellIndex, Point)>> = LazyLock::new(|| {
    CellIndex::base_cells()
        .map(|cell| (cell, center(cell)))
        .collect()
});

/// The position of a point in the index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellKey {
    /// The name of the region.
    pub region: String,
    /// The name of the cell of resolution 8.
    pub cell: String,
}

/// The cells of a region between two cells, both included, in the order of their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellRange {
    pub region: String,
    pub first: String,
    pub last: String,
}

/// Returns the key of a point; None if it is not a point of the globe.
pub fn key(point: Point) -> Option<CellKey> {
    let cell = LatLng::new(point.latitude, point.longitude)
        .ok()?
        .to_cell(FINE);
    Some(CellKey {
        region: cell.parent(REGION)?.to_string(),
        cell: cell.to_string(),
    })
}

/// Returns the ranges that contain every station of the place.
pub fn cover(place: &Place) -> Vec<CellRange> {
    let finest = finest(place);
    let mut cells = Vec::new();
    for (cell, center) in &*BASE_CELLS {
        descend(place, *cell, *center, finest, &mut cells);
    }
    let most = match place {
        Place::Along(_) => RANGES_ALONG_ROUTE,
        Place::Circle(_) | Place::Both(..) => RANGES,
    };
    let spans = merged(cells.into_iter().filter_map(Span::of).collect(), most);
    spans.iter().filter_map(Span::range).collect()
}

/// Returns the finest resolution at which the place consists of about [`CELLS`] cells.
fn finest(place: &Place) -> Resolution {
    let area = |margin: f64| match place {
        Place::Circle(circle) | Place::Both(circle, _) => {
            PI * (f64::from(circle.meters) + margin).powi(2)
        }
        Place::Along(route) => {
            let width = f64::from(route.meters) + margin;
            PI * width.powi(2) + 2.0 * width * route.length()
        }
    };
    let mut resolution = FINE;
    let mut area_of_cell = FINE_AREA;
    while let Some(coarser) = resolution.pred().filter(|coarser| *coarser >= REGION) {
        if area(reach(resolution)) / area_of_cell <= CELLS {
            break;
        }
        resolution = coarser;
        area_of_cell *= 7.0;
    }
    resolution
}

fn reach(resolution: Resolution) -> f64 {
    REACH[usize::from(u8::from(resolution))]
}

fn center(cell: CellIndex) -> Point {
    let center = LatLng::from(cell);
    Point {
        latitude: center.lat(),
        longitude: center.lng(),
    }
}

/// Adds the cells at or below this one that can contain a station of the place: whole cells where all of a cell is within
/// the place, and cells of the finest resolution at its edge.
fn descend(
    place: &Place,
    cell: CellIndex,
    center_of_cell: Point,
    finest: Resolution,
    found: &mut Vec<CellIndex>,
) {
    let resolution = cell.resolution();
    let (outside, reach) = (place.meters_outside(center_of_cell), reach(resolution));
    if outside > reach {
        return;
    }
    let is_within = outside <= -reach && resolution >= REGION;
    match resolution.succ() {
        Some(finer) if resolution < finest && !is_within => {
            for child in cell.children(finer) {
                descend(place, child, center(child), finest, found);
            }
        }
        _ => found.push(cell),
    }
}

/// Consecutive fine cells of a region, by their positions in it.
#[derive(Debug, Clone, Copy)]
struct Span {
    region: CellIndex,
    first: u64,
    last: u64,
}

impl Span {
    /// Returns the fine cells of a cell.
    fn of(cell: CellIndex) -> Option<Self> {
        let first = cell.center_child(FINE)?.child_position(REGION)?;
        Some(Self {
            region: cell.parent(REGION)?,
            first,
            last: first + cell.children_count(FINE) - 1,
        })
    }

    /// Returns the number of cells between the end of this span and the beginning of a later one of the same region.
    fn gap(&self, next: &Self) -> Option<u64> {
        (self.region == next.region).then(|| next.first - self.last - 1)
    }

    fn range(&self) -> Option<CellRange> {
        let name = |position| Some(self.region.child_at(position, FINE)?.to_string());
        Some(CellRange {
            region: self.region.to_string(),
            first: name(self.first)?,
            last: name(self.last)?,
        })
    }
}

/// Fills the smallest gaps between the spans until at most `most` spans are left, or one for each region.
fn merged(mut spans: Vec<Span>, most: usize) -> Vec<Span> {
    spans.sort_by_key(|span| (span.region, span.first));
    let gaps = spans.windows(2).map(|pair| pair[0].gap(&pair[1]));
    let regions = 1 + gaps.clone().filter(Option::is_none).count();
    let mut by_size: Vec<(u64, usize)> = gaps
        .enumerate()
        .filter_map(|(place, gap)| Some((gap?, place)))
        .filter(|(gap, _)| *gap > 0)
        .collect();
    by_size.sort_by_key(|(gap, place)| (Reverse(*gap), *place));
    by_size.truncate(most.saturating_sub(regions));
    let mut kept: Vec<usize> = by_size.into_iter().map(|(_, place)| place).collect();
    kept.sort_unstable();
    let mut merged: Vec<Span> = Vec::new();
    for (place, span) in spans.into_iter().enumerate() {
        match merged.last_mut() {
            Some(before)
                if before.region == span.region && !kept.contains(&place.wrapping_sub(1)) =>
            {
                before.last = span.last;
            }
            _ => merged.push(span),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charging::geo::{Corridor, distance_meters};
    use crate::charging::search::Circle;
    use proptest::prelude::*;
    use std::f64::consts::TAU;

    fn at(latitude: f64, longitude: f64) -> Point {
        Point {
            latitude,
            longitude,
        }
    }

    /// Returns the point at a distance in metres from another point, in this direction.
    fn destination(from: Point, meters: f64, bearing: f64) -> Point {
        let (lat, lng, angle) = (
            from.latitude.to_radians(),
            from.longitude.to_radians(),
            meters / 6_371_008.8,
        );
        let to = (lat.sin() * angle.cos() + lat.cos() * angle.sin() * bearing.cos()).asin();
        let turn =
            (bearing.sin() * angle.sin() * lat.cos()).atan2(angle.cos() - lat.sin() * to.sin());
        let longitude = (lng + turn).to_degrees();
        at(
            to.to_degrees(),
            (longitude + 540.0).rem_euclid(360.0) - 180.0,
        )
    }

    fn covers(ranges: &[CellRange], point: Point) -> bool {
        let CellKey { region, cell } = key(point).unwrap();
        ranges.iter().any(|range| {
            range.region == region
                && (range.first.as_str()..=range.last.as_str()).contains(&cell.as_str())
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]
        #[test]
        fn every_point_of_a_circle_is_in_its_ranges(
            latitude in -90.0f64..90.0,
            longitude in -180.0f64..180.0,
            meters in prop_oneof![1u32..6_000, 6_001u32..=100_000],
            share in 0.0f64..=1.0,
            bearing in 0.0f64..TAU,
        ) {
            let center = at(latitude, longitude);
            let place = Place::Circle(Circle { center, meters });
            let ranges = cover(&place);
            let point = destination(center, f64::from(meters) * share, bearing);
            prop_assert!(covers(&ranges, point));
            let mut regions: Vec<_> = ranges.iter().map(|range| &range.region).collect();
            regions.dedup();
            prop_assert!(ranges.len() <= RANGES.max(regions.len()), "{ranges:?}");
        }

        #[test]
        fn every_point_is_within_reach_of_its_parent_cells_center(
            latitude in -90.0f64..90.0,
            longitude in -180.0f64..180.0,
        ) {
            let point = at(latitude, longitude);
            let fine = LatLng::new(latitude, longitude).unwrap().to_cell(FINE);
            for resolution in Resolution::range(Resolution::Zero, FINE) {
                let cell = fine.parent(resolution).unwrap();
                prop_assert!(distance_meters(center(cell), point) <= reach(resolution));
            }
        }
    }

    #[test]
    fn the_ranges_of_a_small_circle_are_few_and_close() {
        let circle = |meters| {
            Place::Circle(Circle {
                center: at(51.507, -0.128),
                meters,
            })
        };
        let cells = |place: &Place| {
            let ranges = cover(place);
            assert!(ranges.len() <= RANGES, "{ranges:?}");
            let position = |name: &str| {
                let cell: CellIndex = name.parse().unwrap();
                cell.child_position(REGION).unwrap()
            };
            let lengths = ranges
                .iter()
                .map(|range| position(&range.last) - position(&range.first) + 1);
            lengths.sum::<u64>()
        };
        // The circles have 0.003, 1 and 107 times the area of a cell.
        assert!(cells(&circle(30)) <= 4);
        assert!(cells(&circle(500)) <= 50);
        assert!(cells(&circle(5_000)) <= 500);
    }

    /// Repeatable numbers from 0 to 1 (SplitMix64).
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ (mixed >> 31)) as f64 / u64::MAX as f64
        }
    }

    /// Points where a place is difficult to cover: both poles, the antimeridian, and the pentagons of several resolutions.
    fn hard_places() -> Vec<Point> {
        let resolutions = [REGION, Resolution::Four, FINE];
        let pentagons = resolutions.into_iter().flat_map(Resolution::pentagons);
        let edges = [
            at(90.0, 0.0),
            at(89.99, 120.0),
            at(-90.0, 45.0),
            at(-89.98, -170.0),
            at(0.0, 180.0),
            at(52.0, -180.0),
            at(-17.0, 179.99),
            at(66.0, -179.99),
        ];
        let cities = [at(51.507, -0.128), at(35.677, 139.65), at(40.713, -74.006)];
        pentagons.map(center).chain(edges).chain(cities).collect()
    }

    /// Stations crowded around the hard places, at every scale, and a few anywhere.
    fn stations(many: usize, numbers: &mut Numbers) -> Vec<Point> {
        let places = hard_places();
        (0..many)
            .map(|n| {
                let bearing = numbers.next() * TAU;
                if n % 20 == 0 {
                    let latitude = (2.0 * numbers.next() - 1.0).asin().to_degrees();
                    return at(latitude, numbers.next() * 360.0 - 180.0);
                }
                let meters = 10f64.powf(1.0 + numbers.next() * 4.5);
                destination(places[n % places.len()], meters, bearing)
            })
            .collect()
    }

    /// One of the searches: mostly near a hard place, on every scale, every sixth far from all stations.
    fn search(n: usize, numbers: &mut Numbers) -> Place {
        let places = hard_places();
        let nearby = |numbers: &mut Numbers, far: f64| {
            let bearing = numbers.next() * TAU;
            destination(places[n % places.len()], numbers.next() * far, bearing)
        };
        let meters = (10f64.powf(numbers.next() * 5.0) as u32).max(1);
        let center = match n % 6 {
            0 => at(
                numbers.next() * 180.0 - 90.0,
                numbers.next() * 360.0 - 180.0,
            ),
            _ => nearby(numbers, 2.0 * f64::from(meters)),
        };
        let circle = Circle { center, meters };
        let length = 10f64.powf(3.0 + numbers.next() * 3.3);
        let route = Corridor {
            from: center,
            to: destination(center, length, numbers.next() * TAU),
            meters: meters.min(30_000),
        };
        match n % 5 {
            0 => Place::Along(route),
            1 => Place::Both(circle, route),
            _ => Place::Circle(circle),
        }
    }

    #[test]
    fn indexed_searches_find_the_same_stations_as_a_full_scan() {
        let numbers = &mut Numbers(2026);
        let stations = stations(15_000, numbers);
        let mut index: Vec<(String, String, usize)> = stations
            .iter()
            .enumerate()
            .map(|(n, station)| {
                let CellKey { region, cell } = key(*station).unwrap();
                (region, cell, n)
            })
            .collect();
        index.sort();
        let (mut found_in_all, mut empty) = (0, 0);
        for n in 0..2_000 {
            let place = search(n, numbers);
            let mut found = Vec::new();
            for CellRange {
                region,
                first,
                last,
            } in cover(&place)
            {
                let before = |name: &str, or_equal: bool| {
                    index.partition_point(|(r, cell, _)| {
                        let order = (r.as_str(), cell.as_str()).cmp(&(&region, name));
                        order.is_lt() || (or_equal && order.is_eq())
                    })
                };
                let read = &index[before(&first, false)..before(&last, true)];
                let within = |n: &usize| place.distance(stations[*n]).is_some();
                found.extend(read.iter().map(|(_, _, n)| *n).filter(within));
            }
            found.sort_unstable();
            let all = 0..stations.len();
            let want: Vec<usize> = all
                .filter(|n| place.distance(stations[*n]).is_some())
                .collect();
            assert_eq!(found, want, "{place:?}");
            found_in_all += want.len();
            empty += usize::from(want.is_empty());
        }
        assert!(found_in_all > 20_000, "{found_in_all} stations were found");
        assert!(
            (100..1_900).contains(&empty),
            "{empty} searches found nothing"
        );
    }

    #[test]
    fn a_route_of_2000_km_needs_at_most_eight_cell_ranges() {
        let numbers = &mut Numbers(7);
        for _ in 0..200 {
            let from = at(
                (2.0 * numbers.next() - 1.0).asin().to_degrees(),
                numbers.next() * 360.0 - 180.0,
            );
            let route = Corridor {
                from,
                to: destination(from, 1_999_000.0, numbers.next() * TAU),
                meters: 5_000,
            };
            let ranges = cover(&Place::Along(route));
            assert!(ranges.len() <= RANGES_ALONG_ROUTE, "{route:?}: {ranges:?}");
        }
    }
}

//! Places: great-circle distances, and the H3 cells that cover a circle.

use std::collections::BTreeSet;

use h3o::{CellIndex, LatLng, Resolution};

use crate::models::charging_station::Point;

/// Mean radius of the earth in metres (IUGG).
const EARTH: f64 = 6_371_008.8;

/// Great-circle distance in metres, by the haversine formula.
pub fn distance_meters(a: Point, b: Point) -> f64 {
    let (from, to) = (a.latitude.to_radians(), b.latitude.to_radians());
    let half_lat = ((to - from) / 2.0).sin();
    let half_lng = ((b.longitude - a.longitude).to_radians() / 2.0).sin();
    let h = half_lat * half_lat + from.cos() * to.cos() * half_lng * half_lng;
    2.0 * EARTH * h.sqrt().min(1.0).asin()
}

/// The strip to both sides of the shortest way from one point to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Route {
    pub from: Point,
    pub to: Point,
    /// How far to either side.
    pub meters: u32,
}

impl Route {
    /// Metres from one end to the other.
    pub fn length(&self) -> f64 {
        distance_meters(self.from, self.to)
    }

    /// Metres from the nearest point of the way.
    pub fn distance_meters(&self, point: Point) -> f64 {
        let (a, b, p) = (vector(self.from), vector(self.to), vector(point));
        let pole = cross(a, b);
        let length = dot(pole, pole).sqrt();
        // Between the ends, the way is nearer than both of them.
        let beside = dot(cross(pole, a), p) >= 0.0 && dot(cross(b, pole), p) >= 0.0;
        if length > 1e-12 && beside {
            return EARTH * (dot(pole, p) / length).abs().min(1.0).asin();
        }
        distance_meters(self.from, point).min(distance_meters(self.to, point))
    }

    /// Points of the way, no further apart than that, its ends among them.
    fn points(&self, apart: f64) -> Vec<Point> {
        let (a, b) = (vector(self.from), vector(self.to));
        let angle = self.length() / EARTH;
        let steps = (self.length() / apart).ceil().max(1.0) as u32;
        let at = |step: u32| {
            let share = f64::from(step) / f64::from(steps);
            let (x, y) = match angle.sin() {
                sine if sine > 1e-12 => (
                    ((1.0 - share) * angle).sin() / sine,
                    (share * angle).sin() / sine,
                ),
                _ => (1.0 - share, share),
            };
            point_of([0, 1, 2].map(|n| x * a[n] + y * b[n]))
        };
        (0..=steps).map(at).collect()
    }
}

/// A point as a unit vector from the middle of the earth.
fn vector(point: Point) -> [f64; 3] {
    let (lat, lng) = (point.latitude.to_radians(), point.longitude.to_radians());
    [lat.cos() * lng.cos(), lat.cos() * lng.sin(), lat.sin()]
}

fn point_of([x, y, z]: [f64; 3]) -> Point {
    Point {
        latitude: z.atan2(x.hypot(y)).to_degrees(),
        longitude: y.atan2(x).to_degrees(),
    }
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The mean area of a small cell in square metres, and how many of them one search may read.
const FINE_AREA: f64 = 5_161_293.0;
const MAX_FINE_CELLS: f64 = 100.0;

/// The two sizes of cells stations are indexed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellSize {
    /// Resolution 7: about 1.4 km from edge to edge, for streets and quarters.
    Fine,
    /// Resolution 4: about 26 km from edge to edge, for regions.
    Coarse,
}

impl CellSize {
    /// The size that covers a strip around a route with few cells.
    pub fn for_route(route: &Route) -> Self {
        let width = 2.0 * (f64::from(route.meters) + Self::Fine.reach());
        let cells = (route.length() + width) * width / FINE_AREA;
        if cells <= MAX_FINE_CELLS {
            Self::Fine
        } else {
            Self::Coarse
        }
    }

    /// The size that covers a circle with few cells.
    pub fn for_radius(meters: u32) -> Self {
        if meters <= 6_000 {
            Self::Fine
        } else {
            Self::Coarse
        }
    }

    fn resolution(self) -> Resolution {
        match self {
            Self::Fine => Resolution::Seven,
            Self::Coarse => Resolution::Four,
        }
    }

    /// The largest distance, in metres, from a cell's centre to its rim; cells vary in size over the globe.
    fn reach(self) -> f64 {
        match self {
            Self::Fine => 1_850.0,
            Self::Coarse => 34_000.0,
        }
    }

    /// The smallest distance, in metres, between the centres of two neighbours.
    fn step(self) -> f64 {
        match self {
            Self::Fine => 1_500.0,
            Self::Coarse => 27_500.0,
        }
    }
}

/// The cell a point lies in, by name.
pub fn cell_of(point: Point, size: CellSize) -> Option<String> {
    Some(cell(point, size)?.to_string())
}

fn cell(point: Point, size: CellSize) -> Option<CellIndex> {
    Some(
        LatLng::new(point.latitude, point.longitude)
            .ok()?
            .to_cell(size.resolution()),
    )
}

/// The names of all cells that can hold a point of the circle, the nearest first.
pub fn cells_around(center: Point, meters: u32, size: CellSize) -> Vec<String> {
    let Some(origin) = cell(center, size) else {
        return Vec::new();
    };
    let meters = f64::from(meters);
    let rings = ((meters + 2.0 * size.reach()) / size.step()).ceil() as u32;
    let mut cells: Vec<(f64, String)> = origin
        .grid_disk_safe(rings)
        .map(|cell| {
            let middle = LatLng::from(cell);
            let middle = Point {
                latitude: middle.lat(),
                longitude: middle.lng(),
            };
            (distance_meters(center, middle), cell.to_string())
        })
        .filter(|(distance, _)| *distance <= meters + size.reach())
        .collect();
    cells.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    cells.into_iter().map(|(_, name)| name).collect()
}

/// The names of all cells that can hold a point of the strip around a route.
pub fn cells_along(route: &Route, size: CellSize) -> Vec<String> {
    let apart = size.reach();
    // Whatever is near the way is nearly as near to one of these points.
    let meters = route.meters.saturating_add((apart / 2.0).ceil() as u32);
    let cells: BTreeSet<String> = route
        .points(apart)
        .into_iter()
        .flat_map(|point| cells_around(point, meters, size))
        .collect();
    cells.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn distances_are_those_of_the_globe() {
        let london = Point {
            latitude: 51.5074,
            longitude: -0.1278,
        };
        let paris = Point {
            latitude: 48.8566,
            longitude: 2.3522,
        };
        assert!((distance_meters(london, paris) - 343_556.0).abs() < 100.0);
        assert_eq!(distance_meters(london, london), 0.0);
        let west = Point {
            latitude: 0.0,
            longitude: 179.999,
        };
        let east = Point {
            latitude: 0.0,
            longitude: -179.999,
        };
        assert!((distance_meters(west, east) - 222.4).abs() < 1.0);
    }

    /// The point so far from another, in that direction.
    fn destination(from: Point, meters: f64, bearing: f64) -> Point {
        let (lat, lng, angle) = (
            from.latitude.to_radians(),
            from.longitude.to_radians(),
            meters / EARTH,
        );
        let to = (lat.sin() * angle.cos() + lat.cos() * angle.sin() * bearing.cos()).asin();
        let turn =
            (bearing.sin() * angle.sin() * lat.cos()).atan2(angle.cos() - lat.sin() * to.sin());
        let longitude = (lng + turn).to_degrees();
        Point {
            latitude: to.to_degrees(),
            longitude: (longitude + 540.0).rem_euclid(360.0) - 180.0,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn no_point_of_a_circle_lies_outside_its_cells(
            latitude in -89.0f64..89.0,
            longitude in -180.0f64..180.0,
            meters in prop_oneof![1u32..6_000, 6_001u32..100_000],
            share in 0.0f64..1.0,
            bearing in 0.0f64..std::f64::consts::TAU,
        ) {
            let center = Point { latitude, longitude };
            let size = CellSize::for_radius(meters);
            let point = destination(center, f64::from(meters) * share * 0.999_999, bearing);
            let cells = cells_around(center, meters, size);
            prop_assert!(cells.contains(&cell_of(point, size).unwrap()));
            prop_assert!(cells.len() <= 80, "{} cells", cells.len());
        }
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

    fn at(latitude: f64, longitude: f64) -> Point {
        Point {
            latitude,
            longitude,
        }
    }

    /// Where covering a circle is hardest: both poles, the antimeridian, and the pentagons of both sizes.
    fn hard_places() -> Vec<Point> {
        let pentagons = [CellSize::Fine, CellSize::Coarse]
            .into_iter()
            .flat_map(|size| size.resolution().pentagons())
            .map(LatLng::from)
            .map(|middle| at(middle.lat(), middle.lng()));
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
        pentagons.chain(edges).chain(cities).collect()
    }

    /// Stations crowded around the hard places, at every scale, and a few anywhere.
    fn stations(many: usize, numbers: &mut Numbers) -> Vec<Point> {
        let places = hard_places();
        (0..many)
            .map(|n| {
                let bearing = numbers.next() * std::f64::consts::TAU;
                if n % 20 == 0 {
                    let latitude = (2.0 * numbers.next() - 1.0).asin().to_degrees();
                    return at(latitude, numbers.next() * 360.0 - 180.0);
                }
                let meters = 10f64.powf(1.0 + numbers.next() * 4.5);
                destination(places[n % places.len()], meters, bearing)
            })
            .collect()
    }

    #[test]
    fn a_search_by_cells_finds_what_looking_at_every_station_finds() {
        use crate::charging::search::{Circle, Place};
        use std::collections::HashMap;

        let numbers = &mut Numbers(2026);
        let stations = stations(100_000, numbers);
        let index = |size| {
            let mut cells: HashMap<String, Vec<usize>> = HashMap::new();
            for (n, station) in stations.iter().enumerate() {
                cells
                    .entry(cell_of(*station, size).unwrap())
                    .or_default()
                    .push(n);
            }
            cells
        };
        let (fine, coarse) = (index(CellSize::Fine), index(CellSize::Coarse));
        let places = hard_places();
        let (mut found_in_all, mut read_in_all) = (0, 0);
        for n in 0..240 {
            let near = |numbers: &mut Numbers, far: f64| {
                let bearing = numbers.next() * std::f64::consts::TAU;
                destination(places[n % places.len()], numbers.next() * far, bearing)
            };
            let meters = 10f64.powf(1.0 + numbers.next() * 4.0) as u32;
            let circle = Circle {
                center: near(numbers, 2.0 * f64::from(meters)),
                meters,
            };
            let route = Route {
                from: circle.center,
                to: near(numbers, 300_000.0),
                meters: meters.min(30_000),
            };
            let place = match n % 3 {
                0 => Place::Along(route),
                _ => Place::Circle(circle),
            };
            let (size, cells) = place.cells();
            let index = match size {
                CellSize::Fine => &fine,
                CellSize::Coarse => &coarse,
            };
            let read = cells.iter().filter_map(|cell| index.get(cell)).flatten();
            let mut found: Vec<usize> = read
                .inspect(|_| read_in_all += 1)
                .copied()
                .filter(|n| place.distance(stations[*n]).is_some())
                .collect();
            found.sort_unstable();
            let want: Vec<usize> = (0..stations.len())
                .filter(|n| place.distance(stations[*n]).is_some())
                .collect();
            assert_eq!(found, want, "{place:?}");
            found_in_all += want.len();
        }
        assert!(found_in_all > 20_000, "{found_in_all} of {read_in_all}");
    }
}

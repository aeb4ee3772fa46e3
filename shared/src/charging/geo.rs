//! Places: great-circle distances, and the H3 cells that cover a circle.

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

/// The two sizes of cells stations are indexed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellSize {
    /// Resolution 7: about 1.4 km from edge to edge, for streets and quarters.
    Fine,
    /// Resolution 4: about 26 km from edge to edge, for regions.
    Coarse,
}

impl CellSize {
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
}

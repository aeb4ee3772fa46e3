//! Great-circle distances between points, and between a point and a route.

use crate::charging_station::Point;

/// Mean radius of the earth in metres (IUGG).
const EARTH: f64 = 6_371_008.8;

/// Returns the great-circle distance in metres, by the haversine formula.
pub fn distance_meters(a: Point, b: Point) -> f64 {
    let (from, to) = (a.latitude.to_radians(), b.latitude.to_radians());
    let half_lat = ((to - from) / 2.0).sin();
    let half_lng = ((b.longitude - a.longitude).to_radians() / 2.0).sin();
    let h = half_lat * half_lat + from.cos() * to.cos() * half_lng * half_lng;
    2.0 * EARTH * h.sqrt().min(1.0).asin()
}

/// The strip to both sides of the shortest way from one point to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corridor {
    pub from: Point,
    pub to: Point,
    /// The width to either side, in metres.
    pub meters: u32,
}

impl Corridor {
    /// Returns the distance from one end to the other in metres.
    pub fn length(&self) -> f64 {
        distance_meters(self.from, self.to)
    }

    /// Returns the distance in metres from the nearest point of the way.
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
}

/// Returns a point as a unit vector from the centre of the earth.
fn vector(point: Point) -> [f64; 3] {
    let (lat, lng) = (point.latitude.to_radians(), point.longitude.to_radians());
    [lat.cos() * lng.cos(), lat.cos() * lng.sin(), lat.sin()]
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

#[cfg(test)]
mod tests {
    use super::*;

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
}

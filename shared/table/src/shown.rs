//! The types that responses show: objects, pages of them, and the representation of a deleted object.

use super::list::Page;
use super::stored_item::Record;
use kernel::response::FileOf;
use kernel::{Deleted, Kind};
use models::analytics::Analytics;
use models::batch::BatchResult;
use models::charging::candidates::ReservationCandidates;
use models::charging::policies::Allowed;
use models::departure::ReplacedDepartures;
use models::invoice::LineItem;
use models::search::Search;
use models::site::view::SitePlan;
use models::webhooks::feed::EventFeed;

/// The type that a route's response shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    Object(Kind),
    Page(Kind),
    /// A page of the parts of an object: the line items of an invoice, the results of a batch.
    Parts {
        of: Kind,
        part: Kind,
    },
    /// The candidates of a match.
    Candidates,
    /// The plan of a site.
    SitePlan,
    /// The departures of a vehicle, and the outcomes of those that were set.
    Departures,
    /// The next events of a polling endpoint.
    Feed,
    /// An object that is computed for the response and not stored, such as sums or search results.
    Computed(Kind),
    Deleted(Kind),
    /// A redirect to a file about an object.
    File(Kind),
}

impl Shows {
    pub fn kind(self) -> Kind {
        match self {
            Self::Object(kind)
            | Self::Page(kind)
            | Self::Computed(kind)
            | Self::Deleted(kind)
            | Self::File(kind) => kind,
            Self::Parts { of, .. } => of,
            Self::Candidates => Kind::Reservation,
            Self::SitePlan => Kind::Site,
            Self::Departures => Kind::VehicleDepartures,
            Self::Feed => Kind::Event,
        }
    }
}

/// A type that a response shows.
pub trait Shown {
    const SHOWS: Shows;
}

impl<T: Record> Shown for T {
    const SHOWS: Shows = Shows::Object(T::KIND);
}

impl<T: Record> Shown for Page<T> {
    const SHOWS: Shows = Shows::Page(T::KIND);
}

impl Shown for Page<LineItem> {
    const SHOWS: Shows = Shows::Parts {
        of: Kind::Invoice,
        part: Kind::LineItem,
    };
}

impl Shown for Page<BatchResult> {
    const SHOWS: Shows = Shows::Parts {
        of: Kind::Batch,
        part: Kind::BatchResult,
    };
}

impl<T: Record> Shown for Allowed<T> {
    const SHOWS: Shows = Shows::Object(T::KIND);
}

impl Shown for ReservationCandidates {
    const SHOWS: Shows = Shows::Candidates;
}

impl<T: Record> Shown for FileOf<T> {
    const SHOWS: Shows = Shows::File(T::KIND);
}

impl Shown for SitePlan {
    const SHOWS: Shows = Shows::SitePlan;
}

impl Shown for ReplacedDepartures {
    const SHOWS: Shows = Shows::Departures;
}

impl Shown for EventFeed {
    const SHOWS: Shows = Shows::Feed;
}

impl Shown for Analytics {
    const SHOWS: Shows = Shows::Computed(Kind::Analytics);
}

impl Shown for Search {
    const SHOWS: Shows = Shows::Computed(Kind::Search);
}

impl<T: Record> Shown for Deleted<T> {
    const SHOWS: Shows = Shows::Deleted(T::KIND);
}

//! Pages: the part of a list that is requested, and the part that was read.

use super::stored_item::Record;
use kernel::{Id, Kind, Result, Timestamp};
use models::Stored;

/// The requested part of a list.
#[derive(Debug, Clone)]
pub struct PageRequest {
    /// The maximum number of items.
    pub limit: usize,
    pub from: Cursor,
    /// The smallest and the largest number of the ids to include.
    pub range: (u128, u128),
}

/// The place where a page begins, in a list that runs from the newest to the oldest, or in the order of the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cursor<C = Id> {
    Newest,
    /// The items that are older than this one.
    After(C),
    /// The next items that are newer than this one.
    Before(C),
}

/// The items of a page, newest first, and whether there are newer and older items.
#[derive(Debug, Clone)]
pub struct Page<T, C = Id> {
    pub items: Vec<T>,
    pub newer: bool,
    pub older: bool,
    /// The place where reading ended in a list that continues, if the page is short: the page that follows in the direction of the request
    /// begins behind this place. Otherwise it begins behind the last item.
    pub end: Option<C>,
}

impl<T, C> Page<T, C> {
    /// Returns a page of an empty list.
    pub fn empty() -> Self {
        Self {
            items: Vec::new(),
            newer: false,
            older: false,
            end: None,
        }
    }

    /// Returns whether the list continues in the direction of its request.
    pub(super) fn continues(&self, from: &Cursor<C>) -> bool {
        match from {
            Cursor::Before(_) => self.newer,
            Cursor::Newest | Cursor::After(_) => self.older,
        }
    }

    /// Returns a page of the items that were read in the direction of the request. `end` is the place where reading ended if the list was
    /// not read to its end. One item more than the limit means that more items follow.
    pub(super) fn part(mut items: Vec<T>, limit: usize, from: &Cursor<C>, end: Option<C>) -> Self {
        let end = end.filter(|_| items.len() <= limit);
        let more = items.len() > limit || end.is_some();
        items.truncate(limit);
        let (newer, older) = match from {
            Cursor::Newest => (false, more),
            Cursor::After(_) => (true, more),
            Cursor::Before(_) => {
                items.reverse();
                (more, true)
            }
        };
        Self {
            items,
            newer,
            older,
            end,
        }
    }
}

impl<T> Page<T> {
    /// Returns a page of the items of a list that was read to its end, or to one item more than the limit.
    pub(super) fn from_items(items: Vec<T>, page_request: &PageRequest) -> Self {
        Self::part(items, page_request.limit, &page_request.from, None)
    }
}

impl<T: Record> Page<Stored<T>> {
    /// Returns the same page with only the objects.
    pub fn objects(self) -> Page<T> {
        Page {
            items: self.items.into_iter().map(|stored| stored.object).collect(),
            newer: self.newer,
            older: self.older,
            end: self.end,
        }
    }
}

impl<T, C> Page<T, C> {
    /// Ends the page before the first refused item, in the order from the newest item on, or with `backward` from the oldest. At least one
    /// item is kept, and the items left out are on the next page.
    ///
    /// # Errors
    /// The error of `keep`.
    pub fn keep_while(
        &mut self,
        backward: bool,
        mut keep: impl FnMut(&T) -> Result<bool>,
    ) -> Result<()> {
        let mut kept = 0;
        for place in 0..self.items.len() {
            let place = if backward {
                self.items.len() - 1 - place
            } else {
                place
            };
            if !keep(&self.items[place])? && kept > 0 {
                break;
            }
            kept += 1;
        }
        if kept < self.items.len() {
            self.end = None;
            if backward {
                self.items.drain(..self.items.len() - kept);
                self.newer = true;
            } else {
                self.items.truncate(kept);
                self.older = true;
            }
        }
        Ok(())
    }

    /// Appends the items of a page that follows in the direction of the request, as far as the limit permits.
    pub(super) fn and(self, next: Self, limit: usize, from: &Cursor<C>) -> Result<Self> {
        let backward = matches!(from, Cursor::Before(_));
        let (newer, older) = if backward {
            (next.newer, self.older)
        } else {
            (self.newer, next.older)
        };
        let (mut items, more) = if backward {
            (next.items, self.items)
        } else {
            (self.items, next.items)
        };
        items.extend(more);
        let end = next.end;
        let mut page = Self {
            items,
            newer,
            older,
            end,
        };
        let mut kept = 0;
        page.keep_while(backward, |_| {
            kept += 1;
            Ok(kept <= limit)
        })?;
        Ok(page)
    }

    /// Converts every item of the page.
    ///
    /// # Errors
    /// The error of the first item that cannot be converted.
    pub fn try_map<U>(self, turn: impl FnMut(T) -> Result<U>) -> Result<Page<U, C>> {
        let items = self.items.into_iter().map(turn).collect::<Result<_>>()?;
        Ok(Page {
            items,
            newer: self.newer,
            older: self.older,
            end: self.end,
        })
    }

    /// Converts the places of the page.
    #[must_use]
    pub fn at<D>(self, place: impl FnOnce(C) -> D) -> Page<T, D> {
        Page {
            items: self.items,
            newer: self.newer,
            older: self.older,
            end: self.end.map(place),
        }
    }
}

impl PageRequest {
    /// Returns a request for the first page of a list without bounds.
    pub fn first(limit: usize) -> Self {
        Self {
            limit,
            from: Cursor::Newest,
            range: (0, u128::MAX),
        }
    }

    /// Returns the request, limited to the ids of objects that were created at this moment or later.
    #[must_use]
    pub fn since(mut self, moment: Timestamp) -> Self {
        self.range.0 = self.range.0.max(Id::first_number(moment));
        self
    }

    /// Returns the request, limited to the ids of objects that were created before this moment.
    #[must_use]
    pub fn until(mut self, moment: Timestamp) -> Self {
        let last = Id::first_number(moment).saturating_sub(1);
        self.range.1 = self.range.1.min(last);
        self
    }

    /// Returns the bounds of the ids that this page may contain, both inclusive; `None` if it can contain none.
    pub(super) fn bounds(&self, kind: Kind) -> Option<(Id, Id)> {
        let (mut low, mut high) = self.range;
        match &self.from {
            Cursor::Newest => {}
            Cursor::After(id) => high = high.min(id.number(kind)?.checked_sub(1)?),
            Cursor::Before(id) => low = low.max(id.number(kind)?.checked_add(1)?),
        }
        (low <= high).then(|| (Id::from_number(kind, low), Id::from_number(kind, high)))
    }
}

/// Returns a page of known ids, newest first.
pub fn page_of_ids(mut ids: Vec<Id>, kind: Kind, page_request: &PageRequest) -> Page<Id> {
    ids.sort();
    let bounds = page_request.bounds(kind);
    ids.retain(|id| {
        bounds
            .as_ref()
            .is_some_and(|(low, high)| low <= id && id <= high)
    });
    if !matches!(page_request.from, Cursor::Before(_)) {
        ids.reverse();
    }
    Page::from_items(ids, page_request)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: &[u128]) -> Vec<Id> {
        numbers
            .iter()
            .map(|number| Id::from_number(Kind::Vehicle, *number))
            .collect()
    }

    #[test]
    fn pages_of_known_ids_walk_forward_and_back() {
        let all = ids(&[3, 1, 5, 2, 4]);
        let request = |from| PageRequest {
            limit: 2,
            from,
            range: (0, u128::MAX),
        };
        let first = page_of_ids(all.clone(), Kind::Vehicle, &request(Cursor::Newest));
        assert_eq!(
            (first.items.clone(), first.newer, first.older),
            (ids(&[5, 4]), false, true)
        );
        let second = page_of_ids(
            all.clone(),
            Kind::Vehicle,
            &request(Cursor::After(first.items[1].clone())),
        );
        assert_eq!(
            (second.items.clone(), second.newer, second.older),
            (ids(&[3, 2]), true, true)
        );
        let last = page_of_ids(
            all.clone(),
            Kind::Vehicle,
            &request(Cursor::After(second.items[1].clone())),
        );
        assert_eq!((last.items.clone(), last.older), (ids(&[1]), false));
        let back = page_of_ids(
            all,
            Kind::Vehicle,
            &request(Cursor::Before(second.items[0].clone())),
        );
        assert_eq!(
            (back.items, back.newer, back.older),
            (ids(&[5, 4]), false, true)
        );
    }

    #[test]
    fn a_page_that_ends_early_leaves_the_rest_to_the_next_page() {
        let page = |items: &[u32]| Page::<u32> {
            items: items.to_vec(),
            ..Page::empty()
        };
        let cut = |items: &[u32], backward, most: usize| {
            let (mut found, mut seen) = (page(items), 0);
            let keep = |_: &u32| {
                seen += 1;
                Ok(seen <= most)
            };
            found.keep_while(backward, keep).unwrap();
            (found.items, found.newer, found.older)
        };
        assert_eq!(cut(&[5, 4, 3], false, 2), (vec![5, 4], false, true));
        assert_eq!(cut(&[5, 4, 3], true, 2), (vec![4, 3], true, false));
        assert_eq!(cut(&[5, 4, 3], false, 3), (vec![5, 4, 3], false, false));
        // An item that is too large is shown on a page of its own.
        assert_eq!(cut(&[5, 4, 3], false, 0), (vec![5], false, true));
        assert_eq!(cut(&[5, 4, 3], true, 0), (vec![3], true, false));
    }

    #[test]
    fn a_page_continues_in_the_second_part_of_its_list() {
        let page = |items: &[u32], newer, older| Page::<u32, u32> {
            items: items.to_vec(),
            newer,
            older,
            end: None,
        };
        let joined = |first: Page<u32, u32>, next, from| {
            let found = first.and(next, 3, &from).unwrap();
            (found.items, found.newer, found.older)
        };
        let forward = Cursor::After(9);
        let (first, next) = (page(&[8, 7], true, false), page(&[4], true, true));
        assert_eq!(
            joined(first.clone(), next, forward.clone()),
            (vec![8, 7, 4], true, true)
        );
        let nothing = page(&[], true, false);
        assert_eq!(
            joined(first, nothing, forward.clone()),
            (vec![8, 7], true, false)
        );
        // The first part fills the page: one item of the second shows that the list continues.
        let (full, next) = (page(&[8, 7, 6], true, false), page(&[4], true, false));
        assert_eq!(joined(full, next, forward), (vec![8, 7, 6], true, true));
        let backward = Cursor::Before(2);
        let (first, next) = (page(&[4, 3], false, true), page(&[8, 7], false, true));
        assert_eq!(joined(first, next, backward), (vec![7, 4, 3], true, true));
    }

    #[test]
    fn a_range_bounds_every_page() {
        let page_request = PageRequest {
            limit: 9,
            from: Cursor::After(ids(&[4])[0].clone()),
            range: (2, 9),
        };
        assert_eq!(
            page_of_ids(ids(&[1, 2, 3, 4]), Kind::Vehicle, &page_request).items,
            ids(&[3, 2])
        );
    }
}

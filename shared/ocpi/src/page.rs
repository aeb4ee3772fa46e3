//! Pages of lists: the query of a request, and the headers of a response.

use super::reader;
use kernel::Timestamp;

/// The maximum number of objects on a page of this service.
pub const MAX_LIMIT: usize = 100;

/// The maximum offset. Pages beyond it would be too expensive.
pub const MAX_OFFSET: usize = 1_000_000;

/// The parameters of a request for a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageQuery {
    /// Objects updated at that moment or later.
    pub date_from: Option<Timestamp>,
    /// Objects updated before that moment.
    pub date_to: Option<Timestamp>,
    pub offset: usize,
    pub limit: usize,
}

impl PageQuery {
    /// Reads the parameters of a query. Others are ignored, and a limit beyond [`MAX_LIMIT`] counts as that.
    ///
    /// # Errors
    /// The name of the malformed parameter and the problem.
    pub fn read<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, String> {
        let mut query = Self {
            limit: MAX_LIMIT,
            ..Self::default()
        };
        for (name, value) in pairs {
            let moment = || reader::timestamp(value).map_err(|why| format!("{name}: {why}"));
            let number = || {
                let number: Result<usize, _> = value.parse();
                number.map_err(|_| format!("{name}: expected a whole number, at least 0"))
            };
            match name {
                "date_from" => query.date_from = Some(moment()?),
                "date_to" => query.date_to = Some(moment()?),
                "offset" => query.offset = number()?,
                "limit" => query.limit = number()?.min(MAX_LIMIT),
                _ => {}
            }
        }
        if query.offset > MAX_OFFSET {
            return Err(format!("offset: must be at most {MAX_OFFSET}"));
        }
        if query.limit == 0 {
            return Err("limit: must be at least 1".into());
        }
        Ok(query)
    }

    /// Returns whether an object that was updated then is requested.
    pub fn holds(&self, last_updated: Timestamp) -> bool {
        self.date_from.is_none_or(|from| from <= last_updated)
            && self.date_to.is_none_or(|to| last_updated < to)
    }

    /// Returns the query of the page after this one.
    fn next(&self) -> String {
        let mut query = format!("offset={}&limit={}", self.offset + self.limit, self.limit);
        for (name, moment) in [("date_from", self.date_from), ("date_to", self.date_to)] {
            if let Some(moment) = moment {
                query += &format!("&{name}={moment}");
            }
        }
        query
    }

    /// Returns the header `Link` of a page, if it is not the last: `total` objects match the query, and `url` is that of the list.
    pub fn link(&self, url: &str, total: usize) -> Option<String> {
        let more = self.offset.saturating_add(self.limit) < total;
        more.then(|| format!("<{url}?{}>; rel=\"next\"", self.next()))
    }
}

/// Returns the address of the next page in a header `Link`.
pub fn next_link(header: &str) -> Option<&str> {
    let mut rest = header;
    // An address may contain commas and semicolons, so only the brackets delimit it.
    while let Some((_, after)) = rest.split_once('<') {
        let (url, after) = after.split_once('>')?;
        let parameters = after.split('<').next().unwrap_or_default();
        let is_next = parameters.split([';', ',']).any(|parameter| {
            let Some((name, value)) = parameter.split_once('=') else {
                return false;
            };
            let kinds = value.trim().trim_matches('"');
            name.trim().eq_ignore_ascii_case("rel")
                && kinds
                    .split(' ')
                    .any(|kind| kind.eq_ignore_ascii_case("next"))
        });
        if is_next {
            return Some(url.trim());
        }
        rest = after;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::time::millis;

    #[test]
    fn a_query_is_read_leniently() {
        let read = |pairs: &[(&'static str, &'static str)]| PageQuery::read(pairs.iter().copied());
        let query = read(&[
            ("date_from", "2019-01-28T12:00:00"),
            ("limit", "5000"),
            ("x", "y"),
        ])
        .unwrap();
        assert_eq!(query.limit, MAX_LIMIT);
        let from = Timestamp::parse("2019-01-28T12:00:00Z").unwrap();
        assert_eq!(query.date_from, Some(from));
        assert!(query.holds(from) && !query.holds(from.plus(millis(-1))));
        for bad in [
            ("limit", "0"),
            ("limit", "x"),
            ("offset", "-1"),
            ("date_to", "soon"),
        ] {
            assert!(read(&[bad]).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_link_to_the_next_page_keeps_the_filters() {
        let query = PageQuery::read([
            ("limit", "2"),
            ("offset", "4"),
            ("date_to", "2019-01-28T12:00:00Z"),
        ]);
        let query = query.unwrap();
        let link = query.link("https://emsp.example/tokens", 7).unwrap();
        let want = "<https://emsp.example/tokens?offset=6&limit=2&date_to=2019-01-28T12:00:00.000Z>; rel=\"next\"";
        assert_eq!(link, want);
        assert_eq!(query.link("https://emsp.example/tokens", 6), None);
    }

    #[test]
    fn the_next_page_is_found_in_a_header() {
        for (header, next) in [
            (
                "<https://a/?offset=1&limit=2>; rel=\"next\"",
                Some("https://a/?offset=1&limit=2"),
            ),
            (
                "<https://a/1>; rel=\"prev\", <https://a/3>; rel=next",
                Some("https://a/3"),
            ),
            (
                "<https://a/?x=1,2;3>; title=\"t\"; REL=\"last next\"",
                Some("https://a/?x=1,2;3"),
            ),
            ("<https://a/1>; rel=\"last\"", None),
            ("https://a/1; rel=\"next\"", None),
            ("<https://a/1", None),
            ("", None),
        ] {
            assert_eq!(next_link(header), next, "{header}");
        }
    }
}

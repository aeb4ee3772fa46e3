//! Lists: the request for a page, and its response.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts, OriginalUri};
use axum::http::request::Parts;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::edge::Edge;
use super::errors::Rejection;
use super::page_token::{Binding, PagePosition, PageSecrets};
use super::query::{QueryString, Whole};
use super::request_context::RequestContext;
use kernel::size::Size;
use kernel::{Error, Id, Kind, Reply, Response, Result, Tenant};
use table::list::{Cursor, Page, PageRequest};
use table::stored_item::Record;

/// The requested page of a list, and the maximum number of its objects.
#[derive(Debug, Clone)]
pub struct ListQuery {
    query: QueryString,
    path: String,
    limit: usize,
    page: Option<String>,
    page_secrets: PageSecrets,
}

/// The query parameters of every list.
#[derive(Debug, Deserialize, ToSchema)]
pub struct Paging {
    /// The maximum number of objects on a page.
    #[schema(default = 10)]
    limit: Option<Whole<1, 100>>,
    /// A token from `next_page_url` or `previous_page_url`.
    page: Option<String>,
}

/// The body of a response with a page of a list.
#[derive(Debug, Serialize)]
struct ListBody<T> {
    data: Vec<T>,
    next_page_url: Option<String>,
    previous_page_url: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for ListQuery
where
    Arc<Edge>: FromRef<S>,
{
    type Rejection = Rejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Rejection> {
        let query = QueryString::of(parts);
        let Paging { limit, page } = query.read()?;
        let path = parts
            .extensions
            .get::<OriginalUri>()
            .map_or_else(|| parts.uri.path(), |uri| uri.0.path())
            .to_owned();
        Ok(Self {
            query,
            path,
            limit: limit.map_or(10, |Whole(limit)| limit as usize),
            page,
            page_secrets: Arc::<Edge>::from_ref(state)
                .settings
                .page_secrets()?
                .clone(),
        })
    }
}

impl ListQuery {
    /// Returns the requested part of the list.
    ///
    /// # Errors
    /// 400 if the token is malformed, was edited, or belongs to another tenant or list.
    pub fn page_request(&self, tenant: &Tenant, kind: Kind) -> Result<PageRequest> {
        Ok(PageRequest {
            from: self.from(tenant, kind)?,
            ..PageRequest::first(self.limit)
        })
    }

    /// Returns the requested number of objects.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Returns the place where the page begins.
    ///
    /// # Errors
    /// 400 if the token is malformed, was edited, or belongs to another tenant or list.
    pub fn from<C: PagePosition>(&self, tenant: &Tenant, kind: Kind) -> Result<Cursor<C>> {
        let Some(token) = &self.page else {
            return Ok(Cursor::Newest);
        };
        self.binding(tenant, &self.query.filters())
            .open(&self.page_secrets, token, kind)
            .ok_or_else(|| Error::invalid("page", "not a page token of this list"))
    }

    fn binding<'a>(&'a self, tenant: &'a Tenant, filters: &'a [(&'a str, &'a str)]) -> Binding<'a> {
        Binding {
            tenant,
            path: &self.path,
            filters,
        }
    }

    /// Returns the response that shows a page of objects.
    ///
    /// # Errors
    /// `Internal` if an object has no JSON representation.
    pub fn respond<T: Record>(
        &self,
        context: &RequestContext,
        found: Page<T>,
    ) -> Result<Reply<Page<T>>> {
        self.answer(context, found, T::id, T::KIND)
    }

    /// Returns the response that shows a page.
    ///
    /// # Errors
    /// `Internal` if the items have no JSON representation.
    pub fn answer<T: Serialize>(
        &self,
        context: &RequestContext,
        found: Page<T>,
        id: impl Fn(&T) -> &Id,
        kind: Kind,
    ) -> Result<Reply<Page<T>>> {
        let placed = found.try_map(|object| Ok((id(&object).clone(), object)))?;
        self.answer_in_order(context, placed, kind)
    }

    /// Returns the response that shows a page of items, each with its position in the list. A page that is too large for Lambda is
    /// shortened: the items left out, which are those farthest from where the page began, are on the next page.
    ///
    /// # Errors
    /// `Internal` if the items have no JSON representation.
    pub fn answer_in_order<T: Serialize, C: PagePosition + Clone>(
        &self,
        context: &RequestContext,
        found: Page<(C, T), C>,
        kind: Kind,
    ) -> Result<Reply<Page<T>>> {
        let mut found = found;
        let answer = self.page_of(context, &found, kind)?;
        if is_returnable(&answer.as_ref().body) {
            return Ok(answer);
        }
        let backward = matches!(self.from::<C>(context.tenant(), kind)?, Cursor::Before(_));
        let mut room = MAX_PAGE;
        found.keep_while(backward, |(_, object)| {
            let size = Size::of(object)?;
            let fits = size.escaped < room;
            room = room.saturating_sub(size.escaped + 1);
            Ok(fits)
        })?;
        self.page_of(context, &found, kind)
    }

    fn page_of<T: Serialize, C: PagePosition + Clone>(
        &self,
        context: &RequestContext,
        found: &Page<(C, T), C>,
        kind: Kind,
    ) -> Result<Reply<Page<T>>> {
        let from = self.from::<C>(context.tenant(), kind)?;
        let (first, last) = (found.items.first(), found.items.last());
        let place = |entry: Option<&(C, T)>| entry.map(|(place, _)| place.clone());
        // A page without items begins behind the item with which the page before it ended: that item is on the previous page.
        let (newest, oldest) = match (&from, found.end.clone()) {
            (Cursor::Before(start), end) => {
                let oldest = place(last).or_else(|| start.newer());
                (end.or_else(|| place(first)), oldest)
            }
            (Cursor::After(start), end) => {
                let newest = place(first).or_else(|| start.older());
                (newest, end.or_else(|| place(last)))
            }
            (Cursor::Newest, end) => (place(first), end.or_else(|| place(last))),
        };
        let url =
            |place: Option<C>, cursor: fn(C) -> Cursor<C>| self.url(context, &cursor(place?), kind);
        let next_page_url = url(oldest.filter(|_| found.older), Cursor::After);
        let previous_page_url = url(newest.filter(|_| found.newer), Cursor::Before);
        let body = context.respond(&ListBody {
            data: found.items.iter().map(|(_, object)| object).collect(),
            next_page_url,
            previous_page_url,
        })?;
        Ok(Response::from(body).into())
    }

    fn url<C: PagePosition>(
        &self,
        context: &RequestContext,
        from: &Cursor<C>,
        kind: Kind,
    ) -> Option<String> {
        let filters = self.query.filters();
        let token =
            self.binding(context.tenant(), &filters)
                .token(&self.page_secrets, from, kind)?;
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query
            .extend_pairs(&filters)
            .append_pair("limit", &self.limit.to_string())
            .append_pair("page", &token);
        Some(format!(
            "{}{}?{}",
            context.base_url,
            self.path,
            query.finish()
        ))
    }
}

/// The maximum size of the items of a page as Lambda returns them: as a string inside JSON. Lambda's limit is 6,291,556 bytes, headers and
/// page URLs included.
pub const MAX_PAGE: usize = 5_500_000;

/// Returns whether Lambda can return a body. Escaping at most doubles it, so a short one needs no closer check.
fn is_returnable(body: &[u8]) -> bool {
    body.len() <= MAX_PAGE / 2 || Size::of_text(body).escaped <= MAX_PAGE
}

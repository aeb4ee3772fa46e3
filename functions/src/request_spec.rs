//! The request that a handler expects and the content of its reply, derived from its signature: the part of the OpenAPI document that is
//! not in its route.

use crate::{App, Request};
use axum::extract::{FromRequest, FromRequestParts};
use axum::routing::{MethodFilter, MethodRouter, on};
use kernel::{Code, Error, Reply};
use models::body::RequestBody;
use models::schema::{Named, named};
use serde::de::DeserializeOwned;
use table::shown::{Shown, Shows};
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use web::list::Paging;
use web::{Body, ListQuery, PathId, Query, errors, query};

/// Schemas with their names.
pub type Schemas = Vec<(String, RefOr<Schema>)>;

/// The requirements of a handler's arguments on a request.
#[derive(Clone, Default)]
pub struct RequestSpec {
    /// The `{id}` of the path.
    pub id: bool,
    /// The structs into which the query is deserialized.
    pub query: Vec<Named>,
    pub body: Option<BodyType>,
}

/// The type of a body.
#[derive(Clone)]
pub struct BodyType {
    pub name: String,
    /// Its schema and those it refers to.
    pub schemas: Schemas,
    /// The error code of a 400 response to an invalid body.
    pub invalid: Option<Code>,
}

/// An argument of a handler.
pub trait RequestPart {
    /// Adds the query names that the argument reads.
    fn query_names(_names: &mut Vec<&'static str>) {}

    fn describe(_spec: &mut RequestSpec) {}
}

impl RequestPart for Request {}

impl RequestPart for PathId {
    fn describe(spec: &mut RequestSpec) {
        spec.id = true;
    }
}

impl RequestPart for ListQuery {
    fn query_names(names: &mut Vec<&'static str>) {
        Query::<Paging>::query_names(names);
    }

    fn describe(spec: &mut RequestSpec) {
        Query::<Paging>::describe(spec);
    }
}

impl<T: DeserializeOwned + ToSchema> RequestPart for Query<T> {
    fn query_names(names: &mut Vec<&'static str>) {
        names.extend(query::names::<T>());
    }

    fn describe(spec: &mut RequestSpec) {
        spec.query.push(named::<T>());
    }
}

impl<T: RequestBody> RequestPart for Body<T> {
    fn describe(spec: &mut RequestSpec) {
        let (name, schemas) = named::<T>();
        spec.body = Some(BodyType {
            name,
            schemas,
            invalid: T::INVALID,
        });
    }
}

/// A handler with these arguments, with axum's own marker type.
pub trait Handles<T> {
    /// The content of its reply.
    const SHOWS: Shows;

    /// The method router of the handler.
    fn routed(self, method: MethodFilter) -> MethodRouter<App>;
}

/// The arguments of a handler, with axum's own marker type.
pub trait RequestParts {
    /// The query names that the arguments read.
    fn query_names() -> Vec<&'static str>;

    fn request_spec() -> RequestSpec;
}

macro_rules! arguments {
    ($($part:ident)*, $last:ident) => {
        impl<F, Fut, R, M, $($part,)* $last> Handles<(M, $($part,)* $last)> for F
        where
            F: Fn($($part,)* $last) -> Fut + Clone + Send + Sync + 'static,
            Fut: Future<Output = Result<Reply<R>, Error>> + Send,
            R: Shown,
            M: 'static,
            $($part: FromRequestParts<App> + Send + 'static,)*
            $last: FromRequest<App, M> + Send + 'static,
        {
            const SHOWS: Shows = R::SHOWS;

            #[allow(non_snake_case)]
            fn routed(self, method: MethodFilter) -> MethodRouter<App> {
                let handler = move |$($part: $part,)* $last: $last| {
                    let reply = self($($part,)* $last);
                    async {
                        reply
                            .await
                            .map_or_else(errors::refused, |response| errors::shown(response.into()))
                    }
                };
                on::<_, (M, $($part,)* $last), App>(method, handler)
            }
        }

        impl<M, $($part: RequestPart,)* $last: RequestPart> RequestParts for (M, $($part,)* $last) {
            fn query_names() -> Vec<&'static str> {
                let mut names = Vec::new();
                $($part::query_names(&mut names);)*
                $last::query_names(&mut names);
                names
            }

            fn request_spec() -> RequestSpec {
                let mut spec = RequestSpec::default();
                $($part::describe(&mut spec);)*
                $last::describe(&mut spec);
                spec
            }
        }
    };
}

arguments!(, A);
arguments!(A, B);
arguments!(A B, C);
arguments!(A B C, D);
arguments!(A B C D, E);

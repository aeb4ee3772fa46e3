//! The executable of all functions: of those that write documents or show pages, and of every route by path, as under cargo-lambda.

// The layout of the SDK's nested futures is deeper than the compiler's default allows.
#![recursion_limit = "256"]

use functions::docs;
use functions::documents::write::write;
use functions::lambda::{self, Extras};
use lambda_runtime::Error;

fn main() -> Result<(), Error> {
    functions::run(lambda::serve(Extras {
        write_document: write,
        pages: |app, name| {
            Ok(match name {
                docs::NAME => docs::router(app),
                _ => functions::router(app),
            })
        },
    }))
}

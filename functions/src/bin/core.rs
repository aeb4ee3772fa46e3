//! The executable of most functions: without documents and documentation pages, which are a quarter of the executable `functions`.

// The layout of the SDK's nested futures is deeper than the compiler's default allows.
#![recursion_limit = "256"]

use functions::documents::write::write_none;
use functions::lambda::{self, Extras};
use lambda_runtime::Error;

fn main() -> Result<(), Error> {
    functions::run(lambda::serve(Extras {
        write_document: write_none,
        pages: |_, name| Err(format!("{name} is a function of the executable `functions`").into()),
    }))
}

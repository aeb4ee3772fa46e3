//! The log output of functions.

use kernel::environment::variable;
use tracing::Subscriber;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

/// The log level of the function's logging configuration, which Lambda passes on.
pub fn log_level() -> LevelFilter {
    let level = variable("AWS_LAMBDA_LOG_LEVEL").and_then(|name| name.parse().ok());
    level.unwrap_or(LevelFilter::INFO)
}

/// Writes log lines as JSON. Each contains the ids of its request, message or change, in the member `span`.
pub fn lines<W>(level: LevelFilter, output: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_max_level(level)
        .with_target(false)
        .with_current_span(true)
        .with_span_list(false)
        .with_writer(output)
        .finish()
}

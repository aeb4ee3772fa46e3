//! The DynamoDB client, and the conversion of its failures into errors of the service.

use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use kernel::Error;

/// Returns settings under which a table that does not respond is noticed well within the 3 seconds of a request. On a machine that is busy
/// with other work, the limits are `slack` times as long (`UNHURRIED` in the settings).
pub fn tuned(config: &aws_types::SdkConfig, slack: u32) -> aws_sdk_dynamodb::config::Builder {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_millis(800) * slack)
        .operation_attempt_timeout(Duration::from_millis(1_000) * slack)
        .operation_timeout(Duration::from_millis(2_200) * slack)
        .build();
    let retries = RetryConfig::standard()
        .with_max_attempts(3)
        .with_initial_backoff(Duration::from_millis(25));
    aws_sdk_dynamodb::config::Builder::from(config)
        .timeout_config(timeouts)
        .retry_config(retries)
}

/// Converts a failed call that the caller did not expect: throttles, time-outs and broken connections are temporary errors, all others are
/// internal errors.
pub fn failure<E>(error: SdkError<E>) -> Error
where
    E: std::error::Error + ProvideErrorMetadata + Send + Sync + 'static,
{
    const PASSING: &[&str] = &[
        "InternalServerError",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "ThrottlingException",
        "TransactionConflictException",
        "TransactionInProgressException",
    ];
    let passes = match &error {
        SdkError::TimeoutError(_) | SdkError::DispatchFailure(_) | SdkError::ResponseError(_) => {
            true
        }
        SdkError::ServiceError(failure) => {
            failure.raw().status().as_u16() >= 500
                || error.code().is_some_and(|code| PASSING.contains(&code))
        }
        _ => false,
    };
    let text = aws_sdk_dynamodb::error::DisplayErrorContext(&error).to_string();
    if passes {
        Error::unavailable(text)
    } else if error.code() == Some("ValidationException") {
        Error::permanent(text)
    } else {
        Error::internal(text)
    }
}

/// Returns the output of a conditional write; `None` if the condition is not met.
///
/// # Errors
/// Those of [`failure`].
pub fn if_met<T, E>(sent: Result<T, SdkError<E>>) -> Result<Option<T>, Error>
where
    E: std::error::Error + ProvideErrorMetadata + Send + Sync + 'static,
{
    match sent {
        Ok(output) => Ok(Some(output)),
        Err(error) if error.code() == Some("ConditionalCheckFailedException") => Ok(None),
        Err(error) => Err(failure(error)),
    }
}

//! Races and failures around a charge: every charge at the payment provider is either credited or refunded.

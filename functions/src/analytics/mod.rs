//! Sums by day of what fleets and vehicles have charged, for charts. They are counted when a session has ended and follow later corrections;
//! a change shows within seconds.

pub mod count;
pub mod retrieve;

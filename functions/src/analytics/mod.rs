//! Daily sums of what fleets and vehicles have charged, for charts. A session is counted when it has ended; later corrections change the
//! sums. A change is visible within seconds.

pub mod count;
pub mod retrieve;

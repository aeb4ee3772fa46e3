//! The distribution of seeds to all processors.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};

/// Futures that are not optimised need more than the default two megabytes of a thread.
const STACK: usize = 32 << 20;

/// The seeds that no worker has taken yet.
pub struct Seeds {
    next: AtomicU64,
    end: u64,
}

impl Seeds {
    pub fn next(&self) -> Option<u64> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        (next < self.end).then_some(next)
    }
}

/// When one worker fails, the others start no further seed.
struct Guard<'a>(&'a Seeds);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.next.store(self.0.end, Ordering::Relaxed);
        }
    }
}

/// Runs two workers for each processor until no seed is left, each on a thread and a runtime of its own, because half of the time they
/// wait before they repeat a call.
pub fn share_out<T: Send>(seeds: Range<u64>, work: impl AsyncFn(&Seeds) -> T + Sync) -> Vec<T> {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let workers = (2 * processors).min(seeds.end - seeds.start);
    let seeds = Seeds {
        next: AtomicU64::new(seeds.start),
        end: seeds.end,
    };
    let worker = || {
        let _guard = Guard(&seeds);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(work(&seeds))
    };
    std::thread::scope(|scope| {
        let start = |_| {
            let thread = std::thread::Builder::new().stack_size(STACK);
            thread.spawn_scoped(scope, worker).expect("a thread")
        };
        let workers: Vec<_> = (0..workers).map(start).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

//! The executable against a server with scripted responses: retries, exit codes, pages, imports, and the hosts that receive keys.

mod hosts;
mod imports;
mod listen;
mod rejected_lines;
mod requests;
mod resumed_imports;
#[path = "../scripted/mod.rs"]
mod scripted;

use scripted::Server;

/// Waits until a process has sent this number of requests.
fn await_requests(server: &Server, count: usize, child: &mut std::process::Child) {
    while server.seen().len() < count {
        let state = child.try_wait().expect("a state");
        assert_eq!(state, None, "it has ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

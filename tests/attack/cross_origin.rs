//! Web pages of other origins cannot use the ports of a local run.

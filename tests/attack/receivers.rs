//! Slow and hostile webhook receivers delay nobody but themselves.

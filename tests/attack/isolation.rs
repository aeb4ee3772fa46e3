//! Nothing of one tenant can be read, changed, listed or referenced by another.

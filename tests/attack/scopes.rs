//! Every operation against every scope: a key does what its scopes allow and nothing else.

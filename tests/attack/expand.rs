//! `expand[]` cannot be used to make a small request expensive.

//! Objects and answers that are too large are refused or split; they block nobody.

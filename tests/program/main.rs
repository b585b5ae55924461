//! Integration tests of the validator: the official suite, the comparison with another validator, hostile input.

mod suite;

//! One file per verb of the command line; each reads like a recipe.

pub mod schema;

"""The optional coordinator: a pure state table and what drives one branch through it."""

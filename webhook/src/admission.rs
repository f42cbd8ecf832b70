//! From the bytes of a review to the bytes of its answer.

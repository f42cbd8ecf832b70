//! From the bytes of a review to the bytes of its answer.

/// What is sent back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// An AdmissionReview as JSON, with the uid of the request.
    Answer(Vec<u8>),
    /// The body holds no review whose uid could be answered to: why, for whoever sent it.
    NotAReview(String),
}

//! What is wrong with an expression, and where.

use std::fmt;
use std::ops::Range;

/// A stretch of an expression's text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Where it begins.
    pub start: u32,
    /// Where it ends, exclusive.
    pub end: u32,
}

impl Span {
    /// From `start` up to `end`.
    pub(crate) fn new(start: usize, end: usize) -> Self {
        // An expression is at most 100,000 characters long, so its offsets fit.
        Self { start: u32::try_from(start).unwrap_or(u32::MAX), end: u32::try_from(end).unwrap_or(u32::MAX) }
    }

    /// From the beginning of `self` to the end of `other`.
    pub(crate) fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end.max(self.end) }
    }
}

/// One reason why an expression is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The text at fault.
    pub span: Span,
    /// What is wrong with it.
    pub message: String,
}

impl Diagnostic {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into() }
    }

    /// The bytes of `text` to point at. Of a chain of fields, the one at fault is the last.
    #[must_use]
    pub fn at_fault(&self, text: &str) -> Range<usize> {
        let mut span = self.span.start as usize..self.span.end as usize;
        let named = text.get(span.clone()).unwrap_or_default();
        if self.message.starts_with("undefined field")
            && let Some((before, _)) = named.rsplit_once('.')
        {
            span.start += before.len() + 1;
        }
        span
    }

    /// Line and column of the fault in `text`, both counted from 1, columns in characters.
    #[must_use]
    pub fn position(&self, text: &str) -> (usize, usize) {
        let before = text.get(..self.span.start as usize).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

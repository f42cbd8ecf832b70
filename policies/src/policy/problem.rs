//! What is wrong with a file, and where.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use butler_api::excerpt::excerpt;

/// A file of policies: its name as people know it, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// How messages name it.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing is loaded until it is mended.
    Error,
    /// Everything is loaded; somebody probably meant something else.
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// As it is shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// Something to say about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// What kind of problem it is, in kebab-case: one of few.
    pub code: &'static str,
    /// The path of the file.
    pub file: String,
    /// The bytes of the file's text at fault; inside an expression, its very characters.
    pub span: Option<Range<usize>>,
    /// What is wrong: the field's path first, then the actual and the allowed value.
    pub message: String,
    /// What to do about it, where that is not obvious.
    pub help: Option<String>,
}

/// Lines of a file that one problem shows at most.
const MOST_LINES: usize = 8;
/// Bytes of a line that are marked, and that are shown after them.
const LONGEST_LINE: usize = 2_000;

impl Problem {
    /// Line and column of the place, both counted from 1, columns in characters.
    #[must_use]
    pub fn place(&self, files: &[SourceFile]) -> Option<(usize, usize)> {
        let text = &files.iter().find(|file| file.path == self.file)?.text;
        Some(line_and_column(text, self.span.as_ref()?.start))
    }

    /// The problem as people read it: what, where, and the lines with a caret.
    #[must_use]
    pub fn render(&self, files: &[SourceFile]) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let title = level.primary_title(self.message.as_str()).id(self.code);
        let text = files.iter().find(|file| file.path == self.file).map(|file| file.text.as_str());
        let shown = text.zip(self.span.clone()).and_then(|(text, span)| Window::around(text, &span));
        let report = match &shown {
            Some(window) => {
                let place = AnnotationKind::Primary.span(window.span.clone());
                let snippet = Snippet::source(window.text).line_start(window.line).path(self.file.as_str());
                title.element(snippet.annotation(place))
            }
            None => title.element(annotate_snippets::Origin::path(self.file.as_str())),
        };
        let report = match &self.help {
            Some(help) => report.element(Level::HELP.message(help.as_str())),
            None => report,
        };
        Renderer::plain().render(&[report])
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.file, self.severity.as_str(), self.message)
    }
}

/// The lines that are shown, and the place within them.
struct Window<'a> {
    text: &'a str,
    line: usize,
    span: Range<usize>,
}

impl<'a> Window<'a> {
    fn around(text: &'a str, span: &Range<usize>) -> Option<Self> {
        let from = text.get(..span.start)?.rfind('\n').map_or(0, |at| at + 1);
        let inside = text.get(span.start..span.end.max(span.start))?;
        // A place that goes on for pages is shown by its beginning.
        let inside = inside
            .match_indices('\n')
            .nth(MOST_LINES - 1)
            .map_or(inside, |(at, _)| inside.get(..at).unwrap_or(inside));
        let inside = beginning(inside).trim_end();
        let end = span.start + inside.len();
        let rest = text.get(end..)?;
        let to = end + beginning(rest.split('\n').next().unwrap_or(rest)).len();
        let line = text.get(..from)?.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let shown = text.get(from..to)?;
        Some(Self { text: shown, line, span: span.start - from..end - from })
    }
}

/// As much of a line as anybody reads.
fn beginning(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST_LINE)).unwrap_or(text)
}

/// Line and column of a byte, both counted from 1, columns in characters.
pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// Problems one load tells of at most; nobody reads more, and each takes memory.
const MOST_PROBLEMS: usize = 100;

/// Where problems are collected.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    kept: Vec<(usize, Problem)>,
    /// Errors that were not kept.
    more: usize,
}

/// A place: the number of the file, and the bytes in it.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Place {
    pub(crate) file: usize,
    pub(crate) span: Range<usize>,
}

impl Problems {
    pub(crate) fn error(&mut self, place: &Place, code: &'static str, message: impl Into<String>) {
        self.add(Severity::Error, Some(place), code, message.into(), None);
    }

    pub(crate) fn error_with_help(
        &mut self,
        place: &Place,
        code: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add(Severity::Error, Some(place), code, message.into(), Some(help.into()));
    }

    pub(crate) fn warn(
        &mut self,
        place: &Place,
        code: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.add(Severity::Warning, Some(place), code, message.into(), Some(help.into()));
    }

    pub(crate) fn note(&mut self, place: &Place, code: &'static str, message: impl Into<String>) {
        self.add(Severity::Note, Some(place), code, message.into(), None);
    }

    fn add(
        &mut self,
        severity: Severity,
        place: Option<&Place>,
        code: &'static str,
        message: String,
        help: Option<String>,
    ) {
        let errors = self.kept.iter().filter(|(_, kept)| kept.severity == Severity::Error).count();
        let is_full =
            if severity == Severity::Error { errors } else { self.kept.len() - errors } >= MOST_PROBLEMS;
        if is_full {
            self.more += usize::from(severity == Severity::Error);
            return;
        }
        let (file, span) = place.map_or((0, None), |place| (place.file, Some(place.span.clone())));
        self.kept.push((file, Problem { severity, code, file: String::new(), span, message, help }));
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.kept.iter().any(|(_, problem)| problem.severity == Severity::Error)
    }

    /// Whether no further error would be kept, so that looking for more is in vain.
    pub(crate) fn is_full(&self) -> bool {
        self.more > 0
    }

    /// Counts an error that would not be kept, so that nobody has to word it.
    pub(crate) fn pass_over(&mut self) {
        self.more += 1;
    }

    /// All of them by file and place.
    pub(crate) fn sorted(mut self, files: &[SourceFile]) -> Vec<Problem> {
        let start = |problem: &Problem| problem.span.as_ref().map_or(0, |span| span.start);
        self.kept.sort_by_key(|(file, problem)| (*file, start(problem), problem.severity));
        let last = self.kept.last().map(|(file, _)| *file);
        let mut sorted: Vec<Problem> = self
            .kept
            .into_iter()
            .map(|(file, problem)| {
                let path = files.get(file).map(|file| file.path.clone()).unwrap_or_default();
                Problem { file: path, ..problem }
            })
            .collect();
        sorted.dedup();
        if self.more > 0 {
            let file =
                last.and_then(|file| files.get(file)).map(|file| file.path.clone()).unwrap_or_default();
            let message = format!("and {} more problems", self.more);
            sorted.push(Problem {
                severity: Severity::Error,
                code: "more",
                file,
                span: None,
                message,
                help: None,
            });
        }
        sorted
    }
}

/// User input in a message: in backticks, and not longer than anybody reads.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", excerpt(text))
}

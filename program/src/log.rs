//! Log lines for machines: one JSON object each.
//!
//! Every review of the webhook has a line, so writing one must cost little beside judging; the formatter that comes with the library
//! takes several times as long.

use std::fmt::{self, Debug, Write};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::registry::LookupSpan;

/// What is logged at that level. The client of Kubernetes warns of what it cannot read by quoting all of it, and objects of
/// others do not belong into a log; only its errors, which quote nothing, are let through.
pub fn filter(level: LevelFilter) -> Targets {
    Targets::new().with_default(level).with_target("kube_client", level.min(LevelFilter::ERROR))
}

/// Time, level and where in the program, then the fields of the event. There are no spans.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let metadata = event.metadata();
        let (now, level, target) = (Timestamp::now(), metadata.level(), metadata.target());
        write!(writer, r#"{{"timestamp":"{now}","level":"{level}","target":"{target}""#)?;
        let mut fields = Fields { writer: writer.by_ref(), result: Ok(()) };
        event.record(&mut fields);
        fields.result?;
        writer.write_str("}\n")
    }
}

struct Fields<'a> {
    writer: Writer<'a>,
    result: fmt::Result,
}

impl Fields<'_> {
    fn field(&mut self, field: &Field, value: impl FnOnce(&mut Writer<'_>) -> fmt::Result) {
        if self.result.is_ok() {
            self.result = write_name(&mut self.writer, field.name()).and_then(|()| value(&mut self.writer));
        }
    }
}

fn write_name(writer: &mut Writer<'_>, name: &str) -> fmt::Result {
    writer.write_str(",\"")?;
    writer.write_str(name)?;
    writer.write_str("\":")
}

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.field(field, |writer| {
            writer.write_char('"')?;
            Quoted(writer).write_str(value)?;
            writer.write_char('"')
        });
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.field(field, |writer| writer.write_str(if value { "true" } else { "false" }));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.field(field, |writer| write!(writer, "{value}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.field(field, |writer| write!(writer, "{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.field(field, |writer| {
            writer.write_char('"')?;
            write!(Quoted(writer), "{value:?}")?;
            writer.write_char('"')
        });
    }
}

/// What is written into a JSON string.
struct Quoted<'a, 'w>(&'a mut Writer<'w>);

impl Write for Quoted<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
            let (before, after) = rest.split_at(at);
            self.0.write_str(before)?;
            let mut after = after.chars();
            match after.next() {
                Some(character @ ('"' | '\\')) => write!(self.0, "\\{character}")?,
                Some(character) => write!(self.0, "\\u{:04x}", u32::from(character))?,
                None => {}
            }
            rest = after.as_str();
        }
        self.0.write_str(rest)
    }
}

/// A writer that keeps what is logged, for tests of what a log says.
#[derive(Clone, Debug, Default)]
pub struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    /// Everything that was logged.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn a_line_is_one_json_object_whatever_is_in_it() {
        let kept = Kept::default();
        let writer = kept.clone();
        let log = tracing_subscriber::fmt().event_format(JsonLines).with_writer(move || writer.clone());
        tracing::subscriber::with_default(log.finish(), || {
            tracing::info!(
                name = "a\"b\\c\nd\u{1}é", count = 7_u64, less = -7_i64, is_so = true, none = None::<u64>, what = %"x\ty",
                "reviewed {}", "\"this\""
            );
        });
        let text = kept.text();
        assert!(text.ends_with("}\n") && text.lines().count() == 1, "{text}");
        let mut line: Value = serde_json::from_str(&text).unwrap();
        let timestamp = line.as_object_mut().unwrap().remove("timestamp").unwrap();
        assert!(timestamp.as_str().unwrap().parse::<Timestamp>().is_ok());
        assert_eq!(
            line,
            json!({
                "level": "INFO", "target": "butler_program::log::tests", "message": "reviewed \"this\"",
                "name": "a\"b\\c\nd\u{1}é", "count": 7, "less": -7, "is_so": true, "what": "x\ty",
            })
        );
    }

    #[test]
    fn the_client_says_nothing_but_its_errors() {
        for level in [LevelFilter::WARN, LevelFilter::INFO, LevelFilter::TRACE] {
            let kept = Kept::default();
            let writer = kept.clone();
            let log =
                tracing_subscriber::fmt().with_max_level(level).with_writer(move || writer.clone()).finish();
            tracing::subscriber::with_default(log.with(filter(level)), || {
                tracing::warn!(target: "kube_client::client", "hunter2");
                tracing::debug!(target: "kube_client::client", "hunter2");
                tracing::error!(target: "kube_client::client", "failed");
                tracing::warn!("ours");
            });
            let text = kept.text();
            assert!(!text.contains("hunter2"), "{text}");
            assert!(text.contains("failed") && text.contains("ours"), "{text}");
        }
    }
}

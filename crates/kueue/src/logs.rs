//! Logs as zap writes them, with its flags: what reads the logs of Kueue reads ours.
//!
//! One JSON object a line on standard error. Levels have zap's names: `info` is V(0), `debug` is V(1), `Level(-2)` is V(2)
//! and so on; events say theirs with the field `v`.

#[cfg(test)]
mod tests;

use std::fmt::{self, Write as _};
use std::str::FromStr;

use kueue_manager::Observer;
use kueue_runtime::clock::Clock;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormattedFields};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

/// How the names of all our crates begin.
const OUR_CRATES: &str = "kueue";

/// How much is logged, and how.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct Flags {
    /// For people who develop: console lines, and everything up to debug.
    #[arg(long = "zap-devel", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, action = clap::ArgAction::Set)]
    devel: bool,
    /// How a line looks: json or console. Without it json, or console with --zap-devel.
    #[arg(long = "zap-encoder", value_name = "ENCODER")]
    encoder: Option<Encoder>,
    /// The least important that is logged: error, info, debug, or a number above 0, where more is more. Without it info,
    /// or debug with --zap-devel.
    #[arg(long = "zap-log-level", value_name = "LEVEL")]
    level: Option<Threshold>,
    /// Accepted for Kueue's sake: there are no stack traces in these logs.
    #[arg(long = "zap-stacktrace-level", value_name = "LEVEL")]
    stacktrace: Option<StackLevel>,
    /// How times look: epoch, millis, nano, iso8601, rfc3339 or rfc3339nano.
    #[arg(long = "zap-time-encoding", value_name = "ENCODING", default_value = "rfc3339nano")]
    time: TimeEncoding,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Encoder {
    Json,
    Console,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum StackLevel {
    Info,
    Error,
    Panic,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
enum TimeEncoding {
    Epoch,
    Millis,
    Nano,
    Iso8601,
    Rfc3339,
    #[default]
    Rfc3339nano,
}

/// A level as zap counts: 2 is error, 1 warn, 0 info, -1 debug, -2 what is V(2), and so on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Threshold(i64);

impl Threshold {
    const ERROR: Self = Self(2);
    const WARN: Self = Self(1);
    const INFO: Self = Self(0);
    const DEBUG: Self = Self(-1);
    /// Where events do not say how unimportant they are.
    const TRACE: Self = Self(-5);
    /// From here on libraries are heard, too.
    const LIBRARIES: Self = Self(-8);

    fn name(self) -> String {
        match self {
            Self::ERROR => "error".to_owned(),
            Self::WARN => "warn".to_owned(),
            Self::INFO => "info".to_owned(),
            Self::DEBUG => "debug".to_owned(),
            Self(level) => format!("Level({level})"),
        }
    }

    /// Whose events have to be looked at at all. What libraries say of every request is for those who ask for a lot.
    fn targets(self) -> Targets {
        let of_libraries = if self > Self::LIBRARIES { LevelFilter::WARN.min(self.filter()) } else { self.filter() };
        Targets::new().with_default(of_libraries).with_target(OUR_CRATES, self.filter())
    }

    /// What has to be looked at at all.
    fn filter(self) -> LevelFilter {
        match self {
            level if level > Self::WARN => LevelFilter::ERROR,
            level if level > Self::INFO => LevelFilter::WARN,
            level if level > Self::DEBUG => LevelFilter::INFO,
            level if level > Self::TRACE => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        }
    }
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "panic" => Ok(Self(4)),
            "error" => Ok(Self::ERROR),
            "info" => Ok(Self::INFO),
            "debug" => Ok(Self::DEBUG),
            number => match number.parse::<i64>() {
                Ok(level) if level > 0 => Ok(Self(-level)),
                _ => Err(format!("invalid log level {text:?}: take error, info, debug or a number above 0")),
            },
        }
    }
}

/// Begins to log. `role` is told later whom to ask what this replica does.
pub(crate) fn begin(flags: &Flags, clock: Clock, role: std::sync::Arc<std::sync::OnceLock<Observer>>) {
    let usual = if flags.devel { Threshold::DEBUG } else { Threshold::INFO };
    let threshold = flags.level.unwrap_or(usual);
    let encoder = flags.encoder.unwrap_or(if flags.devel { Encoder::Console } else { Encoder::Json });
    let zap = Zap { encoder, threshold, time: flags.time, clock, role };
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false).event_format(zap);
    tracing_subscriber::registry().with(lines).with(threshold.targets()).init();
}

/// Writes events as zap does.
struct Zap {
    encoder: Encoder,
    threshold: Threshold,
    time: TimeEncoding,
    clock: Clock,
    role: std::sync::Arc<std::sync::OnceLock<Observer>>,
}

impl<S, N> FormatEvent<S, N> for Zap
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, ctx: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut record = Record::of(event);
        if record.level < self.threshold {
            return Ok(());
        }
        if let Some(role) = self.role.get().and_then(Observer::role) {
            record.fields.push(("replica-role", role.into()));
        }
        for span in ctx.event_scope().into_iter().flatten() {
            if let Some(fields) = span.extensions().get::<FormattedFields<N>>().filter(|fields| !fields.is_empty()) {
                record.fields.push((span.name(), fields.as_str().into()));
            }
        }
        let now = self.clock.now();
        let time = match self.time {
            TimeEncoding::Epoch => Value::from(now.as_nanosecond() as f64 / 1e9),
            TimeEncoding::Millis => Value::from(now.as_nanosecond() as f64 / 1e6),
            TimeEncoding::Nano => i64::try_from(now.as_nanosecond()).map_or(Value::Null, Value::from),
            TimeEncoding::Iso8601 => format!("{now:.3}").into(),
            TimeEncoding::Rfc3339 => format!("{now:.0}").into(),
            TimeEncoding::Rfc3339nano => now.to_string().into(),
        };
        match self.encoder {
            Encoder::Json => writeln!(writer, "{}", record.json(&time)),
            Encoder::Console => writeln!(writer, "{}", record.console(&time)),
        }
    }
}

/// One event.
struct Record {
    level: Threshold,
    logger: &'static str,
    caller: String,
    message: String,
    fields: Vec<(&'static str, Value)>,
}

impl Record {
    fn of(event: &Event<'_>) -> Self {
        let about = event.metadata();
        let level = match *about.level() {
            Level::ERROR => Threshold::ERROR,
            Level::WARN => Threshold::WARN,
            Level::INFO => Threshold::INFO,
            Level::DEBUG => Threshold::DEBUG,
            Level::TRACE => Threshold::TRACE,
        };
        let caller = about.file().map(|file| format!("{}:{}", short(file), about.line().unwrap_or(0)));
        let mut record = Self {
            level,
            logger: about.target(),
            caller: caller.unwrap_or_default(),
            message: String::new(),
            fields: Vec::new(),
        };
        event.record(&mut record);
        record
    }

    fn json(&self, time: &Value) -> String {
        let text = |text: &str| Value::from(text);
        let mut line = format!(
            r#"{{"level":{},"ts":{time},"logger":{},"caller":{},"msg":{}"#,
            text(&self.level.name()),
            text(self.logger),
            text(&self.caller),
            text(&self.message),
        );
        for (name, value) in &self.fields {
            // Writing to a string never fails.
            let _ = write!(line, ",{}:{value}", text(name));
        }
        line.push('}');
        line
    }

    fn console(&self, time: &Value) -> String {
        let time = time.as_str().map_or_else(|| time.to_string(), str::to_owned);
        let level = self.level.name().to_uppercase();
        let fields: Vec<String> =
            self.fields.iter().map(|(name, value)| format!("{}: {value}", Value::from(*name))).collect();
        let fields = if fields.is_empty() { String::new() } else { format!("\t{{{}}}", fields.join(", ")) };
        format!("{time}\t{level}\t{}\t{}\t{}{fields}", self.logger, self.caller, self.message)
    }

    fn push(&mut self, field: &Field, value: Value) {
        match (field.name(), &value) {
            ("message", Value::String(text)) => self.message.clone_from(text),
            ("v", Value::Number(level)) => self.level = Threshold(-level.as_i64().unwrap_or(0)),
            (name, _) => self.fields.push((name, value)),
        }
    }
}

impl Visit for Record {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.push(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.push(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.push(field, format!("{value:?}").into());
    }
}

/// The last folder and the file.
fn short(path: &str) -> &str {
    path.rmatch_indices('/').nth(1).map_or(path, |(place, _)| &path[place + 1..])
}

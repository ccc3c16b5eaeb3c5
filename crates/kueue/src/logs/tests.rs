use std::sync::{Arc, Mutex, OnceLock};

use clap::Parser;
use tracing::{debug, error, info, trace, warn};

use super::*;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
}

fn threshold(args: &[&str]) -> Result<Option<Threshold>, String> {
    let cli = Cli::try_parse_from(["x"].iter().chain(args)).map_err(|error| error.to_string())?;
    Ok(cli.flags.level)
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What is logged of one event of every sort.
fn logged(encoder: Encoder, level: &str) -> Vec<String> {
    let lines = Lines::default();
    let threshold: Threshold = level.parse().unwrap();
    let clock = Clock::starting_at("2026-01-02T03:04:05Z".parse().unwrap());
    let zap = Zap { encoder, threshold, time: TimeEncoding::Rfc3339, clock, role: Arc::new(OnceLock::new()) };
    let writer = lines.clone();
    let layer = tracing_subscriber::fmt::layer().with_writer(move || writer.clone()).event_format(zap);
    let subscriber = tracing_subscriber::registry().with(layer).with(threshold.targets());
    tracing::subscriber::with_default(subscriber, || {
        error!(error = "bad \"luck\"", "failed");
        warn!("odd");
        info!(count = 3, is_so = true, "said");
        debug!("seen");
        debug!(v = 2, key = %"a/b", "decided");
        debug!(v = 4, "details");
        trace!("all");
        debug!(target: "hyper", "connected");
    });
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn lines_are_json_with_the_keys_of_zap() {
    let lines = logged(Encoder::Json, "2");
    let parsed: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let levels: Vec<&str> = parsed.iter().filter_map(|line| line["level"].as_str()).collect();
    assert_eq!(levels, ["error", "warn", "info", "debug", "Level(-2)"]);
    assert_eq!(parsed[0]["error"], "bad \"luck\"");
    assert_eq!(
        (&parsed[2]["msg"], &parsed[2]["count"], &parsed[2]["is_so"]),
        (&"said".into(), &3.into(), &true.into())
    );
    assert_eq!((&parsed[4]["key"], &parsed[4]["ts"]), (&"a/b".into(), &"2026-01-02T03:04:05Z".into()));
    assert!(lines[0].starts_with(r#"{"level":"error","ts":"2026-01-02T03:04:05Z","logger":"kueue"#), "{}", lines[0]);
    assert!(parsed[0]["caller"].as_str().unwrap().starts_with("logs/tests.rs:"), "{}", lines[0]);
}

#[test]
fn more_is_logged_at_higher_levels() {
    let count = |level| logged(Encoder::Json, level).len();
    assert_eq!(["error", "info", "debug", "2", "4", "5"].map(count), [1, 3, 4, 5, 6, 7]);
    assert_eq!(count("8"), 8, "and what libraries say");
}

#[test]
fn console_lines_are_for_people() {
    let line = &logged(Encoder::Console, "info")[2];
    assert!(line.starts_with("2026-01-02T03:04:05Z\tINFO\t"), "{line}");
    assert!(line.ends_with("\tsaid\t{\"count\": 3, \"is_so\": true}"), "{line}");
}

#[test]
fn flags_are_those_of_zap() {
    assert_eq!(threshold(&["--zap-log-level=2"]), Ok(Some(Threshold(-2))));
    assert_eq!(threshold(&["--zap-log-level", "debug"]), Ok(Some(Threshold::DEBUG)));
    for wrong in ["0", "-1", "loud", ""] {
        assert!(threshold(&[&format!("--zap-log-level={wrong}")]).is_err(), "{wrong}");
    }
    let flags =
        Cli::try_parse_from(["x", "--zap-devel", "--zap-encoder=json", "--zap-stacktrace-level=error"]).unwrap().flags;
    assert_eq!((flags.devel, flags.encoder, flags.time), (true, Some(Encoder::Json), TimeEncoding::Rfc3339nano));
    assert!(!Cli::try_parse_from(["x", "--zap-devel=false"]).unwrap().flags.devel);
}

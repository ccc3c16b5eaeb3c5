use proptest::prelude::*;

use super::*;

#[test]
fn times_read_as_go_reads_them_and_print_in_utc() {
    let cases = [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05Z"),
        ("2026-01-01T00:30:00-01:30", "2026-01-01T02:00:00Z"),
        ("2026-01-02T03:04:05.999999999Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T03:04:05,5Z", "2026-01-02T03:04:05Z"),
        ("2026-01-02T3:04:05Z", "2026-01-02T03:04:05Z"),
        ("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59Z"),
        ("2024-02-29T00:00:00+24:00", "2024-02-28T00:00:00Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
        ("9999-12-31T23:59:59-01:00", "9999-12-31T23:59:59Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("0000-01-01T00:00:00+01:00", "0000-01-01T00:00:00Z"),
    ];
    for (text, printed) in cases {
        assert_eq!(text.parse::<Time>().unwrap().to_string(), printed, "{text}");
    }
}

#[test]
fn mistakes_are_named_in_gos_words() {
    let layout = r#" as "2006-01-02T15:04:05Z07:00": cannot parse "#;
    let cases = [
        ("", format!(r#"{layout}"" as "2006""#)),
        ("x", format!(r#"{layout}"x" as "2006""#)),
        ("2026", format!(r#"{layout}"" as "-""#)),
        ("2026-1-02T03:04:05Z", format!(r#"{layout}"1-02T03:04:05Z" as "01""#)),
        ("2026-01-02", format!(r#"{layout}"" as "T""#)),
        ("2026-01-02t03:04:05Z", format!(r#"{layout}"t03:04:05Z" as "T""#)),
        ("2026-01-02T03:04:05", format!(r#"{layout}"" as "Z07:00""#)),
        ("2026-01-02T03:04:05+0200", format!(r#"{layout}"+0200" as "Z07:00""#)),
        ("2026-01-02T03:04:05*02:00", format!(r#"{layout}"*02:00" as "Z07:00""#)),
        ("2026-01-02T03:04:05Zé", r#": extra text: "\xc3\xa9""#.into()),
        ("2026-13-02T03:04:05Z", ": month out of range".into()),
        ("2026-02-29T03:04:05Z", ": day out of range".into()),
        ("2026-01-02T24:04:05Z", ": hour out of range".into()),
        ("2026-01-02T03:60:05Z", ": minute out of range".into()),
        ("2026-01-02T03:04:60Z", ": second out of range".into()),
        ("2026-01-02T03:04:05+25:00", ": time zone offset hour out of range".into()),
        ("2026-01-02T03:04:05+25:0x", ": time zone offset hour out of range".into()),
        ("2026-01-02T03:04:05+00:61", ": time zone offset minute out of range".into()),
        ("2026-01-02T03:04:05+0x:61", format!(r#"{layout}"+0x:61" as "Z07:00""#)),
    ];
    for (text, message) in cases {
        let error = text.parse::<Time>().unwrap_err().to_string();
        assert_eq!(error, format!("parsing time {}{message}", crate::quote::ascii_quoted(text)));
    }
}

#[test]
fn micro_times_have_exactly_six_digits() {
    let time: MicroTime = "2026-01-02T03:04:05.000120+01:00".parse().unwrap();
    assert_eq!(time.to_string(), "2026-01-02T02:04:05.000120Z");
    let error = "2026-01-02T03:04:05Z".parse::<MicroTime>().unwrap_err().to_string();
    assert!(error.ends_with(r#"cannot parse "Z" as ".000000""#), "{error}");
    assert!("2026-01-02T03:04:05.1234567Z".parse::<MicroTime>().is_err());
}

#[test]
fn null_is_the_time_that_is_not_set() {
    let unset: Time = serde_json::from_str("null").unwrap();
    assert!(unset.is_zero());
    assert_eq!(unset.to_string(), "0001-01-01T00:00:00Z");
    assert_eq!(serde_json::to_string(&unset).unwrap(), "null");
    assert_eq!(serde_json::from_str::<Option<Time>>("null").unwrap(), None);
    let set: Time = serde_json::from_str(r#""2026-01-02T03:04:05Z""#).unwrap();
    assert_eq!(serde_json::to_string(&set).unwrap(), r#""2026-01-02T03:04:05Z""#);
}

#[test]
fn adding_a_duration_keeps_whole_seconds() {
    let time: Time = "2026-01-02T03:04:05Z".parse().unwrap();
    assert_eq!((time + Duration::from_millis(1999)).to_string(), "2026-01-02T03:04:06Z");
    assert_eq!((time + Duration::from_millis(-1)).to_string(), "2026-01-02T03:04:04Z");
}

proptest! {
    #[test]
    fn printing_and_reading_is_the_identity(seconds in ZERO_SECONDS..253_402_300_800_i64) {
        let (time, micro) = (Time(seconds), MicroTime(seconds * 1_000_000 + 7));
        prop_assert_eq!(time.to_string().parse(), Ok(time));
        prop_assert_eq!(micro.to_string().parse(), Ok(micro));
    }

    #[test]
    fn timestamps_survive_at_the_precision(nanos in -1_000_000_000_000_000_000_i128..4_000_000_000_000_000_000) {
        let instant = Timestamp::from_nanosecond(nanos).unwrap();
        prop_assert_eq!(Time::new(instant).timestamp().as_second(), instant.as_nanosecond().div_euclid(1_000_000_000) as i64);
        prop_assert_eq!(MicroTime::new(instant).timestamp().as_nanosecond(), nanos - nanos.rem_euclid(1000));
    }

    #[test]
    fn no_text_makes_reading_panic(text in "([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{0,15}([Z+-]\\PC{0,6})?)|\\PC{0,30}") {
        if let Ok(time) = text.parse::<Time>() {
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }
        if let Ok(time) = text.parse::<MicroTime>() {
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }
    }
}

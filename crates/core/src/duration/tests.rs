use proptest::prelude::*;

use super::*;

#[test]
fn durations_read_as_go_reads_them_and_print_canonically() {
    let cases = [
        ("0", "0s"),
        ("+0", "0s"),
        ("-0s", "0s"),
        ("5s", "5s"),
        ("300s", "5m0s"),
        ("1m30s", "1m30s"),
        ("1h", "1h0m0s"),
        ("1.5h", "1h30m0s"),
        ("-1.5h", "-1h30m0s"),
        (".5s", "500ms"),
        ("1.s", "1s"),
        ("100ms", "100ms"),
        ("1500us", "1.5ms"),
        ("1\u{b5}s", "1\u{b5}s"),
        ("1\u{3bc}s", "1\u{b5}s"),
        ("7ns", "7ns"),
        ("1s1h", "1h0m1s"),
        ("0.3333333333333333333h", "20m0s"),
        ("0.9223372036854775807h", "55m20.413933267s"),
        ("9223372036854775807ns", "2562047h47m16.854775807s"),
        ("-9223372036854775808ns", "-2562047h47m16.854775808s"),
        ("39h9m14.425s", "39h9m14.425s"),
    ];
    for (text, printed) in cases {
        let duration: Duration = text.parse().unwrap();
        assert_eq!(duration.to_string(), printed, "{text}");
    }
}

#[test]
fn mistakes_are_named_in_gos_words() {
    let cases = [
        ("", r#"time: invalid duration """#),
        ("-", r#"time: invalid duration "-""#),
        ("x", r#"time: invalid duration "x""#),
        (".s", r#"time: invalid duration ".s""#),
        ("s", r#"time: invalid duration "s""#),
        (" 5s", r#"time: invalid duration " 5s""#),
        ("5s ", r#"time: unknown unit "s " in duration "5s ""#),
        ("--5s", r#"time: invalid duration "--5s""#),
        ("10", r#"time: missing unit in duration "10""#),
        ("1h5", r#"time: missing unit in duration "1h5""#),
        ("1.2.3s", r#"time: missing unit in duration "1.2.3s""#),
        ("1d", r#"time: unknown unit "d" in duration "1d""#),
        ("1é\"", r#"time: unknown unit "\xc3\xa9\"" in duration "1\xc3\xa9\"""#),
        ("9223372036854775808ns", r#"time: invalid duration "9223372036854775808ns""#),
        ("3000000h", r#"time: invalid duration "3000000h""#),
        ("99999999999999999999ns", r#"time: invalid duration "99999999999999999999ns""#),
    ];
    for (text, message) in cases {
        assert_eq!(text.parse::<Duration>().unwrap_err().to_string(), message);
    }
}

#[test]
fn json_carries_the_text_and_nothing_else() {
    let duration: Duration = serde_json::from_str(r#""90s""#).unwrap();
    assert_eq!(serde_json::to_string(&duration).unwrap(), r#""1m30s""#);
    assert!(serde_json::from_str::<Duration>("90").is_err());
    assert!(serde_json::from_str::<Duration>("null").is_err());
}

#[test]
fn constructors_saturate() {
    assert_eq!(Duration::from_seconds(i64::MAX), Duration::MAX);
    assert_eq!(Duration::from_millis(i64::MIN), Duration::from_nanos(i64::MIN));
}

proptest! {
    #[test]
    fn printing_and_reading_is_the_identity(nanos: i64) {
        let duration = Duration::from_nanos(nanos);
        prop_assert_eq!(duration.to_string().parse(), Ok(duration));
    }

    #[test]
    fn no_text_makes_reading_panic(text in "[-+]?([0-9.]{0,25}(ns|us|ms|s|m|h|\\PC)?){0,4}") {
        if let Ok(duration) = text.parse::<Duration>() {
            prop_assert_eq!(duration.to_string().parse(), Ok(duration));
        }
    }
}

//! What users write and what they see.

use expect_test::expect;

use super::*;

#[test]
fn zero_is_the_default() {
    assert_eq!(Quantity::default().to_string(), "0");
}

fn table(inputs: &str) -> String {
    let mut out = String::new();
    for input in inputs.split_whitespace() {
        let line = match input.parse::<Quantity>() {
            Err(error) => format!("{input:<32} {error:?}"),
            Ok(q) => format!(
                "{input:<32} {:<32} {:<16} {:>20} {:>20}",
                q.to_string(),
                format!("{:?}", q.format()),
                q.value(),
                q.milli_value()
            ),
        };
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[test]
fn ordinary_quantities_print_in_canonical_form() {
    let inputs = "0 1 1000m 1500m 0.5 100m 1k 1000 12345 1.5Gi 1536Mi 1Ki 1024 1.1Gi 12e6 1e3 1000e-3 -500m";
    expect![[r#"
        0                                0                                DecimalSi                           0                    0
        1                                1                                DecimalSi                           1                 1000
        1000m                            1                                DecimalSi                           1                 1000
        1500m                            1500m                            DecimalSi                           2                 1500
        0.5                              500m                             DecimalSi                           1                  500
        100m                             100m                             DecimalSi                           1                  100
        1k                               1k                               DecimalSi                        1000              1000000
        1000                             1k                               DecimalSi                        1000              1000000
        12345                            12345                            DecimalSi                       12345             12345000
        1.5Gi                            1536Mi                           BinarySi                   1610612736        1610612736000
        1536Mi                           1536Mi                           BinarySi                   1610612736        1610612736000
        1Ki                              1Ki                              BinarySi                         1024              1024000
        1024                             1024                             DecimalSi                        1024              1024000
        1.1Gi                            1181116006400m                   BinarySi                   1181116007        1181116006400
        12e6                             12e6                             DecimalExponent              12000000          12000000000
        1e3                              1e3                              DecimalExponent                  1000              1000000
        1000e-3                          1                                DecimalExponent                     1                 1000
        -500m                            -500m                            DecimalSi                          -1                 -500
    "#]]
    .assert_eq(&table(inputs));
}

#[test]
fn scaling_rounds_towards_zero_at_nano() {
    for (text, factor, want) in [
        ("2", 0.5, "1"),
        ("1", 1.0 / 3.0, "333333333n"),
        ("-1", 1.0 / 3.0, "-333333333n"),
        ("1n", 0.999, "0"),
        ("4Gi", 0.1, "429496729600m"),
        ("8E", 1e30, "8e48"),
        ("3", 0.0, "0"),
        ("3", -2.0, "-6"),
        ("1", f64::MIN_POSITIVE, "0"),
    ] {
        assert_eq!(text.parse::<Quantity>().unwrap().scaled_by(factor).to_string(), want, "{text} × {factor}");
    }
}

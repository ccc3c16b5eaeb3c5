//! What users write and what they see. The lines of these tables were compared with Go's own answers, save where a
//! test says that we differ, and for exponents like 999999999, on which Go takes minutes.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn quantity(text: &str) -> Quantity {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Checks a table of input, canonical form, format, value in units and in thousandths.
fn check(inputs: &str, table: &Expect) {
    let mut lines = String::new();
    for input in inputs.split_whitespace() {
        let quantity = quantity(input);
        let (text, format) = (quantity.to_string(), format!("{:?}", quantity.format()));
        let (value, milli) = (quantity.value(), quantity.milli_value());
        lines += &format!("{input:<21} {text:<21} {format:<15} {value:>20} {milli:>20}\n");
    }
    table.assert_eq(&lines);
}

#[test]
fn the_largest_suffix_without_a_fraction_is_printed() {
    check(
        "0 1 10 1000 12345 120000 1k 1000k 0.5 .5 5. 1.5 100m 1000m 1500m 1u 1234567n 1.25G 1E -1 -2500m 0k 0.0",
        &expect![[r#"
            0                     0                     DecimalSi                          0                    0
            1                     1                     DecimalSi                          1                 1000
            10                    10                    DecimalSi                         10                10000
            1000                  1k                    DecimalSi                       1000              1000000
            12345                 12345                 DecimalSi                      12345             12345000
            120000                120k                  DecimalSi                     120000            120000000
            1k                    1k                    DecimalSi                       1000              1000000
            1000k                 1M                    DecimalSi                    1000000           1000000000
            0.5                   500m                  DecimalSi                          1                  500
            .5                    500m                  DecimalSi                          1                  500
            5.                    5.                    DecimalSi                          5                 5000
            1.5                   1500m                 DecimalSi                          2                 1500
            100m                  100m                  DecimalSi                          1                  100
            1000m                 1                     DecimalSi                          1                 1000
            1500m                 1500m                 DecimalSi                          2                 1500
            1u                    1u                    DecimalSi                          1                    1
            1234567n              1234567n              DecimalSi                          1                    2
            1.25G                 1250M                 DecimalSi                 1250000000        1250000000000
            1E                    1E                    DecimalSi        1000000000000000000  9223372036854775807
            -1                    -1                    DecimalSi                         -1                -1000
            -2500m                -2500m                DecimalSi                         -3                -2500
            0k                    0                     DecimalSi                          0                    0
            0.0                   0                     DecimalSi                          0                    0
        "#]],
    );
}

#[test]
fn binary_suffixes_give_way_where_they_would_lose_something() {
    check(
        "1Ki 1024Ki 1536Mi 1.5Gi 0.5Ki 0.001Ki 1.1Ki 1023Ki 1.5Mi 0Ki 0.5Gi 7Ei -1.5Ki 1.0Ki 0.0001Gi",
        &expect![[r#"
            1Ki                   1Ki                   BinarySi                        1024              1024000
            1024Ki                1Mi                   BinarySi                     1048576           1048576000
            1536Mi                1536Mi                BinarySi                  1610612736        1610612736000
            1.5Gi                 1536Mi                BinarySi                  1610612736        1610612736000
            0.5Ki                 512                   BinarySi                         512               512000
            0.001Ki               1024m                 BinarySi                           2                 1024
            1.1Ki                 1126400m              BinarySi                        1127              1126400
            1023Ki                1023Ki                BinarySi                     1047552           1047552000
            1.5Mi                 1536Ki                BinarySi                     1572864           1572864000
            0Ki                   0                     BinarySi                           0                    0
            0.5Gi                 512Mi                 BinarySi                   536870912         536870912000
            7Ei                   7Ei                   BinarySi         8070450532247928832  9223372036854775807
            -1.5Ki                -1536                 BinarySi                       -1536             -1536000
            1.0Ki                 1Ki                   BinarySi                        1024              1024000
            0.0001Gi              107374182400u         BinarySi                      107375            107374183
        "#]],
    );
}

#[test]
fn exponents_stay_exponents() {
    check(
        "1e3 12e6 1e2 1e-3 15e-1 1000e-3 1E6 1e18 1e21 1e30 0e5 123456e4 -1e3",
        &expect![[r#"
            1e3                   1e3                   DecimalExponent                 1000              1000000
            12e6                  12e6                  DecimalExponent             12000000          12000000000
            1e2                   100                   DecimalExponent                  100               100000
            1e-3                  1e-3                  DecimalExponent                    1                    1
            15e-1                 1500e-3               DecimalExponent                    2                 1500
            1000e-3               1                     DecimalExponent                    1                 1000
            1E6                   1E6                   DecimalExponent              1000000           1000000000
            1e18                  1e18                  DecimalExponent  1000000000000000000  9223372036854775807
            1e21                  1e21                  DecimalExponent  9223372036854775807  9223372036854775807
            1e30                  1e30                  DecimalExponent  9223372036854775807  9223372036854775807
            0e5                   0                     DecimalExponent                    0                    0
            123456e4              1234560e3             DecimalExponent           1234560000        1234560000000
            -1e3                  -1e3                  DecimalExponent                -1000             -1000000
        "#]],
    );
}

#[test]
fn what_is_finer_than_nano_is_rounded_up() {
    check(
        "1n 0.1n 1.1n 0.0000000001 1e-10 1e-999999999 -0.1n 0.9999999999 0.000000000001Ki",
        &expect![[r#"
            1n                    1n                    DecimalSi                          1                    1
            0.1n                  1n                    DecimalSi                          1                    1
            1.1n                  2n                    DecimalSi                          1                    1
            0.0000000001          1n                    DecimalSi                          1                    1
            1e-10                 1e-9                  DecimalExponent                    1                    1
            1e-999999999          1e-9                  DecimalExponent                    1                    1
            -0.1n                 -1n                   DecimalSi                         -1                   -1
            0.9999999999          1                     DecimalSi                          1                 1000
            0.000000000001Ki      2n                    DecimalSi                          1                    1
        "#]],
    );
}

#[test]
fn large_numbers_are_exact_and_large_binary_ones_capped() {
    check(
        "9223372036854775807 9223372036854775808 -9223372036854775809 99999999999999999999 8Ei 100Ei -8Ei
         9223372036854775.807k 1e999999999",
        &expect![[r#"
            9223372036854775807   9223372036854775807   DecimalSi        9223372036854775807  9223372036854775807
            9223372036854775808   9223372036854775808   DecimalSi        9223372036854775807  9223372036854775807
            -9223372036854775809  -9223372036854775809  DecimalSi       -9223372036854775808 -9223372036854775808
            99999999999999999999  99999999999999999999  DecimalSi        9223372036854775807  9223372036854775807
            8Ei                   9223372036854775807   BinarySi         9223372036854775807  9223372036854775807
            100Ei                 9223372036854775807   BinarySi         9223372036854775807  9223372036854775807
            -8Ei                  -9223372036854775807  BinarySi        -9223372036854775807 -9223372036854775808
            9223372036854775.807k 9223372036854775807   DecimalSi        9223372036854775807  9223372036854775807
            1e999999999           1e999999999           DecimalExponent  9223372036854775807  9223372036854775807
        "#]],
    );
}

#[test]
fn numbers_beyond_128_bits_are_exact_too() {
    let big = "123456789012345678901234567890123456789012345";
    for (fraction, want) in [("", ""), (".0000000000", ""), (".5", "500m"), (".0000000001", "000000001n")] {
        assert_eq!(quantity(&format!("{big}{fraction}")).to_string(), format!("{big}{want}"));
        assert_eq!(quantity(&format!("-{big}{fraction}")).to_string(), format!("-{big}{want}"));
    }
    assert_eq!(quantity(&format!("{big}e-40")).to_string(), "12345678901235e-9");
}

#[test]
fn spellings_that_go_takes_for_canonical_are_repeated() {
    check(
        "+5 007 1.500 0.500 1.5000 1.500k 1E3 1e+3 1e03 1e0 +1Ki 01Ki 08Ki +1000 -05 1e4294967299
         +123456789012345678 +1234567890123456789 +12345678901Ki +123456789012Ki",
        &expect![[r#"
            +5                    +5                    DecimalSi                          5                 5000
            007                   007                   DecimalSi                          7                 7000
            1.500                 1.500                 DecimalSi                          2                 1500
            0.500                 500m                  DecimalSi                          1                  500
            1.5000                1500m                 DecimalSi                          2                 1500
            1.500k                1.500k                DecimalSi                       1500              1500000
            1E3                   1E3                   DecimalExponent                 1000              1000000
            1e+3                  1e+3                  DecimalExponent                 1000              1000000
            1e03                  1e03                  DecimalExponent                 1000              1000000
            1e0                   1e0                   DecimalExponent                    1                 1000
            +1Ki                  +1Ki                  BinarySi                        1024              1024000
            01Ki                  01Ki                  BinarySi                        1024              1024000
            08Ki                  8Ki                   BinarySi                        8192              8192000
            +1000                 1k                    DecimalSi                       1000              1000000
            -05                   -05                   DecimalSi                         -5                -5000
            1e4294967299          1e4294967299          DecimalExponent                 1000              1000000
            +123456789012345678   +123456789012345678   DecimalSi         123456789012345678  9223372036854775807
            +1234567890123456789  1234567890123456789   DecimalSi        1234567890123456789  9223372036854775807
            +12345678901Ki        +12345678901Ki        BinarySi              12641975194624    12641975194624000
            +123456789012Ki       123456789012Ki        BinarySi             126419751948288   126419751948288000
        "#]],
    );
}

#[test]
fn a_repeated_spelling_is_forgotten_when_the_number_changes() {
    assert_eq!((&quantity("1.500") + &quantity("0")).to_string(), "1500m");
    assert_eq!((-&quantity("+5")).to_string(), "-5");
    assert_eq!(quantity("+5").clone().to_string(), "+5");
}

#[test]
fn lone_signs_points_and_suffixes_count_as_zero() {
    check(
        "- + . -. Ki m Ti e5",
        &expect![[r#"
            -                     0                     DecimalSi                          0                    0
            +                     0                     DecimalSi                          0                    0
            .                     0                     DecimalSi                          0                    0
            -.                    0                     DecimalSi                          0                    0
            Ki                    0                     BinarySi                           0                    0
            m                     0                     DecimalSi                          0                    0
            Ti                    0                     BinarySi                           0                    0
            e5                    0                     DecimalExponent                    0                    0
        "#]],
    );
}

#[test]
fn wrong_texts_are_refused_in_the_words_of_the_api_server() {
    let mut lines = String::new();
    let shapeless = ["", "x", "1x", "1.2.3", " 1", "1 ", "1e5x"];
    let suffixes = ["1e", "1Kii", "1i", "1-5", "--1", "1e99999999999999999999"];
    let no_digits = ["Ei", "-Pi", ".Ei", "e-10"];
    for text in shapeless.into_iter().chain(suffixes).chain(no_digits) {
        lines += &format!("{text:?}: {}\n", text.parse::<Quantity>().unwrap_err());
    }
    expect![[r#"
        "": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
        "x": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
        "1x": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
        "1.2.3": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
        " 1": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
        "1 ": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
        "1e5x": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
        "1e": unable to parse quantity's suffix
        "1Kii": unable to parse quantity's suffix
        "1i": unable to parse quantity's suffix
        "1-5": unable to parse quantity's suffix
        "--1": unable to parse quantity's suffix
        "1e99999999999999999999": unable to parse quantity's suffix
        "Ei": unable to parse numeric part of quantity
        "-Pi": unable to parse numeric part of quantity
        ".Ei": unable to parse numeric part of quantity
        "e-10": unable to parse numeric part of quantity
    "#]]
    .assert_eq(&lines);
}

/// Go prints the bare mantissa when a number is too large for the suffixes it knows: 10^21 becomes `1`.
#[test]
fn beyond_exa_we_print_an_exponent_where_go_loses_it() {
    check(
        "1000E 1000000000000000000000 1234567E",
        &expect![[r#"
            1000E                 1e21                  DecimalSi        9223372036854775807  9223372036854775807
            1000000000000000000000 1e21                  DecimalSi        9223372036854775807  9223372036854775807
            1234567E              1234567E              DecimalSi        9223372036854775807  9223372036854775807
        "#]],
    );
    let mut doubled = quantity("4Ei");
    for _ in 0..10 {
        doubled = &doubled + &doubled;
    }
    assert_eq!(doubled.to_string(), "4096Ei");
}

#[test]
fn a_zero_adopts_the_notation_of_what_is_added() {
    for (a, b, sum, difference) in [
        ("0", "1Gi", "1Gi", "-1Gi"),
        ("1", "1Ki", "1025", "-1023"),
        ("1Ki", "1", "1025", "1023"),
        ("1Ki", "1024", "2Ki", "0"),
        ("1e3", "1k", "2e3", "0"),
        ("1k", "1m", "1000001m", "999999m"),
        ("4Ei", "4Ei", "8Ei", "0"),
        ("9223372036854775807", "1", "9223372036854775808", "9223372036854775806"),
        ("1e30", "1n", "1000000000000000000000000000000000000001e-9", "999999999999999999999999999999999999999e-9"),
        ("1e60", "-1e30", "999999999999999999999999999999e30", "1000000000000000000000000000001e30"),
        ("1e999999999", "1", "1e999999999", "1e999999999"),
        ("1", "1e999999999", "1e999999999", "-1e999999999"),
    ] {
        let (a, b) = (quantity(a), quantity(b));
        assert_eq!((&a + &b).to_string(), sum, "{a} + {b}");
        assert_eq!((&a - &b).to_string(), difference, "{a} - {b}");
    }
}

#[test]
fn order_looks_at_the_number_alone() {
    let ascending = "-1e40 -1e39 -1Ki -1 -1n 0 1n 1m 999m 1 1.0000000001 1k 1023 1Ki 1E 1e38 1e39 1e40 1e999999999";
    let ascending: Vec<Quantity> = ascending.split_whitespace().map(quantity).collect();
    assert!(ascending.is_sorted_by(|a, b| a < b));
    for (a, b) in [("1", "1000m"), ("1Ki", "1024"), ("1e40", "10000000000000000000000000000000000000000")] {
        assert_eq!(quantity(a), quantity(b));
    }
}

#[test]
fn equal_numbers_hash_alike() {
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
    let hash = |text: &str| BuildHasherDefault::<DefaultHasher>::default().hash_one(quantity(text));
    assert_eq!(hash("1000m"), hash("1e0"));
    assert_eq!(hash("0"), hash("0.0Ki"));
    assert_eq!(hash("1e40"), hash("10000000000000000000000000000000000000000"));
    assert_ne!(hash("1"), hash("10"));
}

#[test]
fn floats_carry_the_rounding_of_go() {
    for (text, float) in [
        ("0.7", 0.7000000000000001),
        ("700m", 0.7000000000000001),
        ("2.7Ti", 2968681394995.2),
        ("0e999999999", 0.0),
        ("1e999999999", f64::INFINITY),
        ("-1e22", -1e22),
        ("123456789012345678901234567890123456789012345", 1.2345678901234569e44),
    ] {
        assert_eq!(quantity(text).as_f64(), float, "{text}");
    }
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
        assert_eq!(quantity(text).scaled_by(factor).to_string(), want, "{text} × {factor}");
    }
}

#[test]
fn json_takes_strings_and_numbers_and_gives_strings() {
    for (json, text) in [
        (json!("1000m"), "1"),
        (json!(" 2Gi "), "2Gi"),
        (json!("1.500"), "1.500"),
        (json!(1), "1"),
        (json!(-2000), "-2k"),
        (json!(u64::MAX), "18446744073709551615"),
        (json!(0.25), "250m"),
        (json!(1e30), "1e30"),
        (json!(null), "0"),
    ] {
        let read: Quantity = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), text, "{json}");
    }
    for json in [json!(""), json!("1 Gi"), json!(true), json!({}), json!([1])] {
        assert!(serde_json::from_value::<Quantity>(json.clone()).is_err(), "{json}");
    }
}

/// Each of these would cost minutes or gigabytes if the zeros were ever written out.
#[test]
fn hostile_numbers_are_handled_at_once() {
    let digits = "9".repeat(50_000);
    let texts = [
        format!("{digits}e2147483647"),
        format!("{digits}.{digits}Ei"),
        format!("0.{digits}e-2147483648"),
        format!("{}1", "0".repeat(50_000)),
        "1e2147483647".to_owned(),
        "1e-2147483648".to_owned(),
        "-1e999999999".to_owned(),
    ];
    for text in &texts {
        let number = quantity(text);
        for other in [quantity("1n"), quantity("1Ki"), quantity("-1e2147483646"), quantity(&digits)] {
            let (sum, difference) = (&number + &other, &other - &number);
            assert_eq!(number < other, difference.sign() > 0);
            assert_eq!(quantity(&sum.to_string()).sign(), sum.sign());
            assert!(!sum.scaled_by(1e-300).as_f64().is_nan());
        }
    }
}

#[test]
fn a_product_is_exact_and_keeps_the_notation_of_the_first_factor() {
    let product = |a: &str, b: &str| a.parse::<Quantity>().unwrap().times(&b.parse().unwrap()).to_string();
    assert_eq!(product("2Gi", "3"), "6Gi");
    assert_eq!(product("1500m", "500m"), "750m");
    assert_eq!(product("3", "-2"), "-6");
}

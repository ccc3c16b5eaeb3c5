//! Reading and printing `2006-01-02T15:04:05Z`, with Go's tolerance and in Go's words.
//!
//! Go reads a little more than RFC 3339 allows (an hour of one digit, a comma before the fraction, an offset of up to 24
//! hours), and a client that sends such a time to the API server gets it accepted; so it is here.

use std::fmt;

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime};

use crate::quote::ascii_quoted;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
/// 0000-01-01T00:00:00Z, the earliest instant that can be written.
const FIRST_SECOND: i64 = -62_167_219_200;
/// 9999-12-31T23:59:59Z, the latest.
const LAST_SECOND: i64 = 253_402_300_799;

/// How much of the second is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// No fraction is printed; any is read.
    Seconds,
    /// Exactly six digits, both ways.
    Micros,
}

impl Layout {
    /// The reference time that names the layout in messages.
    fn text(self) -> &'static str {
        match self {
            Self::Seconds => "2006-01-02T15:04:05Z07:00",
            Self::Micros => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

/// Text that is not a time, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseTimeError(String);

impl fmt::Display for ParseTimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseTimeError {}

/// Seconds since 1970 and the nanoseconds after that. An offset that leads outside the years 0 to 9999 is cut short, so
/// that what is read can be printed.
pub(super) fn parse(text: &str, layout: Layout) -> Result<(i64, i64), ParseTimeError> {
    let mut reader = Reader { rest: text, text, layout };
    let year = reader.year()?;
    reader.literal("-")?;
    let month = reader.two_digits("01")?;
    if !(1..=12).contains(&month) {
        return Err(reader.out_of_range("month"));
    }
    reader.literal("-")?;
    let day = reader.two_digits("02")?;
    reader.literal("T")?;
    let hour = reader.hour()?;
    reader.literal(":")?;
    let minute = reader.sixtieth("04", "minute")?;
    reader.literal(":")?;
    let second = reader.sixtieth("05", "second")?;
    let nanos = match layout {
        Layout::Seconds => reader.any_fraction(),
        Layout::Micros => reader.six_digit_fraction()?,
    };
    let offset_seconds = reader.offset()?;
    if !reader.rest.is_empty() {
        return Err(reader.message(&format!("extra text: {}", ascii_quoted(reader.rest))));
    }
    let date = Date::new(year as i16, month as i8, day as i8).map_err(|_| reader.out_of_range("day"))?;
    let local = date.at(hour as i8, minute as i8, second as i8, 0);
    let seconds = local.duration_since(EPOCH).as_secs() - offset_seconds;
    Ok((seconds.clamp(FIRST_SECOND, LAST_SECOND), nanos))
}

/// What was computed to lie outside the years 0 to 9999 prints as the nearest instant inside.
pub(super) fn print(f: &mut fmt::Formatter<'_>, seconds: i64, nanos: i64, layout: Layout) -> fmt::Result {
    let at = EPOCH.saturating_add(SignedDuration::from_secs(seconds.clamp(FIRST_SECOND, LAST_SECOND)));
    let (date, time) = (at.date(), at.time());
    write!(f, "{:04}-{:02}-{:02}", date.year(), date.month(), date.day())?;
    write!(f, "T{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())?;
    match layout {
        Layout::Seconds => f.write_str("Z"),
        Layout::Micros => write!(f, ".{:06}Z", nanos / 1_000),
    }
}

/// What is left of the text; each step consumes its part or says what it expected.
struct Reader<'t> {
    rest: &'t str,
    text: &'t str,
    layout: Layout,
}

impl<'t> Reader<'t> {
    /// Expected an element of the layout, found something else.
    fn expected(&self, element: &str) -> ParseTimeError {
        let (text, layout) = (ascii_quoted(self.text), ascii_quoted(self.layout.text()));
        let (found, element) = (ascii_quoted(self.rest), ascii_quoted(element));
        ParseTimeError(format!("parsing time {text} as {layout}: cannot parse {found} as {element}"))
    }

    fn message(&self, message: &str) -> ParseTimeError {
        ParseTimeError(format!("parsing time {}: {message}", ascii_quoted(self.text)))
    }

    fn out_of_range(&self, what: &str) -> ParseTimeError {
        self.message(&format!("{what} out of range"))
    }

    fn literal(&mut self, literal: &str) -> Result<(), ParseTimeError> {
        self.rest = self.rest.strip_prefix(literal).ok_or_else(|| self.expected(literal))?;
        Ok(())
    }

    /// Takes exactly `count` digits, or nothing.
    fn digits(&mut self, count: usize) -> Option<&'t str> {
        let digits = self.rest.get(..count).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        self.rest = &self.rest[count..];
        Some(digits)
    }

    fn year(&mut self) -> Result<u32, ParseTimeError> {
        self.digits(4).map(value).ok_or_else(|| self.expected("2006"))
    }

    fn two_digits(&mut self, element: &str) -> Result<u32, ParseTimeError> {
        self.digits(2).map(value).ok_or_else(|| self.expected(element))
    }

    /// The only part that may have one digit.
    fn hour(&mut self) -> Result<u32, ParseTimeError> {
        let digits = self.digits(2).or_else(|| self.digits(1)).ok_or_else(|| self.expected("15"))?;
        Some(value(digits)).filter(|hour| *hour < 24).ok_or_else(|| self.out_of_range("hour"))
    }

    fn sixtieth(&mut self, element: &str, name: &str) -> Result<u32, ParseTimeError> {
        let number = self.two_digits(element)?;
        if number < 60 { Ok(number) } else { Err(self.out_of_range(name)) }
    }

    /// A fraction where the layout has none: as many digits as there are, nine of which count.
    fn any_fraction(&mut self) -> i64 {
        let Some(after) = self.rest.strip_prefix(['.', ',']) else { return 0 };
        let length = after.bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 {
            return 0;
        }
        self.rest = &after[length..];
        nanos(&after[..length.min(9)])
    }

    fn six_digit_fraction(&mut self) -> Result<i64, ParseTimeError> {
        let expected = self.expected(".000000");
        self.rest = self.rest.strip_prefix(['.', ',']).ok_or_else(|| expected.clone())?;
        self.digits(6).map(nanos).ok_or(expected)
    }

    /// Seconds east of UTC.
    fn offset(&mut self) -> Result<i64, ParseTimeError> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let Some([sign, h1, h2, b':', m1, m2]) = self.rest.as_bytes().first_chunk() else {
            return Err(self.expected("Z07:00"));
        };
        let (hours, minutes) = (two_digits(*h1, *h2), two_digits(*m1, *m2));
        if hours.is_some() && minutes > Some(60) {
            return Err(self.out_of_range("time zone offset minute"));
        }
        if hours > Some(24) {
            return Err(self.out_of_range("time zone offset hour"));
        }
        let seconds = match (sign, hours, minutes) {
            (b'+', Some(hours), Some(minutes)) => (hours * 60 + minutes) * 60,
            (b'-', Some(hours), Some(minutes)) => -(hours * 60 + minutes) * 60,
            _ => return Err(self.expected("Z07:00")),
        };
        self.rest = &self.rest[6..];
        Ok(seconds)
    }
}

fn two_digits(tens: u8, units: u8) -> Option<i64> {
    let are_digits = tens.is_ascii_digit() && units.is_ascii_digit();
    are_digits.then(|| i64::from(tens - b'0') * 10 + i64::from(units - b'0'))
}

/// The value of at most four digits.
fn value(digits: &str) -> u32 {
    digits.bytes().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'))
}

/// Nanoseconds of a fraction of at most nine digits.
fn nanos(digits: &str) -> i64 {
    let value = digits.bytes().fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    value * 10_i64.pow(9 - digits.len() as u32)
}

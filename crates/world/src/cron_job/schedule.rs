//! When a CronJob is due: the five fields of cron, in UTC.

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

/// A schedule that names no day within so many is taken for one that names none.
const DAYS_MAX: usize = 5 * 366;
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// Shorter words for some schedules.
const WORDS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// The values that one field allows, as bits, and whether it begins with a star.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Field {
    bits: u64,
    is_any: bool,
}

impl Field {
    fn parse(text: &str, least: u32, most: u32, names: &[&str]) -> Option<Self> {
        let mut bits = 0;
        for part in text.split(',') {
            let (range, step) = part.split_once('/').map_or((part, None), |(range, step)| (range, Some(step)));
            let number = |word: &str| {
                let name = names.iter().position(|name| word.eq_ignore_ascii_case(name));
                let named = name.and_then(|at| u32::try_from(at).ok()).map(|at| at + least.min(1));
                named.or_else(|| word.parse().ok())
            };
            let (first, last) = match range.split_once('-') {
                _ if range == "*" || range == "?" => (least, most),
                Some((first, last)) => (number(first)?, number(last)?),
                None if step.is_some() => (number(range)?, most),
                None => (number(range)?, number(range)?),
            };
            let step = step.map_or(Some(1), |step| step.parse().ok().filter(|step| *step > 0))?;
            if first < least || last > most || first > last {
                return None;
            }
            for value in (first..=last).step_by(step) {
                bits |= 1 << value;
            }
        }
        Some(Self { bits, is_any: text.starts_with(['*', '?']) })
    }

    fn has(self, value: i8) -> bool {
        u32::try_from(value).is_ok_and(|value| self.bits & (1 << value) != 0)
    }

    fn values(self) -> impl Iterator<Item = i8> {
        (0..60).filter(move |value| self.has(*value))
    }
}

/// A schedule that was understood.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schedule {
    minutes: Field,
    hours: Field,
    days: Field,
    months: Field,
    weekdays: Field,
}

impl Schedule {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = WORDS.iter().find(|(word, _)| *word == text).map_or(text, |(_, meaning)| meaning);
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else { return None };
        Some(Self {
            minutes: Field::parse(minutes, 0, 59, &[])?,
            hours: Field::parse(hours, 0, 23, &[])?,
            days: Field::parse(days, 1, 31, &[])?,
            months: Field::parse(months, 1, 12, &MONTHS)?,
            weekdays: Field::parse(weekdays, 0, 6, &DAYS)?,
        })
    }

    /// The first time after that one; none when it never comes.
    pub(super) fn after(&self, time: Timestamp) -> Option<Timestamp> {
        let mut date = time.to_zoned(TimeZone::UTC).date();
        for _ in 0..DAYS_MAX {
            if self.is_on(date) {
                let hours = self.hours.values();
                let times = hours.flat_map(|hour| self.minutes.values().map(move |minute| (hour, minute)));
                let mut times = times.filter_map(|(hour, minute)| {
                    date.at(hour, minute, 0, 0).to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
                });
                if let Some(found) = times.find(|found| *found > time) {
                    return Some(found);
                }
            }
            date = date.checked_add(1.day()).ok()?;
        }
        None
    }

    /// Where both sorts of days are named, either will do.
    fn is_on(&self, date: Date) -> bool {
        let (day, weekday) = (self.days.has(date.day()), self.weekdays.has(number(date.weekday())));
        let is_day = if self.days.is_any || self.weekdays.is_any { day && weekday } else { day || weekday };
        self.months.has(date.month()) && is_day
    }
}

fn number(day: Weekday) -> i8 {
    day.to_sunday_zero_offset()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_time_is_found() {
        // A Thursday.
        let now: Timestamp = "2026-01-01T10:07:30Z".parse().unwrap();
        for (text, next) in [
            ("* * * * *", "2026-01-01T10:08:00Z"),
            ("*/15 * * * *", "2026-01-01T10:15:00Z"),
            ("5 * * * *", "2026-01-01T11:05:00Z"),
            ("5/20 * * * *", "2026-01-01T10:25:00Z"),
            ("0 9-17 * * MON-FRI", "2026-01-01T11:00:00Z"),
            ("0 0 * * sun", "2026-01-04T00:00:00Z"),
            ("0 0 1,15 * *", "2026-01-15T00:00:00Z"),
            ("0 0 15 * FRI", "2026-01-02T00:00:00Z"),
            ("0 0 29 2 *", "2028-02-29T00:00:00Z"),
            ("30 4 1 dec ?", "2026-12-01T04:30:00Z"),
            ("@hourly", "2026-01-01T11:00:00Z"),
            ("@weekly", "2026-01-04T00:00:00Z"),
        ] {
            let schedule = Schedule::parse(text).unwrap_or_else(|| panic!("{text} is a schedule"));
            assert_eq!(schedule.after(now).unwrap().to_string(), next, "{text}");
        }
        assert_eq!(Schedule::parse("0 0 31 2 *").unwrap().after(now), None);
    }

    #[test]
    fn what_is_no_schedule_is_none() {
        for text in ["", "* * * *", "60 * * * *", "* * 0 * *", "* * * 13 *", "*/0 * * * *", "5-1 * * * *", "x * * * *"]
        {
            assert_eq!(Schedule::parse(text), None, "{text}");
        }
    }
}

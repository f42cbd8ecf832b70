//! Parts of points in time, in Greenwich or elsewhere, and lengths of time in whole units.

use jiff::tz::TimeZone;

use super::conversions::days_since_1970;
use super::quoted::quoted;
use super::{Declaration, no_such_overload};
use crate::cel::value::{Timestamp, Value, civil};

pub(super) const FUNCTIONS: &[Declaration] = &[
    Declaration {
        name: "getFullYear",
        single: false,
        overloads: &[
            ("timestamp_to_year", "timestamp.(): int", |_, arguments| part(arguments, Part::Year)),
            ("timestamp_to_year_with_tz", "timestamp.(string): int", |_, arguments| {
                part(arguments, Part::Year)
            }),
        ],
    },
    Declaration {
        name: "getMonth",
        single: false,
        overloads: &[
            ("timestamp_to_month", "timestamp.(): int", |_, arguments| part(arguments, Part::Month)),
            ("timestamp_to_month_with_tz", "timestamp.(string): int", |_, arguments| {
                part(arguments, Part::Month)
            }),
        ],
    },
    Declaration {
        name: "getDayOfYear",
        single: false,
        overloads: &[
            ("timestamp_to_day_of_year", "timestamp.(): int", |_, arguments| {
                part(arguments, Part::DayOfYear)
            }),
            ("timestamp_to_day_of_year_with_tz", "timestamp.(string): int", |_, arguments| {
                part(arguments, Part::DayOfYear)
            }),
        ],
    },
    Declaration {
        name: "getDayOfMonth",
        single: false,
        overloads: &[
            ("timestamp_to_day_of_month", "timestamp.(): int", |_, arguments| {
                part(arguments, Part::DayOfMonth)
            }),
            ("timestamp_to_day_of_month_with_tz", "timestamp.(string): int", |_, arguments| {
                part(arguments, Part::DayOfMonth)
            }),
        ],
    },
    Declaration {
        name: "getDate",
        single: false,
        overloads: &[
            ("timestamp_to_day_of_month_1_based", "timestamp.(): int", |_, arguments| {
                part(arguments, Part::Date)
            }),
            ("timestamp_to_day_of_month_1_based_with_tz", "timestamp.(string): int", |_, arguments| {
                part(arguments, Part::Date)
            }),
        ],
    },
    Declaration {
        name: "getDayOfWeek",
        single: false,
        overloads: &[
            ("timestamp_to_day_of_week", "timestamp.(): int", |_, arguments| {
                part(arguments, Part::DayOfWeek)
            }),
            ("timestamp_to_day_of_week_with_tz", "timestamp.(string): int", |_, arguments| {
                part(arguments, Part::DayOfWeek)
            }),
        ],
    },
    Declaration {
        name: "getHours",
        single: false,
        overloads: &[
            ("timestamp_to_hours", "timestamp.(): int", |_, arguments| part(arguments, Part::Hours)),
            ("timestamp_to_hours_with_tz", "timestamp.(string): int", |_, arguments| {
                part(arguments, Part::Hours)
            }),
            ("duration_to_hours", "duration.(): int", |_, arguments| part(arguments, Part::Hours)),
        ],
    },
    Declaration {
        name: "getMinutes",
        single: false,
        overloads: &[
            ("timestamp_to_minutes", "timestamp.(): int", |_, arguments| part(arguments, Part::Minutes)),
            ("timestamp_to_minutes_with_tz", "timestamp.(string): int", |_, arguments| {
                part(arguments, Part::Minutes)
            }),
            ("duration_to_minutes", "duration.(): int", |_, arguments| part(arguments, Part::Minutes)),
        ],
    },
    Declaration {
        name: "getSeconds",
        single: false,
        overloads: &[
            ("timestamp_to_seconds", "timestamp.(): int", |_, arguments| part(arguments, Part::Seconds)),
            ("timestamp_to_seconds_with_tz", "timestamp.(string): int", |_, arguments| {
                part(arguments, Part::Seconds)
            }),
            ("duration_to_seconds", "duration.(): int", |_, arguments| part(arguments, Part::Seconds)),
        ],
    },
    Declaration {
        name: "getMilliseconds",
        single: false,
        overloads: &[
            ("timestamp_to_milliseconds", "timestamp.(): int", |_, arguments| {
                part(arguments, Part::Milliseconds)
            }),
            ("timestamp_to_milliseconds_with_tz", "timestamp.(string): int", |_, arguments| {
                part(arguments, Part::Milliseconds)
            }),
            ("duration_to_milliseconds", "duration.(): int", |_, arguments| {
                part(arguments, Part::Milliseconds)
            }),
        ],
    },
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Year,
    Month,
    DayOfYear,
    DayOfMonth,
    Date,
    DayOfWeek,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
}

fn part<'a>(arguments: &[Value<'a>], part: Part) -> Value<'a> {
    match arguments {
        [Value::Timestamp(time)] => Value::Int(of_time(*time, 0, part)),
        [Value::Timestamp(time), Value::String(zone)] => match offset(*time, zone) {
            Ok(offset) => Value::Int(of_time(*time, offset, part)),
            Err(message) => Value::error(message),
        },
        [Value::Duration(length)] => Value::Int(match part {
            Part::Hours => length / 3_600_000_000_000,
            Part::Minutes => length / 60_000_000_000,
            Part::Seconds => length / 1_000_000_000,
            Part::Milliseconds => length / 1_000_000,
            _ => return no_such_overload(),
        }),
        _ => no_such_overload(),
    }
}

fn of_time(time: Timestamp, offset: i64, part: Part) -> i64 {
    let local = time.seconds + offset;
    let (days, second) = (local.div_euclid(86_400), local.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    match part {
        Part::Year => year,
        Part::Month => month - 1,
        Part::DayOfYear => days - days_since_1970(year, 1, 1),
        Part::DayOfMonth => day - 1,
        Part::Date => day,
        // 1 January 1970 was a Thursday.
        Part::DayOfWeek => (days + 4).rem_euclid(7),
        Part::Hours => second / 3_600,
        Part::Minutes => second / 60 % 60,
        Part::Seconds => second % 60,
        Part::Milliseconds => i64::from(time.nanoseconds / 1_000_000),
    }
}

/// Bytes of a file's name, and of a path without the directory of zones, at most.
const LONGEST_NAME: usize = 255;
const LONGEST_PATH: usize = 4_095 - "/usr/share/zoneinfo/".len();

/// Why a zone of this name is not even looked for. Names are files to Go, and these can be none.
fn no_file(zone: &str) -> Option<&'static str> {
    let first = zone.split('/').next().unwrap_or_default();
    if zone.contains("..") || zone.starts_with(['/', '\\']) {
        return Some("time: invalid location name");
    }
    if zone.contains('\0') {
        return Some("invalid argument");
    }
    (first.len() > LONGEST_NAME || zone.len() > LONGEST_PATH).then_some("file name too long")
}

/// Seconds east of Greenwich of a zone, named or written as hours and minutes.
fn offset(time: Timestamp, zone: &str) -> Result<i64, String> {
    if let Some((hours, minutes)) = zone.split_once(':') {
        let wrong = |text: &str| format!("strconv.Atoi: parsing {}: invalid syntax", quoted(text));
        let hour: i64 = hours.parse().map_err(|_| wrong(hours))?;
        let minute: i64 = minutes.parse().map_err(|_| wrong(minutes))?;
        let total = if hours.starts_with('-') {
            hour.saturating_mul(60).saturating_sub(minute)
        } else {
            hour.saturating_mul(60).saturating_add(minute)
        };
        // Beyond any clock, but no reason to overflow.
        return Ok(total.clamp(-100_000_000, 100_000_000) * 60);
    }
    if matches!(zone, "" | "UTC" | "Local") {
        return Ok(0);
    }
    if let Some(reason) = no_file(zone) {
        return Err(reason.to_owned());
    }
    let unknown = || format!("unknown time zone {zone}");
    // Their case matters, as that of files does.
    let found =
        TimeZone::get(zone).ok().filter(|found| found.iana_name() == Some(zone)).ok_or_else(unknown)?;
    // The last hours of year 9999 are beyond what the library counts; no zone changes its clock there.
    let limits = (jiff::Timestamp::MIN.as_second(), jiff::Timestamp::MAX.as_second());
    let instant =
        jiff::Timestamp::from_second(time.seconds.clamp(limits.0, limits.1)).map_err(|_| unknown())?;
    Ok(i64::from(found.to_offset(instant).seconds()))
}

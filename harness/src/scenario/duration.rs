//! Times as people write them: a whole number and its unit (`30s`).

/// The units, the longest first, with their milliseconds.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Why a text is not a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum DurationError {
    /// There is a number, but nothing behind it.
    #[error("a time needs its unit")]
    NoUnit,
    /// It is something else.
    #[error("not a time")]
    Malformed,
    /// It does not fit into 64 bits of milliseconds.
    #[error("a time too long to be counted")]
    TooLong,
}

/// Reads a time, in milliseconds.
pub(super) fn parse_ms(text: &str) -> Result<u64, DurationError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(DurationError::Malformed);
    }
    if unit.is_empty() {
        return Err(DurationError::NoUnit);
    }
    let (_, factor) = UNITS.into_iter().find(|(name, _)| *name == unit).ok_or(DurationError::Malformed)?;
    let number: u64 = number.parse().map_err(|_| DurationError::TooLong)?;
    number.checked_mul(factor).ok_or(DurationError::TooLong)
}

/// Writes a time in the longest unit that holds it whole.
pub(super) fn format_ms(ms: u64) -> String {
    let whole = UNITS.into_iter().find(|(_, factor)| ms >= *factor && ms.is_multiple_of(*factor));
    whole.map_or_else(|| "0s".to_owned(), |(unit, factor)| format!("{}{unit}", ms / factor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_time_survives_its_text_form(ms in any::<u64>()) {
            prop_assert_eq!(parse_ms(&format_ms(ms)), Ok(ms));
        }
    }

    #[test]
    fn a_time_is_a_whole_number_with_a_unit() {
        assert_eq!(["30s", "500ms", "2m", "1h", "0s"].map(parse_ms), [30_000, 500, 120_000, 3_600_000, 0].map(Ok));
        assert_eq!(format_ms(90_000), "90s");
        assert_eq!(parse_ms("30"), Err(DurationError::NoUnit));
        for text in ["", "s", "-1s", "1.5s", "30 s", "1m30s", "30sec", "30S", "+3s"] {
            assert_eq!(parse_ms(text), Err(DurationError::Malformed), "{text}");
        }
        assert_eq!(parse_ms("99999999999999999999s"), Err(DurationError::TooLong));
        assert_eq!(parse_ms("9999999999999999h"), Err(DurationError::TooLong));
    }
}

//! How an effect is repeated while the workflow lives: how often, with which waits between, and whether these differ.

use super::strand::{Sent, Strand};
use crate::model::audit::RetryFacts;
use crate::model::fault::{Fault, WireFault};
use crate::model::limits::{WAITS_ALIKE_MS, WAITS_ALIKE_PERCENT};

/// The attempts of all lives in which one intent was asked for more than once.
#[must_use]
pub fn retry_facts(strand: &Strand<'_>) -> RetryFacts {
    let series = series(strand);
    let attempts = series.iter().map(Vec::len).max().unwrap_or(usize::from(!strand.sent.is_empty()));
    let waits: Vec<Vec<u64>> = series.iter().map(|row| row.windows(2).map(|two| wait(two[0], two[1])).collect()).collect();
    let firsts: Vec<u64> = waits.iter().filter_map(|row: &Vec<u64>| row.first().copied()).collect();
    let longest = waits.into_iter().max_by_key(Vec::len).unwrap_or_default();
    let grows = (longest.len() > 1).then(|| longest.windows(2).all(|two| two[1] > two[0] && !alike(two[0], two[1])));
    let jitter = firsts.iter().min().zip(firsts.iter().max()).filter(|_| firsts.len() > 1).map(|(low, high)| !alike(*low, *high));
    RetryFacts { attempts: u32::try_from(attempts).unwrap_or(u32::MAX), waits_ms: longest, first_waits_ms: firsts, grows, jitter }
}

fn series<'s, 'a>(strand: &'s Strand<'a>) -> Vec<Vec<&'s Sent<'a>>> {
    let mut series: Vec<Vec<&Sent<'_>>> = Vec::new();
    for two in strand.attempts().into_iter().filter(|(one, _)| !is_slow(one)) {
        match series.last_mut() {
            Some(row) if std::ptr::eq(*row.last().unwrap_or(&two.0), two.0) => row.push(two.1),
            _ => series.push(vec![two.0, two.1]),
        }
    }
    series
}

/// Whether the end of an attempt is not known, because its client waited for an answer that was held back.
fn is_slow(one: &Sent<'_>) -> bool {
    let fault = one.request.fault.as_deref().and_then(|fault| fault.parse::<Fault>().ok());
    matches!(fault, Some(Fault::Wire(WireFault::SlowAck { .. } | WireFault::Hold)))
}

/// Milliseconds from the end of one attempt, as far as the sandbox saw it, to the arrival of the next one.
fn wait(one: &Sent<'_>, other: &Sent<'_>) -> u64 {
    let arrived = other.request.received_us;
    let ends = [one.request.answered_us, one.request.executed_us, Some(one.request.received_us)];
    let end = ends.into_iter().flatten().find(|end| *end <= arrived).unwrap_or(arrived);
    (arrived - end) / 1_000
}

/// Whether two waits differ by no more than a loaded machine makes them.
fn alike(low: u64, high: u64) -> bool {
    let (low, high) = (low.min(high), low.max(high));
    high - low <= WAITS_ALIKE_MS.max(high * WAITS_ALIKE_PERCENT / 100)
}

//! The name of an effect: its rule's, or one made of method and path that is the same in every life.

use crate::model::promise::Endpoint;

/// Names the requests to one endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectRule {
    /// The effect's name.
    pub name: String,
    /// The requests it is about.
    pub endpoint: Endpoint,
}

/// The first rule that matches.
pub(super) fn rule_for<'a>(rules: &'a [EffectRule], method: &str, path: &str) -> Option<&'a EffectRule> {
    rules.iter().find(|rule| rule.endpoint.matches(method, path))
}

/// A name of method and path (`post_v1_charges`) that can stand in a crash point.
///
/// A segment with a digit in it is written as `id`, except a version such as `v1`: ids differ from life to life, names must not.
pub(super) fn slug(method: &str, path: &str) -> String {
    let mut name = word(method);
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        name.push('_');
        name.push_str(&if is_id(segment) { "id".to_owned() } else { word(segment) });
    }
    name
}

/// A path in which ids are written as `:id`, so that all requests to one endpoint have one.
#[must_use]
pub fn endpoint(path: &str) -> String {
    path.split('/').map(|segment| if is_id(segment) { ":id" } else { segment }).collect::<Vec<_>>().join("/")
}

fn is_id(segment: &str) -> bool {
    let version = segment.strip_prefix('v').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()));
    !version && segment.bytes().any(|b| b.is_ascii_digit())
}

fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.') { c.to_ascii_lowercase() } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::point::is_name;
    use proptest::prelude::*;

    #[test]
    fn the_name_of_an_endpoint_does_not_hold_its_ids() {
        assert_eq!(slug("POST", "/v1/charges"), "post_v1_charges");
        assert_eq!(slug("POST", "/v1/payment_intents/pi_000001x/confirm"), "post_v1_payment_intents_id_confirm");
        assert_eq!(slug("DELETE", "/"), "delete");
    }

    proptest! {
        #[test]
        fn every_name_can_stand_in_a_crash_point(method in "[A-Z]{1,9}", path in any::<String>()) {
            prop_assert!(is_name(&slug(&method, &path)));
        }
    }
}

//! Whether images are sound for a workflow: all durable state must be in the folders that are kept, or in the sandbox.

use std::collections::BTreeSet;

use crate::model::call::Notice;

/// Objects of one kind that are named.
const NAMED: usize = 3;

/// Why the workflow cannot be resumed from images; `None` where it can.
#[must_use]
pub fn objection<'a>(notices: impl IntoIterator<Item = &'a Notice>) -> Option<String> {
    let (mut peers, mut files) = (BTreeSet::new(), BTreeSet::new());
    let mut has_io_uring = false;
    for notice in notices {
        match notice {
            Notice::Connect { object } => drop(peers.insert(object.as_str())),
            Notice::OutsideWrite { object } => drop(files.insert(object.as_str())),
            Notice::IoUring => has_io_uring = true,
            // What was refused has no state anywhere.
            Notice::Refused { .. } | Notice::SharedMapping { .. } | Notice::Lingering { .. } | Notice::Compat32 => {}
        }
    }
    let mut reasons = Vec::new();
    if !peers.is_empty() {
        reasons.push(format!("it talks to {}, whose state is not kept", named(&peers)));
    }
    if !files.is_empty() {
        reasons.push(format!("it writes to {}, outside of the folders that are kept", named(&files)));
    }
    if has_io_uring {
        reasons.push("it uses io_uring, whose writes make no call at which they could be kept".to_owned());
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn named(objects: &BTreeSet<&str>) -> String {
    let mut list: Vec<String> = objects.iter().take(NAMED).map(|object| (*object).to_owned()).collect();
    if objects.len() > NAMED {
        list.push(format!("{} more", objects.len() - NAMED));
    }
    list.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_elsewhere_is_an_objection_and_is_named() {
        assert_eq!(objection(&[]), None);
        let harmless = [Notice::Lingering { processes: 1 }, Notice::SharedMapping { object: "a.db-shm".to_owned() }];
        assert_eq!(objection(&harmless), None);
        let peer = Notice::Connect { object: "tcp:127.0.0.1:5432".to_owned() };
        let files = (0..5).map(|number| Notice::OutsideWrite { object: format!("/var/f{number}") });
        let reason = objection(&files.chain([peer]).collect::<Vec<_>>()).expect("an objection");
        assert!(reason.contains("tcp:127.0.0.1:5432") && reason.contains("/var/f2, 2 more"), "{reason}");
        assert!(objection(&[Notice::IoUring]).is_some());
    }
}

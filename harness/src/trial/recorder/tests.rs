//! The eye on a life: what a point matches. The lives here are made of calls that no process made.

use std::sync::Arc;

use super::super::naming::Namer;
use super::{Eye, Recorder, Watched};
use crate::model::call::{Notice, Object};
use crate::model::census::CensusPoint;
use crate::model::limits::NOTICES_PER_LIFE_MAX;
use crate::model::point::Point;
use crate::sys::diag::Connections;
use crate::tracer::{Action, Call, Policy};

/// The sandbox's addresses.
fn servers() -> [std::net::SocketAddr; 2] {
    ["127.0.0.1:4000", "127.0.0.1:4001"].map(|own| own.parse().unwrap())
}

/// Makes these calls on files of the state folder; the number of the one at which the life was killed, from 1.
fn live(target: Option<Point>, calls: &[(&'static str, &str)]) -> (Option<usize>, Vec<CensusPoint>) {
    let roots = vec![("/w/state".into(), String::new(), true)];
    let namer = Namer::new(roots, servers(), Arc::new(Connections::own()), false, globset::GlobSet::empty());
    let recorder = Arc::new(Recorder::new(Arc::new(namer), Watched { target, ..Watched::default() }));
    let mut eye = Eye::new(recorder.clone());
    let mut call = |(syscall, file): &(&'static str, &str)| {
        let object = Object::Path(format!("/w/state/{file}").into());
        eye.on_call(&Call { syscall, object, process: 1, pid: 1, tid: 1 })
    };
    let killed = calls.iter().position(|one| call(one) == Action::Kill).map(|index| index + 1);
    (killed, recorder.census().0.points)
}

#[test]
fn a_point_on_a_file_of_a_random_name_is_met_again_under_another_random_name() {
    let first = [("openat", "seg-bjksyngf"), ("openat", "seg-kqwertzu"), ("unlink", "seg-kqwertzu")];
    let second = [("openat", "seg-aaaaaaaa"), ("openat", "seg-bbbbbbbb"), ("unlink", "seg-bbbbbbbb")];
    let (killed, census) = live(None, &first);
    assert_eq!((killed, census.len()), (None, 3));
    for (index, point) in census.iter().enumerate() {
        assert_eq!(live(Some(point.point.clone()), &second).0, None, "its own name does not come again");
        let open = point.aliases.first().expect("its name could be random");
        assert_eq!(live(Some(open.clone()), &second).0, Some(index + 1), "{open}");
    }
}

#[test]
fn a_workflow_that_writes_everywhere_is_noticed_without_end_of_memory_and_its_connections_are_all_named() {
    let namer = Namer::new(
        [("/w/state", "", true), ("/w/tmp", "tmp:", true), ("/srv", "dir:", false)]
            .map(|(root, prefix, own)| (root.into(), prefix.to_owned(), own))
            .to_vec(),
        servers(),
        Arc::new(Connections::own()),
        false,
        globset::GlobSet::empty(),
    );
    let recorder = Arc::new(Recorder::new(Arc::new(namer), Watched::default()));
    let mut eye = Eye::new(recorder.clone());
    let files = (0..10 * NOTICES_PER_LIFE_MAX).map(|number| Object::Path(format!("/var/f{number}").into()));
    for object in files.chain([Object::Tcp("127.0.0.1:5432".parse().unwrap())]) {
        eye.on_call(&Call { syscall: "write", object, process: 1, pid: 1, tid: 1 });
    }
    let notices = recorder.notices();
    assert_eq!(notices.len(), NOTICES_PER_LIFE_MAX + 1);
    assert!(notices.contains(&Notice::Connect { object: "tcp:127.0.0.1:5432".to_owned() }));
}

#[test]
fn a_point_on_a_file_of_a_steady_name_counts_that_file_alone() {
    let calls = [("openat", "seg-bjksyngf"), ("openat", "journal"), ("openat", "journal")];
    let (_, census) = live(None, &calls);
    assert_eq!(census[2].point.to_string(), "start/openat(journal)#2");
    assert_eq!(live(Some(census[2].point.clone()), &calls).0, Some(3));
}

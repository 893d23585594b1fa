//! Images of real folders: what goes in comes out, equal worlds are one, and the camera misses no change.

mod edges;

use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;

use super::*;

/// A store and an empty folder.
struct Bench {
    keep: tempfile::TempDir,
    store: Arc<ImageStore>,
}

impl Bench {
    fn new() -> Self {
        let keep = tempfile::tempdir().unwrap();
        let store = Arc::new(ImageStore::open(&keep.path().join("store")).unwrap());
        Self { keep, store }
    }

    fn folder(&self, name: &str) -> PathBuf {
        let path = self.keep.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn root(&self, name: &str) -> Root {
        Root { name: "state".to_owned(), path: self.folder(name), skip: Vec::new() }
    }

    fn camera(&self, name: &str) -> Camera {
        Camera::new(self.store.clone(), vec![self.root(name)])
    }

    /// Restores an image into a fresh folder and takes one of that.
    fn again(&self, id: &ImageId, name: &str) -> ImageId {
        self.store.restore(id, &[self.root(name)]).unwrap();
        self.camera(name).shoot().unwrap()
    }
}

fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
}

#[test]
fn every_kind_of_entry_comes_back() {
    let bench = Bench::new();
    let folder = bench.folder("a");
    write(&folder.join("plain"), b"text");
    fs::hard_link(folder.join("plain"), folder.join("second name")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.join("link")).unwrap();
    nix::unistd::mkfifo(&folder.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    drop(std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap());
    let odd = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"odd \\ \xff name\n");
    write(&folder.join(odd), b"odd");
    fs::create_dir(folder.join("closed")).unwrap();
    write(&folder.join("closed/inner"), b"");
    fs::set_permissions(folder.join("plain"), fs::Permissions::from_mode(0o4750)).unwrap();
    fs::set_permissions(folder.join("closed"), fs::Permissions::from_mode(0o555)).unwrap();
    let id = bench.camera("a").shoot().unwrap();
    assert_eq!(bench.again(&id, "b"), id);

    let copy = bench.keep.path().join("b");
    let meta = |name: &str| fs::symlink_metadata(copy.join(name)).unwrap();
    assert_eq!(meta("plain").ino(), meta("second name").ino());
    assert_eq!(meta("plain").mode() & 0o7777, 0o4750);
    assert_eq!(meta("plain").mtime_nsec(), fs::metadata(folder.join("plain")).unwrap().mtime_nsec());
    assert_eq!(fs::read(copy.join(odd)).unwrap(), b"odd");
    // What a dead process leaves of its socket keeps the next one from having the name.
    let error = std::os::unix::net::UnixListener::bind(copy.join("socket")).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    fs::set_permissions(folder.join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(copy.join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn equal_worlds_have_one_id_whatever_their_times_and_other_ones_have_not() {
    let bench = Bench::new();
    let (one, two) = (bench.folder("one"), bench.folder("two"));
    for folder in [&one, &two] {
        write(&folder.join("file"), b"same");
    }
    fs::File::options().append(true).open(two.join("file")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    let id = bench.camera("one").shoot().unwrap();
    assert_eq!(bench.camera("two").shoot().unwrap(), id);
    fs::set_permissions(two.join("file"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_ne!(bench.camera("two").shoot().unwrap(), id);
}

#[test]
fn a_file_that_is_mostly_holes_is_kept_without_them() {
    let bench = Bench::new();
    let path = bench.folder("a").join("sparse");
    let mut file = fs::File::create(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    file.seek(SeekFrom::Start(1 << 39)).unwrap();
    file.write_all(b"in the middle").unwrap();
    let id = bench.camera("a").shoot().unwrap();
    bench.store.restore(&id, &[bench.root("b")]).unwrap();
    let copy = bench.keep.path().join("b/sparse");
    let meta = fs::metadata(&copy).unwrap();
    assert!(meta.len() == 1 << 40 && meta.blocks() < 1 << 12, "{} blocks", meta.blocks());
    let mut file = fs::File::open(copy).unwrap();
    file.seek(SeekFrom::Start(1 << 39)).unwrap();
    let mut read = [0; 13];
    std::io::Read::read_exact(&mut file, &mut read).unwrap();
    assert_eq!(&read, b"in the middle");
}

#[test]
fn two_writes_within_one_tick_are_two_images() {
    let bench = Bench::new();
    let path = bench.folder("a").join("file");
    let mut camera = bench.camera("a");
    let mut ids = Vec::new();
    // Of the same length, so that the stat of the file can be the same.
    for number in 100..400 {
        write(&path, format!("{number}").as_bytes());
        ids.push(camera.shoot().unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 300);
}

#[test]
fn a_page_that_changes_without_a_call_is_seen_where_its_file_is_mapped() {
    let bench = Bench::new();
    let path = bench.folder("a").join("mapped");
    write(&path, b"before");
    let mut camera = bench.camera("a");
    camera.touch_mapped(&path);
    let first = camera.shoot().unwrap();
    // What a store to a mapping does: the content changes and the times stay.
    let meta = fs::metadata(&path).unwrap();
    write(&path, b"after.");
    fs::File::options().append(true).open(&path).unwrap().set_modified(meta.modified().unwrap()).unwrap();
    assert_ne!(camera.shoot().unwrap(), first);
}

#[test]
fn a_blob_that_is_damaged_or_missing_is_named() {
    let bench = Bench::new();
    write(&bench.folder("a").join("file"), b"content");
    let id = bench.camera("a").shoot().unwrap();
    let hash = bench.store.put(b"content").unwrap();
    let blob = bench.keep.path().join("store/blobs").join(&hash[..2]).join(&hash[2..]);
    write(&blob, b"contenT");
    let error = bench.store.restore(&id, &[bench.root("b")]).unwrap_err();
    assert!(matches!(&error, ImageError::Damaged { path, .. } if *path == blob), "{error}");
    fs::remove_file(&blob).unwrap();
    let error = bench.store.restore(&id, &[bench.root("c")]).unwrap_err();
    assert!(matches!(&error, ImageError::Io { path, .. } if *path == blob), "{error}");
    assert!("../../etc/passwd".parse::<ImageId>().is_err());
}

#[test]
fn an_image_is_carried_to_another_store() {
    let (bench, other) = (Bench::new(), Bench::new());
    write(&bench.folder("a").join("file"), b"content");
    let id = bench.camera("a").shoot().unwrap();
    bench.store.export(&id, &other.store).unwrap();
    drop(bench);
    assert_eq!(other.again(&id, "b"), id);
}

#[test]
fn what_is_to_be_skipped_is_no_part_of_an_image() {
    let bench = Bench::new();
    let empty = bench.camera("a").shoot().unwrap();
    write(&bench.folder("a/mount").join("file"), b"of somebody else");
    assert_ne!(bench.camera("a").shoot().unwrap(), empty);
    let root = Root { skip: vec!["mount".into()], ..bench.root("a") };
    assert_eq!(Camera::new(bench.store.clone(), vec![root]).shoot().unwrap(), empty);
}

/// A change of a small tree.
#[derive(Clone, Debug)]
enum Edit {
    Write(u8, Vec<u8>),
    Append(u8, u8),
    Remove(u8),
    Rename(u8, u8),
    Link(u8, u8),
    Mode(u8, bool),
}

fn edit() -> impl Strategy<Value = Edit> {
    let name = 0_u8..5;
    prop_oneof![
        (name.clone(), prop::collection::vec(any::<u8>(), 0..4)).prop_map(|(name, bytes)| Edit::Write(name, bytes)),
        (name.clone(), any::<u8>()).prop_map(|(name, byte)| Edit::Append(name, byte)),
        name.clone().prop_map(Edit::Remove),
        (name.clone(), name.clone()).prop_map(|(from, to)| Edit::Rename(from, to)),
        (name.clone(), name.clone()).prop_map(|(from, to)| Edit::Link(from, to)),
        (name, any::<bool>()).prop_map(|(name, open)| Edit::Mode(name, open)),
    ]
}

/// Makes a change, where it can be made, as a process would.
fn make(folder: &Path, edit: &Edit) {
    let path = |name: &u8| folder.join(format!("f{name}"));
    let _ = match edit {
        Edit::Write(name, bytes) => fs::write(path(name), bytes),
        Edit::Append(name, byte) => {
            fs::OpenOptions::new().append(true).create(true).open(path(name)).and_then(|mut file| file.write_all(&[*byte]))
        }
        Edit::Remove(name) => fs::remove_file(path(name)),
        Edit::Rename(from, to) => fs::rename(path(from), path(to)),
        Edit::Link(from, to) => fs::hard_link(path(from), path(to)),
        Edit::Mode(name, open) => fs::set_permissions(path(name), fs::Permissions::from_mode(if *open { 0o644 } else { 0o600 })),
    };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_camera_sees_what_a_new_one_sees_and_every_image_comes_back(edits in prop::collection::vec(edit(), 1..20)) {
        let bench = Bench::new();
        let folder = bench.folder("a");
        let mut camera = bench.camera("a");
        for (number, edit) in edits.iter().enumerate() {
            make(&folder, edit);
            let id = camera.shoot().unwrap();
            prop_assert_eq!(&bench.camera("a").shoot().unwrap(), &id);
            prop_assert_eq!(bench.again(&id, &format!("copy{number}")), id);
        }
    }

    #[test]
    fn any_path_survives_its_text(bytes in prop::collection::vec(1_u8.., 0..20)) {
        let path = PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes));
        prop_assert_eq!(manifest::decode(&manifest::encode(&path)), path);
    }
}

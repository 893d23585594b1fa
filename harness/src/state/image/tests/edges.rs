//! Edges of images: files that change without a call under another name, holes, lists that lead astray, writers side by side.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use super::*;

/// A process that has a file mapped shared and stores a byte into it at each line that it is sent.
struct Mapper {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Mapper {
    fn of(path: &Path) -> Self {
        let program = "import mmap, sys\n\
            file = open(sys.argv[1], 'r+b')\n\
            memory = mmap.mmap(file.fileno(), 0)\n\
            for line in sys.stdin:\n    memory[0] = ord(line[0])\n    print(flush=True)\n";
        let mut command = Command::new("python3");
        command.args(["-c", program]).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers }
    }

    fn store(&mut self, byte: char) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{byte}").unwrap();
        let mut line = String::new();
        assert_eq!(self.answers.read_line(&mut line).unwrap(), 1);
    }
}

impl Drop for Mapper {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

/// Until the last change of a file is too old to be taken for fresh.
fn let_age(path: &Path) {
    let meta = fs::metadata(path).unwrap();
    let changed = UNIX_EPOCH + Duration::new(meta.ctime().try_into().unwrap(), meta.ctime_nsec().try_into().unwrap());
    while changed.elapsed().unwrap_or_default() < Duration::from_millis(60) {
        std::thread::yield_now();
    }
}

#[test]
fn a_mapped_file_is_read_anew_under_another_name_too() {
    let bench = Bench::new();
    let (path, renamed) = (bench.folder("a").join("mapped"), bench.folder("a").join("renamed"));
    write(&path, b"before");
    let mut mapper = Mapper::of(&path);
    let mut camera = bench.camera("a");
    camera.touch_mapped(&path);
    mapper.store('1');
    fs::rename(&path, &renamed).unwrap();
    camera.touch(&path);
    camera.touch(&renamed);
    let_age(&renamed);
    // Both images for which the touches are in force, and one more that finds the file as it knows it.
    let ids = [camera.shoot().unwrap(), camera.shoot().unwrap(), camera.shoot().unwrap()];
    assert!(ids[0] == ids[1] && ids[1] == ids[2]);
    mapper.store('2');
    assert_eq!(fs::read(&renamed).unwrap(), b"2efore");
    assert_ne!(camera.shoot().unwrap(), ids[2]);
}

#[test]
fn a_hole_and_as_many_zeros_are_equal_bytes() {
    let bench = Bench::new();
    for length in [5_000_usize, 300_000, 2_000_000] {
        let (full, sparse) = (format!("full{length}"), format!("sparse{length}"));
        let mut bytes = vec![0; length];
        bytes[1] = 1;
        bytes.extend(b"end");
        write(&bench.folder(&full).join("file"), &bytes);
        let mut file = fs::File::create(bench.folder(&sparse).join("file")).unwrap();
        file.seek(SeekFrom::Start(1)).unwrap();
        file.write_all(&[1]).unwrap();
        file.seek(SeekFrom::Start(length as u64)).unwrap();
        file.write_all(b"end").unwrap();
        let id = bench.camera(&full).shoot().unwrap();
        assert_eq!(bench.camera(&sparse).shoot().unwrap(), id, "{length} bytes");
        bench.store.restore(&id, &[bench.root(&format!("copy{length}"))]).unwrap();
        assert!(fs::read(bench.keep.path().join(format!("copy{length}/file"))).unwrap() == bytes, "{length} bytes come back");
    }
}

#[test]
fn a_list_that_leads_out_of_its_folders_is_refused() {
    let bench = Bench::new();
    let entry =
        |path: &str, kind: Kind| Entry { root: "state".to_owned(), path: path.to_owned(), mode: 0o755, owner: None, kind };
    let root = || entry("", Kind::Folder);
    let blob = bench.store.put(b"evil").unwrap();
    let file = |path: &str| entry(path, Kind::File { len: 4, parts: vec![Part { offset: 0, blob: blob.clone() }] });
    let absolute = bench.keep.path().join("evil").display().to_string();
    let link = || entry("link", Kind::Symlink("..".to_owned()));
    let hard = Kind::HardLink { root: "state".to_owned(), path: "../store".to_owned() };
    let astray = [
        vec![root(), file("../evil")],
        vec![root(), file(&absolute)],
        vec![root(), link(), file("link/evil")],
        vec![root(), link(), file("link")],
        vec![root(), entry("hard", hard)],
        vec![file("")],
    ];
    for (number, entries) in astray.into_iter().enumerate() {
        let manifest = manifest::Manifest { mtimes_ns: vec![0; entries.len()], entries };
        let id = bench.store.put_manifest(&manifest).unwrap();
        let error = bench.store.restore(&id, &[bench.root(&format!("target{number}"))]).unwrap_err();
        assert!(matches!(error, ImageError::Damaged { .. }), "{number}: {error}");
        assert!(!bench.keep.path().join("evil").exists(), "{number}");
    }
}

#[test]
fn two_writers_of_one_store_do_not_disturb_each_other() {
    let bench = Bench::new();
    for name in ["one", "two"] {
        for number in 0..50 {
            write(&bench.folder(name).join(format!("file{number}")), format!("content {number}").as_bytes());
        }
    }
    let other = Arc::new(ImageStore::open(&bench.keep.path().join("store")).unwrap());
    let roots = ["one", "two"].map(|name| bench.root(name));
    let ids = std::thread::scope(|scope| {
        let shots = [(&bench.store, &roots[0]), (&other, &roots[1])]
            .map(|(store, root)| scope.spawn(|| Camera::new(store.clone(), vec![root.clone()]).shoot().unwrap()));
        shots.map(|shot| shot.join().unwrap())
    });
    assert_eq!(ids[0], ids[1]);
    assert_eq!(bench.again(&ids[0], "copy"), ids[0]);
}

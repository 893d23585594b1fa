//! Where the folders of a trial are for its lives: at the same paths in every life of every trial, where mounts of its own are to be had.
//!
//! Then `/tmp` is the world's temporary folder, `/dev/shm` its shared memory, and the rest of the world stands below `/tmp/kp`. What a
//! workflow needs of the real `/tmp` (its own files) is seen there too, at its own path.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::model::scenario::Role;
use crate::state::World;

/// The temporary folder that every program knows.
const TMP: &str = "/tmp";
/// The folder in which POSIX shared memory and semaphores are files.
const SHM: &str = "/dev/shm";
/// The folder below `/tmp` in which the rest of a world is seen.
const OWN: &str = "kp";

/// Where the folders of a trial are for its lives.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The state folder.
    pub state: PathBuf,
    /// The temporary folder.
    pub tmp: PathBuf,
    /// The working directory.
    pub dir: PathBuf,
    /// The home folder; `None`: the user's own.
    pub home: Option<PathBuf>,
    dir_is_own: bool,
    /// What is bound where, in order: the path outside, the path inside.
    pub binds: Vec<(PathBuf, PathBuf)>,
    /// Paths of the real `/tmp` that are seen inside.
    exposed: Vec<PathBuf>,
    /// Folders elsewhere that are the trial's own.
    more: Vec<PathBuf>,
}

/// Why `/tmp` cannot be a trial's own; `None`: it can.
#[must_use]
pub fn shared_tmp(role: &Role) -> Option<String> {
    let real = Path::new(TMP).canonicalize().ok();
    let dir = role.dir.canonicalize().unwrap_or_else(|_| role.dir.clone());
    if real.as_deref() != Some(Path::new(TMP)) {
        Some("/tmp is shared by all trials, because it is not a folder of its own".to_owned())
    } else if Path::new(TMP).starts_with(&dir) {
        Some(format!("/tmp is shared by all trials, because the workflow runs in {}", dir.display()))
    } else if dir.starts_with(Path::new(TMP).join(OWN)) {
        Some(format!("/tmp is shared by all trials, because the workflow runs below {TMP}/{OWN}"))
    } else {
        None
    }
}

impl Layout {
    /// The folders as they stand in the file system, without mounts.
    #[must_use]
    pub fn plain(world: &World, role: &Role) -> Self {
        Self {
            state: world.state(),
            tmp: world.tmp(),
            dir: world.dir().unwrap_or(&role.dir).to_owned(),
            home: None,
            dir_is_own: world.dir().is_some(),
            binds: Vec::new(),
            exposed: Vec::new(),
            more: Vec::new(),
        }
    }

    /// The folders as mounts show them. `needs` are paths that the workflow must find, whatever becomes of `/tmp`. Makes the mount
    /// points, and fills a home that is empty with links to what the user's own has.
    ///
    /// # Errors
    /// A mount point or a link cannot be made.
    pub fn private(world: &World, role: &Role, needs: &[PathBuf]) -> io::Result<Self> {
        let mut layout = Self { home: Some(world.home()), ..Self::plain(world, role) };
        fill_home(&world.home())?;
        for folder in [world.tmp(), world.shm()] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o1777))?;
        }
        if shared_tmp(role).is_none() {
            layout.own_tmp(world, needs)?;
        }
        if Path::new(SHM).is_dir() {
            layout.binds.push((world.shm(), SHM.into()));
        }
        for (elsewhere, own) in world.more().iter().filter(|(elsewhere, _)| elsewhere.is_dir()) {
            layout.binds.push((own.clone(), elsewhere.clone()));
            layout.more.push(elsewhere.clone());
        }
        Ok(layout)
    }

    fn own_tmp(&mut self, world: &World, needs: &[PathBuf]) -> io::Result<()> {
        let own = Path::new(TMP).join(OWN);
        self.binds.push((world.tmp(), TMP.into()));
        let mut show = |name: &str, from: PathBuf| -> io::Result<PathBuf> {
            let to = own.join(name);
            fs::create_dir_all(world.tmp().join(OWN).join(name))?;
            self.binds.push((from, to.clone()));
            Ok(to)
        };
        self.state = show("state", world.state())?;
        self.home = Some(show("home", world.home())?);
        if let Some(dir) = world.dir() {
            self.dir = show("dir", dir.to_owned())?;
        }
        self.tmp = TMP.into();
        for name in tops(needs, world) {
            let (outside, point) = (Path::new(TMP).join(&name), world.tmp().join(&name));
            if outside.is_dir() {
                fs::create_dir_all(&point)?;
            } else {
                fs::OpenOptions::new().append(true).create(true).open(&point)?;
            }
            self.binds.push((outside.clone(), outside.clone()));
            self.exposed.push(outside);
        }
        Ok(())
    }

    /// The path outside of a path inside.
    #[must_use]
    pub fn outside(&self, path: &Path) -> PathBuf {
        let deepest = self.binds.iter().filter(|(_, to)| path.starts_with(to)).max_by_key(|(_, to)| to.components().count());
        deepest.and_then(|(from, to)| Some(from.join(path.strip_prefix(to).ok()?))).unwrap_or_else(|| path.to_owned())
    }

    /// The names in the world's temporary folder that are there for a mount alone, and so are no part of the state.
    #[must_use]
    pub fn mount_points(&self) -> Vec<PathBuf> {
        let below = self.binds.iter().filter_map(|(_, to)| to.strip_prefix(TMP).ok()?.components().next());
        let names: BTreeSet<PathBuf> = below.map(|first| PathBuf::from(first.as_os_str())).collect();
        names.into_iter().collect()
    }

    /// Folders with the prefix that stands for them in points, those that lie in others first; the flag: whether it is the trial's own.
    #[must_use]
    pub fn roots(&self) -> Vec<(PathBuf, String, bool)> {
        let real = |path: &Path| {
            if self.binds.is_empty() { path.canonicalize().unwrap_or_else(|_| path.to_owned()) } else { path.to_owned() }
        };
        let dir = if self.dir_is_own { real(&self.dir) } else { self.dir.canonicalize().unwrap_or_else(|_| self.dir.clone()) };
        let mut roots: Vec<_> = self.more.iter().map(|path| (path.clone(), format!("{}/", path.display()), true)).collect();
        roots.push((real(&self.state), String::new(), true));
        roots.extend(self.home.iter().map(|home| (home.clone(), "home:".to_owned(), true)));
        let is_in_exposed = self.exposed.iter().any(|path| dir.starts_with(path));
        let (dir, tmp) = ((dir, "dir:".to_owned(), self.dir_is_own), (real(&self.tmp), "tmp:".to_owned(), true));
        // The first root that holds a path names it.
        if is_in_exposed || self.dir_is_own {
            roots.push(dir);
            roots.extend(self.exposed.iter().map(|path| (path.clone(), format!("{}/", path.display()), false)));
            roots.push(tmp);
        } else {
            roots.extend(self.exposed.iter().map(|path| (path.clone(), format!("{}/", path.display()), false)));
            roots.push(tmp);
            roots.push(dir);
        }
        if self.binds.iter().any(|(_, to)| to == Path::new(SHM)) {
            roots.push((SHM.into(), "shm:".to_owned(), true));
        }
        roots
    }
}

/// The names right below `/tmp` under which needed paths lie, the links in them resolved too.
fn tops(needs: &[PathBuf], world: &World) -> BTreeSet<OsString> {
    let real = needs.iter().filter_map(|path| path.canonicalize().ok());
    let all: Vec<PathBuf> = needs.iter().filter(|path| path.exists()).cloned().chain(real).collect();
    let top = |path: &Path| path.strip_prefix(TMP).ok()?.components().next().map(|first| first.as_os_str().to_owned());
    let hidden = [top(world.path()), Some(OWN.into())];
    all.iter()
        .filter_map(|path| top(path))
        .filter(|name| *name != "..")
        .filter(|name| !hidden.contains(&Some(name.clone())))
        .collect()
}

/// Links in an empty home to what the user's own has, so that programs installed there are found; but its cache is fresh.
fn fill_home(home: &Path) -> io::Result<()> {
    let is_empty = fs::read_dir(home)?.next().is_none();
    let own = std::env::var_os("HOME").map(PathBuf::from).filter(|own| own.is_absolute() && !Path::new(TMP).starts_with(own));
    let Some(entries) = own.filter(|_| is_empty).and_then(|own| fs::read_dir(own).ok()) else { return Ok(()) };
    for entry in entries.flatten().filter(|entry| entry.file_name() != ".cache") {
        std::os::unix::fs::symlink(entry.path(), home.join(entry.file_name()))?;
    }
    Ok(())
}

/// The program that is running, which is also the MCP server that a workflow can start; where the system does not say, the one in PATH.
pub fn own_program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| "killpoint".into())
}

/// Paths of a workflow that must be found inside: its folders, what its commands name, and the folders that its environment and the
/// scripts in its commands name.
#[must_use]
pub fn needs(role: &Role, cache: Option<&Path>, cell: &[(String, String)]) -> Vec<PathBuf> {
    let mut needs: Vec<PathBuf> = [Some(role.dir.as_path()), cache].into_iter().flatten().map(Path::to_owned).collect();
    needs.extend(role.state_paths.iter().cloned());
    let words = role
        .start
        .iter()
        .chain(&role.resume)
        .chain(&role.reset)
        .chain(&role.reconcile)
        .chain(cell.iter().map(|(_, value)| value));
    let texts: Vec<&String> = words.chain(role.env.iter().map(|(_, value)| value)).collect();
    needs.extend(texts.iter().any(|text| text.contains("{mcp.command}")).then(own_program));
    needs.extend(texts.iter().map(PathBuf::from).filter(|path| path.is_absolute()));
    // The first word may be a path from the working directory.
    needs.extend(
        [&role.start, &role.resume, &role.reset, &role.reconcile]
            .into_iter()
            .filter_map(|command| Some(role.dir.join(command.first()?))),
    );
    let is_of_tmp = |name: &OsString| ["TMPDIR", "TMP", "TEMP"].iter().any(|own| name == own);
    let inherited =
        std::env::vars_os().filter(|(name, _)| !is_of_tmp(name)).map(|(_, value)| value.to_string_lossy().into_owned());
    let mentioned = texts.into_iter().cloned().chain(inherited).flat_map(|text| mentioned(&text));
    needs.extend(mentioned.filter(|path| path.is_dir()));
    needs
}

/// What stands right below `/tmp` and is mentioned anywhere in a text.
fn mentioned(text: &str) -> Vec<PathBuf> {
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '@');
    let whole = format!("{TMP}/");
    let names = text.match_indices(&whole).filter(|(at, _)| !text[..*at].ends_with(is_of_name)).map(|(at, _)| {
        let rest = &text[at + whole.len()..];
        &rest[..rest.find(|c| !is_of_name(c)).unwrap_or(rest.len())]
    });
    names.filter(|name| !name.is_empty()).map(|name| Path::new(TMP).join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::from_command;
    use crate::state::Worlds;

    fn role(dir: &str, command: &[&str]) -> Role {
        from_command(&command.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), Path::new(dir)).roles.remove(0)
    }

    #[test]
    fn paths_inside_are_the_same_in_every_world_and_lead_back_out() {
        let worlds = Worlds::create().unwrap();
        let (one, two) = (worlds.world("one", None).unwrap(), worlds.world("two", None).unwrap());
        let role = role("/usr", &["true"]);
        let (first, second) = (Layout::private(&one, &role, &[]).unwrap(), Layout::private(&two, &role, &[]).unwrap());
        assert_eq!((&first.state, &first.tmp, &first.home), (&second.state, &second.tmp, &second.home));
        assert_eq!(first.outside(&first.state.join("a/b")), one.state().join("a/b"));
        assert_eq!(first.outside(Path::new("/tmp/x")), one.tmp().join("x"));
        assert_eq!(first.outside(Path::new("/dev/shm/x")), one.shm().join("x"));
        assert_eq!(first.outside(Path::new("/etc/passwd")), Path::new("/etc/passwd"));
        assert_eq!(first.mount_points(), [PathBuf::from("kp")]);
    }

    #[test]
    fn what_a_command_needs_of_the_real_tmp_is_seen_and_the_worlds_are_not() {
        let own = tempfile::Builder::new().tempdir_in("/tmp").unwrap();
        let script = own.path().join("sub/run.sh");
        fs::create_dir(own.path().join("sub")).unwrap();
        fs::write(&script, "").unwrap();
        let worlds = Worlds::create().unwrap();
        let world = worlds.world("t", None).unwrap();
        let role = role("/usr", &["sh", script.to_str().unwrap(), world.path().to_str().unwrap()]);
        let layout = Layout::private(&world, &role, &needs(&role, None, &[])).unwrap();
        assert!(layout.exposed.contains(&own.path().to_owned()), "{:?}", layout.exposed);
        assert!(!layout.exposed.iter().any(|path| world.path().starts_with(path)), "{:?}", layout.exposed);
        assert!(layout.mount_points().contains(&own.path().strip_prefix("/tmp").unwrap().to_owned()));
        let name = own.path().join("sub/made");
        let root = layout.roots().into_iter().find(|(root, ..)| name.starts_with(root)).expect("a root holds it");
        assert!(!root.2, "it is not the trial's own");
    }

    #[test]
    fn a_folder_of_tmp_is_found_anywhere_in_a_text() {
        let found = mentioned("cd '/tmp/a.b/c' && X=/tmp/d:/tmp/e; cat /var/tmp/f /tmp/");
        assert_eq!(found, ["/tmp/a.b", "/tmp/d", "/tmp/e"].map(PathBuf::from));
    }

    #[test]
    fn tmp_stays_shared_where_the_workflow_runs_in_it_or_above() {
        for (dir, is_shared) in [("/tmp", true), ("/", true), ("/usr", false), ("/tmp/kp/x", true)] {
            assert_eq!(shared_tmp(&role(dir, &["true"])).is_some(), is_shared, "{dir}");
        }
    }
}

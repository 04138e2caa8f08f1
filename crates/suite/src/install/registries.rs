//! Finds the registries that the machine's own tools install from. The tools are asked in a sandbox without network
//! and without any project files, so that no project can influence the answers.
//!
//! greenlight's own environment variables are not considered: `[sandbox] network` names such hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use greenlight_sandbox as sandbox;
use greenlight_sandbox::proxy::rules::{host_name, is_github};
use greenlight_sandbox::{Access, Command, Limits, Mount, Network, Policy, Sandbox};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::InstallError;
use super::plan::ALL;

/// Prints the tools' answers, section by section. Missing tools print nothing.
const QUESTIONS: &str = r#"has() { case " $wanted " in *" $1 "*) command -v "$1" >/dev/null 2>&1 ;; *) false ;; esac; }
wanted="$*"; for tool in $wanted; do has $tool && echo "tool $tool"; done
has python3 && { python3 -V | sed 's/^/version /'; python3 -m pip config list | sed 's/^/pip /'
python3 -m pip install --help | tr -s ' \n' ' ' | grep -o 'default https\?://[^ )]*' | head -n 1 | sed 's/^/pip /'; }
has npm && { node -v | sed 's/^/version /'; echo "npm $(npm config get registry)"; }
has yarn && echo "yarn $(yarn config get registry)"
has cargo && { cargo -V | sed 's/^/version /'; cat "$CARGO_HOME/config.toml" "$CARGO_HOME/config" 2>/dev/null | sed 's/^/cargo /'; }
has go && { go version | sed 's/^/version /'; unset GOPROXY; echo "go $(go env GOPROXY)"; echo "sum $(go env GOSUMDB)"; }
has mvn && cat "$HOME/.m2/settings.xml" 2>/dev/null | tr -d '\n' | sed 's/^/mvn /'
exit 0"#;

/// The default registries of tools that do not report them.
const BUILT_IN: [(&str, &[&str]); 5] = [
    ("cargo", &["index.crates.io"]),
    ("mvn", &["repo.maven.apache.org"]),
    ("gradle", &["repo.maven.apache.org", "plugins.gradle.org"]),
    ("yarn", &["registry.yarnpkg.com"]),
    ("uv", &["pypi.org"]),
];

/// Public indexes that refer to other hosts.
const LEADS_TO: [(&str, &str); 4] = [
    ("pypi.org", "files.pythonhosted.org"),
    ("index.crates.io", "static.crates.io"),
    ("registry.yarnpkg.com", "registry.npmjs.org"),
    ("plugins.gradle.org", "plugins-artifacts.gradle.org"),
];

/// Tools that also use the registry of another tool.
const SHARES: [(&str, &str); 3] = [("pnpm", "npm"), ("yarn", "npm"), ("uv", "python3")];

/// Maximum size of a configuration file.
const MAX_FILE: u64 = 1 << 20;

/// The tools' answers.
#[derive(Debug, Default)]
pub(super) struct Tools {
    pub(super) present: BTreeSet<String>,
    /// The tools' versions; other versions lead to other results.
    pub(super) versions: String,
    /// Variables that pass this machine's configuration on to the tools in an installation.
    pub(super) env: BTreeMap<String, String>,
    hosts: BTreeMap<String, BTreeSet<String>>,
}

impl Tools {
    /// The version of this machine's Node, without the `v`.
    pub(super) fn node(&self) -> Option<&str> {
        self.versions.lines().find_map(|line| line.strip_prefix('v'))
    }

    /// The hosts that these tools install from.
    pub(super) fn hosts_of(&self, tools: &BTreeSet<&'static str>) -> BTreeSet<String> {
        let mut hosts = BTreeSet::new();
        for tool in tools {
            let shared = SHARES.iter().filter(|(who, _)| who == tool).map(|(_, with)| *with);
            for tool in shared.chain([*tool]) {
                match self.hosts.get(tool) {
                    Some(own) => hosts.extend(own.iter().cloned()),
                    None => {
                        let built_in = BUILT_IN.iter().filter(|(who, _)| *who == tool);
                        hosts.extend(built_in.flat_map(|(_, hosts)| hosts.iter().map(ToString::to_string)));
                    }
                }
            }
        }
        let further = LEADS_TO.iter().filter(|(from, _)| hosts.contains(*from));
        let further: Vec<String> = further.map(|(_, to)| (*to).to_owned()).collect();
        hosts.extend(further);
        hosts
    }

    fn add_url(&mut self, tool: &str, text: &str) -> Option<Url> {
        let url = Url::parse(text.trim().trim_start_matches("sparse+")).ok()?;
        let host = url.host_str().and_then(host_name)?;
        if !is_github(&host) {
            self.hosts.entry(tool.to_owned()).or_default().insert(host);
        }
        (url.scheme() == "https" && url.username().is_empty() && url.password().is_none()).then_some(url)
    }

    fn set(&mut self, variable: &str, value: impl ToString) {
        self.env.insert(variable.to_owned(), value.to_string());
    }

    /// Parses the answers.
    fn read(text: &str) -> Self {
        let mut tools = Self::default();
        let (mut cargo, mut pip_default) = (String::new(), None);
        for line in text.lines() {
            let (who, answer) = line.split_once(' ').unwrap_or((line, ""));
            match who {
                "tool" => drop(tools.present.insert(answer.to_owned())),
                "version" => tools.versions += &format!("{answer}\n"),
                "pip" => match answer.strip_prefix("default ") {
                    Some(url) => pip_default = Some(url.to_owned()),
                    None => tools.pip(answer),
                },
                "npm" | "yarn" => {
                    let url = tools.add_url(who, answer);
                    if let Some(url) = url.filter(|_| who == "npm") {
                        tools.set("npm_config_registry", &url);
                        tools.set("YARN_NPM_REGISTRY_SERVER", url.as_str().trim_end_matches('/'));
                    }
                }
                "cargo" => cargo += &format!("{answer}\n"),
                "go" => tools.go(answer),
                "sum" => drop(tools.add_url(
                    "go",
                    &format!("https://{}", answer.split('+').next().unwrap_or_default()),
                )),
                "mvn" => {
                    for url in answer.split("<url>").skip(1) {
                        tools.add_url("mvn", url.split('<').next().unwrap_or_default());
                    }
                }
                _ => {}
            }
        }
        tools.cargo(&cargo);
        // A configured index replaces the public one.
        if !tools.env.contains_key("PIP_INDEX_URL")
            && let Some(url) = pip_default
        {
            tools.add_url("python3", &url);
        }
        tools
    }

    /// One line of `pip config list`, such as `global.index-url='https://…'`.
    fn pip(&mut self, line: &str) {
        let Some((name, value)) = line.split_once('=') else {
            return;
        };
        let values: Vec<String> = value
            .trim_matches(['\'', '"'])
            .replace("\\n", " ")
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let name = name.rsplit('.').next().unwrap_or_default();
        let (variable, for_uv) = match name {
            "index-url" => ("PIP_INDEX_URL", "UV_INDEX_URL"),
            "extra-index-url" => ("PIP_EXTRA_INDEX_URL", "UV_EXTRA_INDEX_URL"),
            "find-links" => ("PIP_FIND_LINKS", "UV_FIND_LINKS"),
            _ => return,
        };
        // A directory is either visible in the sandbox or missing.
        let usable = |value: &&String| value.starts_with('/') || self.add_url("python3", value).is_some();
        let usable: Vec<String> = values.iter().filter(usable).cloned().collect();
        if !usable.is_empty() {
            self.set(variable, usable.join(" "));
            self.set(for_uv, usable.join(" "));
        }
    }

    fn go(&mut self, proxies: &str) {
        let proxies = proxies.replace('|', ",");
        let usable: Vec<String> = proxies
            .split(',')
            .filter_map(|url| self.add_url("go", url).map(|_| url.to_owned()))
            .collect();
        if !usable.is_empty() {
            // Never `direct`, which leads to the hosts of the source code.
            self.set("GOPROXY", usable.join(","));
        }
    }

    fn cargo(&mut self, config: &str) {
        let table: toml::Table = config.parse().unwrap_or_default();
        for (list, key) in [("source", "registry"), ("registries", "index")] {
            let entries = table.get(list).and_then(toml::Value::as_table).into_iter().flatten();
            for (name, entry) in entries {
                let Some(url) = entry.get(key).and_then(toml::Value::as_str) else {
                    continue;
                };
                let url = url.to_owned();
                if self.add_url("cargo", &url).is_some() && list == "registries" {
                    let name = name.to_ascii_uppercase().replace('-', "_");
                    self.set(&format!("CARGO_REGISTRIES_{name}_INDEX"), url);
                }
            }
        }
        let replaced = table.get("source").and_then(|source| source.get("crates-io"));
        if replaced.and_then(|source| source.get("replace-with")).is_none() {
            let own = self.hosts.entry("cargo".into()).or_default();
            own.extend(BUILT_IN[0].1.iter().map(ToString::to_string));
        }
    }
}

/// Asks those of the wanted tools that this machine has, in an empty directory.
///
/// # Errors
/// When the sandbox fails. A tool that does not answer has no registries.
pub(super) async fn ask(
    sandbox: &Sandbox,
    wanted: &[&str],
    empty: &Path,
    cancel: &CancellationToken,
) -> Result<Tools, super::InstallError> {
    // The user inside the sandbox can read these copies. They may hold credentials, but only the machine's tools run
    // here.
    let copies = tempfile::tempdir().map_err(sandbox::Error::from)?;
    let mut command = Command::new(["sh", "-c", QUESTIONS, "sh"].iter().chain(wanted), empty);
    for (index, (source, target)) in sandbox.settings_of_tools().into_iter().enumerate() {
        let is_usual = fs::metadata(&source).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_FILE);
        let copy = copies.path().join(index.to_string());
        if is_usual && fs::read(&source).and_then(|text| fs::write(&copy, text)).is_ok() {
            command.mounts.push(Mount {
                source: copy,
                target,
                access: Access::ReadOnly,
            });
        }
    }
    let policy = Policy {
        limits: Limits {
            wall: std::time::Duration::from_secs(60),
            ..Limits::default()
        },
        network: Network::None,
    };
    let output = sandbox.exec(&command, &policy, cancel).await?;
    Ok(Tools::read(&output.stdout.text()))
}

/// The registries that the machine's own tools are configured for.
///
/// # Errors
/// When the sandbox fails.
pub async fn hosts_of_tools(sandbox: &Sandbox, cancel: &CancellationToken) -> Result<Vec<String>, InstallError> {
    let empty = tempfile::tempdir().map_err(sandbox::Error::from)?;
    let tools = ask(sandbox, ALL, empty.path(), cancel).await?;
    let present = ALL.iter().copied().filter(|tool| tools.present.contains(*tool));
    Ok(tools.hosts_of(&present.collect()).into_iter().collect())
}

/// The registries that one of the machine's own tools is configured for, and the variables that pass them on.
///
/// # Errors
/// When the sandbox fails.
pub(crate) async fn of_tool(
    sandbox: &Sandbox,
    tool: &'static str,
    cancel: &CancellationToken,
) -> Result<(Vec<String>, BTreeMap<String, String>), InstallError> {
    let empty = tempfile::tempdir().map_err(sandbox::Error::from)?;
    let tools = ask(sandbox, &[tool], empty.path(), cancel).await?;
    let hosts = tools.hosts_of(&[tool].into()).into_iter().collect();
    Ok((hosts, tools.env))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(text: &str, tool: &'static str) -> Vec<String> {
        Tools::read(text)
            .hosts_of(&BTreeSet::from([tool]))
            .into_iter()
            .collect()
    }

    #[test]
    fn tools_are_taken_at_their_word() {
        let pip = "pip global.cert='/etc/ssl/certs/ca-certificates.crt'\npip default https://pypi.org/simple";
        assert_eq!(hosts(pip, "python3"), ["files.pythonhosted.org", "pypi.org"]);
        let own = "pip global.index-url='https://pypi.corp.example/simple'\npip global.find-links='/opt/wheels'\npip default https://pypi.org/simple";
        assert_eq!(hosts(own, "python3"), ["pypi.corp.example"]);
        let env = Tools::read(own).env;
        assert_eq!(env["PIP_INDEX_URL"], "https://pypi.corp.example/simple");
        assert_eq!(env["PIP_FIND_LINKS"], "/opt/wheels");
        assert_eq!(hosts("npm https://registry.npmjs.org/", "pnpm"), ["registry.npmjs.org"]);
        assert_eq!(
            hosts("go https://proxy.golang.org,direct\nsum sum.golang.org", "go"),
            ["proxy.golang.org", "sum.golang.org"]
        );
        assert_eq!(
            Tools::read("go https://proxy.golang.org,direct").env["GOPROXY"],
            "https://proxy.golang.org"
        );
        assert_eq!(hosts("", "cargo"), ["index.crates.io", "static.crates.io"]);
        assert_eq!(
            hosts(
                "cargo [source.crates-io]\ncargo replace-with = \"own\"\ncargo [source.own]\ncargo registry = \"sparse+https://crates.corp.example/index/\"",
                "cargo"
            ),
            ["crates.corp.example"]
        );
        assert_eq!(hosts("", "mvn"), ["repo.maven.apache.org"]);
        assert_eq!(
            hosts(
                "mvn <mirrors><mirror><url>https://maven.corp.example/all</url></mirror></mirrors>",
                "mvn"
            ),
            ["maven.corp.example"]
        );
    }

    #[test]
    fn credentials_and_github_are_left_out() {
        let tools = Tools::read(
            "pip global.index-url='https://user:word@pypi.corp.example/simple'\nnpm https://npm.pkg.github.com/",
        );
        assert!(!format!("{:?}", tools.env).contains("word"));
        assert!(tools.hosts_of(&BTreeSet::from(["npm"])).is_empty());
    }
}

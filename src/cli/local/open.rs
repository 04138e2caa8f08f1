//! `--open`: the page of the run on this machine, in a browser, while the command runs, and after it until somebody at a
//! terminal has read it.

use std::path::Path;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::super::{Exit, terminal};
use crate::config::environment::Environment;
use crate::domain::run::{Run, Step};
use crate::engine::{Activity, Broken};
use crate::journal::{Error, RunFile};
use crate::sandbox;
use crate::server::{Board, LocalPage, serve_run};

/// Programs that open a link, if `$BROWSER` names none.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

/// The page, until it is dropped.
pub(super) struct OpenPage {
    board: Arc<Board>,
    serving: JoinHandle<()>,
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl OpenPage {
    /// Serves the page of a run with these steps so far, on loopback, and opens it in a browser. Prints its link.
    async fn of(environment: &Environment, steps: Vec<Step>) -> Result<Self, Exit> {
        let cannot = |error: &dyn std::fmt::Display| Exit::Fault(format!("--open: the page cannot be served: {error}"));
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| cannot(&error))?;
        let address = listener.local_addr().map_err(|error| cannot(&error))?;
        let (page, link) = LocalPage::of_run(address).map_err(|error| cannot(&error))?;
        let board = Arc::new(Board::new(steps));
        let serving = tokio::spawn(serve_run(listener, Arc::clone(&board), page));
        let is_open = open(environment, &link);
        terminal::tell_exactly(&match is_open {
            true => format!("Opening the page of this run in your browser (the link works once): {link}"),
            false => format!("The page of this run, for one browser on this machine: {link}"),
        });
        Ok(Self { board, serving })
    }

    /// Keeps the page until somebody presses Enter, if there is somebody.
    pub(super) async fn stay(self) {
        if terminal::somebody_is_there() {
            let closed = terminal::ask("The page of this run stays open. Press Enter to close it.");
            tokio::select! {
                _ = closed => {}
                () = terminal::stopped() => {}
            }
        }
    }
}

/// The journal of a run, and its page if it was asked for.
pub(super) struct RunJournal {
    file: RunFile,
    page: Option<OpenPage>,
}

impl RunJournal {
    /// Opens the page in a browser if that is wanted.
    pub(super) async fn of(file: RunFile, is_shown: bool, environment: &Environment) -> Result<Self, Exit> {
        let page = match is_shown {
            true => Some(OpenPage::of(environment, file.steps().map_err(Broken::from)?).await?),
            false => None,
        };
        Ok(Self { file, page })
    }

    /// Appends a step, applies it to the run, and shows it.
    pub(super) fn append(&self, run: &mut Run, step: Step) -> Result<(), Error> {
        let shown = self.page.as_ref().map(|page| (page, step.clone()));
        self.file.append(run, step)?;
        if let Some((page, step)) = shown {
            page.board.add(step);
        }
        Ok(())
    }

    /// Shows what the run is doing now.
    pub(super) fn begins(&self, activity: Activity) {
        if let Some(page) = &self.page {
            page.board.current.begins(activity);
        }
    }

    pub(super) fn steps(&self) -> Result<Vec<Step>, Error> {
        self.file.steps()
    }

    /// Puts the journal of a run that is over into this folder. Returns the page, which still shows it.
    pub(super) fn end(self, run: &Run, folder: &Path) -> (Option<OpenPage>, std::io::Result<()>) {
        let put_away = match run.end {
            Some(_) => self.file.end(run, folder),
            None => Ok(()),
        };
        (self.page, put_away)
    }
}

/// Whether a program was started that opens the link.
fn open(environment: &Environment, link: &str) -> bool {
    let variables = environment.desktop();
    let browser = environment.get("BROWSER").and_then(|text| named(text, link));
    let openers = OPENERS.map(|program| (program.to_string(), vec![link.to_string()]));
    let mut programs = browser.into_iter().chain(openers);
    programs.any(|(program, arguments)| sandbox::open_link(&program, &arguments, &variables).is_ok())
}

/// The first command in `$BROWSER`, which separates several with colons. `%s` stands for the link, which otherwise comes
/// last.
fn named(browser: &str, link: &str) -> Option<(String, Vec<String>)> {
    let mut words = browser.split(':').next()?.split_whitespace();
    let program = words.next()?.to_string();
    let mut arguments: Vec<String> = words.map(|word| word.replace("%s", link)).collect();
    if !browser.contains("%s") {
        arguments.push(link.into());
    }
    Some((program, arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn without_a_browser_nothing_is_started() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let environment: Environment = [("BROWSER", "no-such-browser %s"), ("PATH", path)]
            .into_iter()
            .collect();
        assert!(!open(&environment, "http://127.0.0.1:1/"));
        std::os::unix::fs::symlink("/bin/true", folder.path().join("xdg-open")).unwrap();
        assert!(open(&environment, "http://127.0.0.1:1/"));
    }

    #[test]
    fn the_link_is_one_argument() {
        let of = |browser| named(browser, "http://l/?a b");
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(of("firefox"), Some(("firefox".into(), words(&["http://l/?a b"]))));
        assert_eq!(
            of("chromium --new %s:lynx"),
            Some(("chromium".into(), words(&["--new", "http://l/?a b"])))
        );
        assert_eq!(of(" "), None);
    }
}

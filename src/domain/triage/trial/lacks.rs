//! What a machine lacks according to others than the output: the project's lists and its CI.

use super::super::environment::{self, Cause};
use super::Trial;

impl Trial {
    /// Records that the first run of a test, or of the command if the name is empty, failed for lack of these packages.
    pub fn lacks(&mut self, name: &str, packages: Vec<String>) {
        if let Some(subject) = self.subjects.iter_mut().find(|subject| subject.name == name)
            && !packages.is_empty()
        {
            subject.cause = Some(Cause::MissingModule);
            subject.program = None;
            subject.packages = packages;
            subject.seen.blames_machine = true;
        }
    }

    /// Records that CI starts services for these tests, which this machine does not have: tests that cannot reach one
    /// say nothing about the code, unless they pass on the base.
    pub fn lacks_services(&mut self) {
        let is_lacking = |name: &str| {
            let mut own = self.first.failures.iter().filter(|failure| failure.name == name);
            match name {
                "" => environment::lacks_service(&self.first.tail),
                _ => own.any(|failure| environment::lacks_service(&failure.message)),
            }
        };
        let lacking: Vec<bool> = self.subjects.iter().map(|subject| is_lacking(&subject.name)).collect();
        let lacking = self
            .subjects
            .iter_mut()
            .zip(lacking)
            .filter(|(_, is_lacking)| *is_lacking);
        for (subject, _) in lacking.filter(|(subject, _)| subject.packages.is_empty()) {
            subject.cause = Some(Cause::Service);
            subject.seen.blames_machine = true;
        }
    }

    /// Records that the head lists packages that the base does not. Then a green base says nothing about tests that
    /// lack packages.
    pub fn lists_other_packages(&mut self) {
        for subject in &mut self.subjects {
            subject.seen.lacks_more_than_base = !subject.packages.is_empty();
        }
    }
}

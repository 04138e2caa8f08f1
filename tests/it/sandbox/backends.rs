//! What the backends besides the preferred one hold, each on its own terms.

use std::path::PathBuf;

use greenlight::sandbox::{Backend, Choice, Guarantee, Outcome, Sandbox};

use super::Lab;

/// A lab for one backend, or nothing, which is said where it is seen, on a machine that cannot do it.
async fn lab(backend: Backend) -> Option<Lab> {
    match Sandbox::detect(Choice::Only(backend), PathBuf::from(env!("CARGO_BIN_EXE_greenlight"))).await {
        Ok(_) => Some(Lab::with(Choice::Only(backend)).await),
        Err(reason) => {
            // Past the capture of the test harness.
            let line = format!("unavailable: {backend}: {reason}\n");
            let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
            None
        }
    }
}

#[tokio::test]
async fn bubblewrap_holds_what_it_promises() {
    let Some(lab) = lab(Backend::Bubblewrap).await else {
        return;
    };
    assert_eq!(lab.sandbox.backend(), Backend::Bubblewrap);
    for (name, guarantee) in lab.sandbox.guarantees().all() {
        let least = match name {
            "separate user" => Guarantee::None,
            "memory" | "disk" => Guarantee::Partial,
            _ => Guarantee::Enforced,
        };
        assert!(guarantee >= least, "{name} is {guarantee}");
    }
    let output = lab
        .sh("id -u; cat /proc/1/cmdline; pwd; ls -la / /dev /tmp ~ /etc; cat /etc/passwd; echo x > f")
        .await;
    println!("{output:?}\n{}\n{}", output.stdout.text(), output.stderr.text());
    assert_eq!(output.outcome, Outcome::Exited(0));
}

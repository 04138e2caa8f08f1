//! Plugins of pytest that a run lacks: pytest names a fixture or an option, and not the package that has it.

/// Well-known plugins and their fixtures: <https://docs.pytest.org/en/stable/reference/plugin_list.html>
const FIXTURES: [(&str, &[&str]); 19] = [
    ("pytest-benchmark", &["benchmark"]),
    ("pytest-celery", &["celery_setup"]),
    ("pytest-datadir", &["datadir", "shared_datadir"]),
    ("pytest-httpserver", &["httpserver"]),
    ("pytest-postgresql", &["postgresql"]),
    (
        "pytest-mock",
        &["mocker", "class_mocker", "module_mocker", "session_mocker"],
    ),
    ("pytest-httpx", &["httpx_mock"]),
    ("requests-mock", &["requests_mock"]),
    ("respx", &["respx_mock"]),
    ("syrupy", &["snapshot"]),
    ("pytest-snapshot", &["snapshot"]),
    ("pytest-freezer", &["freezer"]),
    (
        "pytest-django",
        &[
            "db",
            "transactional_db",
            "django_user_model",
            "admin_client",
            "client",
            "rf",
            "settings",
            "live_server",
        ],
    ),
    ("pytest-flask", &["client", "live_server"]),
    ("pytest-aiohttp", &["aiohttp_client", "aiohttp_server"]),
    ("pyfakefs", &["fs", "fs_module"]),
    ("pytest-qt", &["qtbot", "qapp"]),
    ("pytest-playwright", &["page", "browser"]),
    (
        "pytest-regressions",
        &[
            "data_regression",
            "file_regression",
            "num_regression",
            "image_regression",
        ],
    ),
];

/// Plugins whose names say nothing about their options.
const OPTIONS: [(&str, &[&str]); 3] = [
    ("pytest-xdist", &["-n", "--numprocesses", "--dist", "--maxprocesses"]),
    ("pytest-rerunfailures", &["--reruns", "--reruns-delay", "--only-rerun"]),
    (
        "pytest-django",
        &["--ds", "--reuse-db", "--nomigrations", "--no-migrations", "--create-db"],
    ),
];

/// Plugins whose options no other plugin has.
const KNOWN: [&str; 7] = [
    "pytest-asyncio",
    "pytest-benchmark",
    "pytest-cov",
    "pytest-django",
    "pytest-rerunfailures",
    "pytest-timeout",
    "pytest-xdist",
];

/// How much of a message is read, in bytes, and how many of its options are.
const MAX_READ: usize = 16 << 10;
const MAX_OPTIONS: usize = 20;

/// The plugins that may have what a message of pytest says it lacks, the likeliest first.
pub(super) fn plugins(message: &str) -> Vec<String> {
    let message = &message[..message.floor_char_boundary(MAX_READ)];
    let fixture = message.lines().find_map(|line| {
        let line = line.trim_start_matches(['E', ' ']);
        line.strip_prefix("fixture '")?.strip_suffix("' not found")
    });
    if let Some(fixture) = fixture {
        return having(&FIXTURES, fixture).collect();
    }
    let options = message
        .lines()
        .find_map(|line| line.split_once("error: unrecognized arguments: "));
    let options = options.into_iter().flat_map(|(_, options)| options.split_whitespace());
    options.take(MAX_OPTIONS).flat_map(of_option).collect()
}

/// Whether the options of a plugin are enough to name it.
pub(super) fn is_known(plugin: &str) -> bool {
    KNOWN.contains(&plugin)
}

/// The plugins of a table that have a fixture or an option.
fn having<'t>(table: &'t [(&str, &[&str])], name: &'t str) -> impl Iterator<Item = String> + 't {
    let having = table.iter().filter(move |(_, names)| names.contains(&name));
    having.map(|(plugin, _)| plugin.to_string())
}

fn of_option(option: &str) -> Vec<String> {
    let name = option.split('=').next().unwrap_or(option);
    // `--cov-report` is of pytest-cov, and `--timeout` of pytest-timeout.
    let first = name.strip_prefix("--").and_then(|name| name.split('-').next());
    having(&OPTIONS, name)
        .chain(first.map(|word| format!("pytest-{word}")))
        .collect()
}

//! Imports of a name that is used but not imported: as other files of the project import it, from the file of the
//! project that defines it, or from the standard library.

use greenlight_anchor::RepoPath;
use greenlight_readers::test_path::is_test_path;
use greenlight_syntax::Language;

use super::Hint;
use super::place::{Place, groups, occurrences};

/// Maximum number of files that are read for one name, and of their bytes.
const MAX_FILES: usize = 600;
const MAX_BYTES: usize = 8 << 20;
/// Maximum number of imports that are offered for one name.
const MAX_OFFERED: usize = 4;

/// Python's modules, and names in them.
const PYTHON: &[(&str, &str)] = &[
    ("collections", "Counter OrderedDict defaultdict deque namedtuple ChainMap"),
    ("collections.abc", "Callable Iterable Iterator Mapping Sequence Generator Hashable"),
    ("typing", "Any Optional Union List Dict Tuple Set Callable Iterable Iterator NamedTuple TypeVar Generic cast Protocol Literal ClassVar TYPE_CHECKING"),
    ("dataclasses", "dataclass field asdict astuple replace"),
    ("pathlib", "Path PurePath"),
    ("datetime", "datetime date timedelta timezone"),
    ("decimal", "Decimal"),
    ("fractions", "Fraction"),
    ("enum", "Enum IntEnum Flag auto"),
    ("functools", "partial reduce wraps lru_cache cached_property total_ordering"),
    ("itertools", "chain count cycle groupby islice product permutations combinations accumulate zip_longest repeat takewhile dropwhile"),
    ("abc", "ABC abstractmethod"),
    ("contextlib", "contextmanager suppress closing ExitStack"),
    ("io", "StringIO BytesIO"),
    ("copy", "deepcopy"),
    ("math", "sqrt floor ceil gcd pi"),
    ("statistics", "mean median"),
    ("string", "Template ascii_letters digits"),
    ("textwrap", "dedent"),
    ("urllib.parse", "urlparse urlencode quote urljoin"),
    ("uuid", "uuid4 UUID"),
    ("operator", "itemgetter attrgetter"),
    ("pprint", "pprint"),
    ("json", ""), ("os", ""), ("re", ""), ("sys", ""), ("time", ""), ("random", ""), ("itertools", ""), ("functools", ""),
    ("collections", ""), ("copy", ""), ("csv", ""), ("datetime", ""), ("hashlib", ""), ("heapq", ""), ("bisect", ""),
    ("inspect", ""), ("io", ""), ("logging", ""), ("math", ""), ("operator", ""), ("pickle", ""), ("platform", ""),
    ("shutil", ""), ("socket", ""), ("statistics", ""), ("string", ""), ("struct", ""), ("subprocess", ""),
    ("tempfile", ""), ("textwrap", ""), ("threading", ""), ("traceback", ""), ("typing", ""), ("uuid", ""),
    ("warnings", ""), ("asyncio", ""), ("base64", ""), ("contextlib", ""), ("dataclasses", ""), ("decimal", ""),
    ("enum", ""), ("fractions", ""), ("glob", ""), ("html", ""), ("unicodedata", ""), ("zlib", ""), ("argparse", ""),
];
/// Go's packages.
const GO: &str = "bufio bytes cmp context container/heap container/list crypto/md5 crypto/sha1 crypto/sha256 \
    encoding/base64 encoding/binary encoding/csv encoding/hex encoding/json encoding/xml errors flag fmt hash/fnv html \
    io io/fs iter log log/slog maps math math/big math/bits math/rand net net/http net/url os os/exec path \
    path/filepath reflect regexp slices sort strconv strings sync sync/atomic text/template time unicode unicode/utf8";
/// Java's packages, and classes in them.
const JAVA: &[(&str, &str)] = &[
    ("java.util", "List ArrayList LinkedList Map HashMap LinkedHashMap TreeMap Set HashSet LinkedHashSet TreeSet Collection Collections Collectors Arrays Optional OptionalInt Objects Iterator Comparator Queue Deque ArrayDeque PriorityQueue Random Scanner UUID Locale Date Calendar StringJoiner EnumMap EnumSet BitSet Stack Vector NoSuchElementException ConcurrentModificationException Properties Base64 Currency"),
    ("java.util.function", "Function BiFunction Supplier Consumer BiConsumer Predicate UnaryOperator BinaryOperator IntFunction ToIntFunction IntPredicate"),
    ("java.util.stream", "Stream IntStream LongStream DoubleStream Collectors StreamSupport"),
    ("java.util.concurrent", "ConcurrentHashMap ExecutorService Executors Future CompletableFuture TimeUnit CountDownLatch Callable ConcurrentMap CopyOnWriteArrayList"),
    ("java.util.concurrent.atomic", "AtomicInteger AtomicLong AtomicBoolean AtomicReference"),
    ("java.util.regex", "Pattern Matcher"),
    ("java.io", "File IOException InputStream OutputStream Reader Writer BufferedReader BufferedWriter FileReader FileWriter InputStreamReader OutputStreamWriter PrintStream PrintWriter StringReader StringWriter ByteArrayInputStream ByteArrayOutputStream Serializable Closeable UncheckedIOException FileNotFoundException FileInputStream FileOutputStream EOFException"),
    ("java.nio.file", "Path Paths Files NoSuchFileException"),
    ("java.nio.charset", "StandardCharsets Charset"),
    ("java.math", "BigDecimal BigInteger RoundingMode MathContext"),
    ("java.time", "LocalDate LocalDateTime LocalTime Instant Duration Period ZoneId ZonedDateTime DayOfWeek Month YearMonth OffsetDateTime Clock ZoneOffset"),
    ("java.time.format", "DateTimeFormatter DateTimeParseException"),
    ("java.time.temporal", "ChronoUnit"),
    ("java.text", "DecimalFormat NumberFormat SimpleDateFormat ParseException"),
    ("java.net", "URI URL URLEncoder URLDecoder URISyntaxException"),
    ("java.sql", "Connection SQLException"),
];
/// Node's modules.
const NODE: &str = "assert child_process crypto events fs http https net os path querystring readline stream url util zlib";
/// C's headers, and what they declare.
const C: &[(&str, &str)] = &[
    ("ctype.h", "isupper islower isalpha isdigit isalnum isspace ispunct isxdigit toupper tolower isprint"),
    ("string.h", "strlen strcmp strncmp strcpy strncpy strcat strncat strchr strrchr strstr strdup memcpy memset memmove memcmp strtok strerror strspn strcspn"),
    ("stdlib.h", "malloc calloc realloc free abs atoi atol atof strtol strtoul strtod qsort bsearch exit abort rand srand getenv size_t NULL EXIT_FAILURE EXIT_SUCCESS"),
    ("stdio.h", "printf fprintf sprintf snprintf puts putchar fopen fclose fgets fputs getchar scanf sscanf FILE stderr stdout stdin EOF perror fread fwrite fflush"),
    ("math.h", "sqrt pow floor ceil fabs sin cos tan log log10 exp fmod round M_PI"),
    ("stdbool.h", "bool true false"),
    ("stdint.h", "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t SIZE_MAX UINT32_MAX INT32_MAX uintptr_t"),
    ("stddef.h", "ptrdiff_t offsetof"),
    ("limits.h", "INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN CHAR_BIT"),
    ("errno.h", "errno EINVAL ERANGE ENOMEM"),
    ("assert.h", "assert"),
    ("time.h", "time clock difftime localtime gmtime strftime time_t"),
    ("stdarg.h", "va_list va_start va_end va_arg"),
    ("unistd.h", "read write close usleep sleep getpid access unlink"),
];

/// The modules of Python's standard library.
pub(super) fn python_modules() -> impl Iterator<Item = &'static str> {
    PYTHON.iter().map(|(module, _)| *module)
}

/// Well-known names of one of Python's modules.
pub(super) fn members(module: &str) -> impl Iterator<Item = &'static str> {
    let named = PYTHON.iter().filter(move |(other, _)| *other == module);
    named.flat_map(|(_, names)| names.split(' ').filter(|name| !name.is_empty()))
}

/// Adds an import of a name. The likeliest first.
pub(super) fn missing(place: &Place<'_>, name: &str) -> Vec<Hint> {
    let path = place.path.as_str();
    let mut lines = Vec::new();
    let language = Language::of(path);
    match language {
        Some(Language::Python) => {
            lines.extend(elsewhere(place, name, &["import ", "from "]));
            lines.extend(defined_in_python(place, name));
            lines.extend(PYTHON.iter().filter_map(|(module, names)| {
                let is_module = names.is_empty() && *module == name;
                let is_member = names.split(' ').any(|other| other == name);
                is_module
                    .then(|| format!("import {module}"))
                    .or_else(|| is_member.then(|| format!("from {module} import {name}")))
            }));
        }
        Some(Language::Java) => {
            lines.extend(elsewhere(place, name, &["import "]).into_iter().filter(|line| line.ends_with(&format!(".{name};"))));
            lines.extend(defined_in_java(place, name));
            let of_jdk = JAVA.iter().filter(|(_, names)| names.split(' ').any(|other| other == name));
            lines.extend(of_jdk.map(|(package, _)| format!("import {package}.{name};")));
        }
        Some(Language::Go) => {
            let paths = GO.split_whitespace().filter(|path| path.rsplit('/').next() == Some(name));
            let mut hints: Vec<Hint> = paths.filter_map(|path| go_import(place, path)).collect();
            hints.extend(go_elsewhere(place, name).iter().filter_map(|path| go_import(place, path)));
            hints.truncate(MAX_OFFERED);
            return hints;
        }
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => {
            let is_module = is_module(&place.text);
            lines.extend(elsewhere(place, name, &["import ", "const "]).into_iter().filter(|line| {
                line.starts_with("import ") == is_module && (is_module || line.contains("require("))
            }));
            lines.extend(NODE.split_whitespace().filter(|module| *module == name).map(|module| match is_module {
                true => format!("import {module} from 'node:{module}';"),
                false => format!("const {module} = require('node:{module}');"),
            }));
            lines.extend(exported(place, name, is_module));
        }
        _ if path.ends_with(".c") || path.ends_with(".h") => {
            let headers = C.iter().filter(|(_, names)| names.split(' ').any(|other| other == name));
            lines.extend(headers.map(|(header, _)| format!("#include <{header}>")));
        }
        _ => {}
    }
    let mut seen = Vec::new();
    lines.retain(|line| {
        let is_new = !seen.contains(line) && !place.text.lines().any(|own| own.trim() == line);
        seen.push(line.clone());
        is_new
    });
    let at = line_for_import(&place.text, language);
    let last = lines.iter().take(MAX_OFFERED);
    let hints = (0_u8..).zip(last).filter_map(|(rank, line)| {
        let weight = 1.0 - 0.02 * f32::from(rank);
        let before = if at > place.text.lines().count() as u32 && !place.text.ends_with('\n') { "\n" } else { "" };
        let behind = if is_alone(&place.text, language) { "\n" } else { "" };
        place.insert_before(at, &format!("{before}{line}\n{behind}"), weight)
    });
    hints.collect()
}

/// Whether a file has no import yet, so that a blank line has to follow the first.
fn is_alone(text: &str, language: Option<Language>) -> bool {
    language.is_some() && !text.lines().any(|line| is_import(line, language))
}

fn is_import(line: &str, language: Option<Language>) -> bool {
    match language {
        Some(Language::Python) => line.starts_with("import ") || line.starts_with("from "),
        Some(Language::Java) => line.starts_with("import "),
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => {
            line.starts_with("import ") || (line.starts_with("const ") && line.contains("require("))
        }
        _ => line.starts_with("#include"),
    }
}

/// Whether a script has imports or exports of its own.
fn is_module(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("import ") || line.starts_with("export "))
}

/// The line, from 1, before which an import belongs: behind the last one, or behind the beginning of the file.
fn line_for_import(text: &str, language: Option<Language>) -> u32 {
    let (mut last, mut at, mut is_open) = (0, 0, false);
    let mut quote: Option<&str> = None;
    let mut head = 0;
    for line in text.lines() {
        at += 1;
        if is_open {
            is_open = !line.contains([')', '}']) ;
            last = at;
            continue;
        }
        if is_import(line, language) {
            last = at;
            is_open = (line.contains('(') && !line.contains(')')) || (line.contains('{') && !line.contains('}'));
            continue;
        }
        // Comments, a module's text, `package`, and directives come before all imports.
        let is_head = head + 1 == at
            && match language {
                Some(Language::Python) => match quote {
                    Some(mark) => {
                        if line.contains(mark) {
                            quote = None;
                        }
                        true
                    }
                    None => {
                        let mark = ["\"\"\"", "'''"].into_iter().find(|mark| line.trim_start().starts_with(mark));
                        if let Some(mark) = mark {
                            quote = (line.matches(mark).count() == 1).then_some(mark);
                        }
                        mark.is_some() || line.starts_with('#')
                    }
                },
                Some(Language::Java) => line.starts_with("package ") || line.trim().is_empty() || line.starts_with(['/', ' ', '*']),
                _ => line.starts_with("'use strict'") || line.starts_with("\"use strict\"") || line.starts_with("#!"),
            };
        if is_head {
            head = at;
        }
    }
    last.max(head) + 1
}

/// Lines of other files that import a name.
fn elsewhere(place: &Place<'_>, name: &str, starts: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    each_file(place, |path, text| {
        let is_here = folder(path) == folder(&place.path);
        for line in text.lines().filter(|line| starts.iter().any(|start| line.starts_with(start))) {
            let is_relative = line.contains("from .") || line.contains("'.") || line.contains("\".");
            let is_whole = !line.ends_with(['(', '\\', '{']) && line.len() < 300;
            if is_whole && (is_here || !is_relative) && occurrences(line, name).next().is_some() {
                found.push(narrowed(line, name));
            }
        }
    });
    found.dedup();
    found
}

/// `from a import b, c` for `c` becomes `from a import c`.
fn narrowed(line: &str, name: &str) -> String {
    let line = line.trim_end();
    if let Some((from, names)) = line.split_once(" import ")
        && from.starts_with("from ")
        && names.contains(',')
    {
        let only = names.split(',').map(str::trim).find(|other| occurrences(other, name).next().is_some());
        return format!("{from} import {}", only.unwrap_or(names));
    }
    if let Some(groups) = groups(r"^(import|const) \{([^}]*)\} ?(from .+|= ?require.+)$", line)
        && let [word, names, rest] = groups.as_slice()
    {
        let only = names.split(',').map(str::trim).find(|other| occurrences(other, name).next().is_some());
        return format!("{word} {{ {} }} {rest}", only.unwrap_or(names));
    }
    line.to_string()
}

fn defined_in_python(place: &Place<'_>, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let starts = [format!("def {name}("), format!("class {name}:"), format!("class {name}("), format!("{name} = ")];
    each_file(place, |path, text| {
        if text.lines().any(|line| starts.iter().any(|start| line.starts_with(start))) {
            let module = path.as_str().trim_end_matches(".py").trim_end_matches("/__init__");
            let module = module.strip_prefix("src/").unwrap_or(module).replace('/', ".");
            let is_beside = folder(path) == folder(&place.path) && !folder(path).is_empty();
            let own = path.as_str().rsplit('/').next().unwrap_or_default().trim_end_matches(".py");
            if is_beside && place.text.lines().any(|line| line.starts_with("from .")) {
                found.push(format!("from .{own} import {name}"));
            }
            found.push(format!("from {module} import {name}"));
        }
    });
    found
}

fn defined_in_java(place: &Place<'_>, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let file = format!("{name}.java");
    each_file(place, |path, text| {
        if path.as_str().rsplit('/').next() == Some(&file)
            && let Some(groups) = groups(r"(?m)^package ([\w.]+);", text)
            && folder(path) != folder(&place.path)
        {
            found.push(format!("import {}.{name};", groups.concat()));
        }
    });
    found
}

fn exported(place: &Place<'_>, name: &str, is_module: bool) -> Vec<String> {
    let mut found = Vec::new();
    let declared = format!(r"(?m)^export (?:default )?(?:async )?(?:function|class|const|let|interface|type|enum) {}\b", regex::escape(name));
    let listed = format!(r"(?m)(?:^module\.exports = \{{[^}}]*\b{0}\b|^exports\.{0}\b)", regex::escape(name));
    each_file(place, |path, text| {
        let pattern = if is_module { &declared } else { &listed };
        if groups(pattern, text).is_some()
            && let Some(specifier) = relative(&place.path, path)
        {
            found.push(match is_module {
                true => format!("import {{ {name} }} from '{specifier}';"),
                false => format!("const {{ {name} }} = require('{specifier}');"),
            });
        }
    });
    found
}

/// The relative path from one file to another, without the extension of TypeScript.
fn relative(from: &RepoPath, to: &RepoPath) -> Option<String> {
    let (from, to) = (folder(from), to.as_str());
    let mut above = 0;
    let mut base = from;
    let below = loop {
        match base {
            "" => break Some(to),
            base => {
                if let Some(rest) = to.strip_prefix(base).and_then(|rest| rest.strip_prefix('/')) {
                    break Some(rest);
                }
            }
        }
        above += 1;
        base = base.rsplit_once('/').map_or("", |(base, _)| base);
    }?;
    let up = if above == 0 { "./".to_string() } else { "../".repeat(above) };
    let below = [".ts", ".tsx"].iter().find_map(|end| below.strip_suffix(end)).unwrap_or(below);
    Some(format!("{up}{below}"))
}

fn go_elsewhere(place: &Place<'_>, name: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    each_file(place, |_, text| {
        for line in text.lines().take(200) {
            let path = line.trim().trim_start_matches("import ").trim().trim_matches('"');
            if line.contains('"') && path.rsplit('/').next() == Some(name) && !path.contains([' ', '"']) && !found.contains(&path.to_string()) {
                found.push(path.to_string());
            }
        }
    });
    found
}

/// Adds a package to a Go file's imports, where gofmt would put it.
fn go_import(place: &Place<'_>, path: &str) -> Option<Hint> {
    let (mut block, mut single, mut package, mut entries) = (false, None, None, Vec::new());
    for (line, text) in (1_u32..).zip(place.text.lines()) {
        if text.starts_with("package ") {
            package = Some(line);
        } else if text.starts_with("import (") {
            block = true;
        } else if block && text.starts_with(')') {
            entries.push((line, String::new()));
            break;
        } else if block {
            entries.push((line, text.trim().trim_matches('"').to_string()));
        } else if let Some(rest) = text.strip_prefix("import ") {
            single = Some((line, rest.trim().trim_matches('"').to_string()));
        }
    }
    if entries.iter().any(|(_, entry)| entry == path) || single.as_ref().is_some_and(|(_, entry)| entry == path) {
        return None;
    }
    if !entries.is_empty() {
        let behind = entries.iter().find(|(_, entry)| entry.is_empty() || entry.as_str() > path)?;
        return place.insert_before(behind.0, &format!("\t\"{path}\"\n"), 1.0);
    }
    if let Some((line, other)) = single {
        let mut both = [path, other.as_str()];
        both.sort_unstable();
        let block = format!("import (\n\t\"{}\"\n\t\"{}\"\n)", both[0], both[1]);
        return Some(place.replace(place.range_of(line)?, block, 1.0));
    }
    place.insert_before(package? + 1, &format!("\nimport \"{path}\"\n"), 1.0)
}

/// Visits the project's files of the same language, except tests.
fn each_file(place: &Place<'_>, mut visit: impl FnMut(&RepoPath, &str)) {
    let kind = Language::of(place.path.as_str());
    let mut bytes = 0;
    let others = place.checkout.paths().into_iter().filter(|path| {
        **path != place.path && Language::of(path.as_str()) == kind && !is_test_path(path.as_str())
    });
    for path in others.take(MAX_FILES) {
        let text = place.checkout.read_text(path.as_str()).unwrap_or_default();
        bytes += text.len();
        if bytes > MAX_BYTES {
            break;
        }
        visit(path, &text);
    }
}

fn folder(path: &RepoPath) -> &str {
    path.as_str().rsplit_once('/').map_or("", |(folder, _)| folder)
}

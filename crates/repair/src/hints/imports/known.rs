//! Well-known names of standard libraries, and where they are. Not complete: a project's own imports come first.

/// Python's modules, and names in them.
pub(super) const PYTHON: &[(&str, &str)] = &[
    (
        "collections",
        "Counter OrderedDict defaultdict deque namedtuple ChainMap",
    ),
    (
        "collections.abc",
        "Callable Iterable Iterator Mapping Sequence Generator Hashable",
    ),
    (
        "typing",
        "Any Optional Union List Dict Tuple Set Callable Iterable Iterator NamedTuple TypeVar Generic cast Protocol Literal ClassVar TYPE_CHECKING",
    ),
    ("dataclasses", "dataclass field asdict astuple replace"),
    ("pathlib", "Path PurePath"),
    ("datetime", "datetime date timedelta timezone"),
    ("decimal", "Decimal"),
    ("fractions", "Fraction"),
    ("enum", "Enum IntEnum Flag auto"),
    (
        "functools",
        "partial reduce wraps lru_cache cached_property total_ordering",
    ),
    (
        "itertools",
        "chain count cycle groupby islice product permutations combinations accumulate zip_longest repeat takewhile dropwhile",
    ),
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
    ("json", ""),
    ("os", ""),
    ("re", ""),
    ("sys", ""),
    ("time", ""),
    ("random", ""),
    ("itertools", ""),
    ("functools", ""),
    ("collections", ""),
    ("copy", ""),
    ("csv", ""),
    ("datetime", ""),
    ("hashlib", ""),
    ("heapq", ""),
    ("bisect", ""),
    ("inspect", ""),
    ("io", ""),
    ("logging", ""),
    ("math", ""),
    ("operator", ""),
    ("pickle", ""),
    ("platform", ""),
    ("shutil", ""),
    ("socket", ""),
    ("statistics", ""),
    ("string", ""),
    ("struct", ""),
    ("subprocess", ""),
    ("tempfile", ""),
    ("textwrap", ""),
    ("threading", ""),
    ("traceback", ""),
    ("typing", ""),
    ("uuid", ""),
    ("warnings", ""),
    ("asyncio", ""),
    ("base64", ""),
    ("contextlib", ""),
    ("dataclasses", ""),
    ("decimal", ""),
    ("enum", ""),
    ("fractions", ""),
    ("glob", ""),
    ("html", ""),
    ("unicodedata", ""),
    ("zlib", ""),
    ("argparse", ""),
];
/// Go's packages.
pub(super) const GO: &str = "bufio bytes cmp context container/heap container/list crypto/md5 crypto/sha1 crypto/sha256 \
    encoding/base64 encoding/binary encoding/csv encoding/hex encoding/json encoding/xml errors flag fmt hash/fnv html \
    io io/fs iter log log/slog maps math math/big math/bits math/rand net net/http net/url os os/exec path \
    path/filepath reflect regexp slices sort strconv strings sync sync/atomic text/template time unicode unicode/utf8";
/// Java's packages, and classes in them.
pub(super) const JAVA: &[(&str, &str)] = &[
    (
        "java.util",
        "List ArrayList LinkedList Map HashMap LinkedHashMap TreeMap Set HashSet LinkedHashSet TreeSet Collection Collections Collectors Arrays Optional OptionalInt Objects Iterator Comparator Queue Deque ArrayDeque PriorityQueue Random Scanner UUID Locale Date Calendar StringJoiner EnumMap EnumSet BitSet Stack Vector NoSuchElementException ConcurrentModificationException Properties Base64 Currency",
    ),
    (
        "java.util.function",
        "Function BiFunction Supplier Consumer BiConsumer Predicate UnaryOperator BinaryOperator IntFunction ToIntFunction IntPredicate",
    ),
    (
        "java.util.stream",
        "Stream IntStream LongStream DoubleStream Collectors StreamSupport",
    ),
    (
        "java.util.concurrent",
        "ConcurrentHashMap ExecutorService Executors Future CompletableFuture TimeUnit CountDownLatch Callable ConcurrentMap CopyOnWriteArrayList",
    ),
    (
        "java.util.concurrent.atomic",
        "AtomicInteger AtomicLong AtomicBoolean AtomicReference",
    ),
    ("java.util.regex", "Pattern Matcher"),
    (
        "java.io",
        "File IOException InputStream OutputStream Reader Writer BufferedReader BufferedWriter FileReader FileWriter InputStreamReader OutputStreamWriter PrintStream PrintWriter StringReader StringWriter ByteArrayInputStream ByteArrayOutputStream Serializable Closeable UncheckedIOException FileNotFoundException FileInputStream FileOutputStream EOFException",
    ),
    ("java.nio.file", "Path Paths Files NoSuchFileException"),
    ("java.nio.charset", "StandardCharsets Charset"),
    ("java.math", "BigDecimal BigInteger RoundingMode MathContext"),
    (
        "java.time",
        "LocalDate LocalDateTime LocalTime Instant Duration Period ZoneId ZonedDateTime DayOfWeek Month YearMonth OffsetDateTime Clock ZoneOffset",
    ),
    ("java.time.format", "DateTimeFormatter DateTimeParseException"),
    ("java.time.temporal", "ChronoUnit"),
    (
        "java.text",
        "DecimalFormat NumberFormat SimpleDateFormat ParseException",
    ),
    ("java.net", "URI URL URLEncoder URLDecoder URISyntaxException"),
    ("java.sql", "Connection SQLException"),
];
/// Node's modules.
pub(super) const NODE: &str =
    "assert child_process crypto events fs http https net os path querystring readline stream url util zlib";
/// C's headers, and what they declare.
pub(super) const C: &[(&str, &str)] = &[
    (
        "ctype.h",
        "isupper islower isalpha isdigit isalnum isspace ispunct isxdigit toupper tolower isprint",
    ),
    (
        "string.h",
        "strlen strcmp strncmp strcpy strncpy strcat strncat strchr strrchr strstr strdup memcpy memset memmove memcmp strtok strerror strspn strcspn",
    ),
    (
        "stdlib.h",
        "malloc calloc realloc free abs atoi atol atof strtol strtoul strtod qsort bsearch exit abort rand srand getenv size_t NULL EXIT_FAILURE EXIT_SUCCESS",
    ),
    (
        "stdio.h",
        "printf fprintf sprintf snprintf puts putchar fopen fclose fgets fputs getchar scanf sscanf FILE stderr stdout stdin EOF perror fread fwrite fflush",
    ),
    (
        "math.h",
        "sqrt pow floor ceil fabs sin cos tan log log10 exp fmod round M_PI",
    ),
    ("stdbool.h", "bool true false"),
    (
        "stdint.h",
        "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t SIZE_MAX UINT32_MAX INT32_MAX uintptr_t",
    ),
    ("stddef.h", "ptrdiff_t offsetof"),
    ("limits.h", "INT_MAX INT_MIN UINT_MAX LONG_MAX LONG_MIN CHAR_BIT"),
    ("errno.h", "errno EINVAL ERANGE ENOMEM"),
    ("assert.h", "assert"),
    ("time.h", "time clock difftime localtime gmtime strftime time_t"),
    ("stdarg.h", "va_list va_start va_end va_arg"),
    ("unistd.h", "read write close usleep sleep getpid access unlink"),
];

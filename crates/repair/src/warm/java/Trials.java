package greenlight;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** The tests of one module, and what is known about them. */
final class Trials {
    /** Limits in milliseconds of processor time: of a test at first, and of fixed tests and passing ones at least. */
    private static final long LONG = 1_000;
    private static final long LEAST = 300;
    private static final long USUAL = 20;
    private static final int FACTOR = 10;
    private static final long PASSING = 2_000;
    private static final int MOST_PASSING = 200;
    private static final int MOST_FAILING = 200;
    private static final long WALL = 60_000;

    final Build build;
    final Compiler compiler;
    final File root;
    final BlockingQueue<Child> children = new LinkedBlockingQueue<>();
    final int count = Math.min(8, Runtime.getRuntime().availableProcessors());
    final Map<String, Original> originals = new ConcurrentHashMap<>();
    List<String> failing = new ArrayList<>();
    List<String> passing = new ArrayList<>();
    Set<String> loaded = new HashSet<>();
    long limit;
    /** They stay, because each has what its compiler has read. */
    private final ExecutorService threads = Executors.newFixedThreadPool(count);
    private final Map<String, String> known = new ConcurrentHashMap<>();

    /** A file as it is. */
    static final class Original {
        final byte[] bytes;
        final Map<String, byte[]> classes;

        Original(byte[] bytes, Map<String, byte[]> classes) {
            this.bytes = bytes;
            this.classes = classes;
        }

        String text() {
            return new String(bytes, StandardCharsets.UTF_8);
        }

        String edited(Map<String, Object> edit) {
            int from = Math.toIntExact((Long) edit.get("start")), to = Math.toIntExact((Long) edit.get("end"));
            return new String(bytes, 0, from, StandardCharsets.UTF_8) + edit.get("text") + new String(bytes, to, bytes.length - to, StandardCharsets.UTF_8);
        }
    }

    Trials(Build build, File root) {
        this.build = build;
        this.root = root;
        compiler = new Compiler(build);
        for (int at = 0; at < count; at++) children.add(new Child(build));
    }

    /** Runs the tests without an edit. Whether any fails here, too. */
    boolean survey(List<String> named, List<String> passed) throws InterruptedException {
        var child = children.take();
        try {
            var few = named.subList(0, Math.min(named.size(), MOST_FAILING));
            var times = new TreeMap<String, Long>();
            var late = new HashSet<String>(few);
            long usual = 0;
            var asked = Child.tests(Map.of(), few, LONG);
            asked.put("all", true);
            var answer = child.ask(asked, WALL);
            if (answer == null) return false;
            for (var each : Json.list(answer.get("results"))) {
                var result = Json.list(each);
                if (result.get(1).equals(false) && result.get(3).equals(true)) continue;
                late.remove((String) result.get(0));
                if (result.get(1).equals(false)) times.put((String) result.get(0), (Long) result.get(2));
            }
            loaded.addAll(Json.strings(answer.get("loaded")));
            asked = Child.tests(Map.of(), passed.subList(0, Math.min(passed.size(), MOST_PASSING)), LONG);
            asked.put("all", true);
            answer = child.ask(asked, WALL);
            for (var each : answer == null ? List.of() : Json.list(answer.get("results"))) {
                var result = Json.list(each);
                usual += (Long) result.get(2);
                if (usual > PASSING) break;
                if (result.get(1).equals(true)) passing.add((String) result.get(0));
            }
            failing.addAll(times.keySet());
            failing.sort((a, b) -> Long.compare(times.get(a), times.get(b)));
            failing.addAll(late);
            long total = times.values().stream().mapToLong(each -> each).sum();
            // For all together, and each has it alone: only tests that do not end use it up.
            limit = Math.max(LEAST, Math.min(total + usual, late.isEmpty() ? total + usual : usual + USUAL * late.size()) * FACTOR / Math.max(1, failing.size() + passing.size()));
            return !failing.isEmpty();
        } finally {
            children.add(child);
        }
    }

    Original original(String path) {
        return originals.computeIfAbsent(path, ignored -> {
            try {
                var bytes = Files.readAllBytes(root.toPath().resolve(path));
                var classes = compiler.compile(path, new String(bytes, StandardCharsets.UTF_8));
                return new Original(bytes, classes != null && classes.keySet().stream().allMatch(this::isBuilt) ? classes : null);
            } catch (IOException error) {
                return new Original(new byte[0], null);
            }
        });
    }

    private boolean isBuilt(String name) {
        return build.directories.stream().anyMatch(each -> new File(each, name.replace('.', '/') + ".class").isFile());
    }

    /** Verdicts on the first candidates, as many as there is time for. */
    List<String> judge(List<Object> candidates, long wall) throws Exception {
        long until = System.nanoTime() + wall * 1_000_000;
        var verdicts = new String[candidates.size()];
        var next = new AtomicInteger();
        var working = new ArrayList<Future<?>>();
        for (int at = 0; at < count; at++) {
            working.add(threads.submit(() -> {
                for (int each = next.getAndIncrement(); each < verdicts.length; each = next.getAndIncrement()) {
                    if (each > 0 && System.nanoTime() > until) break;
                    verdicts[each] = judged(Json.map(candidates.get(each)));
                }
            }));
        }
        for (var each : working) each.get();
        var list = Arrays.asList(verdicts);
        return list.contains(null) ? list.subList(0, list.indexOf(null)) : list;
    }

    private String judged(Map<String, Object> edit) {
        var path = (String) edit.get("path");
        var original = original(path);
        if (original.classes == null) return "fails";
        var classes = compiler.compile(path, original.edited(edit));
        if (classes == null) return "invalid";
        var encoded = encoded(classes);
        // What is compiled to the same does the same.
        var key = digest(path + encoded);
        var before = known.get(key);
        if (before != null) return before;
        var verdict = tried(encoded);
        known.put(key, verdict);
        return verdict;
    }

    private static String digest(String text) {
        try {
            var digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return Base64.getEncoder().encodeToString(digest);
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
    }

    static Map<String, Object> encoded(Map<String, byte[]> classes) {
        var encoded = new LinkedHashMap<String, Object>();
        classes.forEach((name, bytes) -> encoded.put(name, Base64.getEncoder().encodeToString(bytes)));
        return encoded;
    }

    private String tried(Map<String, Object> classes) {
        Child child = null;
        try {
            child = children.take();
            var tests = new ArrayList<>(failing);
            tests.addAll(passing);
            var answer = child.ask(Child.tests(classes, tests, limit), WALL);
            if (answer == null) return "timeout";
            int good = 0, fixed = 0, seen = 0;
            boolean isLate = false;
            for (var each : Json.list(answer.get("results"))) {
                var result = Json.list(each);
                if (result.get(1).equals(true)) {
                    good++;
                    if (seen < failing.size()) fixed++;
                }
                isLate |= result.get(3).equals(true);
                seen++;
            }
            if (good == tests.size()) return "passes";
            if (isLate) return "timeout";
            return fixed > 0 && fixed < failing.size() ? "closer" : "fails";
        } catch (InterruptedException error) {
            return "fails";
        } finally {
            if (child != null) children.add(child);
        }
    }
}

package greenlight;

import java.io.File;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** What Maven's compiler plugin was told for the module with the failing tests. */
final class Build {
    /** Phases that run tests, or come after them. */
    private static final Set<String> PHASES =
            Set.of("test", "prepare-package", "package", "pre-integration-test", "integration-test", "verify", "install", "deploy");
    private static final String SAID = "Command line options:";
    private static final int LONGEST = 64 << 20;

    /** Directories with classes of the project, and archives. */
    final List<String> directories = new ArrayList<>();
    final List<String> archives = new ArrayList<>();
    final List<String> options = new ArrayList<>();
    Charset encoding = StandardCharsets.UTF_8;
    String tests;
    private Path log;

    private Build() {}

    /** Compiles the project, and the tests of the module that has all of these classes. */
    static Build of(List<String> argv, Set<String> testClasses, long limit) throws Exception {
        var build = new Build();
        build.log = Files.createTempFile("greenlight", ".log");
        try {
            return build.run(argv, limit) && build.read(testClasses) ? build : null;
        } finally {
            Files.delete(build.log);
        }
    }

    private boolean run(List<String> argv, long limit) throws Exception {
        var words = new ArrayList<String>();
        boolean isMaven = false;
        for (var word : argv) {
            var name = word.substring(word.lastIndexOf('/') + 1);
            if (name.equals("mvn") || name.equals("mvnw")) {
                isMaven = true;
                // A wrapper would download its Maven.
                words.addAll(List.of(name.equals("mvn") ? word : "mvn", "--offline", "-X"));
            } else if (PHASES.contains(word)) {
                words.add("test-compile");
            } else if (!word.equals("clean") && !word.equals("-q") && !word.equals("--quiet")) {
                words.add(word);
            }
        }
        if (!isMaven || !words.contains("test-compile")) return false;
        var process = new ProcessBuilder(words)
                .redirectErrorStream(true)
                .redirectInput(new File("/dev/null"))
                .redirectOutput(log.toFile())
                .start();
        if (process.waitFor(limit, TimeUnit.MILLISECONDS)) return process.exitValue() == 0;
        process.destroyForcibly();
        return false;
    }

    private boolean read(Set<String> testClasses) throws Exception {
        if (Files.size(log) > LONGEST) return false;
        boolean isNext = false;
        for (var line : new String(Files.readAllBytes(log), StandardCharsets.ISO_8859_1).split("\n")) {
            if (isNext && take(line.replaceFirst("^\\[[^ ]*\\] ", ""), testClasses)) return true;
            isNext = line.contains(SAID);
        }
        return false;
    }

    private boolean take(String line, Set<String> testClasses) {
        var words = List.of(line.trim().split(" "));
        int at = words.indexOf("-d");
        if (at < 0 || at + 1 >= words.size()) return false;
        var target = words.get(at + 1);
        for (var name : testClasses) if (!new File(target, name.replace('.', '/') + ".class").isFile()) return false;
        tests = target;
        var path = new LinkedHashSet<String>();
        path.add(target);
        for (int word = 0; word < words.size(); word++) {
            var next = word + 1 < words.size() ? words.get(word + 1) : "";
            switch (words.get(word)) {
                case "-classpath":
                case "--class-path":
                    path.addAll(List.of(next.split(File.pathSeparator)));
                    word++;
                    break;
                // No class is written, and a module would hide the tests' own class path.
                case "--module-path":
                case "--patch-module":
                case "--add-reads":
                case "-sourcepath":
                case "--source-path":
                case "-d":
                case "-s":
                case "-h":
                    word++;
                    break;
                case "-encoding":
                    if (Charset.isSupported(next)) encoding = Charset.forName(next);
                    break;
                default:
                    if (words.get(word).startsWith("-") && !words.get(word).startsWith("-Werror")) {
                        options.add(words.get(word));
                        if (!next.startsWith("-") && !next.isEmpty()) options.add(next);
                    }
            }
        }
        for (var each : path) {
            if (each.isEmpty()) continue;
            (new File(each).isDirectory() ? directories : archives).add(each);
        }
        archives.addAll(runners());
        return true;
    }

    /** What Surefire adds to the class path of JUnit 5: the engine and the launcher, as archives of the same version. */
    private List<String> runners() {
        var found = new ArrayList<String>();
        for (var each : archives) {
            for (var names : new String[][] {
                {"/junit-jupiter-api/", "/junit-jupiter-engine/"},
                {"/junit-platform-commons/", "/junit-platform-engine/"},
                {"/junit-platform-commons/", "/junit-platform-launcher/"},
            }) {
                if (!each.contains(names[0])) continue;
                var from = names[0].replace("/", "");
                var other = each.replace(from, names[1].replace("/", ""));
                if (new File(other).isFile() && !archives.contains(other)) found.add(other);
            }
        }
        return found;
    }

    String classPath() {
        var all = new ArrayList<>(directories);
        all.addAll(archives);
        return String.join(File.pathSeparator, all);
    }
}

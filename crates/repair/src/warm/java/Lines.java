package greenlight;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Which lines of the project tests execute. */
final class Lines {
    private static final int MOST_FILES = 200;
    private static final int MOST_PASSING = 60;
    private static final long LIMIT = 3_000;

    private Lines() {}

    static Map<String, Object> followed(Trials trials, long wall) throws Exception {
        var classes = new LinkedHashMap<String, Object>();
        var places = new ArrayList<String[]>();
        for (var path : sources(trials)) {
            var text = Files.readString(trials.root.toPath().resolve(path), StandardCharsets.UTF_8);
            var prepared = Prepared.of(path, text, places.size());
            var made = prepared == null ? null : trials.compiler.compile(path, prepared.traced());
            if (made == null) continue;
            for (var line : prepared.lines) places.add(new String[] {path, line.toString()});
            classes.putAll(Trials.encoded(made));
        }
        var tests = new ArrayList<>(trials.failing);
        tests.addAll(trials.passing.subList(0, Math.min(trials.passing.size(), MOST_PASSING)));
        var asked = Child.tests(classes, tests, Math.min(LIMIT, trials.limit * 3));
        asked.put("places", places.size());
        asked.put("all", true);
        var child = trials.children.take();
        var answer = child.ask(asked, wall);
        trials.children.add(child);
        if (answer == null) return Map.of("why", "the tests did not end");
        return counted(Json.list(answer.get("results")), Json.list(answer.get("hits")), places);
    }

    private static Map<String, Object> counted(List<Object> results, List<Object> hits, List<String[]> places) {
        var files = new TreeMap<String, TreeMap<Integer, int[]>>();
        int failing = 0;
        for (int at = 0; at < hits.size(); at++) {
            int which = Json.list(results.get(at)).get(1).equals(true) ? 1 : 0;
            if (which == 0) failing++;
            var seen = new TreeMap<String, Object>();
            for (var each : Json.list(hits.get(at))) {
                int number = ((Long) each).intValue();
                if (number >= places.size()) continue;
                var place = places.get(number);
                if (seen.put(place[0] + ":" + place[1], true) != null) continue;
                var lines = files.computeIfAbsent(place[0], ignored -> new TreeMap<>());
                lines.computeIfAbsent(Integer.valueOf(place[1]), ignored -> new int[2])[which]++;
            }
        }
        var answer = new LinkedHashMap<String, Object>();
        answer.put("failing", failing);
        var told = new LinkedHashMap<String, Object>();
        files.forEach((path, lines) -> {
            var list = new ArrayList<Object>();
            lines.forEach((line, counts) -> list.add(List.of(line, counts[0], counts[1])));
            told.put(path, list);
        });
        answer.put("files", told);
        return answer;
    }

    /** The sources of the classes that the failing tests load, apart from the tests. */
    private static List<String> sources(Trials trials) throws IOException {
        var wanted = new ArrayList<String>();
        for (var name : trials.loaded) {
            boolean isTest = new File(trials.build.tests, name.replace('.', '/') + ".class").isFile();
            if (!isTest && !name.contains("$")) wanted.add("/" + name.replace('.', '/') + ".java");
        }
        var found = new ArrayList<String>();
        try (var files = Files.walk(trials.root.toPath(), 30)) {
            for (Path file : (Iterable<Path>) files.filter(each -> each.toString().endsWith(".java"))::iterator) {
                var path = trials.root.toPath().relativize(file).toString();
                if (wanted.stream().anyMatch(("/" + path)::endsWith) && found.size() < MOST_FILES) found.add(path);
            }
        }
        return found;
    }
}

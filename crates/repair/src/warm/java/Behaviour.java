package greenlight;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Calls edited methods with inputs: those from the tests, and variations of them. */
final class Behaviour {
    private static final int MOST_INPUTS = 240;
    private static final long CALL = 60;

    private final Trials trials;
    private final List<Prepared.Method> methods = new ArrayList<>();

    Behaviour(Trials trials) {
        this.trials = trials;
    }

    Map<String, Object> compared(List<Object> candidates, long wall) throws Exception {
        var path = (String) Json.map(candidates.get(0)).get("path");
        var original = trials.original(path);
        var prepared = original.classes == null ? null : Prepared.of(path, original.text(), 0);
        if (prepared == null) return why("the file cannot be prepared");
        for (var each : candidates) {
            var edit = Json.map(each);
            if (!edit.get("path").equals(path)) return why("several files are edited");
            int from = Math.toIntExact((Long) edit.get("start"));
            var method = prepared.around(new String(original.bytes, 0, from, java.nio.charset.StandardCharsets.UTF_8).length());
            if (method == null) return why("not every candidate edits a method");
            if (methods.stream().noneMatch(other -> isSame(other, method))) methods.add(method);
        }
        var child = trials.children.take();
        try {
            var inputs = varied(recorded(child, path, original.edited(Json.map(candidates.get(0))), wall / 3));
            if (inputs.isEmpty()) return why("the methods were not called");
            var lists = new ArrayList<Object>();
            // If no input reaches the edits, they look alike whatever they do.
            var without = answers(child, original.classes, inputs, wall);
            boolean isReached = false;
            for (var each : candidates) {
                var answers = answers(child, trials.compiler.compile(path, original.edited(Json.map(each))), inputs, wall);
                if (answers == null) return why("it took too long");
                isReached |= !answers.equals(without);
                lists.add(answers);
            }
            return isReached ? Map.of("answers", lists, "without", without) : why("no call reaches the edits");
        } finally {
            trials.children.add(child);
        }
    }

    private static Map<String, Object> why(String text) {
        return Map.of("answers", List.of(), "why", text);
    }

    private static boolean isSame(Prepared.Method one, Prepared.Method other) {
        return one.type.equals(other.type) && one.name.equals(other.name) && one.parameters.equals(other.parameters);
    }

    /** Calls that tests make: the number of the method, its object, and its arguments. */
    private List<List<Object>> recorded(Child child, String path, String text, long wall) {
        // With an edit, because tests that hang do not end without one.
        var found = new ArrayList<Prepared.Method>();
        var prepared = Prepared.of(path, text, 0);
        for (var each : methods) {
            var same = prepared == null ? null : prepared.same(method -> isSame(method, each));
            if (same == null) return List.of();
            found.add(same);
        }
        var order = new ArrayList<>(found);
        order.sort(Comparator.comparingInt((Prepared.Method method) -> method.body).reversed());
        for (var each : order) text = Prepared.recorded(text, each, found.indexOf(each));
        var classes = trials.compiler.compile(path, text);
        if (classes == null) return List.of();
        var tests = new ArrayList<>(trials.failing);
        tests.addAll(trials.passing);
        var asked = Child.tests(Trials.encoded(classes), tests, trials.limit * 3);
        asked.put("all", true);
        asked.put("record", true);
        var answer = child.ask(asked, wall);
        var calls = new ArrayList<List<Object>>();
        var told = answer == null ? null : answer.get("calls");
        if (told == null) return calls;
        Json.map(told).forEach((number, list) -> {
            for (var each : Json.list(list)) {
                var call = new ArrayList<Object>(List.of(Long.valueOf(number)));
                call.addAll(Json.list(each));
                calls.add(call);
            }
        });
        return calls;
    }

    /** The calls, followed by the same calls with one or two arguments changed, one change of each in turn. */
    private static List<List<Object>> varied(List<List<Object>> calls) {
        var unique = new LinkedHashMap<String, List<Object>>();
        for (var call : calls) unique.putIfAbsent(Json.write(call), call);
        var others = new ArrayList<List<List<Object>>>();
        int longest = 0;
        for (var call : calls) {
            var list = variations(call);
            longest = Math.max(longest, list.size());
            others.add(list);
        }
        for (int at = 0; at < longest; at++)
            for (var list : others)
                if (at < list.size() && unique.size() < MOST_INPUTS) unique.putIfAbsent(Json.write(list.get(at)), list.get(at));
        return new ArrayList<>(unique.values());
    }

    private static List<List<Object>> variations(List<Object> call) {
        var found = new ArrayList<List<Object>>();
        for (int at = 2; at < call.size(); at++)
            for (var other : Values.like(call.get(at))) found.add(with(call, at, other));
        for (int at = 2; at + 1 < call.size(); at++)
            if (kind(call.get(at)).equals(kind(call.get(at + 1)))) found.add(with(with(call, at, call.get(at + 1)), at + 1, call.get(at)));
        // Combinations of two conditions only show when two arguments change together.
        for (int at = 2; at < call.size(); at++)
            for (int next = at + 1; next < call.size(); next++)
                for (var one : Values.like(call.get(at)))
                    for (var other : Values.like(call.get(next))) found.add(with(with(call, at, one), next, other));
        return found;
    }

    private static String kind(Object written) {
        return written == null ? "" : ((List<?>) written).get(0).toString();
    }

    private static List<Object> with(List<Object> call, int at, Object other) {
        var changed = new ArrayList<>(call);
        changed.set(at, other);
        return changed;
    }

    private List<Object> answers(Child child, Map<String, byte[]> classes, List<List<Object>> inputs, long wall) {
        if (classes == null) return null;
        var told = new ArrayList<Object>();
        for (var each : methods) told.add(List.of(each.type, each.name, each.parameters));
        var asked = new LinkedHashMap<String, Object>();
        asked.put("op", "call");
        asked.put("classes", Trials.encoded(classes));
        asked.put("methods", told);
        asked.put("inputs", inputs);
        asked.put("limit", CALL);
        var answer = child.ask(asked, wall);
        if (answer == null) return null;
        var answers = new ArrayList<>(Json.list(answer.get("answers")));
        while (answers.size() < inputs.size()) answers.add("timeout");
        return answers;
    }
}

package greenlight;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;

/** Takes requests, one JSON text a line, and answers each with a piece of an answer. See `protocol.rs`. */
public final class Main {
    private static final int PIECE = 40_000;

    private Trials trials;
    private String last = "";

    public static void main(String[] none) throws Exception {
        var main = new Main();
        var out = new PrintStream(System.out, true, StandardCharsets.US_ASCII);
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (var line = in.readLine(); line != null; line = in.readLine()) {
            var request = Json.map(Json.read(line));
            int from = 0;
            if (request.get("op").equals("more")) from = ((Long) request.get("from")).intValue();
            else main.last = Json.write(main.answer(request));
            var piece = new LinkedHashMap<String, Object>();
            piece.put("text", main.last.substring(Math.min(from, main.last.length()), Math.min(main.last.length(), from + PIECE)));
            piece.put("total", main.last.length());
            out.println(Json.write(piece));
        }
        System.exit(0);
    }

    private Map<String, Object> answer(Map<String, Object> request) {
        try {
            var candidates = request.get("candidates") == null ? null : Json.list(request.get("candidates"));
            switch ((String) request.get("op")) {
                case "start":
                    return start(request);
                case "spectrum":
                    return Lines.followed(trials, (Long) request.get("wall_ms"));
                case "judge":
                    return Map.of("verdicts", trials.judge(candidates, (Long) request.get("limit_ms")));
                default:
                    return new Behaviour(trials).compared(candidates, (Long) request.get("wall_ms"));
            }
        } catch (Exception | StackOverflowError error) {
            return Map.of("why", String.valueOf(error));
        }
    }

    private Map<String, Object> start(Map<String, Object> request) throws Exception {
        var failing = Json.strings(request.get("failing"));
        var classes = new LinkedHashSet<String>();
        for (var name : failing) classes.add(name.contains("#") ? name.substring(0, name.indexOf('#')) : name);
        long began = System.nanoTime();
        var build = Build.of(Json.strings(request.get("argv")), classes, (Long) request.get("limit_ms"));
        if (build == null || failing.isEmpty()) return Map.of("why", "no module with these tests was compiled");
        var up = System.getenv().getOrDefault("GREENLIGHT_UP", ".");
        trials = new Trials(build, new File(new File("").getAbsolutePath(), up).getCanonicalFile());
        var passing = new ArrayList<String>();
        for (var name : Json.strings(request.get("passing"))) if (name.contains("#")) passing.add(name);
        passing.sort((a, b) -> Boolean.compare(isNear(b, classes), isNear(a, classes)));
        if (!trials.survey(failing, passing)) return Map.of("why", "the tests do not fail here");
        return Map.of("failing", trials.failing, "ms", (System.nanoTime() - began) / 1_000_000);
    }

    private static boolean isNear(String name, LinkedHashSet<String> classes) {
        return classes.contains(name.substring(0, name.indexOf('#')));
    }
}

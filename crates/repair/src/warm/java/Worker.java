package greenlight;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The process that runs tests: each request with the project's classes loaded anew. What it says is not trusted. */
public final class Worker {
    private final List<String> directories;
    private final ClassLoader libraries;
    private final Guard guard = new Guard();
    /** In milliseconds: the first test loads the libraries. */
    private long more = 1_500;

    private Worker(List<String> directories, List<String> archives) throws MalformedURLException {
        this.directories = directories;
        this.libraries = new URLClassLoader(urls(archives), Worker.class.getClassLoader());
    }

    private static URL[] urls(List<String> paths) throws MalformedURLException {
        var urls = new ArrayList<URL>();
        for (var path : paths) urls.add(Path.of(path).toUri().toURL());
        return urls.toArray(new URL[0]);
    }

    /** Loads the project, except for some classes that were compiled in memory. */
    private static final class Project extends URLClassLoader {
        private final Map<String, Object> made;
        final List<String> loaded = new ArrayList<>();

        Project(URL[] urls, ClassLoader parent, Map<String, Object> made) {
            super(urls, parent);
            this.made = made;
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            var bytes = (String) made.get(name);
            Class<?> found;
            if (bytes == null) {
                found = super.findClass(name);
            } else {
                var decoded = Base64.getDecoder().decode(bytes);
                found = defineClass(name, decoded, 0, decoded.length);
            }
            synchronized (loaded) {
                loaded.add(name);
            }
            return found;
        }
    }

    public static void main(String[] none) throws Exception {
        var out = new PrintStream(System.out, true, StandardCharsets.US_ASCII);
        // What tests print is of no interest.
        var quiet = new PrintStream(OutputStream.nullOutputStream());
        System.setOut(quiet);
        System.setErr(quiet);
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.setIn(java.io.InputStream.nullInputStream());
        var start = Json.map(Json.read(in.readLine()));
        var worker = new Worker(Json.strings(start.get("directories")), Json.strings(start.get("archives")));
        for (var line = in.readLine(); line != null; line = in.readLine()) {
            var answer = worker.answer(Json.map(Json.read(line)));
            answer.put("gone", worker.guard.isStuck);
            out.println(Json.write(answer));
            if (worker.guard.isStuck) Runtime.getRuntime().halt(0);
        }
        Runtime.getRuntime().halt(0);
    }

    private Map<String, Object> answer(Map<String, Object> asked) throws Exception {
        try (var project = new Project(urls(directories), libraries, Json.map(asked.get("classes")))) {
            if (asked.get("op").equals("call")) return called(asked, project);
            if (Boolean.TRUE.equals(asked.get("record"))) Probe.record();
            var answer = tests(asked, project);
            answer.put("loaded", project.loaded);
            if (Probe.calls != null) answer.put("calls", Probe.calls);
            Probe.calls = null;
            return answer;
        }
    }

    /** Runs tests until one does not end, or fails, unless all are wanted. */
    private Map<String, Object> tests(Map<String, Object> asked, Project project) throws Exception {
        var units = new Units(project);
        var results = new ArrayList<Object>();
        var hits = new ArrayList<Object>();
        int places = ((Long) asked.get("places")).intValue();
        boolean isAll = Boolean.TRUE.equals(asked.get("all"));
        int failures = 0, passes = 0, late = 0;
        for (var name : Json.strings(asked.get("tests"))) {
            var good = new boolean[1];
            Probe.hits = new boolean[places];
            long before = Guard.busy();
            boolean ended = guard.ends(() -> good[0] = units.passes(name), project, (Long) asked.get("limit") + more);
            more = 0;
            boolean passed = ended && good[0];
            results.add(List.of(name, passed, Guard.busy() - before, !ended));
            if (places > 0) hits.add(places(Probe.hits));
            if (passed) passes++;
            else failures++;
            if (!ended) late++;
            if (guard.isStuck || late > (isAll ? 2 : 0)) break;
            if (!isAll && failures > 0 && (passes > 0 || failures >= (Long) asked.get("looks"))) break;
        }
        var answer = new LinkedHashMap<String, Object>();
        answer.put("results", results);
        answer.put("hits", hits);
        return answer;
    }

    private static List<Object> places(boolean[] hits) {
        var found = new ArrayList<Object>();
        for (int at = 0; at < hits.length; at++) if (hits[at]) found.add(at);
        return found;
    }

    /** Calls methods with recorded inputs. */
    private Map<String, Object> called(Map<String, Object> asked, Project project) throws Exception {
        var methods = new ArrayList<Method>();
        for (var each : Json.list(asked.get("methods"))) methods.add(method(Json.list(each), project));
        var answers = new ArrayList<Object>();
        for (var each : Json.list(asked.get("inputs"))) {
            var input = Json.list(each);
            var said = new String[] {"timeout"};
            var method = methods.get(((Long) input.get(0)).intValue());
            guard.ends(() -> said[0] = one(method, input, project), project, (Long) asked.get("limit"));
            answers.add(said[0]);
            if (guard.isStuck) break;
        }
        var answer = new LinkedHashMap<String, Object>();
        answer.put("answers", answers);
        return answer;
    }

    private static Method method(List<Object> wanted, ClassLoader loader) throws ReflectiveOperationException {
        var type = Class.forName((String) wanted.get(0), true, loader);
        var parameters = Json.strings(wanted.get(2));
        Method found = null;
        for (var each : type.getDeclaredMethods()) {
            if (!each.getName().equals(wanted.get(1)) || each.getParameterCount() != parameters.size() || each.isSynthetic()) continue;
            boolean isSame = true;
            for (int at = 0; at < parameters.size(); at++) isSame &= each.getParameterTypes()[at].getSimpleName().equals(parameters.get(at));
            if (found == null || isSame) found = each;
        }
        if (found == null) throw new NoSuchMethodException(wanted.toString());
        found.setAccessible(true);
        return found;
    }

    private static String one(Method method, List<Object> input, ClassLoader loader) throws ReflectiveOperationException {
        var values = new Values();
        var self = values.read(input.get(1), loader);
        var arguments = new Object[input.size() - 2];
        for (int at = 0; at < arguments.length; at++) arguments[at] = values.read(input.get(at + 2), loader);
        var before = Values.show(List.of(java.util.Arrays.asList(self), java.util.Arrays.asList(arguments)));
        String result;
        try {
            result = Values.show(method.invoke(self, arguments));
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof ThreadDeath) return "timeout";
            result = "throws " + error.getCause().getClass().getName();
        }
        var after = Values.show(List.of(java.util.Arrays.asList(self), java.util.Arrays.asList(arguments)));
        return before.equals(after) ? result : result + " leaving " + after;
    }
}

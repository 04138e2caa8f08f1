package greenlight;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A worker, which is started again when it is gone. */
final class Child {
    private static final int LONGEST = 64 << 20;

    private final Build build;
    private Process process;
    private BufferedReader answers;

    Child(Build build) {
        this.build = build;
    }

    private void start() throws IOException {
        var java = System.getProperty("java.home") + "/bin/java";
        process = new ProcessBuilder(java, "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
                        "-Dbasedir=" + new File("").getAbsolutePath(),
                        "-cp", System.getProperty("java.class.path"), "greenlight.Worker")
                .directory(new File(build.tests).getParentFile().getParentFile())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        answers = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII));
        say(Map.of("directories", build.directories, "archives", build.archives));
    }

    private void say(Map<String, ?> request) throws IOException {
        OutputStream to = process.getOutputStream();
        to.write((Json.write(request) + "\n").getBytes(StandardCharsets.US_ASCII));
        to.flush();
    }

    /** Null if it does not answer in time, or is gone. */
    Map<String, Object> ask(Map<String, ?> request, long limit) {
        try {
            if (process == null || !process.isAlive()) start();
            say(request);
            var line = CompletableFuture.supplyAsync(this::line).get(limit, TimeUnit.MILLISECONDS);
            var answer = line == null ? null : new LinkedHashMap<>(Json.map(Json.read(line)));
            if (answer == null || Boolean.TRUE.equals(answer.get("gone"))) end();
            return answer;
        } catch (IOException | InterruptedException | ExecutionException | TimeoutException | RuntimeException error) {
            end();
            return null;
        }
    }

    private String line() {
        try {
            var line = new StringBuilder();
            for (int letter = answers.read(); letter != '\n'; letter = answers.read()) {
                if (letter < 0 || line.length() > LONGEST) return null;
                line.append((char) letter);
            }
            return line.toString();
        } catch (IOException error) {
            return null;
        }
    }

    void end() {
        if (process != null) {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
        process = null;
    }

    static Map<String, Object> tests(Map<String, Object> classes, List<String> tests, long limit) {
        var request = new LinkedHashMap<String, Object>();
        request.put("op", "tests");
        request.put("classes", classes);
        request.put("tests", tests);
        request.put("limit", limit);
        request.put("places", 0);
        request.put("looks", 4);
        return request;
    }
}

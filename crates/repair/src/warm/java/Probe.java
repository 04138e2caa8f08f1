package greenlight;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What code that was prepared by `Prepared` calls. */
public final class Probe {
    static final int MOST = 1 << 17;
    private static final int MOST_CALLS = 24;

    static volatile boolean[] hits = new boolean[0];
    /** Calls of each method, as JSON. Null if they are not recorded. */
    static volatile Map<Integer, List<Object>> calls;

    private static final Set<String> seen = new HashSet<>();

    private Probe() {}

    /** The code at this place is executed. */
    public static void hit(int place) {
        var places = hits;
        if (place < places.length) places[place] = true;
    }

    /** A method is called. */
    public static synchronized void enter(int method, Object self, Object[] arguments) {
        var recorded = calls;
        if (recorded == null) return;
        var list = recorded.computeIfAbsent(method, ignored -> new ArrayList<>());
        if (list.size() >= MOST_CALLS) return;
        // Methods of the values may be prepared, too.
        calls = null;
        try {
            var call = new ArrayList<Object>();
            var writing = new Values();
            call.add(writing.written(self));
            for (var argument : arguments) call.add(writing.written(argument));
            if (seen.add(method + Json.write(call))) list.add(call);
        } catch (Values.Strange | ReflectiveOperationException | RuntimeException error) {
            // This call cannot be repeated.
        } finally {
            calls = recorded;
        }
    }

    static synchronized void record() {
        seen.clear();
        calls = new LinkedHashMap<>();
    }
}

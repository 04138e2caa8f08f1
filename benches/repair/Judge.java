import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Calls two classes with the same inputs: `java Judge RIGHT FOUND METHOD`. Reads the inputs from standard input, as
 * `people_java.py` writes them, and prints "right", or the first input with a different answer.
 */
final class Judge {
    private static final long LIMIT = 200;

    public static void main(String[] names) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (var line = lines.readLine(); line != null; line = lines.readLine()) {
            var words = List.of(line.split(" ")).iterator();
            // Each call gets its own copy, because it may change it.
            var wanted = answer(names[0], names[2], (List<?>) read(List.of(line.split(" ")).iterator()));
            var found = answer(names[1], names[2], (List<?>) read(words));
            // What the right program refuses, or takes long for, is no input that it is for.
            if (wanted != null && !wanted.equals(found)) {
                System.out.println("wrong: " + line + ": " + wanted + ", not " + found);
                System.exit(0);
            }
        }
        System.out.println("right");
        System.exit(0);
    }

    /** A value in words, its kind first. */
    private static Object read(java.util.Iterator<String> words) {
        var word = words.next();
        var rest = word.substring(1);
        switch (word.charAt(0)) {
            case 'i':
                return Integer.valueOf(rest);
            case 'd':
                return Double.valueOf(rest);
            case 'b':
                return Boolean.valueOf(rest);
            case 's':
                return new String(java.util.HexFormat.of().parseHex(rest), java.nio.charset.StandardCharsets.UTF_8);
            default:
                var list = new ArrayList<Object>();
                for (int left = Integer.parseInt(rest); left > 0; left--) list.add(read(words));
                return list;
        }
    }

    /** What the method returns or throws, in words; null if it takes too long or refuses the input. */
    @SuppressWarnings({"deprecation", "removal"})
    private static String answer(String type, String name, List<?> input) throws Exception {
        var found = new String[1];
        for (Method method : Class.forName(type).getMethods()) {
            if (!method.getName().equals(name) || method.getParameterCount() != input.size()) continue;
            var arguments = new Object[input.size()];
            try {
                for (int at = 0; at < arguments.length; at++)
                    arguments[at] = as(method.getParameterTypes()[at], input.get(at));
            } catch (ClassCastException error) {
                return null;
            }
            var calling = new Thread(null, () -> {
                try {
                    found[0] = Arrays.deepToString(new Object[] {method.invoke(null, arguments)});
                } catch (InvocationTargetException error) {
                    found[0] = null;
                } catch (Throwable error) {
                    found[0] = null;
                }
            }, "call", 4 << 20);
            calling.setDaemon(true);
            calling.start();
            calling.join(LIMIT);
            // There up to Java 19.
            if (calling.isAlive()) calling.stop();
            calling.join(LIMIT);
            return calling.isAlive() ? null : found[0];
        }
        throw new NoSuchMethodException(name);
    }

    private static Object as(Class<?> type, Object value) {
        if (type == int.class || type == Integer.class) return (Integer) value;
        if (type == double.class || type == Double.class) return ((Number) value).doubleValue();
        if (type == int[].class) return ((List<?>) value).stream().mapToInt(each -> (Integer) each).toArray();
        if (type == int[][].class)
            return ((List<?>) value).stream().map(each -> (int[]) as(int[].class, each)).toArray(int[][]::new);
        return type.cast(value);
    }
}

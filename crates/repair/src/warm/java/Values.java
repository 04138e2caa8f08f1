package greenlight;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Values as JSON, independent of the class loader: a list with the class, the kind, and the contents. An object that was
 * written before is its number.
 */
final class Values {
    private static final int DEEP = 60;
    private static final int MANY = 2_000;
    private static final Set<String> PLAIN = Set.of("java.lang.Integer", "java.lang.Long", "java.lang.Short", "java.lang.Byte",
            "java.lang.Double", "java.lang.Float", "java.lang.Boolean", "java.lang.Character", "java.lang.String");

    /** A value that cannot be written. */
    static final class Strange extends Exception {
        private static final long serialVersionUID = 1;
    }

    private final IdentityHashMap<Object, Integer> known = new IdentityHashMap<>();
    private final List<Object> made = new ArrayList<>();
    private int deep;

    Object written(Object value) throws Strange, ReflectiveOperationException {
        if (value == null) return null;
        var type = value.getClass();
        if (PLAIN.contains(type.getName())) return List.of(type.getName(), "v", value.toString());
        if (value instanceof Enum<?>) return List.of(((Enum<?>) value).getDeclaringClass().getName(), "e", ((Enum<?>) value).name());
        var number = known.get(value);
        if (number != null) return List.of("", "r", number);
        if (++deep > DEEP || known.size() > MANY || type.isHidden()) throw new Strange();
        known.put(value, known.size());
        var inside = new ArrayList<Object>();
        var written = new ArrayList<Object>(List.of(type.getName()));
        if (type.isArray()) {
            int length = Array.getLength(value);
            if (length > MANY) throw new Strange();
            for (int at = 0; at < length; at++) inside.add(written(Array.get(value, at)));
            written.add("l");
        } else if (value instanceof Collection<?> && isLibrary(type)) {
            for (var each : (Collection<?>) value) inside.add(written(each));
            written.add("l");
        } else if (value instanceof Map<?, ?> && isLibrary(type)) {
            for (var each : ((Map<?, ?>) value).entrySet()) {
                inside.add(written(each.getKey()));
                inside.add(written(each.getValue()));
            }
            written.add("m");
        } else if (!isLibrary(type)) {
            for (var field : fields(type)) inside.add(written(field.get(value)));
            written.add("f");
        } else {
            throw new Strange();
        }
        written.add(inside);
        deep--;
        return written;
    }

    private static boolean isLibrary(Class<?> type) {
        return type.getName().startsWith("java.") || type.getName().startsWith("jdk.");
    }

    private static List<Field> fields(Class<?> type) {
        var fields = new ArrayList<Field>();
        for (var each = type; each != null && !isLibrary(each); each = each.getSuperclass()) {
            for (var field : each.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers())) continue;
                field.setAccessible(true);
                fields.add(field);
            }
        }
        return fields;
    }

    Object read(Object written, ClassLoader loader) throws ReflectiveOperationException {
        if (written == null) return null;
        var parts = (List<?>) written;
        var name = (String) parts.get(0);
        var inside = parts.get(2);
        switch ((String) parts.get(1)) {
            case "r":
                return made.get(((Number) inside).intValue());
            case "v":
                return plain(name, (String) inside);
            case "e":
                for (var each : Class.forName(name, true, loader).getEnumConstants())
                    if (((Enum<?>) each).name().equals(inside)) return each;
                throw new ReflectiveOperationException(name);
            default:
                return object(Class.forName(name, true, loader), (String) parts.get(1), (List<?>) inside, loader);
        }
    }

    private Object object(Class<?> type, String kind, List<?> inside, ClassLoader loader) throws ReflectiveOperationException {
        int number = made.size();
        if (type.isArray()) {
            var array = Array.newInstance(type.getComponentType(), inside.size());
            made.add(array);
            for (int at = 0; at < inside.size(); at++) Array.set(array, at, read(inside.get(at), loader));
            return array;
        }
        if (kind.equals("f")) {
            var object = empty(type);
            made.add(object);
            int at = 0;
            for (var field : fields(type)) field.set(object, read(inside.get(at++), loader));
            return object;
        }
        var object = kind.equals("m") ? new HashMap<Object, Object>() : collection(type);
        made.add(object);
        for (int at = 0; at < inside.size(); at++) {
            var first = read(inside.get(at), loader);
            if (object instanceof Map<?, ?>) {
                @SuppressWarnings("unchecked")
                var map = (Map<Object, Object>) object;
                map.put(first, read(inside.get(++at), loader));
            } else {
                @SuppressWarnings("unchecked")
                var collection = (Collection<Object>) object;
                collection.add(first);
            }
        }
        // As the original one: in a certain order, or unchangeable.
        var finished = kind.equals("m") && !type.equals(HashMap.class) ? as(type, (Map<?, ?>) object) : object;
        made.set(number, finished);
        return finished;
    }

    private static Object as(Class<?> type, Map<?, ?> map) throws ReflectiveOperationException {
        try {
            return type.getConstructor(Map.class).newInstance(map);
        } catch (NoSuchMethodException error) {
            return Collections.unmodifiableMap(map);
        }
    }

    private static Object collection(Class<?> type) throws ReflectiveOperationException {
        try {
            return type.getConstructor().newInstance();
        } catch (NoSuchMethodException | IllegalAccessException error) {
            // `List.of`, `Arrays.asList` and others.
            return Set.class.isAssignableFrom(type) ? new java.util.LinkedHashSet<>() : new ArrayList<>();
        }
    }

    private static Object empty(Class<?> type) throws ReflectiveOperationException {
        var unsafe = Class.forName("sun.misc.Unsafe");
        var only = unsafe.getDeclaredField("theUnsafe");
        only.setAccessible(true);
        return unsafe.getMethod("allocateInstance", Class.class).invoke(only.get(null), type);
    }

    private static Object plain(String name, String text) throws ReflectiveOperationException {
        if (name.equals("java.lang.String")) return text;
        if (name.equals("java.lang.Character")) return text.charAt(0);
        return Class.forName(name).getMethod("valueOf", String.class).invoke(null, text);
    }

    /** Other values of the same kind. */
    static List<Object> like(Object written) {
        var others = new ArrayList<Object>();
        if (written == null) return others;
        var parts = (List<?>) written;
        var name = (String) parts.get(0);
        if (parts.get(1).equals("v")) {
            for (var text : texts(name, (String) parts.get(2))) others.add(List.of(name, "v", text));
        } else if (parts.get(1).equals("l")) {
            var inside = (List<?>) parts.get(2);
            int size = inside.size();
            if (size == 0) return others;
            var reversed = new ArrayList<Object>(inside);
            Collections.reverse(reversed);
            var twice = new ArrayList<Object>(inside);
            twice.addAll(inside);
            for (var other : List.of(List.of(), inside.subList(0, size - 1), inside.subList(1, size), reversed, twice))
                others.add(List.of(name, "l", other));
        } else if (parts.get(1).equals("m")) {
            var inside = (List<?>) parts.get(2);
            others.add(List.of(name, "m", List.of()));
            if (inside.size() > 2) others.add(List.of(name, "m", inside.subList(0, inside.size() - 2)));
        }
        return others;
    }

    private static List<String> texts(String name, String text) {
        var found = new ArrayList<String>();
        switch (name) {
            case "java.lang.Boolean":
                return List.of(String.valueOf(!Boolean.parseBoolean(text)));
            case "java.lang.String":
                if (text.isEmpty()) return List.of("a", " ");
                found.addAll(List.of("", text.substring(0, text.length() - 1), text.substring(1),
                        new StringBuilder(text).reverse().toString(), text + text, text.toUpperCase(), " " + text));
                return found;
            case "java.lang.Double":
            case "java.lang.Float":
                double real = Double.parseDouble(text);
                for (double other : new double[] {real + 1, real - 1, 0, -1, -real, real * 2}) found.add(String.valueOf(other));
                return found;
            case "java.lang.Integer":
            case "java.lang.Long":
                long whole = Long.parseLong(text);
                for (long other : new long[] {whole + 1, whole - 1, 0, -1, -whole, whole * 2})
                    if (name.equals("java.lang.Long") || (int) other == other) found.add(String.valueOf(other));
                return found;
            default:
                return found;
        }
    }

    /** A text that is equal for values that are alike. */
    static String show(Object value) {
        try {
            return Json.write(sorted(new Values().written(value)));
        } catch (Strange | ReflectiveOperationException | RuntimeException error) {
            var text = String.valueOf(value);
            return text.replaceAll("@[0-9a-f]{4,}", "@");
        }
    }

    /** The elements of sets and maps without an order are sorted; a list of one class is as good as that of another. */
    private static Object sorted(Object written) {
        if (!(written instanceof List<?>) || ((List<?>) written).size() != 3) return written;
        var parts = (List<?>) written;
        if (!(parts.get(2) instanceof List<?>)) return written;
        var inside = new ArrayList<Object>();
        for (var each : (List<?>) parts.get(2)) inside.add(sorted(each));
        var name = (String) parts.get(0);
        if (name.contains("Hash") && name.endsWith("Set")) inside.sort((a, b) -> Json.write(a).compareTo(Json.write(b)));
        if (name.contains("Hash") && name.endsWith("Map")) {
            var pairs = new ArrayList<Object>();
            for (int at = 0; at + 1 < inside.size(); at += 2)
                pairs.add(new AbstractMap.SimpleEntry<>(Json.write(inside.get(at)), Json.write(inside.get(at + 1))).toString());
            pairs.sort((a, b) -> a.toString().compareTo(b.toString()));
            inside = pairs;
        }
        return List.of(parts.get(1), inside);
    }
}

package greenlight;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads and writes JSON: objects as maps, arrays as lists, whole numbers as `Long`. */
final class Json {
    private static final int DEEP = 200;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    static Object read(String text) {
        var json = new Json(text);
        var value = json.value(0);
        json.space();
        if (json.at < text.length()) throw json.wrong();
        return value;
    }

    private Object value(int deep) {
        space();
        if (at >= text.length() || deep > DEEP) throw wrong();
        switch (text.charAt(at)) {
            case '{':
                var map = new LinkedHashMap<String, Object>();
                at++;
                for (space(); !is('}'); space()) {
                    if (!map.isEmpty()) expect(',');
                    space();
                    var key = string();
                    space();
                    expect(':');
                    map.put(key, value(deep + 1));
                }
                return map;
            case '[':
                var list = new ArrayList<Object>();
                at++;
                for (space(); !is(']'); space()) {
                    if (!list.isEmpty()) expect(',');
                    list.add(value(deep + 1));
                }
                return list;
            case '"':
                return string();
            default:
                return word();
        }
    }

    private Object word() {
        int from = at;
        while (at < text.length() && "+-.".indexOf(text.charAt(at)) >= 0 || at < text.length() && Character.isLetterOrDigit(text.charAt(at))) at++;
        var word = text.substring(from, at);
        switch (word) {
            case "true":
                return true;
            case "false":
                return false;
            case "null":
                return null;
            default:
                try {
                    return Long.valueOf(word);
                } catch (NumberFormatException error) {
                    return Double.valueOf(word);
                }
        }
    }

    private String string() {
        expect('"');
        var out = new StringBuilder();
        while (true) {
            if (at >= text.length()) throw wrong();
            char letter = text.charAt(at++);
            if (letter == '"') return out.toString();
            if (letter != '\\') {
                out.append(letter);
                continue;
            }
            if (at >= text.length()) throw wrong();
            char escaped = text.charAt(at++);
            int plain = "bfnrt".indexOf(escaped);
            if (plain >= 0) {
                out.append("\b\f\n\r\t".charAt(plain));
            } else if (escaped == 'u' && at + 4 <= text.length()) {
                out.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                at += 4;
            } else {
                out.append(escaped);
            }
        }
    }

    private boolean is(char wanted) {
        if (at >= text.length() || text.charAt(at) != wanted) return false;
        at++;
        return true;
    }

    private void expect(char wanted) {
        if (!is(wanted)) throw wrong();
    }

    private void space() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) at++;
    }

    private IllegalArgumentException wrong() {
        return new IllegalArgumentException("no JSON at " + at);
    }

    /** ASCII, so that its length in characters is that in bytes. */
    static String write(Object value) {
        var out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map<?, ?>) {
            var separator = "{";
            for (var entry : ((Map<?, ?>) value).entrySet()) {
                out.append(separator);
                quote(entry.getKey().toString(), out);
                out.append(':');
                write(entry.getValue(), out);
                separator = ",";
            }
            out.append(separator.equals("{") ? "{}" : "}");
        } else if (value instanceof Iterable<?>) {
            var separator = "[";
            for (var inner : (Iterable<?>) value) {
                out.append(separator);
                write(inner, out);
                separator = ",";
            }
            out.append(separator.equals("[") ? "[]" : "]");
        } else if (value == null || value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else {
            quote(value.toString(), out);
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (int at = 0; at < text.length(); at++) {
            char letter = text.charAt(at);
            if (letter == '"' || letter == '\\') out.append('\\').append(letter);
            else if (letter >= ' ' && letter <= '~') out.append(letter);
            else out.append(String.format("\\u%04x", (int) letter));
        }
        out.append('"');
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> map(Object value) {
        return (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    static List<Object> list(Object value) {
        return (List<Object>) value;
    }

    @SuppressWarnings("unchecked")
    static List<String> strings(Object value) {
        return (List<String>) (List<?>) value;
    }
}

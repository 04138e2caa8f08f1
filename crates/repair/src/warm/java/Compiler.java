package greenlight;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.OutputStream;
import java.io.Writer;
import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** Compiles single files in memory. */
final class Compiler {
    private final JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    private final ThreadLocal<StandardJavaFileManager> managers;
    private final List<String> options;

    Compiler(Build build) {
        options = new ArrayList<>(build.options);
        // With `Probe`, which prepared code calls.
        var path = build.classPath() + File.pathSeparator + System.getProperty("java.class.path");
        options.addAll(List.of("-classpath", path, "-nowarn", "-Xlint:none"));
        // A file manager is not for several threads, and knows the archives once it has read them.
        managers = ThreadLocal.withInitial(() -> compiler.getStandardFileManager(null, null, build.encoding));
    }

    /** The classes by name. Null if it does not compile. */
    Map<String, byte[]> compile(String path, String text) {
        var made = new LinkedHashMap<String, byte[]>();
        var task = compiler.getTask(Writer.nullWriter(), new Memory(managers.get(), made), problem -> {}, options, null, List.of(source(path, text)));
        try {
            return task.call() ? made : null;
        } catch (RuntimeException | StackOverflowError error) {
            return null;
        }
    }

    static JavaFileObject source(String path, String text) {
        var name = path.substring(path.lastIndexOf('/') + 1);
        return new SimpleJavaFileObject(URI.create("string:///" + name), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignored) {
                return text;
            }

            @Override
            public boolean isNameCompatible(String simple, Kind kind) {
                return kind == Kind.SOURCE && name.equals(simple + ".java");
            }
        };
    }

    /** Keeps the classes. */
    private static final class Memory extends ForwardingJavaFileManager<JavaFileManager> {
        private final Map<String, byte[]> made;

        Memory(JavaFileManager manager, Map<String, byte[]> made) {
            super(manager);
            this.made = made;
        }

        @Override
        public JavaFileObject getJavaFileForOutput(Location place, String name, JavaFileObject.Kind kind, FileObject of) {
            return new SimpleJavaFileObject(URI.create("string:///" + name.replace('.', '/') + ".class"), kind) {
                @Override
                public OutputStream openOutputStream() {
                    return new ByteArrayOutputStream() {
                        @Override
                        public void close() {
                            made.put(name, toByteArray());
                        }
                    };
                }
            };
        }
    }
}

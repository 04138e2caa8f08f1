package greenlight;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.OutputStream;
import java.io.Writer;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.tools.DiagnosticListener;
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
    private static final Method getTask = getTask();
    /** The files for which a thread keeps what the compiler has read. */
    private static final int MOST_FILES = 4;

    private final ThreadLocal<StandardJavaFileManager> managers;
    private final ThreadLocal<Map<String, Memory>> memories = ThreadLocal.withInitial(() -> new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Memory> eldest) {
            return size() > MOST_FILES;
        }
    });
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
        // One for each file: a class that was once compiled there from source is not looked for among the others again.
        var memory = memories.get().computeIfAbsent(path, ignored -> new Memory(managers.get(), pool()));
        memory.made = new LinkedHashMap<>();
        try {
            return isCompiled(memory, List.of(source(path, text))) ? memory.made : null;
        } catch (ReflectiveOperationException | RuntimeException | StackOverflowError error) {
            return null;
        }
    }

    private boolean isCompiled(Memory memory, List<JavaFileObject> units) throws ReflectiveOperationException {
        if (memory.pool == null)
            return compiler.getTask(Writer.nullWriter(), memory, problem -> {}, options, null, units).call();
        DiagnosticListener<JavaFileObject> listener = problem -> {};
        var worker = Proxy.newProxyInstance(Compiler.class.getClassLoader(), new Class<?>[] {getTask.getParameterTypes()[6]},
                (self, called, arguments) -> ((JavaCompiler.CompilationTask) arguments[0]).call());
        return (Boolean) getTask.invoke(memory.pool, Writer.nullWriter(), memory, listener, options, null, units, worker);
    }

    /** What JShell compiles with, which reads the classes of libraries once. Not there without an option of `java`. */
    private static Object pool() {
        try {
            return getTask == null ? null : getTask.getDeclaringClass().getConstructor(int.class).newInstance(1);
        } catch (ReflectiveOperationException | RuntimeException error) {
            return null;
        }
    }

    private static Method getTask() {
        try {
            for (var method : Class.forName("com.sun.tools.javac.api.JavacTaskPool").getMethods())
                if (method.getName().equals("getTask") && method.getParameterCount() == 7) return method;
        } catch (ReflectiveOperationException | LinkageError error) {
            // Another compiler.
        }
        return null;
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
        final Object pool;
        Map<String, byte[]> made;

        Memory(JavaFileManager manager, Object pool) {
            super(manager);
            this.pool = pool;
        }

        @Override
        public JavaFileObject getJavaFileForOutput(Location place, String name, JavaFileObject.Kind kind, FileObject of) {
            var into = made;
            return new SimpleJavaFileObject(URI.create("string:///" + name.replace('.', '/') + ".class"), kind) {
                @Override
                public OutputStream openOutputStream() {
                    return new ByteArrayOutputStream() {
                        @Override
                        public void close() {
                            into.put(name, toByteArray());
                        }
                    };
                }
            };
        }
    }
}

package greenlight;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;

/** Runs single tests with JUnit 4 or with JUnit's platform, whatever the class path has. */
final class Units {
    private final ClassLoader loader;

    Units(ClassLoader loader) {
        this.loader = loader;
    }

    /** Runs the test `Class#method`, or all tests of `Class`. */
    boolean passes(String name) throws ReflectiveOperationException {
        int at = name.indexOf('#');
        var type = Class.forName(at < 0 ? name : name.substring(0, at), true, loader);
        var method = at < 0 ? "" : name.substring(at + 1);
        try {
            return hasPlatform() ? platform(type, bare(method)) : four(type, method);
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof Error) throw (Error) error.getCause();
            throw error;
        }
    }

    /** A method without the parameters and the number that reports add. */
    private static String bare(String method) {
        return method.replaceAll("[({\\[ ].*", "");
    }

    private boolean hasPlatform() {
        return loader.getResource("org/junit/platform/launcher/Launcher.class") != null;
    }

    private boolean four(Class<?> type, String method) throws ReflectiveOperationException {
        var requests = loader.loadClass("org.junit.runner.Request");
        var core = loader.loadClass("org.junit.runner.JUnitCore");
        var request = method.isEmpty()
                ? requests.getMethod("aClass", Class.class).invoke(null, type)
                : requests.getMethod("method", Class.class, String.class).invoke(null, type, method);
        var result = core.getMethod("run", requests).invoke(core.getConstructor().newInstance(), request);
        return (boolean) result.getClass().getMethod("wasSuccessful").invoke(result)
                && (int) result.getClass().getMethod("getRunCount").invoke(result) > 0;
    }

    private boolean platform(Class<?> type, String method) throws ReflectiveOperationException {
        var selectors = loader.loadClass("org.junit.platform.engine.discovery.DiscoverySelectors");
        var selected = new ArrayList<Object>();
        for (Class<?> each = type; each != null && !method.isEmpty(); each = each.getSuperclass())
            for (Method declared : each.getDeclaredMethods())
                if (declared.getName().equals(method) && !declared.isSynthetic())
                    selected.add(selectors.getMethod("selectMethod", Class.class, Method.class).invoke(null, type, declared));
        if (method.isEmpty()) selected.add(selectors.getMethod("selectClass", Class.class).invoke(null, type));
        var builders = loader.loadClass("org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder");
        var builder = builders.getMethod("request").invoke(null);
        builders.getMethod("selectors", List.class).invoke(builder, selected);
        var request = builders.getMethod("build").invoke(builder);
        var launcher = loader.loadClass("org.junit.platform.launcher.core.LauncherFactory").getMethod("create").invoke(null);
        var listeners = loader.loadClass("org.junit.platform.launcher.TestExecutionListener");
        int[] counts = new int[2];
        var listener = Proxy.newProxyInstance(loader, new Class<?>[] {listeners}, (self, called, arguments) -> {
            if (called.getName().equals("executionFinished")) {
                var isTest = (boolean) arguments[0].getClass().getMethod("isTest").invoke(arguments[0]);
                var isGood = arguments[1].getClass().getMethod("getStatus").invoke(arguments[1]).toString().equals("SUCCESSFUL");
                if (!isGood) counts[1]++;
                else if (isTest) counts[0]++;
            }
            return called.getName().equals("hashCode") ? (Object) 0 : called.getName().equals("equals") ? (Object) (self == arguments[0]) : null;
        });
        var array = java.lang.reflect.Array.newInstance(listeners, 1);
        java.lang.reflect.Array.set(array, 0, listener);
        var launchers = loader.loadClass("org.junit.platform.launcher.Launcher");
        var requests = loader.loadClass("org.junit.platform.launcher.LauncherDiscoveryRequest");
        launchers.getMethod("execute", requests, array.getClass()).invoke(launcher, request, array);
        return counts[0] > 0 && counts[1] == 0;
    }
}

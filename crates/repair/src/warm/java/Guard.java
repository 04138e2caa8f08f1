package greenlight;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Method;

/** Runs code for a limited time. Under load, time of the processor is what counts. */
final class Guard {
    /** How much longer than its limit code may take that does not use the processor. */
    private static final int WAITING = 8;
    private static final long GRACE = 300;
    private static final OperatingSystemMXBean SYSTEM = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    /** Whether threads remained that do not end; then this process is no longer of use. */
    boolean isStuck;

    interface Work {
        void run() throws Throwable;
    }

    /** The processor time of this process in milliseconds. */
    static long busy() {
        return SYSTEM.getProcessCpuTime() / 1_000_000;
    }

    /** Whether it ended in time. */
    boolean ends(Work work, ClassLoader loader, long limit) throws InterruptedException {
        var group = new ThreadGroup("tests");
        var thread = new Thread(group, () -> {
            try {
                work.run();
            } catch (Throwable error) {
                // The work itself says whether it was good.
            }
        }, "tests");
        thread.setDaemon(true);
        thread.setContextClassLoader(loader);
        long before = busy();
        long began = System.nanoTime();
        thread.start();
        thread.join(1);
        while (thread.isAlive()) {
            thread.join(5);
            long wall = (System.nanoTime() - began) / 1_000_000;
            if (wall > limit * WAITING || wall > limit && busy() - before > limit) break;
        }
        boolean isDone = !thread.isAlive();
        end(group);
        return isDone;
    }

    /** Ends the threads that are left. That works until Java 19; later ones need a new process. */
    private void end(ThreadGroup group) throws InterruptedException {
        long until = System.nanoTime() + GRACE * 1_000_000;
        var left = new Thread[64];
        for (int count = group.enumerate(left); count > 0; count = group.enumerate(left)) {
            for (int at = 0; at < count; at++) stop(left[at]);
            if (System.nanoTime() > until) {
                isStuck = true;
                return;
            }
            Thread.sleep(2);
        }
    }

    private static void stop(Thread thread) {
        try {
            Method stop = Thread.class.getMethod("stop");
            stop.invoke(thread);
        } catch (ReflectiveOperationException error) {
            thread.interrupt();
        }
    }
}

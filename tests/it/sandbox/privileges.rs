//! Gaining privileges over the kernel, namespaces or other processes.

use greenlight::sandbox::Outcome;
use tokio_util::sync::CancellationToken;

use super::{Alive, Lab};

super::each_backend! {
    user_namespaces_are_refused_inside,
    mounts_are_refused,
    keyrings_bpf_and_other_doors_of_the_kernel_are_closed,
    there_are_no_rights_to_regain,
    a_foreign_architecture_is_killed,
    init_cannot_be_traced_but_children_can,
    signals_reach_nobody_outside_and_not_init,
    the_terminal_cannot_be_typed_into,
}

async fn user_namespaces_are_refused_inside(lab: Lab) {
    let script = "
for name, flag in dict(user=0x10000000, mount=0x20000, pid=0x20000000, net=0x40000000, ipc=0x8000000, uts=0x4000000, cgroup=0x2000000).items():
    refused('unshare ' + name, lambda: syscall(272 if platform.machine() == 'x86_64' else 97, flag), errno.EPERM)
    refused('clone ' + name, lambda: syscall(56 if platform.machine() == 'x86_64' else 220, flag | 17, 0, 0, 0, 0), errno.EPERM)
refused('clone3', lambda: syscall(435, ctypes.create_string_buffer(88), 88), errno.ENOSYS)
refused('setns', lambda: syscall(308 if platform.machine() == 'x86_64' else 268, os.open('/proc/self/ns/user', os.O_RDONLY), 0), errno.EPERM)
";
    lab.attack(script).await;
}

async fn mounts_are_refused(lab: Lab) {
    let script = "
n = dict(mount=165, umount2=166, chroot=161, pivot_root=155) if platform.machine() == 'x86_64' else dict(mount=40, umount2=39, chroot=51, pivot_root=41)
n.update(open_tree=428, move_mount=429, fsopen=430, fsconfig=431, fsmount=432, fspick=433, mount_setattr=442, open_tree_attr=467)
for name, number in n.items():
    refused(name, lambda: syscall(number, b'/tmp', b'/tmp', b'tmpfs', 0, 0), errno.EPERM)
";
    lab.attack(script).await;
}

async fn keyrings_bpf_and_other_doors_of_the_kernel_are_closed(lab: Lab) {
    let script = "
x86 = dict(add_key=248, request_key=249, keyctl=250, perf_event_open=298, bpf=321, userfaultfd=323, kcmp=312, syslog=103, reboot=169,
           init_module=175, finit_module=313, kexec_load=246, swapon=167, acct=163, settimeofday=164, open_by_handle_at=304,
           fanotify_init=300, iopl=172, ioperm=173, modify_ldt=154, vmsplice=278, move_pages=279, sethostname=170)
arm = dict(add_key=217, request_key=218, keyctl=219, perf_event_open=241, bpf=280, userfaultfd=282, kcmp=272, syslog=116, reboot=142)
for name, number in (x86 if platform.machine() == 'x86_64' else arm).items():
    refused(name, lambda: syscall(number, 0, 0, 0, 0, 0), errno.EPERM)
refused('pidfd_getfd', lambda: syscall(438, os.pidfd_open(1), 0, 0), errno.EPERM)
# One sandbox could use up all the contexts of the machine.
refused('io_setup', lambda: syscall(206 if platform.machine() == 'x86_64' else 0, 1, ctypes.byref(ctypes.c_ulong(0))), errno.ENOSYS)
for number in [447, 470, 500]:
    refused(number, lambda: syscall(number, 0, 0, 0), errno.ENOSYS)
child = os.fork()
if child == 0:
    refused('a number of x32', lambda: syscall(0x40000000 + 39, 0, 0, 0), errno.ENOSYS)
    sys.stdout.flush()
    os._exit(0)
# The kernel may also kill a process that uses them.
assert os.waitpid(child, 0)[1] in [0, signal.SIGSYS]
";
    lab.attack(script).await;
}

async fn there_are_no_rights_to_regain(lab: Lab) {
    // An ordinary user without a user namespace cannot shrink the bounding set, but cannot regain capabilities from
    // it either.
    let may_bound = !lab.is_landlock() || rustix::process::geteuid().is_root();
    let script = "
PR_GET_SECCOMP, PR_CAPBSET_READ, PR_GET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 21, 23, 39, 47
header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
syscall(125 if platform.machine() == 'x86_64' else 90, ctypes.byref(header), ctypes.byref(sets))
assert list(sets) == [0] * 6, list(sets)
for capability in range(41):
    assert not libc.prctl(PR_CAP_AMBIENT, 1, capability, 0, 0), capability
    assert not may_bound or not libc.prctl(PR_CAPBSET_READ, capability, 0, 0, 0), capability
assert libc.prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 and libc.prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2
assert 0 not in os.getresuid() + os.getresgid(), (os.getresuid(), os.getresgid())
assert 0 not in os.getgroups()
refused('setuid', lambda: os.setuid(0), errno.EPERM, errno.EINVAL)
refused('setgroups', lambda: os.setgroups([0]), errno.EPERM)
refused('priority', lambda: os.nice(-5), errno.EPERM, errno.EACCES)
refused('limits', lambda: __import__('resource').setrlimit(7, (1 << 20, 1 << 20)))
for program in ['su', 'sudo', 'mount', 'passwd', 'newuidmap', 'pkexec']:
    path = __import__('shutil').which(program)
    if path:
        done = subprocess.run([path, '-c', 'id -u'], capture_output=True, stdin=subprocess.DEVNULL, text=True)
        if done.stdout.strip() == '0':
            print('ESCAPED', program)
";
    let may_bound = if may_bound { "True" } else { "False" };
    lab.attack(&format!("may_bound = {may_bound}\n{script}")).await;
}

#[cfg(target_arch = "x86_64")]
async fn a_foreign_architecture_is_killed(lab: Lab) {
    // mov eax, 20; int 0x80; ret: getpid by its 32-bit number, which is a different call here.
    let script = "
import mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex('b814000000cd80c3'))
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
print('ESCAPED', ctypes.CFUNCTYPE(ctypes.c_int)(address)())
";
    let output = lab.python(script).await;
    assert_eq!(
        (output.outcome, output.stdout.text()),
        (Outcome::Signalled(31), String::new())
    );
}

async fn init_cannot_be_traced_but_children_can(lab: Lab) {
    let script = "
PTRACE_ATTACH, PTRACE_DETACH = 16, 17
def attach(process):
    if libc.ptrace(PTRACE_ATTACH, process, 0, 0) == -1:
        raise OSError(ctypes.get_errno(), 'ptrace')
for init in [1, os.getppid()]:
    refused(f'trace {init}', lambda: attach(init), errno.EPERM)
child = subprocess.Popen(['sleep', '100'])
if children_too:
    refused('trace a child', lambda: attach(child.pid), errno.EPERM)
else:
    attach(child.pid)
    os.waitpid(child.pid, 0)
    libc.ptrace(PTRACE_DETACH, child.pid, 0, 0)
child.kill()
class iovec(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('length', ctypes.c_size_t)]
buffer = ctypes.create_string_buffer(8)
vector = iovec(ctypes.addressof(buffer), 8)
for init in [1, os.getppid()]:
    refused('memory of init', lambda: syscall(310 if platform.machine() == 'x86_64' else 270, init, ctypes.byref(vector), 1, ctypes.byref(vector), 1, 0), errno.EPERM)
";
    // Children cannot be distinguished from other host processes, so nothing may be traced.
    let children_too = if lab.is_landlock() { "True" } else { "False" };
    lab.attack(&format!("children_too = {children_too}\n{script}")).await;
}

async fn signals_reach_nobody_outside_and_not_init(lab: Lab) {
    if lab.is_landlock() {
        return signals_reach_nobody_outside(&lab).await;
    }
    let script = "
for number in [signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGSEGV]:
    os.kill(1, number)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
refused('everyone', lambda: os.kill(-1, signal.SIGTERM), errno.ESRCH)
os.kill(1, 0)
";
    lab.attack(script).await;
}

/// Without a process namespace, the first process is the host's, and a signal to everyone really goes to everyone.
/// The kernel reports no error if it reaches nobody, so another command of the same user is running.
async fn signals_reach_nobody_outside(lab: &Lab) {
    let mut alive = Alive::new(lab.path(), "alive");
    let neighbour = lab.command(["sh", "-c", "echo $$ > number; exec 7>alive; echo up >&7; sleep 1000"]);
    let cancel = CancellationToken::new();
    let attack = async {
        alive.has_started().await;
        let script = format!(
            "
for number in [0, signal.SIGCONT, signal.SIGTERM, signal.SIGKILL]:
    for process in [1, os.getppid(), int(open('number').read()), {greenlight}, -{greenlight}]:
        refused(f'signal {{number}} to {{process}}', lambda: os.kill(process, number), errno.EPERM, errno.ESRCH)
assert int(open('number').read()) != os.getpid()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.kill(-1, signal.SIGTERM)
os.kill(-1, signal.SIGKILL)
",
            greenlight = std::process::id()
        );
        lab.attack(&script).await;
        cancel.cancel();
    };
    let (output, ()) = tokio::join!(lab.sandbox.exec(&neighbour, &lab.policy, &cancel), attack);
    assert_eq!(output.unwrap().outcome, Outcome::Cancelled, "it was not killed before");
    alive.has_ended().await;
}

async fn the_terminal_cannot_be_typed_into(lab: Lab) {
    // Without a separate mount there are no terminals, and the requests are rejected for any other file.
    let terminal = if lab.is_landlock() {
        "refused('terminal', pty.openpty)
for path in ['/dev/tty', '/dev/ptmx', '/dev/pts/0', '/dev/console']:
    refused(path, lambda: os.open(path, os.O_RDWR))
theirs = 0"
    } else {
        "ours, theirs = pty.openpty()"
    };
    let script = "
for request in [0x5412, 0x541c]:
    refused(request, lambda: fcntl.ioctl(theirs, request, b'x'), errno.EPERM)
    refused('disguised', lambda: syscall(16 if platform.machine() == 'x86_64' else 29, theirs, request | 1 << 40, b'x'), errno.EPERM)
";
    lab.attack(&format!("import fcntl, pty\n{terminal}{script}")).await;
}

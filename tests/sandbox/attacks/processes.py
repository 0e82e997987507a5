"""Processes: more of them, other ones, and harm to those that are there."""

from tests.sandbox.attacks.table import RAW, ends, held, refused

_BOMB = "nothing else would run on the machine"
_EVERYBODY = "the signal would reach the tests, too"

_FORK = "pid = {}\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)"

ATTACKS = [
    refused("fork", _FORK.format("os.fork()")),
    refused("fork, with a terminal", "pid, terminal = os.forkpty()\nif pid == 0: os._exit(0)"),
    refused("fork, by number", _FORK.format("raw(57, -1)"), head=RAW, machine="x86_64"),
    refused(
        "vfork, by number",
        "raw(58, -1)",
        head=RAW,
        machine="x86_64",
        because="it would share its stack",
    ),
    refused("clone, by number", _FORK.format("raw(56, 220, 17)"), head=RAW),
    refused(
        "clone, by number, as a thread of nobody",
        "raw(56, 220, 0x100 | 17, 0, 0, 0, 0)",
        head=RAW,
        because="it would share its stack",
    ),
    refused(
        "clone3, by number",
        "how = (ctypes.c_uint64 * 11)(0, 0, 0, 0, 17)\n"
        + _FORK.format("raw(435, 435, ctypes.byref(how), 88)"),
        head=RAW,
    ),
    refused(
        "clone into namespaces", _FORK.format("raw(56, 220, 0x10000000 | 17)"), root=True, head=RAW
    ),
    refused("posix_spawn", "os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)"),
    refused("a command", "import subprocess\nsubprocess.run(['/bin/true'], check=True)"),
    refused("a command by the shell", "if os.system('true'): raise OSError"),
    refused("a command by a pipe", "if not os.popen('echo here').read(): raise OSError"),
    refused(
        "a process of multiprocessing",
        """
        import multiprocessing
        child = multiprocessing.get_context('fork').Process(target=print)
        child.start()
        child.join()
        """,
    ),
    refused(
        "a pool of processes",
        """
        from concurrent.futures import ProcessPoolExecutor as Pool
        with Pool(1) as pool: pool.submit(int).result()
        """,
    ),
    refused(
        "exec",
        "os.execv('/bin/true', ['true'])\n",
        because="it ends the evaluator where there is only one process",
    ),
    refused(
        "exec of its own interpreter",
        "import sys\nos.execv(sys.executable, ['python', '-c', 'pass'])",
        because="it ends the evaluator where there is only one process",
    ),
    refused("exec, by number", "reach(59, 221, 8, 0, 0)", head=RAW),
    refused("exec of a descriptor", "reach(322, 281, -1, b'', 0, 0, 0x1000)", head=RAW),
    ends(
        "a fork bomb",
        "import os\nwhile True: os.fork()",
        because=_BOMB,
    ),
    ends(
        "a fork bomb that does not give up",
        "import os\nfor _ in range(100_000):\n    try: os.fork()\n    except OSError: pass",
        "pass",
        because=_BOMB,
    ),
    held(
        "a bomb of threads",
        """
        import threading, time
        def attempt():
            count = 0
            threading.stack_size(32768)
            while count < 20_000:
                try: threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
                except RuntimeError: break
                count += 1
            return count
        """,
        ("attempt() <= 256",),
        "pass",
        because=_BOMB,
    ),
    held(
        "a bomb of threads in C",
        """
        import _thread, time
        def attempt():
            count = 0
            while count < 20_000:
                try: _thread.start_new_thread(time.sleep, (1000,))
                except RuntimeError: break
                count += 1
            return count
        """,
        ("attempt() <= 256",),
        "pass",
        because=_BOMB,
    ),
    refused(
        "a child that holds the pipe",
        "import time\nif os.fork() == 0:\n    time.sleep(1000)\n    os._exit(0)",
    ),
    refused(
        "a daemon",
        """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0: os.execv('/bin/sleep', ['sleep', '1000'])
            os._exit(0)
        """,
        because="it would stay",
    ),
    # Signals.
    refused("the victim, killed", "os.kill(VICTIM, 9)"),
    refused("the victim, stopped", "os.kill(VICTIM, 19)"),
    refused("the victim, asked after", "os.kill(VICTIM, 0)"),
    refused("the victim, killed by its thread", "raw(234, 131, VICTIM, VICTIM, 9)", head=RAW),
    refused("the victim, killed by its thread alone", "raw(200, 130, VICTIM, 9)", head=RAW),
    refused(
        "the victim, killed with a message",
        "info = (ctypes.c_int * 32)(9, 0, -1)\nraw(129, 138, VICTIM, 9, ctypes.byref(info))",
        head=RAW,
    ),
    refused(
        "the victim, killed by descriptor",
        "import signal\nsignal.pidfd_send_signal(os.pidfd_open(VICTIM), 9)",
    ),
    refused(
        "the victim, killed by input and output",
        """
        import fcntl, socket, time
        ours, theirs = socket.socketpair()
        fcntl.fcntl(ours, fcntl.F_SETOWN, VICTIM)
        fcntl.fcntl(ours, 10, 9)  # F_SETSIG
        fcntl.fcntl(ours, fcntl.F_SETFL, fcntl.fcntl(ours, fcntl.F_GETFL) | os.O_ASYNC)
        theirs.send(b'!')
        """,
    ),
    refused(
        "the victim, killed by a lease on an owner",
        """
        import fcntl, socket, struct
        ours, theirs = socket.socketpair()
        fcntl.fcntl(ours, 15, struct.pack('ii', 1, VICTIM))  # F_SETOWN_EX
        fcntl.fcntl(ours, 10, 9)
        fcntl.fcntl(ours, fcntl.F_SETFL, fcntl.fcntl(ours, fcntl.F_GETFL) | os.O_ASYNC)
        theirs.send(b'!')
        """,
    ),
    refused(
        "the victim, killed by a socket's owner",
        """
        import fcntl, socket, struct
        ours, theirs = socket.socketpair()
        fcntl.ioctl(ours, 0x8901, struct.pack('i', VICTIM))  # FIOSETOWN
        fcntl.fcntl(ours, 10, 9)
        fcntl.ioctl(ours, 0x5452, struct.pack('i', 1))  # FIOASYNC
        theirs.send(b'!')
        """,
    ),
    refused("the engine, killed", "os.kill(ENGINE, 9)", because=_EVERYBODY),
    refused("the parent, killed", "os.kill(os.getppid(), 9)", because=_EVERYBODY),
    refused("the first process, killed", "os.kill(1, 9)", because=_EVERYBODY),
    refused("everybody, killed", "os.kill(-1, 9)", because=_EVERYBODY),
    refused("everybody, stopped", "os.kill(-1, 19)", because=_EVERYBODY),
    ends("its own group, killed", "import os\nos.kill(0, 9)", "error", because=_EVERYBODY),
    ends(
        "its own group, killed by number",
        "import os\nos.killpg(os.getpgid(0), 9)",
        "error",
        because=_EVERYBODY,
    ),
    refused(
        "the parent's group, killed",
        "os.killpg(os.getpgid(os.getppid()) or 1, 9)",
        because=_EVERYBODY,
    ),
    refused(
        "the evaluator, by descriptor of its socket",
        """
        import signal, socket, stat
        for number in range(3, 256):
            try: peer = socket.socket(fileno=os.dup(number)).getsockopt(socket.SOL_SOCKET, 77)
            except OSError: continue
            signal.pidfd_send_signal(peer, 9)
            break
        else: raise OSError
        """,
        because="there is no evaluator to reach",
    ),
    refused(
        "the evaluator, interrupted by input and output",
        """
        import fcntl, socket, time
        ours, theirs = socket.socketpair()
        fcntl.fcntl(ours, fcntl.F_SETOWN, os.getppid())
        fcntl.fcntl(ours, 10, 2)
        fcntl.fcntl(ours, fcntl.F_SETFL, fcntl.fcntl(ours, fcntl.F_GETFL) | os.O_ASYNC)
        theirs.send(b'!')
        """,
        because="there is no evaluator to reach",
    ),
    # What else can be done to another.
    refused("the victim's priority", "os.setpriority(os.PRIO_PROCESS, VICTIM, 19)"),
    refused(
        "everybody's priority",
        "os.setpriority(os.PRIO_USER, 0, 19)",
        because="the tests would be slow",
    ),
    refused(
        "the victim's limits",
        "import resource\nresource.prlimit(VICTIM, resource.RLIMIT_CPU, (1, 1))",
        because="the root of a container may be refused it, too",
    ),
    refused(
        "the victim's processors",
        "os.sched_setaffinity(VICTIM, {0})",
        because="there may be one only",
    ),
    refused(
        "the victim's scheduler", "os.sched_setscheduler(VICTIM, os.SCHED_BATCH, os.sched_param(0))"
    ),
    refused("the victim's disk", "raw(251, 30, 1, VICTIM, 3 << 13)", head=RAW),
    refused(
        "the victim's group",
        "print(os.getsid(VICTIM))\nos.setpgid(VICTIM, 0)",
        because="only a child's can be set",
    ),
    refused(
        "the victim's memory, written",
        """
        buffer = ctypes.create_string_buffer(b'x')
        here = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 1)
        there = (ctypes.c_size_t * 2)(ADDRESS + 40, 1)
        raw(311, 271, VICTIM, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        """,
        head=RAW,
        root=True,
    ),
    refused(
        "the victim's pages, moved",
        "reach(279, 239, VICTIM, 0, 0, 0, 0, 0)",
        head=RAW,
        because="not every kernel has it",
    ),
    refused(
        "two processes, compared",
        "reach(312, 272, VICTIM, os.getpid(), 0, 0, 0)",
        head=RAW,
        because="not every kernel has it",
    ),
    refused("a better priority", "os.nice(-5)", root=True),
    refused(
        "a better scheduler",
        "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
        root=True,
    ),
    refused("a debugger, asked for", "raw(101, 117, 0, 0, 0, 0)", head=RAW),
]

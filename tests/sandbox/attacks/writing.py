"""Writing: changing what is there, leaving something behind, filling the disk."""

from tests.sandbox.attacks.table import RAW, held, littered, refused

_FILLS = "fills the disk"

ATTACKS = [
    refused("over a file", "open(CANARY, 'w').write('gone')"),
    refused("at the end of a file", "open(CANARY, 'a').write('more')"),
    refused("a file, cut short", "os.truncate(CANARY, 0)"),
    refused("a file, deleted", "os.unlink(CANARY)"),
    refused("a file, renamed", "os.rename(CANARY, CANARY + '.gone')"),
    refused(
        "a file, replaced",
        "open('new', 'w').close()\nos.replace('new', CANARY)",
        because="the folders may be on two file systems",
    ),
    refused("rights, changed", "os.chmod(CANARY, 0o4777)"),
    refused("an owner, changed", "os.chown(CANARY, os.getuid(), os.getgid())"),
    refused("a date, changed", "os.utime(CANARY, (0, 0))"),
    refused(
        "an attribute, set",
        "os.setxattr(CANARY, 'user.mark', b'x')",
        because="not every file system has them",
    ),
    refused("a new file", "open(FOLDER + '/new', 'w').write('x')"),
    refused("a new folder", "os.mkdir(FOLDER + '/new')"),
    refused("a new link", "os.symlink('/etc', FOLDER + '/new')"),
    refused("a new hard link", "os.link(CANARY, FOLDER + '/new')"),
    refused("a new pipe", "os.mkfifo(FOLDER + '/new')"),
    refused("a new device", "os.mknod(FOLDER + '/new', 0o20666, os.makedev(1, 3))", root=True),
    refused(
        "a file without a name",
        "os.close(os.open(FOLDER, os.O_TMPFILE | os.O_RDWR))",
        because="not every file system has them",
    ),
    refused("a whole folder, deleted", "import shutil\nshutil.rmtree(HOME)"),
    refused("the library of Python", "open(os.__file__, 'a').close()", root=True),
    refused(
        "a module beside the library",
        "open(os.path.dirname(os.__file__) + f'/{MARK}.py', 'w').write('x')",
        because="it would be there for everybody",
    ),
    refused(
        "a compiled module",
        "import string\nopen(string.__cached__, 'ab').close()",
        because="it may not have been compiled yet",
    ),
    refused(
        "what the system does with cores",
        "open('/proc/sys/kernel/core_pattern', 'r+').close()",
        root=True,
    ),
    refused(
        "who is killed when memory is short", "open('/proc/self/oom_score_adj', 'r+').write('0')"
    ),
    refused("its own name", "open('/proc/self/comm', 'w').write('innocent')"),
    refused("the hosts file", "open('/etc/hosts', 'a').close()", root=True),
    littered("a file in /tmp", "open(f'/tmp/{MARK}', 'w').write('x')"),
    littered("a file in /var/tmp", "open(f'/var/tmp/{MARK}', 'w').write('x')"),
    littered("a file in shared memory", "open(f'/dev/shm/{MARK}', 'w').write('x')"),
    littered("a file at the root", "open(f'/{MARK}', 'w').write('x')", root=True),
    littered(
        "a file where it stands", "open(MARK, 'w').write('x')", because="where it stands is deleted"
    ),
    littered(
        "a file in the real home",
        "open(os.path.expanduser(f'~/{MARK}'), 'w').write('x')",
        because="the real home",
    ),
    littered("a folder in /tmp, closed to everybody", "os.mkdir(f'/tmp/{MARK}', 0)"),
    littered("a link in /tmp", "os.symlink('/etc/passwd', f'/tmp/{MARK}')"),
    littered(
        "a temporary file",
        "import tempfile\ntempfile.NamedTemporaryFile(prefix=MARK, delete=False)",
        because="where it goes is deleted",
    ),
    littered(
        "a program with its owner's rights",
        "open(f'/tmp/{MARK}', 'w').close()\nos.chmod(f'/tmp/{MARK}', 0o4755)",
    ),
    littered(
        "a System V segment",
        "import ctypes\nctypes.CDLL(None).shmget(KEY, 4096, 0o1600)",
    ),
    littered("a System V semaphore", "import ctypes\nctypes.CDLL(None).semget(KEY, 1, 0o1600)"),
    littered("a System V queue", "import ctypes\nctypes.CDLL(None).msgget(KEY, 0o1600)"),
    littered(
        "a POSIX queue",
        "import ctypes\nctypes.CDLL(None).mq_open(f'/{MARK}'.encode(), 0o102, 0o600, None)",
    ),
    littered(
        "a POSIX semaphore",
        "import _multiprocessing\n_multiprocessing.SemLock(1, 1, 1, f'/{MARK}', False)",
    ),
    littered(
        "POSIX shared memory",
        """
        import _posixshmem
        os.close(_posixshmem.shm_open(f'/{MARK}', os.O_CREAT | os.O_RDWR, 0o600))
        """,
    ),
    held(
        "a disk, filled",
        """
        import os
        def attempt():
            total = 0
            for n in range(200):
                try:
                    with open(f'/tmp/{MARK}-{n}', 'wb') as file:
                        while True: total += file.write(bytes(1 << 20))
                except OSError: pass
            return total
        """,
        ("attempt() <= 32 * 1024**2",),
        "pass",
        because=_FILLS,
    ),
    held(
        "one large file",
        """
        import os
        def attempt():
            total = 0
            try:
                with open('large', 'wb') as file:
                    while total < 1 << 30: total += file.write(bytes(1 << 20))
            except OSError: pass
            return total
        """,
        ("attempt() <= 32 * 1024**2",),
        "pass",
        because=_FILLS,
    ),
    held(
        "a file of holes",
        """
        import os
        def attempt():
            try:
                with open('/tmp/holes', 'wb') as file: file.truncate(1 << 40)
            except OSError: return 'refused'
            return 'it worked'
        """,
        ("attempt() == 'refused'",),
        "pass",
        because=_FILLS,
    ),
    refused(
        "space, reserved",
        """
        file = os.open(f'/tmp/{MARK}', os.O_CREAT | os.O_RDWR)
        os.posix_fallocate(file, 0, 1 << 34)
        """,
        because=_FILLS,
    ),
    held(
        "inodes, used up",
        """
        import os
        def attempt():
            for n in range(100_000):
                try: os.symlink('nowhere', f'/tmp/{MARK}-{n}')
                except OSError: return n
            return n
        """,
        ("attempt() <= 4096",),
        "pass",
        because=_FILLS,
    ),
    held(
        "folders without a bottom",
        """
        import os
        def attempt():
            for n in range(100_000):
                try: os.mkdir('deep'); os.chdir('deep')
                except OSError: return n
            return n
        """,
        ("attempt() <= 4096",),
        "pass",
        because=_FILLS,
    ),
    held(
        "descriptors, used up",
        """
        import os
        def attempt():
            kept = []
            while len(kept) < 100_000:
                try: kept += os.pipe()
                except OSError: break
            return len(kept)
        """,
        ("0 < attempt() <= 256",),
        "pass",
        unheld="pass",
    ),
    refused(
        "a read-only file system, made writable",
        "reach(165, 40, b'none', b'/', b'', 32 | 4096, 0)",
        head=RAW,
        because="changes the machine",
    ),
    refused(
        "an open file, made executable",
        """
        file = os.open('/dev/null', os.O_RDONLY)
        os.fchmod(file, os.fstat(file).st_mode & 0o7777)
        """,
        root=True,
    ),
]

"""Memory: what takes more than there is. It costs the candidate its verdict and nobody else's."""

from tests.sandbox.attacks.table import RAW, ends, held, refused

_TAKES = "takes the memory of the machine"

ATTACKS = [
    ends("one object larger than any memory", "bytearray(1 << 45)", detail="MemoryError"),
    ends("one object larger than allowed", "bytearray(1 << 31)", detail="MemoryError"),
    ends("a list that doubles", "lots = [0]\nwhile True: lots += lots"),
    ends("a chain of small objects", "link = None\nwhile True: link = [link, bytes(1000)]"),
    ends("a number that grows", "n = 3\nwhile True: n <<= 1 << 31"),
    ends("a string that grows", "text = 'x'\nwhile True: text += text"),
    ends(
        "mappings, touched",
        """
        import mmap
        kept = []
        while True:
            kept.append(mmap.mmap(-1, 1 << 26))
            for page in range(0, 1 << 26, 4096): kept[-1][page] = 1
        """,
    ),
    ends(
        "mappings that nothing is reserved for",
        """
        import mmap
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000
        kept = [mmap.mmap(-1, 1 << 30, flags=flags) for _ in range(1000)]
        """,
    ),
    ends(
        "shared mappings",
        "import mmap\nkept = [mmap.mmap(-1, 1 << 28, flags=mmap.MAP_SHARED) for _ in range(100)]",
    ),
    ends(
        "malloc behind Python's back",
        """
        import ctypes
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        while True:
            block = libc.malloc(ctypes.c_size_t(1 << 26))
            if not block: raise MemoryError
            ctypes.memset(block, 1, 1 << 26)
        """,
        detail="MemoryError",
    ),
    ends(
        "stacks of threads",
        """
        import threading, time
        threading.stack_size(1 << 28)
        for _ in range(100):
            threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        """,
    ),
    held(
        "all that can be had, and then an answer",
        """
        kept = []
        def f():
            size = 1 << 30
            while size > 64:
                try: kept.append(bytes(size))
                except MemoryError: size //= 2
            return 'full'
        """,
        ("f() == 'full'",),
        ("pass", "error", "assertion_fail"),
        because=_TAKES,
    ),
    refused("memory that is never swapped out", "raw(151, 230, 3)", head=RAW, root=True),
    refused("memory in a file without a name", "os.close(os.memfd_create(MARK))"),
    refused(
        "its own limits, raised",
        """
        import resource
        kinds = [getattr(resource, name) for name in dir(resource) if name.startswith('RLIMIT_')]
        worked = []
        for kind in kinds:
            if resource.getrlimit(kind)[1] == -1: continue
            try: resource.setrlimit(kind, (-1, -1))
            except (OSError, ValueError): continue
            worked.append(kind)
        if not worked: raise OSError
        """,
        because="the root of a container may be refused it, too",
    ),
    refused(
        "a limit that was forgotten",
        """
        import resource
        kinds = ('AS', 'CORE', 'CPU', 'FSIZE', 'MEMLOCK', 'MSGQUEUE', 'NOFILE', 'NPROC')
        if all(resource.getrlimit(getattr(resource, f'RLIMIT_{kind}'))[1] != -1 for kind in kinds):
            raise OSError
        """,
        because="the host may have them all",
    ),
]

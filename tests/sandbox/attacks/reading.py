"""Reading: files, names, environments and memory that are none of the candidate's business."""

from tests.sandbox.attacks.table import NAMESPACES, RAW, looted, refused

_NO_PROOF = "another kernel may not have it, or hide it from root"

ATTACKS = [
    refused("the password file", "open('/etc/passwd').read()"),
    refused(
        "the password file, by its module",
        "import pwd\ntry: pwd.getpwuid(0)\nexcept KeyError: raise OSError",
    ),
    refused("a file of the user", "open(CANARY).read()"),
    refused("a key under home", "open(HOME + '/.ssh/id_ed25519').read()"),
    looted(
        "a key under home, by its module",
        "import pathlib\nloot += [path.read_text() for path in pathlib.Path(HOME).rglob('id_*')]",
    ),
    looted("the names in a folder", "loot += os.listdir(FOLDER)"),
    looted(
        "the names in a folder, by descriptor", "loot += os.listdir(os.open(FOLDER, os.O_RDONLY))"
    ),
    looted("names by a pattern", "import glob\nloot += glob.glob(FOLDER + '/secret-*')"),
    refused("the size and age of a file", "os.stat(CANARY)", tiers=(NAMESPACES,)),
    refused(
        "what may be done with a file",
        "if not os.access(CANARY, os.R_OK): raise OSError",
        tiers=(NAMESPACES,),
    ),
    refused("where the interpreter is", "os.readlink('/proc/self/exe')", tiers=(NAMESPACES,)),
    looted("the environment", "loot += os.environ.values()"),
    looted(
        "the environment, in C",
        """
        import ctypes
        environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), 'environ')
        n = 0
        while environ and environ[n]: loot.append(environ[n].decode()); n += 1
        """,
    ),
    looted(
        "the environment the process began with", "loot.append(open('/proc/self/environ').read())"
    ),
    looted("the environment of another", "loot.append(open(f'/proc/{VICTIM}/environ').read())"),
    looted(
        "the environment of everybody",
        """
        for name in os.listdir('/proc'):
            try: loot.append(open(f'/proc/{name}/environ').read() if name.isdigit() else '')
            except OSError: pass
        loot[:] = [text for text in loot if 'SECRET' in text]
        """,
    ),
    looted(
        "the memory of another, by its file",
        """
        with open(f'/proc/{VICTIM}/mem', 'rb') as memory:
            memory.seek(ADDRESS)
            loot.append(memory.read(31))
        """,
        root=True,
    ),
    looted(
        "the memory of another, by a syscall",
        RAW
        + """
buffer = ctypes.create_string_buffer(40)
here = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 31)
there = (ctypes.c_size_t * 2)(ADDRESS, 31)
raw(310, 270, VICTIM, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
loot.append(buffer.raw)
""",
        root=True,
    ),
    refused(
        "the memory of another, as its debugger",
        "raw(101, 117, 0x4206, VICTIM, 0, 0)",
        head=RAW,
        root=True,
    ),
    refused(
        "the memory of the parent",
        "open(f'/proc/{os.getppid()}/mem', 'rb')",
    ),
    refused("the memory of the machine", "open('/dev/mem', 'rb')", because=_NO_PROOF),
    refused("the log of the kernel", "open('/dev/kmsg', 'rb')", because=_NO_PROOF),
    refused("the symbols of the kernel", "open('/proc/kallsyms').read(10)", because=_NO_PROOF),
    refused("the root of another", "open(f'/proc/{VICTIM}/root{CANARY}').read()"),
    refused("the folder of another", "os.listdir(f'/proc/{VICTIM}/cwd')"),
    refused("the descriptors of another", "os.listdir(f'/proc/{VICTIM}/fd')"),
    refused(
        "a descriptor of another, copied",
        "os.close(raw(438, 438, raw(434, 434, VICTIM, 0), 0, 0))",
        head=RAW,
        root=True,
    ),
    refused("the map of its own memory", "open('/proc/self/maps').read(10)"),
    refused("its own memory, by its file", "open('/proc/self/mem', 'rb')"),
    refused("the command line of the kernel", "open('/proc/cmdline').read()"),
    refused("who is there", "os.listdir('/proc/self')"),
    refused("devices", "os.listdir('/sys/class')"),
    refused(
        "a terminal",
        "os.open('/dev/tty', os.O_RDWR | os.O_NOCTTY)\nos.open('/dev/ptmx', os.O_RDWR)",
        because="there may be none",
    ),
    refused("a terminal of its own", "os.openpty()"),
    looted(
        "a path first, its content later",
        "loot.append(open(f'/proc/self/fd/{os.open(CANARY, os.O_PATH)}').read())",
    ),
    looted(
        "a folder first, its content later",
        "folder = os.open(FOLDER, os.O_PATH)\n"
        "loot.append(open(os.open('canary', os.O_RDONLY, dir_fd=folder)).read())",
    ),
    looted("up and out", "loot.append(open('../' * 40 + CANARY).read())"),
    looted(
        "up and out of every descriptor",
        """
        for number in range(256):
            try: canary = os.open('../' * 40 + CANARY[1:], os.O_RDONLY, dir_fd=number)
            except OSError: continue
            loot.append(open(canary).read())
        """,
        unheld=None,
        because="there are none that are folders",
    ),
    looted("through a link", "os.symlink(CANARY, 'link')\nloot.append(open('link').read())"),
    looted(
        "through a hard link",
        "os.link(CANARY, 'link')\nloot.append(open('link').read())",
        unheld=None,
        because="the folders may be on two file systems",
    ),
    looted(
        "a module from elsewhere",
        "import sys\nsys.path.insert(0, FOLDER)\nimport bait_module\nloot.append(bait_module.LOOT)",
    ),
    looted(
        "a library from elsewhere",
        "import ctypes\nloot.append(str(ctypes.CDLL(CANARY)))",
        unheld=None,
        because="the bait is no library; a refusal of the file and one of the format look the same",
    ),
    looted(
        "by C alone",
        """
        import ctypes
        libc = ctypes.CDLL(None)
        buffer = ctypes.create_string_buffer(100)
        libc.read(libc.open(CANARY.encode(), 0), buffer, 99)
        loot.append(buffer.value.decode())
        """,
    ),
    looted(
        "by the newest syscall for it",
        RAW
        + (
            "how = (ctypes.c_uint64 * 3)()\n"
            "loot.append(open(raw(437, 437, -100, CANARY.encode(), ctypes.byref(how), 24)).read())"
        ),
    ),
    looted(
        "by the oldest syscall for it",
        RAW + "loot.append(open(raw(2, -1, CANARY.encode(), 0, 0)).read())",
        machine="x86_64",
    ),
    looted(
        "copied by the kernel",
        """
        a, b = os.pipe()
        os.sendfile(b, os.open(CANARY, os.O_RDONLY), 0, 99)
        loot.append(os.read(a, 99).decode())
        """,
    ),
    refused(
        "a file by its handle",
        """
        handle = (ctypes.c_uint32 * 40)(128)
        number = ctypes.c_int()
        raw(303, 264, -100, CANARY.encode(), ctypes.byref(handle), ctypes.byref(number), 0)
        """,
        head=RAW,
        because="not every file system has handles",
    ),
    refused(
        "any file by its handle",
        """
        handle = (ctypes.c_uint32 * 40)(8, 1, 2, 0)
        reach(304, 265, -100, ctypes.byref(handle), 0)
        """,
        head=RAW,
        root=True,
    ),
    refused("news of a file", "raw(254, 27, raw(294, 26, 0), CANARY.encode(), 2)", head=RAW),
    refused("news of every file", "os.close(raw(300, 262, 0, 0))", head=RAW, root=True),
    refused("what is mounted", "open('/proc/self/mountinfo').read()"),
    refused("another root", "os.chroot('.')", root=True),
    refused(
        "descriptors that it should not have",
        """
        import stat
        odd = []
        for number in range(1024):
            try: mode = os.fstat(number).st_mode
            except OSError: continue
            kinds = {0: stat.S_ISCHR, 1: stat.S_ISFIFO, 2: stat.S_ISFIFO}
            if not kinds.get(number, stat.S_ISSOCK)(mode): odd.append(number)
        sockets = [number for number in range(3, 1024) if os.path.exists('/') and is_open(number)]
        if not odd and len(sockets) <= 1: raise OSError
        """,
        head=(
            "def is_open(number):\n    try: os.fstat(number)\n"
            "    except OSError: return False\n    return True"
        ),
        because="it has none too many there either",
    ),
    looted(
        "what is in the memory it was born with",
        """
        import gc
        for thing in gc.get_objects():
            for one in gc.get_referents(thing):
                for text in one.values() if type(one) is dict else (one,):
                    if type(text) in (str, bytes) and len(text) < 99 and 'secret-' in str(text):
                        loot.append(text)
        """,
    ),
]

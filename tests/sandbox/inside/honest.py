"""Programs that mean no harm and use a good deal of the system: no wall may be in their way."""

# By what they use. They run in an empty folder that they may write to.
HONEST = {
    "threads": """
import threading
lock, seen = threading.Lock(), []
def work(n):
    with lock: seen.append(n)
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
assert sorted(seen) == list(range(8))
""",
    "an executor": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as pool: assert sum(pool.map(abs, range(-9, 0))) == 45
""",
    "multiprocessing.dummy": """
from multiprocessing.dummy import Pool
with Pool(3) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]
""",
    "asyncio": """
import asyncio
async def main():
    await asyncio.sleep(0.01)
    waited = asyncio.wait_for(asyncio.sleep(0, 2), 5)
    return await asyncio.gather(asyncio.to_thread(abs, -1), waited)
assert asyncio.run(main()) == [1, 2]
""",
    "asyncio over a pair": """
import asyncio, socket
async def main():
    one, two = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=one)
    reader2, writer2 = await asyncio.open_connection(sock=two)
    writer.writelines([b"a", b"b\\n"]); await writer.drain()
    assert await reader2.readline() == b"ab\\n"
    writer.close(); writer2.close(); await writer.wait_closed(); await writer2.wait_closed()
asyncio.run(main())
""",
    "a pair": """
import socket
one, two = socket.socketpair()
one.settimeout(5); two.setblocking(False)
one.sendall(b"abc"); two.setblocking(True)
assert two.recv(3) == b"abc"
two.sendmsg([b"x", b"y"]); assert one.recvmsg(2)[0] == b"xy"
one.getsockname(); one.getpeername(); one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
one.shutdown(socket.SHUT_WR); assert two.recv(1) == b""
copy = socket.socket(fileno=one.detach()); copy.close(); two.close()
""",
    "temporary files": """
import os, tempfile
with tempfile.TemporaryDirectory(dir=".") as folder:
    with tempfile.NamedTemporaryFile("w+", dir=folder) as file:
        file.write("x"); file.flush(); os.fsync(file.fileno()); file.seek(0)
        assert file.read() == "x"
    with tempfile.TemporaryFile(dir=folder) as file: file.truncate(10)
assert not os.path.exists(folder)
""",
    "sqlite": """
import sqlite3
for where in (":memory:", "a.db"):
    base = sqlite3.connect(where)
    if where != ":memory:": base.execute("pragma journal_mode = wal")
    base.execute("create table t (x)")
    with base: base.executemany("insert into t values (?)", [(n,) for n in range(100)])
    assert base.execute("select sum(x) from t").fetchone() == (4950,)
    base.close()
""",
    "copies": """
import pathlib, shutil
pathlib.Path("a").write_bytes(b"x" * 100_000)
shutil.copy("a", "b"); shutil.copy2("a", "c"); shutil.copyfile("a", "d"); shutil.move("d", "e")
pathlib.Path("f").mkdir(); shutil.copytree(".", "f/g", ignore=shutil.ignore_patterns("f"))
shutil.make_archive("h", "zip", "f"); shutil.unpack_archive("h.zip", "i")
shutil.make_archive("k", "xztar", "f")
shutil.rmtree("f")
if hasattr(pathlib.Path, "copy"): pathlib.Path("a").copy("j")
assert pathlib.Path("i/g/c").read_bytes() == pathlib.Path("a").read_bytes()
""",
    "paths": """
import os, pathlib
path = pathlib.Path("a/b"); path.mkdir(parents=True); (path / "c").touch()
(path / "d").symlink_to("c"); (path / "e").hardlink_to(path / "c"); (path / "c").chmod(0o600)
assert sorted(os.listdir(path)) == ["c", "d", "e"] and len(list(os.scandir(path))) == 3
assert os.readlink(path / "d") == "c" and (path / "d").resolve().name == "c"
(path / "c").rename(path / "f"); (path / "f").replace(path / "e"); os.utime(path / "e", (1, 1))
os.stat(path); os.lstat(path / "d"); os.access(path, os.R_OK); os.statvfs("."); os.umask(0o22)
os.chdir("a"); assert os.getcwd().endswith("a"); [os.unlink(f"b/{n}") for n in os.listdir("b")]
os.rmdir("b"); list(os.walk(".")); list(pathlib.Path().glob("**/*"))
""",
    "mmap": """
import mmap
with open("a", "w+b") as file:
    file.write(bytes(8192)); file.flush()
    with mmap.mmap(file.fileno(), 0) as memory: memory[0] = 1; memory.flush(); memory.resize(16384)
mmap.mmap(-1, 1 << 20).close()
""",
    "waiting": """
import os, select, selectors
r, w = os.pipe()
os.write(w, b"x")
assert select.select([r], [], [], 1)[0] == [r]
poll = select.poll(); poll.register(r); assert poll.poll(1000)
with select.epoll() as epoll: epoll.register(r); assert epoll.poll(1)
with selectors.DefaultSelector() as s: s.register(r, 1); assert s.select(1)
os.set_blocking(r, False); os.dup2(r, 20); os.dup(r); os.closerange(15, 25)
""",
    "signals": """
import os, signal, threading, time
seen = []
for number in (signal.SIGALRM, signal.SIGUSR1): signal.signal(number, lambda *a: seen.append(a[0]))
signal.alarm(1); signal.alarm(0)
signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause()
signal.raise_signal(signal.SIGUSR1); os.kill(os.getpid(), signal.SIGUSR1)
signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]); os.kill(os.getpid(), signal.SIGUSR1)
assert signal.SIGUSR1 in signal.sigpending() and signal.sigwait([signal.SIGUSR1])
assert len(seen) == 4
""",
    "a signal to another thread": """
import signal, threading, time
seen = []
signal.signal(signal.SIGUSR1, lambda *a: seen.append(1))
stop = threading.Event(); thread = threading.Thread(target=stop.wait); thread.start()
signal.pthread_kill(thread.ident, signal.SIGUSR1); time.sleep(0.01); stop.set(); thread.join()
assert seen
""",
    "time": """
import datetime, os, time
time.sleep(0.001); time.time(); time.monotonic(); time.process_time(); time.thread_time()
time.perf_counter(); time.get_clock_info("monotonic"); os.times(); datetime.datetime.now()
time.localtime(); time.strftime("%c"); time.clock_getres(time.CLOCK_REALTIME)
""",
    "events and timers": """
import os
if hasattr(os, "eventfd"): fd = os.eventfd(1); assert os.eventfd_read(fd) == 1
if hasattr(os, "timerfd_create"):
    fd = os.timerfd_create(1); os.timerfd_settime(fd, initial=0.001); os.read(fd, 8)
""",
    "chance": """
import os, random, secrets, uuid
os.urandom(8); os.getrandom(8); random.seed(); random.random(); secrets.token_hex(); uuid.uuid4()
""",
    "numbers": """
import cmath, decimal, fractions, math, statistics
decimal.getcontext().prec = 200
assert decimal.Decimal(2).sqrt() ** 2 != 2 and fractions.Fraction(1, 3) * 3 == 1
math.factorial(2000); statistics.stdev(range(9)); cmath.sqrt(-1)
""",
    "texts": """
import base64, csv, difflib, gzip, hashlib, hmac, io, json, pickle, re, string, struct, textwrap
import bz2, lzma, zlib
assert json.loads(json.dumps({"a": [1.5]})) == {"a": [1.5]}
data = bytes(range(256)) * 500
for one in (zlib, bz2, lzma, gzip): assert one.decompress(one.compress(data)) == data
hashlib.sha256(data).hexdigest(); hashlib.md5(data); hmac.digest(b"k", data, "sha1")
hashlib.scrypt(b"p", salt=b"s", n=2, r=8, p=1); hashlib.pbkdf2_hmac("sha256", b"p", b"s", 10)
""",
    "ctypes": """
import ctypes
libc = ctypes.CDLL(None)
order = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 5)(5, 1, 4, 2, 3)
libc.qsort(numbers, 5, 4, order(lambda a, b: a[0] - b[0]))
assert list(numbers) == [1, 2, 3, 4, 5]
""",
    "the process": """
import faulthandler, gc, os, platform, resource, sys, threading, traceback
faulthandler.enable(); faulthandler.dump_traceback(open("trace", "w"))
faulthandler.dump_traceback_later(60); faulthandler.cancel_dump_traceback_later()
resource.getrusage(resource.RUSAGE_SELF); resource.getrlimit(resource.RLIMIT_AS)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (9, hard))
resource.prlimit(0, resource.RLIMIT_NOFILE); resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE)
os.cpu_count(); len(os.sched_getaffinity(0)); os.uname(); os.sysconf("SC_PHYS_PAGES")
os.getpid(); os.getppid(); os.getuid(); os.getgid(); os.getgroups(); os.getpgrp(); os.getsid(0)
platform.platform(); platform.python_version(); platform.machine(); platform.node()
platform.libc_ver()
threading.current_thread().name = "x"; gc.collect(); sys.getrecursionlimit()
os.isatty(0)
""",
    "every file there is to ask about": """
import fcntl, os, termios
with open("a", "w+b") as file:
    os.posix_fallocate(file.fileno(), 0, 4096); os.posix_fadvise(file.fileno(), 0, 0, 0)
    fcntl.flock(file, fcntl.LOCK_EX); fcntl.lockf(file, fcntl.LOCK_EX)
    os.pwrite(file.fileno(), b"abc", 0); assert os.pread(file.fileno(), 2, 1) == b"bc"
    os.pwritev(file.fileno(), [b"a", b"b"], 0); os.preadv(file.fileno(), [bytearray(2)], 0, 0)
    os.writev(file.fileno(), [b"x"]); os.fdatasync(file.fileno()); os.ftruncate(file.fileno(), 1)
    with open("b", "w+b") as copy:
        os.copy_file_range(file.fileno(), copy.fileno(), 1, 0)
        os.sendfile(copy.fileno(), file.fileno(), 0, 1)
    assert not file.isatty()
with open(os.devnull, "w") as file: file.write("x")
""",
    "recursion and memory": """
import sys
sys.setrecursionlimit(5000)
def deep(n): return n and 1 + deep(n - 1)
assert deep(4000) == 4000
try: bytes(1 << 50)
except MemoryError: pass
data = [bytes(1 << 20) for _ in range(64)]; del data
""",
    "imports": """
import ast, bisect, calendar, collections, contextlib, copy, dataclasses, doctest, email, enum
import functools, heapq, html, http.client, inspect, itertools, logging, operator, optparse, pdb
import pprint, queue, sched, shelve, ssl, symtable, tarfile, timeit, tomllib, typing, unittest
import urllib.request, weakref, xml.etree.ElementTree, zipfile, zoneinfo, subprocess
import multiprocessing
xml.etree.ElementTree.fromstring("<a><b/></a>")
""",
    "what cannot be, politely": """
import multiprocessing, os, socket, subprocess, urllib.error, urllib.request
for what in (
    lambda: subprocess.run(["true"]),
    lambda: os.popen("true").read(),
    lambda: multiprocessing.Process(target=print).start(),
    lambda: socket.create_connection(("127.0.0.1", 1), 1),
    lambda: socket.getaddrinfo("example.org", 80),
    lambda: urllib.request.urlopen("http://127.0.0.1:1", timeout=1),
):
    try: what()
    except OSError: pass
    else: raise AssertionError("it could be")
""",
}

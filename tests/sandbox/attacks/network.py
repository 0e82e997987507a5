"""Network: anyone who could be called, on this machine or another."""

from typing import Any

from tests.sandbox.attacks.table import Attack, littered, refused

_ELSEWHERE = "it would leave the machine"
_ABSENT = "not every kernel has it"


def _made(name: str, arguments: str, **more: Any) -> Attack:
    return refused(name, f"import socket\nsocket.socket({arguments}).close()", **more)


ATTACKS = [
    refused("TCP", "import socket\nsocket.create_connection(('127.0.0.1', TCP), 2)"),
    refused(
        "TCP over IPv6",
        "import socket\nsocket.create_connection(('::1', TCP6), 2)",
        because="there may be no IPv6",
    ),
    refused(
        "TCP, without waiting",
        """
        import socket
        made = socket.socket()
        made.setblocking(False)
        made.connect_ex(('127.0.0.1', TCP))
        """,
    ),
    refused(
        "TCP, with data at once",
        "import socket\nsocket.socket().sendto(b'x', 0x20000000, ('127.0.0.1', TCP))",
    ),
    refused(
        "UDP",
        "import socket\nsocket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', UDP))",
    ),
    refused("a server", "import socket\nsocket.create_server(('127.0.0.1', 0))"),
    refused(
        "a name, looked up",
        "import socket\nsocket.getaddrinfo('example.com', 80)",
        because=_ELSEWHERE,
    ),
    refused(
        "a name, asked for by hand",
        """
        import socket
        question = b'\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\7example\\3com\\0\\0\\1\\0\\1'
        socket.socket(type=socket.SOCK_DGRAM).sendto(question, ('127.0.0.1', UDP))
        """,
    ),
    refused(
        "HTTP",
        "import http.client\nhttp.client.HTTPConnection('127.0.0.1', TCP, timeout=2).connect()",
    ),
    refused(
        "a page",
        "import urllib.request\nurllib.request.urlopen('http://192.0.2.1/', timeout=2)",
        because=_ELSEWHERE,
    ),
    refused(
        "asyncio",
        """
        import asyncio
        async def call():
            _, writer = await asyncio.open_connection('127.0.0.1', TCP)
            writer.close()
        asyncio.run(call())
        """,
    ),
    refused("a UNIX socket", "import socket\nsocket.socket(socket.AF_UNIX).connect(STREAM)"),
    refused(
        "an abstract socket", "import socket\nsocket.socket(socket.AF_UNIX).connect(ABSTRACT + 's')"
    ),
    refused(
        "a datagram to a UNIX socket",
        "import socket\nsocket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', DATAGRAM)",
    ),
    refused(
        "a datagram from one of a pair",
        """
        import socket
        socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', DATAGRAM)
        """,
    ),
    refused(
        "a datagram from one of a pair to an abstract socket",
        """
        import socket
        socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', ABSTRACT + 'd')
        """,
    ),
    refused(
        "a message from one of a pair",
        """
        import socket
        socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendmsg([b'x'], [], 0, DATAGRAM)
        """,
    ),
    refused(
        "one of a pair, connected anew",
        """
        import socket
        one = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]
        one.connect(DATAGRAM)
        one.send(b'x')
        """,
    ),
    refused(
        "a pair of another family",
        "import socket\nsocket.socketpair(30, socket.SOCK_STREAM)",  # AF_TIPC, which has pairs too
        because=_ABSENT,
    ),
    littered(
        "one of a pair, given a name",
        """
        import socket, time
        one = socket.socketpair()[0]
        one.bind('\\0' + MARK)
        kept.append(one)
        time.sleep(0.1)
        """,
        because="it is gone with the process",
    ),
    refused("one of a pair, named", "import socket\nsocket.socketpair()[0].bind('\\0' + MARK)"),
    refused(
        "every descriptor, connected",
        """
        import socket, stat
        for number in range(3, 64):
            try: one = socket.socket(fileno=os.dup(number))
            except OSError: continue
            try: one.connect(DATAGRAM)
            except OSError: continue
            break
        else: raise OSError
        """,
        because="there are none to connect",
    ),
    _made("a raw socket", "socket.AF_INET, socket.SOCK_RAW, 1", root=True),
    _made("a packet socket", "socket.AF_PACKET, socket.SOCK_RAW", root=True),
    _made("netlink", "socket.AF_NETLINK, socket.SOCK_RAW, 0"),
    _made(
        "the machine outside this machine", "socket.AF_VSOCK, socket.SOCK_STREAM", because=_ABSENT
    ),
    _made("the kernel's cryptography", "socket.AF_ALG, socket.SOCK_SEQPACKET", because=_ABSENT),
    _made("SCTP", "socket.AF_INET, socket.SOCK_STREAM, 132", because=_ABSENT),
    _made("Bluetooth", "31, socket.SOCK_RAW, 1", because=_ABSENT),
]

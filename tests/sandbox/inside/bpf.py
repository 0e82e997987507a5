"""A filter, carried out step by step: so that the one for the other machine can be tested too."""

import errno
import struct

MOST_INSTRUCTIONS = 4096
ARCHITECTURES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}


class Filter:
    """What a program answers to a call: `allow`, `kill`, or the name of an error."""

    def __init__(self, program: bytes) -> None:
        self.steps: list[tuple[int, int, int, int]] = list(struct.iter_unpack("<HBBI", program))
        assert len(self.steps) <= MOST_INSTRUCTIONS

    def answer(self, architecture: int, number: int, *arguments: int) -> str:
        words = [argument & 0xFFFF_FFFF_FFFF_FFFF for argument in arguments]
        words += [0] * (6 - len(words))
        data = struct.pack("<IIQ6Q", number & 0xFFFF_FFFF, architecture, 0xDEAD_BEEF, *words)
        return _meaning(self._run(data))

    def _run(self, data: bytes) -> int:
        at, value = 0, 0
        while True:
            code, if_so, if_not, constant = self.steps[at]
            at += 1
            match code:
                case 0x20:  # load
                    assert constant % 4 == 0
                    (value,) = struct.unpack_from("<I", data, constant)
                case 0x54:  # and
                    value &= constant
                case 0x15:  # equal
                    at += if_so if value == constant else if_not
                case 0x25:  # greater
                    at += if_so if value > constant else if_not
                case 0x35:  # at least
                    at += if_so if value >= constant else if_not
                case 0x06:  # return
                    return constant
                case _:
                    raise AssertionError(f"an instruction that a filter has no use for: {code:#x}")


def _meaning(returned: int) -> str:
    match returned & 0xFFFF_0000:
        case 0x7FFF_0000:
            return "allow"
        case 0x8000_0000:
            return "kill"
        case 0x0005_0000:
            return errno.errorcode[returned & 0xFFFF]
        case _:
            raise AssertionError(f"an answer that a filter has no use for: {returned:#x}")

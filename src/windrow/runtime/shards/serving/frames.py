"""What is said over a socket: a list of byte strings, their lengths first."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence

_COUNT = struct.Struct("<I")
_LENGTH = struct.Struct("<Q")

Part = bytes | bytearray | memoryview


def send_parts(connection: socket.socket, parts: Sequence[Part]) -> None:
    lengths = b"".join(_LENGTH.pack(len(part)) for part in parts)
    connection.sendall(_COUNT.pack(len(parts)) + lengths)
    for part in parts:
        connection.sendall(part)


def receive_parts(connection: socket.socket) -> list[memoryview]:
    """Raises ConnectionError when the other side is gone before the end."""
    (count,) = _COUNT.unpack(_received(connection, _COUNT.size))
    lengths = _received(connection, count * _LENGTH.size)
    return [_received(connection, length) for (length,) in _LENGTH.iter_unpack(lengths)]


def _received(connection: socket.socket, length: int) -> memoryview:
    content = memoryview(bytearray(length))
    place = 0
    while place < length:
        count = connection.recv_into(content[place:])
        if not count:
            raise ConnectionError("the other side is gone")
        place += count
    return content

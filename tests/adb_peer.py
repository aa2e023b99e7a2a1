"""The host's end of one ADB connection, written by hand: no adb program in between."""

from __future__ import annotations

import socket
import struct

HEADER = struct.Struct("<4s5I")
VERSION = 0x01000001


class Peer:
    """The host's end of one connection."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=5)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, command, arg0, arg1, data=b"", *, magic=None, total=0):
        code = int.from_bytes(command, "little")
        header = HEADER.pack(command, arg0, arg1, len(data), total, code ^ 0xFFFFFFFF)
        if magic is not None:
            header = header[:-4] + magic
        self.socket.sendall(header + data)

    def receive(self):
        header = self.exactly(HEADER.size)
        command, arg0, arg1, length, total, _ = HEADER.unpack(header)
        data = self.exactly(length)
        return command, arg0, arg1, data, total

    def exactly(self, size):
        data = self.socket.recv(size, socket.MSG_WAITALL) if size else b""
        if len(data) < size:
            raise EOFError
        return data

    def greet(self, version=VERSION, max_payload=0x100000):
        self.send(b"CNXN", version, max_payload, b"host::features=shell_v2\0")
        return self.receive()

    def open(self, service, local_id=7):
        self.send(b"OPEN", local_id, 0, service + b"\0")
        return self.receive()

    def everything(self, service):
        """All payloads of a stream, acknowledged one by one; it answers the final CLSE."""
        command, remote, local, *_ = self.open(service)
        assert command == b"OKAY"
        payloads = []
        while True:
            command, _, _, data, _ = self.receive()
            if command == b"CLSE":
                self.send(b"CLSE", local, remote)
                return payloads
            payloads.append(data)
            self.send(b"OKAY", local, remote)

    def is_gone(self):
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def is_gone_after_all(self):
        """Whether the link ends behind whatever still comes."""
        try:
            while True:
                self.receive()
        except (EOFError, ConnectionError):
            return True

"""The proxy passes bytes both ways, counts them, and ends what it is told to end."""

from __future__ import annotations

import socket
import socketserver
import threading

import pytest

from outrider.wire_proxy import CountingProxy


class Echo(socketserver.BaseRequestHandler):
    """Says everything twice."""

    def handle(self):
        while data := self.request.recv(65536):
            self.request.sendall(data + data)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


@pytest.fixture
def target():
    with Server(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture
def proxy(target):
    with CountingProxy("127.0.0.1", target) as proxy:
        yield proxy


def client(proxy):
    return socket.create_connection(("127.0.0.1", proxy.port), timeout=10)


def read(peer, size_bytes):
    data = b""
    while len(data) < size_bytes and (more := peer.recv(65536)):
        data += more
    return data


def test_bytes_pass_both_ways_and_are_counted(proxy):
    sent = bytes(range(256)) * 1000
    with client(proxy) as peer:
        writer = threading.Thread(target=peer.sendall, args=(sent,))
        writer.start()
        got = read(peer, 2 * len(sent))
        writer.join()
    assert sorted(got) == sorted(sent + sent)
    assert (proxy.sent_bytes, proxy.received_bytes) == (len(sent), 2 * len(sent))
    assert proxy.connections == 1


def test_each_connection_is_its_own(proxy):
    with client(proxy) as one, client(proxy) as other:
        one.sendall(b"a")
        other.sendall(b"b")
        assert (read(one, 2), read(other, 2)) == (b"aa", b"bb")
    assert proxy.connections == 2
    assert proxy.opened_s == sorted(proxy.opened_s)


def test_cut_ends_every_connection_and_new_ones_are_made(proxy):
    with client(proxy) as peer:
        peer.sendall(b"a")
        assert read(peer, 2) == b"aa"
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            peer.recv(1)
    with client(proxy) as again:
        again.sendall(b"b")
        assert read(again, 2) == b"bb"


def test_target_that_is_away_looks_like_one_that_hangs_up(proxy, target):
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        away = nobody.getsockname()[1]
    proxy.point_at(away)
    with pytest.raises(ConnectionResetError), client(proxy) as peer:
        peer.recv(1)
    proxy.point_at(target)
    with client(proxy) as again:
        again.sendall(b"b")
        assert read(again, 2) == b"bb"


def test_stopping_ends_connections_and_may_be_said_twice(target):
    proxy = CountingProxy("127.0.0.1", target)
    proxy.start()
    with client(proxy) as peer:
        peer.sendall(b"a")
        assert read(peer, 2) == b"aa"
        proxy.stop()
        proxy.stop()
        with pytest.raises(ConnectionResetError):
            peer.recv(1)
    with pytest.raises(ConnectionRefusedError):
        client(proxy)

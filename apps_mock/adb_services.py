"""Which service a name means on the mock phone, and the small ones themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from apps_mock.adb_behind import Behind
from apps_mock.adb_shell_service import ShellSession
from apps_mock.adb_streams import ByteStream, Service
from apps_mock.adb_sync import SyncSession

NO_ROOT: Final = b"adbd cannot run as root in production builds\n"
NO_UNROOT: Final = b"adbd not running as root\n"
NO_REMOUNT: Final = b"remount failed: Operation not permitted\n"
NO_VERITY: Final = b"verity cannot be disabled/enabled - USER build\n"


class LinkEnd(Protocol):
    """What services do to their connection."""

    def hang_up(self) -> None:
        """End the link behind what was sent."""
        ...


class Services:
    """The services of one phone.

    Args:
        is_old: whether the phone is from before shell v2: its terminal turns line feeds into CR LF.
        restarted: hears that the phone was restarted.
    """

    def __init__(self, behind: Behind, *, is_old: bool, restarted: Callable[[], object]) -> None:
        self._behind = behind
        self._is_old = is_old
        self._restarted = restarted
        self._reversed: dict[str, str] = {}

    def find(self, name: str, link: LinkEnd) -> Service | None:
        """The service that a name means; None for one that there is not."""
        kind, _, rest = name.partition(":")
        kind, *options = kind.split(",")
        match kind:
            case "shell":
                return self._shell(rest, options)
            case "exec":
                return self._shell(rest, ["raw"], is_exec=True)
            case "sync":
                return self._sync
            case "tcp":
                return self._tcp(rest)
            case "reboot":
                return self._reboot(link)
            case "reverse":
                return self._reverse(rest)
            case _:
                return _saying(_text_of(kind, rest))

    def _shell(self, command: str, options: list[str], *, is_exec: bool = False) -> Service:
        """A shell; a phone from before shell v2 knows no options and always has a terminal."""
        is_framed = "v2" in options and not self._is_old
        is_typed = "pty" in options or not (command or "raw" in options)

        async def serve(stream: ByteStream) -> None:
            session = ShellSession(
                stream,
                framed=is_framed,
                is_terminal=is_typed,
                crlf=is_typed or (self._is_old and not is_exec),
            )
            await session.run(command, self._behind)

        return serve

    async def _sync(self, stream: ByteStream) -> None:
        await SyncSession(stream, self._behind.files).run()

    def _tcp(self, rest: str) -> Service | None:
        port = rest.partition(":")[0]
        is_port = port.isdigit() and len(port) <= 5
        return self._behind.port_service(int(port)) if is_port else None

    def _reboot(self, link: LinkEnd) -> Service:
        async def serve(_stream: ByteStream) -> None:
            self._restarted()
            link.hang_up()

        return serve

    def _reverse(self, command: str) -> Service | None:
        """Keep and list forwards to the host; nothing of the phone ever uses one."""
        verb, _, rest = command.partition(":")
        match verb:
            case "forward":
                there, _, here = rest.removeprefix("norebind:").partition(";")
                if not (there and here):
                    return _saying(_failure("bad forward"))
                if rest.startswith("norebind:") and there in self._reversed:
                    return _saying(_failure("cannot rebind existing socket"))
                self._reversed[there] = here
                return _saying(b"OKAY")
            case "killforward":
                known = self._reversed.pop(rest, None)
                return _saying(b"OKAY" if known else _failure(f"listener '{rest}' not found"))
            case "killforward-all":
                self._reversed.clear()
                return _saying(b"OKAY")
            case "list-forward":
                rows = [f"host-1 {there} {here}\n" for there, here in self._reversed.items()]
                return _saying(_block("".join(rows)))
        return None


def _saying(text: bytes | None) -> Service | None:
    """A service that says something and ends; None where there is nothing to say."""
    if text is None:
        return None

    async def serve(stream: ByteStream) -> None:
        await stream.write(text)

    return serve


def _text_of(kind: str, rest: str) -> bytes | None:
    """What a service answers that changes nothing on the mock phone."""
    match kind:
        case "root":
            return NO_ROOT
        case "unroot":
            return NO_UNROOT
        case "remount":
            return NO_REMOUNT
        case "disable-verity" | "enable-verity":
            return NO_VERITY
        case "tcpip" if rest.isdigit() and 0 < int(rest[:6]) < 65536:
            return f"restarting in TCP mode port: {rest}\n".encode()
        case "tcpip":
            return b"invalid port\n"
        case "usb":
            return b"restarting in USB mode\n"
        case _:
            return None


def _block(text: str) -> bytes:
    """A text with its length in hexadecimal before it."""
    data = text.encode()
    return f"{len(data):04x}".encode() + data


def _failure(text: str) -> bytes:
    return b"FAIL" + _block(text)

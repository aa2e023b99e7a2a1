"""The XML documents in the bytes of a dump, whatever lies around them or is damaged in them.

`read_documents` takes bytes from outside and hands each document's tags to a `Sink`. It tries the
bytes as they are first; then it cuts what surrounds the document, and mends what is harmless:
control characters, bad bytes, impossible references, bare ampersands and brackets. What it did it
says in `notes`, and what came of it in `condition`. A document type that declares anything is
refused and never reaches the XML parser, so nothing is expanded or fetched; nothing here recurses,
so depth costs memory only.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Generic, Protocol, TypeVar
from xml.parsers import expat

from device_runtime.errors import HierarchyError
from device_runtime.ui_mending import Mended, mended_forms

MAX_DUMP_BYTES: Final = 32 * 1024 * 1024
MAX_NODES: Final = 100_000
MAX_DEPTH: Final = 5_000
MAX_DOCUMENTS: Final = 16
CONTAINERS: Final = frozenset({"hierarchy", "displays", "display", "window"})
"""Elements that hold views and are none."""

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BARE_UTF16: Final = ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))
_ENCODING = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})[\"']")
_SINGLE_BYTE_OR_CJK = re.compile(
    r"(iso8859-\d+|cp125\d|koi8-r|gbk|gb2312|gb18030|big5|shift_jis|cp932|euc_jp|euc_kr|cp949)"
)
_HEAD = re.compile(
    rb"(?:<\?xml\b[^>]*\?>)?(?>\s+|<!--.*?-->|<\?(?!xml\s).*?\?>|<!DOCTYPE[^<>\[\]]*>)*+", re.DOTALL
)
_TAG = re.compile(rb"<([^\s<>/!?&\"'=]+)(?=[\s/>])")
_CONTAINER_ROOT = re.compile(rb"<(?:hierarchy|displays)(?=[\s/>])")
_VIEW_ROOT = re.compile(rb"<(?:node|display|window|\w+(?:\.[\w-]+)+)\s[^<>]*?\bbounds\s*=")
_BOUNDED_TAG = re.compile(rb"<[^<>]*?\sbounds\s*=")
_HOSTILE_TYPE = re.compile(
    rb"<!(?:ENTITY|DOCTYPE[^>]*?(?:\[|\s(?:SYSTEM|PUBLIC)\s))", re.IGNORECASE
)


class Condition(StrEnum):
    """What state a dump was in."""

    OK = "ok"
    TRIMMED = "ok_after_trim"
    MENDED = "ok_after_sanitise"
    SEVERAL = "multiple_documents"
    TRUNCATED = "truncated"
    REFUSED = "reject_or_limit"
    ERROR = "error"


class Sink(Protocol):
    """Takes one document's tags in order; tags are balanced until the document breaks off."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element opens."""
        ...

    def end(self, name: str) -> None:
        """The element that opened last closes."""
        ...


S = TypeVar("S", bound=Sink)


@dataclass(slots=True)
class Reading(Generic[S]):
    """What was read of a dump.

    Attributes:
        sinks: one per document, in order; the last may hold only the start of one.
        refusal: why the first document cannot be used; None where it is whole.
        joins_halves: see `ui_mending.mended_forms`.
    """

    joins_halves: bool = True
    condition: Condition = Condition.OK
    notes: list[str] = field(default_factory=list)
    sinks: list[S] = field(default_factory=list)
    refusal: HierarchyError | None = None

    def note(self, *names: str) -> None:
        """Remember what was mended or left out, each name once."""
        self.notes.extend(name for name in names if name not in self.notes)

    def refuse(self, condition: Condition, reason: str, message: str) -> None:
        """Say why the first document cannot be used; only the first reason counts."""
        if self.refusal is None:
            self.condition = condition
            self.refusal = HierarchyError(message, reason=reason)


def read_documents(
    data: bytes,
    new_sink: Callable[[], S],
    *,
    most: int = MAX_DOCUMENTS,
    joins_halves: bool = True,
) -> Reading[S]:
    """Read up to `most` documents out of a dump; never raises for what the bytes hold.

    Args:
        new_sink: makes what takes one document; also called for tries that are given up.
        joins_halves: see `ui_mending.mended_forms`.
    """
    reading: Reading[S] = Reading(joins_halves=joins_halves)
    data = _unpacked(data, reading)
    if len(data) > MAX_DUMP_BYTES:
        message = f"the dump has more than {MAX_DUMP_BYTES} bytes; refused"
        reading.refuse(Condition.REFUSED, "limit", message)
        return reading
    body = _as_utf8(data, reading)
    start = _root(body)
    if start is None:
        reading.refuse(Condition.ERROR, "nothing", _said(body))
        return reading
    while start is not None and len(reading.sinks) < most:
        _look_at_head(body[:start], reading)
        body = _read_one(body[start:], new_sink, reading)
        start = _root(body)
    _judge(body, start, reading)
    return reading


def _unpacked(data: bytes, reading: Reading[S]) -> bytes:
    """What a gzip file holds, as far as the limit; all other bytes as they are."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        unpacked = zlib.decompressobj(wbits=31).decompress(data, MAX_DUMP_BYTES + 1)
    except zlib.error:
        return data
    reading.note("gzip")
    return unpacked


def _judge(rest: bytes, next_root: int | None, reading: Reading[S]) -> None:
    """Settle notes and condition once everything has been read."""
    if len(reading.sinks) > 1 or next_root is not None:
        reading.note("more_documents")
    elif rest.strip():
        reading.note("noise_after")
    if reading.refusal is not None:
        return
    noise, harmless = {"noise_before", "noise_after"}, {"document_type", "gzip"}
    if "more_documents" in reading.notes:
        reading.condition = Condition.SEVERAL
    elif set(reading.notes) - noise - harmless:
        reading.condition = Condition.MENDED
    elif noise & set(reading.notes):
        reading.condition = Condition.TRIMMED


def _said(body: bytes) -> str:
    text = " ".join(body[:400].decode(errors="replace").split())[:120]
    shown = "".join(letter if letter.isprintable() else "?" for letter in text) or "nothing"
    return f"no view hierarchy in the dump; the phone said: {shown}"


def _as_utf8(data: bytes, reading: Reading[S]) -> bytes:
    """The dump as sound UTF-8 without a byte order mark."""
    mark, encoding = next(((bom, name) for bom, name in _BOMS if data.startswith(bom)), (b"", ""))
    data = data[len(mark) :]
    encoding = encoding or next(
        (name for start, name in _BARE_UTF16 if data.startswith(start)), _declared(data)
    )
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        reading.note("bad_utf8" if encoding == "utf-8" else "bad_characters")
        return _without_halves(data, encoding).encode()
    return data if encoding == "utf-8" else text.encode("utf-8", "replace")


def _without_halves(data: bytes, encoding: str) -> str:
    """The text with a mark for each bad byte; surrogate halves that Java wrote become whole."""
    if encoding == "utf-8":
        try:
            halves = data.decode(encoding, "surrogatepass")
        except UnicodeDecodeError:
            pass
        else:
            return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return data.decode(encoding, "replace")


def _declared(data: bytes) -> str:
    """The encoding that the XML declaration names, where it can be true; else UTF-8."""
    match = _ENCODING.search(data[:1024])
    try:
        name = codecs.lookup(match[1].decode()).name if match else "utf-8"
    except LookupError:
        return "utf-8"
    return name if _SINGLE_BYTE_OR_CJK.fullmatch(name) else "utf-8"


def _root(body: bytes) -> int | None:
    """Where the next document's root opens: at once, or else behind noise."""
    head = _HEAD.match(body)
    first = _TAG.match(body, head.end() if head else 0)
    container = _CONTAINER_ROOT.search(body)
    if first is not None and (container is not None or _is_view(first[1], body, first.start())):
        return first.start()
    root = container or _VIEW_ROOT.search(body)
    return root.start() if root else None


def _is_view(name: bytes, body: bytes, start: int) -> bool:
    if name.decode(errors="replace") in {*CONTAINERS, "node"} or b"." in name:
        return True
    return _BOUNDED_TAG.match(body, start) is not None


def _look_at_head(head: bytes, reading: Reading[S]) -> None:
    if _HOSTILE_TYPE.search(head):
        message = "the dump declares a document type with entities or outside parts; refused"
        reading.refuse(Condition.REFUSED, "hostile", message)
        return
    legal = _HEAD.fullmatch(head)
    if legal and b"<!DOCTYPE" in head:
        reading.note("document_type")
    if not legal:
        reading.note("noise_before")


def _read_one(body: bytes, new_sink: Callable[[], S], reading: Reading[S]) -> bytes:
    """Hand the document at the start of `body` to a sink; returns what follows it.

    A document that cannot be read whole leaves its start in the last sink, and nothing follows.
    """
    is_first = not reading.sinks
    for form in _forms(body, joins_halves=reading.joins_halves):
        sink = new_sink()
        feeder = _Feeder(sink)
        try:
            fault = feeder.feed(form.body)
        except HierarchyError as error:
            reading.sinks.append(sink)
            reading.refuse(Condition.REFUSED, error.reason, str(error))
            return b""
        if feeder.is_closed:
            reading.sinks.append(sink)
            reading.note(*form.notes)
            return form.body[feeder.end :]
    reading.sinks.append(sink)
    reading.note(*form.notes)
    if is_first:
        _refuse_broken(form.body, fault, reading)
    return b""


def _forms(body: bytes, *, joins_halves: bool) -> Iterator[Mended]:
    yield Mended(body, ())
    yield from mended_forms(body, joins_halves=joins_halves)


def _refuse_broken(body: bytes, fault: expat.ExpatError | None, reading: Reading[S]) -> None:
    match = _TAG.match(body)
    closing = f"</{match[1].decode(errors='replace') if match else ''}"
    if fault is None or fault.code in _BREAKS_OFF or closing.encode() not in body:
        message = f"the dump ends before {closing}>: it is truncated; take a new one"
        reading.refuse(Condition.TRUNCATED, "truncated", message)
    else:
        message = f"the dump is not well-formed XML ({fault}); take a new one"
        reading.refuse(Condition.ERROR, "malformed", message)


_BREAKS_OFF: Final = frozenset(
    expat.errors.codes[text]
    for text in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
)


class _Feeder:
    """Runs the XML parser over one document; counts, so that no document grows past the limits."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._depth = 0
        self._elements = 0
        self.is_closed = False
        self.end = 0

    def feed(self, body: bytes) -> expat.ExpatError | None:
        """Parse until the root closes or something breaks; returns what broke.

        Raises: HierarchyError: the document is larger or deeper than this module allows.
        """
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._close
        try:
            parser.Parse(body, True)  # noqa: FBT003 - the C signature has no names
        except expat.ExpatError as error:
            self.end = parser.ErrorByteIndex
            return error
        self.end = len(body)
        return None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self._depth >= MAX_DEPTH:
            raise HierarchyError(
                f"the dump is nested deeper than {MAX_DEPTH} levels; refused", reason="limit"
            )
        if self._elements >= MAX_NODES:
            raise HierarchyError(
                f"the dump has more than {MAX_NODES} nodes; refused", reason="limit"
            )
        self._depth += 1
        self._elements += 1
        self._sink.start(name, attributes)

    def _close(self, name: str) -> None:
        self._depth -= 1
        self.is_closed = self._depth == 0
        self._sink.end(name)

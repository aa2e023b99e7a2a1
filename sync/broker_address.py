"""Where a broker is and who we are to it; no secret of it shows in a text."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

DEFAULT_PORTS: Final = {"mqtt": 1883, "mqtts": 8883}


class MqttProtocol(StrEnum):
    """A version of MQTT; the wire needs nothing that 3.1.1 lacks."""

    V3_1_1 = "3.1.1"
    V5 = "5"


@dataclass(frozen=True, slots=True)
class MqttAddress:
    """Where a broker is and who we are to it.

    Attributes:
        client_id: the device id; a second connection with the same id ends the first.
        certificates: file with the broker's certificate authority, with which TLS is spoken.
        certificate, key: files with our own certificate and its key, where the broker wants them.
        protocol: the version of MQTT to speak.
        tls: speak TLS also without `certificates`, and trust the system's authorities.
    """

    host: str
    port: int
    client_id: str
    username: str
    password: str = field(repr=False)
    certificates: Path | None = None
    certificate: Path | None = None
    key: Path | None = field(default=None, repr=False)
    protocol: MqttProtocol = MqttProtocol.V3_1_1
    tls: bool = False

    @property
    def encrypted(self) -> bool:
        """Whether TLS is spoken."""
        return self.tls or self.certificates is not None


@dataclass(frozen=True, slots=True)
class BrokerUrl:
    """The parts of an mqtt:// or mqtts:// URL; its text leaves the password out.

    Attributes:
        protocol: MQTT 5 where the URL ends in `?protocol=5`.
    """

    host: str
    port: int
    tls: bool
    username: str = ""
    password: str = field(default="", repr=False)
    protocol: MqttProtocol = MqttProtocol.V3_1_1

    def __str__(self) -> str:
        """The URL without its password."""
        user = f"{self.username}@" if self.username else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'mqtts' if self.tls else 'mqtt'}://{user}{host}:{self.port}"


def parse_url(url: str) -> BrokerUrl:
    """The parts of a broker's URL.

    Raises: ValueError: it is none; the text quotes no password.
    """
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = 0
    asked = parse_qs(parts.query).get("protocol", [MqttProtocol.V3_1_1])[-1]
    is_address = parts.scheme in DEFAULT_PORTS and port != 0 and asked in set(MqttProtocol)
    if not is_address or not parts.hostname:
        raise ValueError(
            f"broker {redacted(url)!r} is no address such as mqtt://127.0.0.1:1883: correct it"
        )
    return BrokerUrl(
        host=parts.hostname,
        port=port or DEFAULT_PORTS[parts.scheme],
        tls=parts.scheme == "mqtts",
        username=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        protocol=MqttProtocol(asked),
    )


def redacted(url: str) -> str:
    """`url` without what stands before its host: a broken URL can hold a password anywhere."""
    scheme, mark, rest = url.rpartition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"

"""Icons, drawn as strokes on a grid of 24 x 24, and which one stands for which words.

A drawing is a line of commands with numbers: `L` joins points, `P` joins them and closes the loop,
`F` fills them, `O` and `D` are a ring and a disc (x, y, radius), `A` is a part of a ring (x, y,
radius, first and last angle in degrees, clockwise from the right).
"""

from __future__ import annotations

from functools import lru_cache
from math import cos, radians, sin
from typing import NamedTuple

GRID = 24
STROKE = 2.0


class Stroke(NamedTuple):
    """One part of an icon.

    Attributes:
        points: of the line or outline; centre of a ring or disc.
        radius: of a ring or disc, 0 for lines.
    """

    points: tuple[tuple[float, float], ...]
    filled: bool = False
    closed: bool = False
    radius: float = 0.0


_DRAWINGS: dict[str, str] = {
    "add": "L 12 5 12 19 L 5 12 19 12",
    "alarm": "O 12 13 7 L 12 9 12 13 15 15 L 3 6 6 3 L 18 3 21 6",
    "app": "P 4 4 10 4 10 10 4 10 P 14 4 20 4 20 10 14 10 P 4 14 10 14 10 20 4 20 D 17 17 3",
    "attach": "A 12 8 4 180 360 L 8 8 8 16 A 12 16 4 0 180 L 16 16 16 9 L 12 8 12 16",
    "back": "L 20 12 5 12 L 11 5 4 12 11 19",
    "backspace": "P 9 5 21 5 21 19 9 19 3 12 L 12 9 17 15 L 17 9 12 15",
    "battery": "P 7 5 17 5 17 21 7 21 L 10 2.5 14 2.5 F 9 12 15 12 15 19 9 19",
    "bell": "A 12 11 6 180 360 L 6 11 6 15 4 18 20 18 18 15 18 11 L 11 21 13 21 L 12 3 12 5",
    "bluetooth": "L 7 7 17 16 12 21 12 3 17 8 7 17",
    "bookmark": "P 6 3 18 3 18 21 12 16 6 21",
    "brush": "L 20 4 11 13 P 11 13 6 15 4 20 9 18",
    "bulb": "A 12 9 6 140 400 L 8 13 9 17 15 17 16 13 L 10 20 14 20",
    "cake": "P 4 12 20 12 20 20 4 20 L 4 16 8 17.5 12 16 16 17.5 20 16 L 12 8 12 12 D 12 5 1.5",
    "calculator": "P 5 3 19 3 19 21 5 21 L 8 7.5 16 7.5 D 9 13 1.3 D 15 13 1.3 D 9 17 1.3 D 15 "
    "17 1.3",
    "calendar": "P 4 5 20 5 20 20 4 20 L 4 10 20 10 L 8 3 8 7 L 16 3 16 7 F 13 13 17 13 17 17 "
    "13 17",
    "call": "P 5 3 9 3 11 8 8.5 10 14 15.5 16 13 21 15 21 19 18 21 9 16 3 7",
    "camera": "P 3 7 8 7 9.5 4 14.5 4 16 7 21 7 21 19 3 19 O 12 13 3.6",
    "cart": "L 2 4 5 4 8 15 18 15 21 7 6 7 D 9 19 1.8 D 17 19 1.8",
    "chart": "L 4 20 20 20 L 7 20 7 12 L 12 20 12 5 L 17 20 17 9",
    "check": "L 4 12.5 9.5 18 20 6.5",
    "clock": "O 12 12 9 L 12 7 12 12 16 14",
    "close": "L 5 5 19 19 L 19 5 5 19",
    "cloud": "A 8 15 4 90 270 A 13 11 5 190 340 A 17.5 15 4 270 450 L 8 19 17.5 19",
    "compass": "O 12 12 9 F 16.5 7.5 13.5 13.5 7.5 16.5 10.5 10.5",
    "copy": "P 8 8 20 8 20 21 8 21 L 4 16 4 3 16 3",
    "cut": "O 6 18 2.6 O 18 18 2.6 L 7.5 16 17 3 L 16.5 16 7 3",
    "data": "L 8 20 8 4 4 8 L 16 4 16 20 20 16",
    "delete": "L 4 6.5 20 6.5 L 9 6 9 3.5 15 3.5 15 6 P 6 6.5 18 6.5 17 20.5 7 20.5 L 10 10.5 "
    "10 16.5 L 14 10.5 14 16.5",
    "display": "P 6 3 18 3 18 21 6 21 L 11 18 13 18",
    "down": "L 5 9 12 16 19 9",
    "download": "L 12 3 12 15 L 6.5 10 12 15.5 17.5 10 L 4 20 20 20",
    "edit": "P 4 20 4.7 15.6 16 4.3 19.7 8 8.4 19.3 L 13.5 7 17 10.5",
    "enter": "L 20 6 20 13 5 13 L 10 8 5 13 10 18",
    "error": "O 12 12 9 L 12 7 12 13 D 12 16.5 1.2",
    "eye": "A 12 18 11 225 315 A 12 6 11 45 135 O 12 12 3",
    "file": "P 6 3 14 3 19 8 19 21 6 21 L 14 3 14 8 19 8",
    "filter": "L 4 6 20 6 L 7 12 17 12 L 10 18 14 18",
    "flag": "L 6 21 6 4 18 4 15 8.5 18 13 6 13",
    "flashlight": "P 7 3 17 3 17 7 14 11 14 21 10 21 10 11 7 7 L 7 7 17 7",
    "flight": "P 11 3 13 3 13.5 9.5 21 14 21 16 13.5 13.8 13.2 18 15.5 20 15.5 21 12 20.2 8.5 "
    "21 8.5 20 10.8 18 10.5 13.8 3 16 3 14 10.5 9.5",
    "folder": "P 3 5 10 5 12 7.5 21 7.5 21 19 3 19",
    "fork": "L 6 3 6 9 L 9 3 9 9 L 12 3 12 9 L 6 9 9 12 12 9 L 9 12 9 21 L 18 3 16 8 16 13 18 "
    "13 L 18 3 18 21",
    "forward": "L 4 12 19 12 L 13 5 20 12 13 19",
    "game": "P 6 7 18 7 22 16 20 18 16 15 8 15 4 18 2 16 L 8 9.5 8 12.5 L 6.5 11 9.5 11 D 16 "
    "11 1.2",
    "globe": "O 12 12 9 L 3 12 21 12 A 5.5 12 11 -55 55 A 18.5 12 11 125 235",
    "grid": "P 4 4 10 4 10 10 4 10 P 14 4 20 4 20 10 14 10 P 4 14 10 14 10 20 4 20 P 14 14 20 "
    "14 20 20 14 20",
    "headphones": "A 12 13 8 180 360 F 3 13 7 13 7 20 3 20 F 17 13 21 13 21 20 17 20",
    "heart": "A 8 9 4.2 135 330 A 16 9 4.2 210 405 L 5 12 12 20 19 12",
    "help": "O 12 12 9 A 12 9.8 2.8 180 400 L 14 11.8 12 14 D 12 17 1.2",
    "home": "L 3 12 12 4 21 12 L 6 10 6 20 18 20 18 10",
    "image": "P 3 4 21 4 21 20 3 20 D 8 9 1.8 L 4 18 10 12 14 16 17 13 20 17",
    "inbox": "P 4 4 20 4 20 20 4 20 L 4 14 9 14 10.5 16.5 13.5 16.5 15 14 20 14",
    "info": "O 12 12 9 L 12 11 12 17 D 12 7.5 1.2",
    "kettle": "P 6 9 16 9 18 20 4 20 A 11 9 4 180 360 L 17 12 21 8 L 11 3 11 5",
    "key": "O 8 12 4 L 12 12 21 12 21 16 L 17 12 17 15",
    "keyboard": "P 2 6 22 6 22 18 2 18 L 7 15 17 15 D 6 10 1 D 10 10 1 D 14 10 1 D 18 10 1",
    "language": "L 4 6 14 6 L 9 3.5 9 6 L 12 6 5 15 L 6 9 12 14 L 12 21 16.5 10 21 21 L 13.5 "
    "17.5 19.5 17.5",
    "leaf": "P 20 4 20 12 14 18 8 18 6 13 9 7 14 4 L 4 21 14 10",
    "left": "L 15 5 8 12 15 19",
    "less": "L 5 12 19 12",
    "link": "A 8 12 4 90 270 L 8 8 10 8 L 8 16 10 16 A 16 12 4 -90 90 L 14 8 16 8 L 14 16 16 "
    "16 L 8 12 16 12",
    "list": "L 9 6 20 6 L 9 12 20 12 L 9 18 20 18 D 4.5 6 1.4 D 4.5 12 1.4 D 4.5 18 1.4",
    "lock": "P 5 10 19 10 19 21 5 21 A 12 8.5 4.5 180 360 L 7.5 8.5 7.5 10 L 16.5 8.5 16.5 10 "
    "D 12 15.5 1.6",
    "mail": "P 3 5 21 5 21 19 3 19 L 3 6 12 13 21 6",
    "map": "P 3 5 9 3 15 5 21 3 21 19 15 21 9 19 3 21 L 9 3 9 19 L 15 5 15 21",
    "market": "P 4 3 20 12 4 21 L 4 3 14 15 L 4 21 14 9",
    "menu": "L 3 6 21 6 L 3 12 21 12 L 3 18 21 18",
    "message": "P 3 4 21 4 21 17 9 17 4 21 4 17 3 17 L 7 8.5 17 8.5 L 7 12.5 14 12.5",
    "mic": "A 12 6.5 3.5 180 360 L 8.5 6.5 8.5 11 A 12 11 3.5 0 180 L 15.5 11 15.5 6.5 A 12 11 "
    "7 0 180 L 12 18 12 21",
    "minutes": "O 12 13 8 L 12 9 12 13 L 9 2.5 15 2.5 L 18.5 5.5 20 7",
    "money": "P 3 6 21 6 21 18 3 18 O 12 12 3 D 6.5 12 1 D 17.5 12 1",
    "moon": "A 11 12 8.5 40 320 A 17.5 12 8.5 130 230",
    "more": "D 12 5 2 D 12 12 2 D 12 19 2",
    "music": "O 7 17.5 3 O 17 15.5 3 L 10 17.5 10 5 20 3 20 15.5",
    "news": "P 3 5 18 5 18 19 3 19 L 18 9 21 9 21 19 18 19 L 6 9 10 9 L 6 12.5 15 12.5 L 6 16 "
    "15 16",
    "note": "P 4 4 20 4 20 14 14 20 4 20 L 20 14 14 14 14 20 L 8 8.5 16 8.5 L 8 12.5 12 12.5",
    "pan": "O 9 12 6 L 15 12 22 12",
    "paste": "P 5 5 19 5 19 21 5 21 F 9 3 15 3 15 7 9 7 L 9 12 15 12 L 9 16 13 16",
    "pause": "F 6 5 10 5 10 19 6 19 F 14 5 18 5 18 19 14 19",
    "people": "O 9 8 3.6 A 9 20 6.5 180 360 A 16 8 3.4 -100 100 A 16.5 20 5.5 -75 0",
    "person": "O 12 8 4 A 12 21 8 180 360 L 4 21 20 21",
    "pin": "A 12 10 7 150 390 L 6 13.5 12 21.5 18 13.5 O 12 10 2.4",
    "play": "F 7 4 20 12 7 20",
    "podcast": "D 12 11 2.2 A 12 11 5.5 130 410 A 12 11 9 120 420 L 12 14 12 21",
    "print": "P 7 3 17 3 17 8 7 8 P 3 8 21 8 21 17 3 17 P 7 14 17 14 17 21 7 21",
    "puzzle": "P 4 8 9 8 9 5 13 5 13 8 18 8 18 12 21 12 21 16 18 16 18 20 4 20",
    "radio": "P 3 9 21 9 21 20 3 20 L 5 8 18 3 O 8 14.5 2.5 L 13 12.5 18 12.5 L 13 16.5 18 16.5",
    "record": "O 12 12 9 D 12 12 4",
    "refresh": "A 12 12 8 -30 270 L 20 3.5 20 8 15.5 8",
    "right": "L 9 5 16 12 9 19",
    "save": "P 4 4 17 4 20 7 20 20 4 20 P 8 20 8 14 16 14 16 20 L 8 4 8 8 14 8",
    "search": "O 10.5 10.5 6.5 L 15.5 15.5 20.5 20.5",
    "send": "P 3 4 21 12 3 20 6 12 L 6 12 14 12",
    "settings": "O 12 12 3 O 12 12 6.6 L 12 2.5 12 5 L 12 19 12 21.5 L 2.5 12 5 12 L 19 12 "
    "21.5 12 L 5.3 5.3 7 7 L 17 17 18.7 18.7 L 5.3 18.7 7 17 L 17 7 18.7 5.3",
    "share": "O 18 5 2.6 O 6 12 2.6 O 18 19 2.6 L 8.3 10.7 15.7 6.3 L 8.3 13.3 15.7 17.7",
    "shield": "P 12 3 20 6 20 12 16.5 18 12 21 7.5 18 4 12 4 6",
    "shift": "P 12 4 20 13 16 13 16 19 8 19 8 13 4 13",
    "shirt": "P 8 4 10 6 14 6 16 4 21 7 19 11 17 10 17 20 7 20 7 10 5 11 3 7",
    "shoe": "P 3 8 8 8 11 12 19 14 21 18 3 18 L 3 15 21 15 L 10 10.5 12 9 L 12.5 12.5 14 11",
    "shop": "P 5 8 19 8 20.5 21 3.5 21 A 12 8 4 180 360",
    "signal": "F 20 4 20 20 4 20",
    "sort": "L 7 4 7 20 L 3 16 7 20 11 16 L 17 20 17 4 L 13 8 17 4 21 8",
    "sound": "F 3 9 7 9 12 4 12 20 7 15 3 15 A 12 12 4.5 -55 55 A 12 12 8.5 -55 55",
    "speaker": "P 6 3 18 3 18 21 6 21 O 12 14.5 3.5 D 12 7 1.5",
    "star": "F 12 2.5 14.9 9 22 9.7 16.7 14.4 18.2 21.3 12 17.7 5.8 21.3 7.3 14.4 2 9.7 9.1 9",
    "star_empty": "P 12 3.5 14.5 9.3 20.8 9.9 16.1 14.1 17.4 20.2 12 17 6.6 20.2 7.9 14.1 3.2 "
    "9.9 9.5 9.3",
    "stop": "F 6 6 18 6 18 18 6 18",
    "storage": "P 4 4 20 4 20 10 4 10 P 4 14 20 14 20 20 4 20 D 8 7 1 D 8 17 1",
    "sun": "O 12 12 4 L 12 2.5 12 5 L 12 19 12 21.5 L 2.5 12 5 12 L 19 12 21.5 12 L 5.3 5.3 7 "
    "7 L 17 17 18.7 18.7 L 5.3 18.7 7 17 L 17 7 18.7 5.3",
    "sync": "A 12 12 8 180 330 A 12 12 8 0 150 L 19.5 3.5 19.5 8 15 8 L 4.5 20.5 4.5 16 9 16",
    "tabs": "P 7 3 21 3 21 16 7 16 L 3 8 3 20 16 20 L 13 3 13 7 21 7",
    "tag": "P 3 3 12 3 21 12 12 21 3 12 D 7.5 7.5 1.5",
    "task": "P 4 4 20 4 20 20 4 20 L 8 12 11 15 16 9",
    "ticket": "P 3 6 21 6 21 10 19 12 21 14 21 18 3 18 3 14 5 12 3 10 L 14 8 14 16",
    "toaster": "P 4 9 20 9 20 19 4 19 L 7 9 7 5 15 5 15 9 L 18 12 18 15 L 6 19 6 21 L 18 19 18 21",
    "train": "P 6 4 18 4 18 17 6 17 L 6 10.5 18 10.5 L 12 4 12 10.5 D 9 14 1.2 D 15 14 1.2 L 8 "
    "17 6 21 L 16 17 18 21",
    "trousers": "P 7 3 17 3 19 21 14 21 12 9 10 21 5 21 L 7 6.5 17 6.5",
    "undo": "A 12 14 6 -120 90 L 9 8.5 4 8.5 L 8 4.5 4 8.5 8 12.5 L 9 8.5 12 8.2",
    "up": "L 5 15 12 8 19 15",
    "vibrate": "P 8 4 16 4 16 20 8 20 L 4.5 8 4.5 16 L 19.5 8 19.5 16",
    "video": "P 3 6 16 6 16 18 3 18 F 16 10.5 21.5 7 21.5 17 16 13.5",
    "wallet": "P 3 6 20 6 20 19 3 19 L 3 6 16 3 D 16 12.5 1.4",
    "warning": "P 12 3 22 20.5 2 20.5 L 12 9 12 14 D 12 17.3 1.1",
    "wifi": "D 12 18.5 1.8 A 12 19 6 225 315 A 12 19 10.5 225 315 A 12 19 15 228 312",
}  # fmt: skip

NAMES: frozenset[str] = frozenset(_DRAWINGS)
"""All icons."""

POINTS_AHEAD: frozenset[str] = frozenset(
    {"attach", "back", "enter", "forward", "left", "list", "message", "right", "send", "undo"}
)
"""Icons that look the other way where reading goes to the left."""


@lru_cache(maxsize=len(_DRAWINGS))
def strokes_of(name: str) -> tuple[Stroke, ...]:
    """The strokes of an icon.

    Raises: KeyError: no such icon.
    """
    strokes: list[Stroke] = []
    for command, numbers in _commands(_DRAWINGS[name]):
        match command:
            case "O" | "D":
                x, y, radius = numbers
                strokes.append(Stroke(((x, y),), filled=command == "D", radius=radius))
            case "A":
                strokes.append(Stroke(_arc(*numbers)))
            case _:
                points = tuple(zip(numbers[::2], numbers[1::2], strict=True))
                strokes.append(Stroke(points, filled=command == "F", closed=command != "L"))
    return tuple(strokes)


def _commands(drawing: str) -> list[tuple[str, list[float]]]:
    commands: list[tuple[str, list[float]]] = []
    for token in drawing.split():
        if token.isalpha():
            commands.append((token, []))
        else:
            commands[-1][1].append(float(token))
    return commands


def _arc(
    x: float, y: float, radius: float, first: float, last: float
) -> tuple[tuple[float, float], ...]:
    count = max(6, round(abs(last - first) / 12))
    angles = (radians(first + (last - first) * index / count) for index in range(count + 1))
    return tuple(
        (round(x + radius * cos(angle), 3), round(y + radius * sin(angle), 3)) for angle in angles
    )

"""Lines of text in a picture of a screen, read by RapidOCR's models.

The models travel in the wheel of the extra `ocr`; nothing is downloaded. They are loaded on first
use, run on one thread, and read each line by itself, so that what a line says depends on its pixels
alone and the same line need not be read twice.

Notation: H, W height and width of the picture in pixels.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from device_runtime.errors import ReaderError
from sync.vocabulary import Rect

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Picture = npt.NDArray[np.uint8]
    """uint8 [H, W, 3], blue, green, red."""

LONGEST_SIDE_PX: Final = 1120
SHORTEST_SIDE_PX: Final = 480
LEAST_SIDE_PX: Final = 100
LONGEST_FORM: Final = 4
"""A screen is at most so many times as long as it is wide."""
LEAST_SCORE: Final = 0.6
REMEMBERED_LINES: Final = 4096
_PADDING_SHARE: Final = 0.08
"""Share of a line's height that is read around it."""


_SURE_OF_ONE: Final = 0.95
_GLYPHS: Final = {
    **dict.fromkeys("+＋十", "New"),
    **dict.fromkeys("×✕", "Close"),
    **dict.fromkeys("←<＜", "Navigate up"),
    **dict.fromkeys("三≡", "Menu"),
    **dict.fromkeys(":：⋮", "More options"),
    **dict.fromkeys("✓√", "Done"),
}
"""What icons are called that look like a character."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of text; `score` is how sure the reader is, 0..1."""

    text: str
    bounds: Rect
    score: float

    @property
    def icon_name(self) -> str | None:
        """None for words; for what must be an icon, what it is called, empty where unknown."""
        name = _GLYPHS.get(self.text)
        if name is not None:
            return name
        is_word = len(self.text) > 1 or self.text.isdigit() or self.score >= _SURE_OF_ONE
        return None if is_word else ""


class LineReader:
    """Finds and reads lines of text; not for use by two threads at once.

    Args:
        longest_side_px: larger pictures are made smaller before lines are looked for; they are read
            at full size.
        least_score: lines that the reader is less sure of are left out.
    """

    def __init__(
        self, *, longest_side_px: int = LONGEST_SIDE_PX, least_score: float = LEAST_SCORE
    ) -> None:
        self._longest_side_px = longest_side_px
        self._least_score = least_score
        self._loaded: Any = None  # RapidOCR ships no types
        self._read: OrderedDict[bytes, tuple[str, float]] = OrderedDict()

    def lines(self, picture: Picture) -> tuple[TextLine, ...]:
        """The lines of `picture`, from top to bottom; none where its form is no screen's.

        Raises: ReaderError: the extra `ocr` is not installed.
        """
        sides = sorted(picture.shape[:2])
        if sides[0] < LEAST_SIDE_PX or sides[1] > LONGEST_FORM * sides[0]:
            return ()  # the reader would blow the short side up, and the long one with it
        found = self._engine()(picture, use_det=True, use_cls=False, use_rec=False)
        if found.boxes is None:
            return ()
        height, width = picture.shape[:2]
        lines = []
        for box in found.boxes:
            bounds = _bounds(box, width, height)
            if bounds[2] - bounds[0] < 4 or bounds[3] - bounds[1] < 4:
                continue
            text, score = self._text(picture, bounds)
            if text and score >= self._least_score:
                lines.append(TextLine(text, bounds, score))
        lines.sort(key=lambda line: (line.bounds[1], line.bounds[0]))
        return tuple(lines)

    def _text(self, picture: Picture, bounds: Rect) -> tuple[str, float]:
        """What one line says; remembered by its pixels."""
        left, top, right, bottom = bounds
        crop = picture[top:bottom, left:right]
        key = hashlib.blake2b(crop.tobytes(), digest_size=16).digest() + bytes(
            str(crop.shape), "ascii"
        )
        known = self._read.get(key)
        if known is None:
            found = self._engine()(crop, use_det=False, use_cls=False, use_rec=True)
            known = (found.txts[0].strip(), float(found.scores[0])) if found.txts else ("", 0.0)
            if len(self._read) >= REMEMBERED_LINES:
                self._read.popitem(last=False)
            self._read[key] = known
        else:
            self._read.move_to_end(key)
        return known

    def _engine(self) -> Any:  # RapidOCR ships no types
        if self._loaded is None:
            self._loaded = _load(self._longest_side_px)
        return self._loaded


def _bounds(box: npt.NDArray[np.float32], width: int, height: int) -> Rect:
    """The upright rectangle around a box of four corners, float32 [4, 2], inside the picture."""
    (left, top), (right, bottom) = box.min(axis=0), box.max(axis=0)
    return (
        max(int(left), 0),
        max(int(top), 0),
        min(int(right) + 1, width),
        min(int(bottom) + 1, height),
    )


def require_reader() -> None:
    """Nothing where lines can be read here; loads nothing.

    Raises: ReaderError: the extra `ocr` is not installed.
    """
    if find_spec("rapidocr") is None or find_spec("cv2") is None:
        raise ReaderError("screens without a tree need the extra ocr: pip install 'outrider[ocr]'")


def _load(longest_side_px: int) -> Any:  # RapidOCR ships no types
    require_reader()
    import rapidocr  # noqa: PLC0415 - heavy, and an extra

    models = Path(rapidocr.__file__).parent / "models"
    return rapidocr.RapidOCR(
        params={
            "Global.log_level": "error",
            "Global.max_side_len": longest_side_px,
            "Det.limit_side_len": SHORTEST_SIDE_PX,
            "Global.use_cls": False,
            "Global.text_score": 0.0,
            "Det.model_path": str(_model(models, "det")),
            "Rec.model_path": str(_model(models, "rec")),
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def _model(folder: Path, task: str) -> Path:
    """The wheel's own model, named here so that a missing one is an error and no download."""
    found = sorted(folder.glob(f"*_{task}_*.onnx"))
    if len(found) != 1:
        raise ReaderError(
            f"rapidocr's wheel holds {len(found)} models for {task!r}, not one: install the "
            "version that the extra ocr pins"
        )
    return found[0]

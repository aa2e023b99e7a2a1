import numpy as np
import pytest

from sync.adapter_file import pack
from sync.errors import RejectedError
from sync.runtime_level import RUNTIME_LEVEL, runtime_needed
from sync.text_policy_io import LANGUAGES

TODAY = pack(
    {"layer.A": np.ones((4, 2), dtype=np.float32)}, base_digest="b" * 64, policy_io_version="1"
)
BEFORE = b"ORADAPT1" + TODAY[8:]


@pytest.mark.parametrize(
    ("adapter", "version", "level"),
    [
        (BEFORE, "layout_t5/2", 0),
        (TODAY, "layout_t5/2", 1),
        *((BEFORE, language, 1) for language in LANGUAGES),
    ],
)
def test_a_release_needs_the_level_of_what_it_relies_on(adapter, version, level):
    assert runtime_needed(adapter, policy_io_version=version) == level <= RUNTIME_LEVEL


def test_what_is_no_adapter_file_needs_no_level():
    with pytest.raises(RejectedError) as refused:
        runtime_needed(b"ORADAPT9", policy_io_version="1")
    assert refused.value.reason == "malformed"

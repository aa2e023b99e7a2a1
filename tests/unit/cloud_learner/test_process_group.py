"""Which of the learner's processes this one is."""

from __future__ import annotations

import pytest
import torch

from cloud_learner.errors import ProcessGroupError
from cloud_learner.process_group import Place, joined, place_of


def test_a_place_is_what_torchrun_says():
    assert place_of({}) == Place(0, 1)
    assert place_of({"RANK": "1", "WORLD_SIZE": "3"}) == Place(1, 3)
    assert not place_of({"RANK": "1", "WORLD_SIZE": "3"}).leads


@pytest.mark.parametrize(
    "environment",
    [
        {"WORLD_SIZE": "2"},
        {"WORLD_SIZE": "two", "RANK": "0"},
        {"WORLD_SIZE": "2", "RANK": "2"},
        {"WORLD_SIZE": "2", "RANK": "-1"},
    ],
)
def test_a_contradictory_place_is_refused_in_one_line(environment):
    with pytest.raises(ProcessGroupError, match="torchrun") as caught:
        place_of(environment)
    assert "\n" not in str(caught.value)


def test_one_process_joins_nothing():
    with joined(Place()) as place:
        assert place.leads
        assert not torch.distributed.is_initialized()

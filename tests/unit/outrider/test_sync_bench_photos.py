"""Screens with photographs, for measuring what real apps cost."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from device_runtime.screen_colours import in_few_colours
from outrider.sync_bench_photos import with_photographs


def png_of(size):
    data = io.BytesIO()
    Image.new("RGB", size, "white").save(data, "PNG")
    return data.getvalue()


def opened(png):
    with Image.open(io.BytesIO(png)) as picture:
        return picture.convert("RGB")


def test_a_screen_gets_the_same_photographs_each_time_and_another_one_others():
    png = png_of((216, 480))
    assert with_photographs(png, "one") == with_photographs(png, "one")
    assert with_photographs(png, "one") != with_photographs(png, "other")


def test_photographs_are_no_flat_colours_and_neighbours_in_them_are_alike():
    picture = opened(with_photographs(png_of((541, 1200)), "one"))
    assert picture.size == (541, 1200)
    assert in_few_colours(picture) is None
    card = np.asarray(picture, np.int16)[420:600, 40:500]
    strangers = np.random.default_rng(0).permutation(card.reshape(-1, 3)).reshape(card.shape)
    apart = [np.abs(np.diff(one, axis=1)).mean() for one in (card, strangers)]
    assert apart[0] < apart[1] / 2

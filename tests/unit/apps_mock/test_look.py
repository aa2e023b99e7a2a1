from __future__ import annotations

from apps_mock.look import WORDINGS, draw_look
from sync.vocabulary import Split


def test_the_same_seed_gives_the_same_look_and_splits_have_their_own():
    assert draw_look(Split.TRAIN, 7) is draw_look(Split.TRAIN, 7)
    assert draw_look(Split.TRAIN, 7) != draw_look(Split.TEST, 7)


def test_looks_vary_in_every_respect():
    looks = [draw_look(Split.TRAIN, seed) for seed in range(60)]

    for name in ("row_px", "boxed_rows", "switch_class", "button_class", "primary_place"):
        assert len({getattr(look, name) for look in looks}) > 1, name
    for key, words in WORDINGS.items():
        assert {look.word(key) for look in looks} == set(words), key


def test_order_is_a_permutation_that_depends_on_the_look_alone():
    names = ["a", "b", "c", "d", "e", "f"]

    orders = {tuple(draw_look(Split.TRAIN, seed).ordered(names, str)) for seed in range(20)}

    assert len(orders) > 5
    assert all(sorted(order) == names for order in orders)
    look = draw_look(Split.TRAIN, 3)
    assert look.ordered(names, str) == look.ordered(names[::-1], str)

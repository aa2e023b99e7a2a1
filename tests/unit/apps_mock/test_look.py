from __future__ import annotations

from apps_mock.look import (
    HELD_OUT_WORDINGS,
    SCREEN_SIZES,
    WORDINGS,
    draw_look,
    look_number,
    wording,
)
from sync.vocabulary import Split


def test_the_same_seed_gives_the_same_look_and_splits_have_their_own():
    assert draw_look(Split.TRAIN, 7) is draw_look(Split.TRAIN, 7)
    assert draw_look(Split.TRAIN, 7) != draw_look(Split.TEST, 7)


def test_looks_vary_in_every_respect():
    looks = [draw_look(Split.TRAIN, seed) for seed in range(60)]

    names = (
        "row_px",
        "boxed_rows",
        "switch_class",
        "button_class",
        "primary_place",
        "width_px",
        "font_scale",
        "dark",
        "scheme",
    )
    for name in names:
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


def test_looks_have_the_three_screen_sizes():
    sizes = {
        (look.width_px, look.height_px, look.density)
        for look in (draw_look(Split.TRAIN, seed) for seed in range(40))
    }

    assert sizes == set(SCREEN_SIZES)


def test_a_held_out_look_is_the_test_splits_alone_and_the_twin_of_an_ordinary_one():
    for seed in range(40):
        number = look_number("en", seed, held_out_look=True)
        plain, apart = draw_look(Split.TEST, seed), draw_look(Split.TEST, number)

        assert apart.held_out
        assert not plain.held_out
        assert (apart.width_px, apart.font_scale, apart.scheme, apart.dark) == (
            plain.width_px,
            plain.font_scale,
            plain.scheme,
            plain.dark,
        )
        for split in (Split.TRAIN, Split.VALIDATION):
            assert draw_look(split, number) == draw_look(split, seed)
            assert not draw_look(split, number).held_out


def test_held_out_wordings_and_layouts_show_in_held_out_looks_alone():
    compose = wording("Compose", "New message", held_out=("Write a message",))
    for split in Split:
        for seed in range(120):
            look = draw_look(split, look_number("en", seed, held_out_look=seed % 2 == 0))
            assert (look.word(compose) == "Write a message") == look.held_out
            assert (look.word("save") in HELD_OUT_WORDINGS["save"]) == look.held_out
            assert (look.primary_place == "floating") == look.held_out
            assert (look.field_style == "beside") == look.held_out


def test_locales_are_told_by_the_looks_number_alone():
    english, arabic = draw_look(Split.TRAIN, 5), draw_look(Split.TRAIN, look_number("ar", 5))

    assert not english.right_to_left
    assert arabic.right_to_left
    assert english.row_px == arabic.row_px
    assert english != arabic


def test_sizes_follow_the_density():
    for seed in range(30):
        look = draw_look(Split.TRAIN, seed)
        assert look.px(160) == round(160 * look.density)
        assert look.row_px >= look.px(48)

from __future__ import annotations

from dataclasses import fields

import pytest

from apps_mock.theme import SCHEMES, mixed_colour, theme_named


def luminance(colour: str) -> float:
    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(part) for part in bytes.fromhex(colour[1:]))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_texts_stand_out_from_what_they_stand_on(scheme, dark):
    theme = theme_named(scheme, dark=dark)
    pairs = [
        (theme.ink, theme.paper),
        (theme.ink, theme.surface),
        (theme.ink, theme.raised),
        (theme.faint, theme.paper),
        (theme.accent, theme.paper),
        (theme.accent, theme.raised),
        (theme.on_accent, theme.accent),
        (theme.on_pale, theme.pale),
        (theme.danger, theme.paper),
        (theme.on_notice, theme.notice),
        (theme.ink, theme.key),
    ]

    assert [pair for pair in pairs if contrast(*pair) < 4.5] == []


def test_every_colour_has_six_digits():
    for scheme in SCHEMES:
        theme = theme_named(scheme)
        colours = [getattr(theme, entry.name) for entry in fields(theme)][2:]
        assert all(len(colour) == 7 and colour.startswith("#") for colour in colours)


def test_an_unknown_scheme_is_named_with_the_known_ones():
    with pytest.raises(ValueError, match="ocean"):
        theme_named("mauve")


def test_a_mixture_lies_between_its_colours():
    assert mixed_colour("#000000", "#ffffff", 0.5) == "#808080"

from __future__ import annotations

from apps_mock.contact_sheet import Shot, sheet_html
from apps_mock.look import draw_look
from apps_mock.portraits import portrait_looks
from sync.vocabulary import Split


def shot(app: str = "clock", **fields) -> Shot:
    made = Shot(app, f"{app}/00.png", "home", "Set an alarm", 540, 1200)
    return made._replace(**fields)


def test_each_app_has_a_section_and_a_link_to_it():
    page = sheet_html([shot(), shot(caption="detail"), shot("notes")])

    assert page.count("<section") == 2
    assert page.count("<img") == 3
    for app in ("clock", "notes"):
        assert f'href="#{app}"' in page
        assert f'id="{app}"' in page


def test_texts_and_paths_are_escaped():
    page = sheet_html([shot(title="<b>&", caption='a"b', path='x"y.png')], title="<i>")

    assert "<b>" not in page
    assert "<i>" not in page
    assert "a&quot;b" in page
    assert 'src="x&quot;y.png"' in page


def test_eight_looks_show_every_locale_light_and_dark_in_three_sizes():
    looks = [draw_look(Split.TRAIN, number) for number in portrait_looks(8)]

    assert len({(look.locale, look.dark) for look in looks}) == 8
    assert len({look.width_px for look in looks}) == 3


def test_more_looks_begin_with_the_same_ones():
    assert portrait_looks(12)[:5] == portrait_looks(5)
    assert len(set(portrait_looks(40))) == 40

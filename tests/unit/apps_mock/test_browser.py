"""What the browser and the sites of its web do, beyond the paths that tasks take."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from apps_mock.app import AppState, Copy, Page, Provided, Say, Share, Tell
from apps_mock.apps.browser import ENGINE, BrowserData, Visit, fixture, next_path, user_of
from apps_mock.apps.browser_view import APP, texts_of
from apps_mock.apps.browser_web import (
    HEADLINES,
    PARAGRAPHS,
    address_of,
    count_of,
    found,
    paths,
    title_of,
)
from apps_mock.catalogue import LOCALES, say
from apps_mock.entities import Draw
from apps_mock.look import draw_look, look_number
from apps_mock.widgets import Event, Field, Link, Screen, Text
from sync.vocabulary import Split

LOOK = draw_look(Split.TEST, 1)


@pytest.fixture
def data() -> BrowserData:
    return fixture(Draw(Random(5), Split.TEST))


def at(data: BrowserData, *pages: Page) -> AppState[BrowserData]:
    return AppState(data, (Page("home"), *pages), Provided(today="2025-03-14"))


def links_of(screen: Screen) -> list[str]:
    return [widget.on_tap.value for widget in screen.body if isinstance(widget, Link)]


def texts_on(screen: Screen) -> list[str]:
    return [widget.text for widget in screen.body if isinstance(widget, Text)]


def test_every_page_of_the_web_can_be_shown_and_is_found_by_its_title(data):
    for path in paths(data):
        screen = APP.view(at(data, Page("web", path)), LOOK)
        assert screen.title == title_of(data, path, LOOK.say)
        assert screen.body
        assert path in found(data, title_of(data, path))


def test_no_two_pages_have_the_same_address(data):
    addresses = [address_of(data, path) for path in paths(data)]

    assert len(set(addresses)) == len(addresses)


def test_a_search_leads_to_results_and_an_address_to_its_page(data):
    city = data.forecasts[0].city
    asked = APP.step(at(data), Event("edit", "address", city))
    results = APP.step(asked, Event("search"))
    assert results.page == Page("results", city)
    assert "weather/f0" in links_of(APP.view(results, LOOK))

    typed = APP.step(at(data), Event("edit", "address", address_of(data, "news")))
    assert APP.step(typed, Event("search")).page == Page("web", "news")


def test_an_empty_search_stays_where_it_is(data):
    state = at(data)

    assert APP.step(state, Event("search")) == state


def test_visits_are_remembered_but_not_private_ones(data):
    seen = APP.step(at(data), Event("visit", "news"))
    further = APP.step(seen, Event("visit", "news/a0"))
    assert further.data.history[-1] == Visit(further.data.history[-1].id, "news/a0", "news")

    hidden = APP.step(at(data, Page("private")), Event("visit", "news"))
    assert hidden.page == Page("private_web", "news")
    assert hidden.data is data


def test_forward_leads_to_where_one_came_back_from(data):
    further = APP.step(APP.step(at(data), Event("visit", "news")), Event("visit", "news/a0"))

    back = APP.step(further, Event("back"))

    assert (back.page.argument, next_path(back)) == ("news", "news/a0")
    assert next_path(further) == ""


def test_a_tab_that_is_opened_changes_places_with_the_page_that_shows(data):
    tab = data.tabs[0]
    state = at(data, Page("web", "news"), Page("tabs"))

    after = APP.step(state, Event("open_tab", tab.id))

    assert after.page == Page("web", tab.path)
    waiting = [each.path for each in after.data.tabs]
    assert waiting == [*(each.path for each in data.tabs[1:]), "news"]


def test_a_new_tab_keeps_the_page_that_shows_and_can_be_closed(data):
    after = APP.step(at(data, Page("web", "news")), Event("new_tab"))
    added = after.data.tabs[-1]

    assert (after.stack, added.path) == ((Page("home"),), "news")
    assert APP.step(after, Event("close_tab", added.id)).data.tabs == data.tabs


def test_a_bookmark_comes_and_goes(data):
    bare = replace(data, bookmarks=())
    state = at(bare, Page("web", "news"))

    marked = APP.step(state, Event("add_bookmark", "news"))
    assert [mark.path for mark in marked.data.bookmarks] == ["news"]
    unmarked = APP.step(marked, Event("remove_bookmark", marked.data.bookmarks[0].id))
    assert unmarked.data.bookmarks == ()
    assert unmarked.page.name == "web"


def test_the_forum_wants_the_right_password_and_shows_dots(data):
    account = data.accounts[0]
    drafts = (("user", account.user), ("password", "wrong"))
    state = at(data, Page("web", "forum", drafts))
    fields = [each for each in APP.view(state, LOOK).body if isinstance(each, Field)]
    assert [field.password for field in fields] == [False, True]

    refused = APP.step(state, Event("log_in"))
    assert (user_of(refused.data), refused.effects) == ("", (Say("Wrong user name or password"),))

    right = APP.step(state, Event("edit", "password", account.password))
    entered = APP.step(right, Event("log_in"))
    assert user_of(entered.data) == account.user
    assert entered.page.drafts == ()
    assert user_of(APP.step(entered, Event("log_out")).data) == ""


def test_only_members_reply(data):
    thread = data.threads[0]
    state = at(data, Page("web", f"forum/{thread.id}", (("reply", "Yes"),)))
    assert APP.step(state, Event("reply", thread.id)).data is data

    account = replace(data.accounts[0], signed_in=True)
    member = state.with_data(replace(data, accounts=(account,)))
    post = APP.step(member, Event("reply", thread.id)).data.posts[-1]
    assert (post.thread, post.author, post.text) == (thread.id, account.user, "Yes")


def test_a_table_needs_a_name_a_day_and_a_time(data):
    state = at(data, Page("web", "table", (("name", "Ada"), ("day", "2025-03-20"))))

    assert APP.step(state, Event("reserve")).data is data
    timed = APP.step(state, Event("set", "time", "19:30"))
    table = APP.step(timed, Event("reserve")).data.reservations[-1]
    assert (table.name, table.day, table.time, table.guests) == ("Ada", "2025-03-20", "19:30", "2")


def test_a_download_is_kept_and_told_to_the_files(data):
    paper = data.documents[0]

    after = APP.step(at(data, Page("web", "papers")), Event("download", paper.id))

    assert after.data.downloads[-1].name == paper.name
    told = Tell("files", Event("downloaded", paper.name, str(paper.size_kb)))
    assert told in after.effects


def test_find_in_page_counts_words_alike_in_every_locale(data):
    article = data.articles[0]
    path = f"news/{article.id}"
    english = count_of(texts_of(data, path), article.city)
    assert english >= 1

    for locale in LOCALES:
        look = draw_look(Split.TEST, look_number(locale, 1))
        assert count_of(texts_of(data, path, look.say), article.city) == english
        state = at(data, Page("found", f"{path}|{article.city}"))
        assert str(english) in texts_on(APP.view(state, look))[0]


@pytest.mark.parametrize("locale", LOCALES)
def test_news_name_the_same_people_and_places_in_every_locale(locale):
    for text in (*HEADLINES, *PARAGRAPHS):
        words = say(text, locale).split()
        for gap in ("{person}", "{city}"):
            assert words.count(gap) == text.split().count(gap)


def test_the_history_can_be_cleared(data):
    state = at(data, Page("history"), Page("clear"))

    after = APP.step(state, Event("clear_history"))

    assert after.data.history == ()
    assert after.page.name == "history"


def test_the_search_engine_is_a_choice(data):
    engine = data.engines[2]

    after = APP.step(at(data, Page("settings"), Page(ENGINE)), Event("prefer", ENGINE, engine))

    assert engine in texts_on(APP.view(APP.step(after, Event("back")), LOOK))
    assert after.page.name == "settings"


def test_an_address_is_copied_or_shared(data):
    state = at(data, Page("web", "news"))

    assert APP.step(state, Event("copy_address", "a.example")).effects == (Copy("a.example"),)
    assert APP.step(state, Event("share_address", "a.example")).effects == (Share("a.example"),)


def test_pages_that_do_not_exist_say_so(data):
    for path in ("nowhere", "weather/x", "news/x", "recipes/x"):
        screen = APP.view(at(data, Page("web", path)), LOOK)
        assert LOOK.say("This page does not exist") in texts_on(screen)

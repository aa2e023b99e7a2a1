from __future__ import annotations

from apps_mock.screen_cache import ScreenCache


def cache(latest=2, kept=2, remembered=100):
    return ScreenCache(latest=latest, kept=kept, remembered=remembered)


def ask(screens, *keys):
    """Ask for each key as `lay_out` does; which of them were there?"""
    found = []
    for key in keys:
        value = screens.get(key, hash(key))
        found.append(value is not None)
        if value is None:
            screens.put(key, hash(key), f"screen {key}")
        else:
            assert value == f"screen {key}"
    return found


def test_the_latest_are_there():
    assert ask(cache(), 1, 1, 2, 1, 2) == [False, True, False, True, True]


def test_what_is_asked_for_once_goes_when_others_come():
    assert ask(cache(), 1, 2, 3, 4, 1) == [False] * 5


def test_what_is_asked_for_a_second_time_stays():
    screens = cache()
    ask(screens, 1, 2, 3, 1)

    assert ask(screens, 4, 5, 6, 7, 1) == [False, False, False, False, True]


def test_of_what_stays_the_longest_unused_goes_first():
    screens = cache()
    ask(screens, 1, 2, 3, 4, 5, 1, 2)
    ask(screens, 1, 3)

    assert ask(screens, 1) == [True]
    assert ask(screens, 2) == [False]


def test_keys_with_the_same_hash_are_not_mixed_up():
    assert hash(-1) == hash(-2)

    assert ask(cache(), -1, -2)[:2] == [False, False]


def test_hits_and_misses_are_counted_and_the_size_is_bounded():
    screens = cache(latest=3, kept=2, remembered=10)

    ask(screens, *range(50), *range(5), *range(5))

    info = screens.info()
    assert info.hits + info.misses == 60
    assert info.size <= 5


def test_what_it_knows_was_asked_for_is_bounded_too():
    screens = cache(remembered=2)

    ask(screens, 1, 2, 3, 4, 5)

    assert ask(screens, 1, 6, 7, 8, 1) == [False] * 5

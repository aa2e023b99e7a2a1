"""The encoding stays what it is, bit for bit: phones, logs and learners compare its digests."""

from __future__ import annotations

import hashlib
from random import Random

import numpy as np
import pytest

from apps_mock.baselines import RandomPolicy
from apps_mock.oracle import OraclePolicy
from apps_mock.phone import MockPhone
from device_runtime.ports import PolicyRequest
from sync.decoding import choice_mask, choices_of
from sync.grammar import ACTION_TYPES, heads_of
from sync.history import EMPTY_HISTORY, fold, same_screen
from sync.policy_io import encode
from sync.vocabulary import ActionKind, Split

GOLDEN = {
    "settings_switch": ("05220b71", "29075b441ade3885"),
    "settings_choice": ("992f5169", "185c87f4a8f4b699"),
    "settings_permission": ("380e9e87", "288922117b983919"),
    "settings_rename": ("9fcec08f", "f5878b33c2487a4b"),
    "contacts_open": ("1bcadb75", "cae47aad69c924bd"),
    "contacts_scroll": ("3b328ed6", "de3f711604cd541f"),
    "contacts_search": ("87baf6f4", "b213ee18a7867dcd"),
    "contacts_favourite": ("5166c15f", "107bef067978d0f1"),
    "contacts_delete": ("9f8b53d5", "86cb380c01a9a096"),
    "contacts_edit_phone": ("466a5edb", "a3b5e17d852c8142"),
    "contacts_add": ("5cf9925d", "148df1cf859295d8"),
    "clock_toggle": ("7db7247a", "5c9f3b04a2f0c1e2"),
    "clock_delete": ("f9f5946e", "f4f0a85b6706241b"),
    "clock_add": ("06d89734", "4a5cc386225cca6f"),
    "clock_label": ("249010b8", "9119e87bac7df744"),
    "clock_add_labelled": ("191a126e", "9face602f427e631"),
    "clock_timer": ("c0cd2c8d", "aac622f13f83bdfe"),
    "tickets_orders": ("76111d52", "80b69894fd66a045"),
    "tickets_alert": ("7bf21c76", "2840ccbebd8c98ed"),
    "tickets_open_order": ("99da24db", "2d00d3ed9079141e"),
    "tickets_open_passenger": ("9115a2f4", "622424813303cea3"),
    "tickets_receipt": ("bd5d4efd", "c4f4d430bece297a"),
    "tickets_cancel": ("4f9ccdc5", "c0222bdf89691eae"),
    "tickets_change_date": ("028121d5", "4d28f4f830ddafee"),
    "tickets_add_passenger": ("d062196d", "9307ba1828b7019d"),
    "tickets_find": ("1ecf0fa6", "30ae50331763d1f0"),
    "tickets_find_class": ("14f5dd17", "2b6141b16e844dd1"),
    "tickets_cheapest": ("120c285c", "7109d2a04dfeff8a"),
    "tickets_find_date": ("118a3459", "fbc37f7a8c0a3161"),
    "tickets_book_voucher": ("ac96813c", "55fc06cd10aa0f6e"),
    "tickets_book_date_class": ("b741e3ca", "3cea43ac558912c7"),
}
"""By template: hash of the screens that two players saw, and of what the policy was shown.

Where only the clones changed, the first part differs as well, and both are to be recorded again;
where only the second does, POLICY_IO_VERSION has to change with it.
"""


def played(template, player, *, seed, steps=10):
    """Screens with their encodings and histories, and the action that followed."""
    phone = MockPhone()
    goal = phone.load(template, 500 + seed, Split.TRAIN, seed).goal
    policy, random, history = player(phone), Random(seed), EMPTY_HISTORY
    for step in range(steps):
        seen = phone.observe()
        encoded = encode(seen, goal, history, step_index=step, step_budget=steps)
        request = PolicyRequest(seen, goal, history, random, encoded=encoded)
        action = policy.decide([request])[0].action
        yield seen, encoded, history, action
        if action.kind in {ActionKind.FINISH, ActionKind.ANSWER}:
            return
        valid = phone.act(action).valid
        changed = not same_screen(seen, phone.observe())
        history = fold(history, seen, action, valid=valid, screen_changed=changed)


def every_mask(encoded):
    """The masks along one chain of choices of every action type that is possible."""
    for first in np.flatnonzero(encoded.type_mask).tolist():
        chosen = [first]
        while len(chosen) < len(heads_of(ACTION_TYPES[first])):
            mask = choice_mask(encoded, chosen)
            yield mask
            allowed = np.flatnonzero(mask).tolist()
            if not allowed:
                break
            chosen.append(allowed[len(allowed) // 2])


def hashes(template):
    screens, encodings = hashlib.sha256(), hashlib.sha256()
    for seed, player in enumerate((OraclePolicy, lambda _: RandomPolicy())):
        for seen, encoded, history, action in played(template, player, seed=seed):
            screens.update(repr(seen).encode())
            items = [(one.element, one.absorbed, one.words) for one in encoded.items]
            tokens = (encoded.goal_start, encoded.item_start, encoded.memory_start)
            memory = (history.memory, sorted(history.typed), sorted(history.tapped))
            shown = (encoded.digest, encoded.texts, items, tokens, memory)
            encodings.update(repr((*shown, choices_of(encoded, action))).encode())
            for array in (encoded.ids, encoded.bits, encoded.type_mask, *every_mask(encoded)):
                encodings.update(array.dtype.str.encode() + array.tobytes())
    return screens.hexdigest()[:8], encodings.hexdigest()[:16]


@pytest.mark.parametrize("template", sorted(GOLDEN))
def test_clones_are_shown_to_the_policy_as_ever(template):
    assert (template, *hashes(template)) == (template, *GOLDEN[template])


def test_the_recorded_plays_have_typed_and_touched_something():
    seen = [
        history
        for template in ("contacts_add", "settings_rename")
        for *_, history, _ in played(template, OraclePolicy, seed=0)
    ]
    assert any(history.typed for history in seen)
    assert any(history.memory for history in seen)
    assert max(len(history.entries) for history in seen) == 4

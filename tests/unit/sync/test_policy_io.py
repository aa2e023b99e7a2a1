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
    "settings_switch": ("05220b71", "5e6c242c6b92f76f"),
    "settings_choice": ("992f5169", "88e8fadad5a5803e"),
    "settings_permission": ("380e9e87", "a7c23d71a60cc68f"),
    "settings_rename": ("9fcec08f", "5af54a6c3ce82219"),
    "contacts_open": ("1bcadb75", "7ab0eda6ba62ab2d"),
    "contacts_scroll": ("3b328ed6", "172fe0fb3032358c"),
    "contacts_search": ("87baf6f4", "ab8b53c69b4c337f"),
    "contacts_favourite": ("5166c15f", "240cda176baf17e7"),
    "contacts_delete": ("9f8b53d5", "0e51e48864db22d0"),
    "contacts_edit_phone": ("466a5edb", "777d8d497ca9d9dc"),
    "contacts_add": ("5cf9925d", "493005274b837f78"),
    "clock_toggle": ("7db7247a", "a268b920b2ba38d5"),
    "clock_delete": ("f9f5946e", "2ac819141ebeae66"),
    "clock_add": ("06d89734", "889e22a58b677253"),
    "clock_label": ("249010b8", "3a5c349bbd30a166"),
    "clock_add_labelled": ("191a126e", "169e4be4dc947e28"),
    "clock_timer": ("c0cd2c8d", "45b8377a23260b95"),
    "tickets_orders": ("76111d52", "fccea64fbb1054d7"),
    "tickets_alert": ("7bf21c76", "33816840c6619634"),
    "tickets_open_order": ("99da24db", "409618f029b1dfd2"),
    "tickets_open_passenger": ("9115a2f4", "f36cae7827fef862"),
    "tickets_receipt": ("bd5d4efd", "064c1302c28b8235"),
    "tickets_cancel": ("4f9ccdc5", "c03bd499f0ca8ef4"),
    "tickets_change_date": ("028121d5", "dc9037aacd78508d"),
    "tickets_add_passenger": ("d062196d", "24c9d07f7dd664b6"),
    "tickets_find": ("1ecf0fa6", "34d3ea8f05349ca2"),
    "tickets_find_class": ("14f5dd17", "37e90d348c07467b"),
    "tickets_cheapest": ("120c285c", "e066814128183881"),
    "tickets_find_date": ("118a3459", "659489dcc8e57a7f"),
    "tickets_book_voucher": ("ac96813c", "883278a15b1f57fc"),
    "tickets_book_date_class": ("b741e3ca", "2348f779ecdb47e7"),
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

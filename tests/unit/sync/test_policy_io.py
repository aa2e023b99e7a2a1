"""The encoding stays what it is, bit for bit: phones, logs and learners compare its digests."""

from __future__ import annotations

import hashlib
from random import Random

import numpy as np
import pytest

from apps_mock.baselines import RandomPolicy
from apps_mock.oracle import OraclePolicy
from apps_mock.phone import MockPhone
from apps_mock.tasks import templates
from device_runtime.ports import PolicyRequest
from sync.decoding import choice_mask, choices_of
from sync.grammar import ACTION_TYPES, heads_of
from sync.history import EMPTY_HISTORY, fold, same_screen
from sync.policy_io import encode
from sync.vocabulary import ActionKind, Split

GOLDEN = {
    "settings_switch": ("f0867fe3", "6821e4f62bc68eaf"),
    "settings_choice": ("88b7dc46", "3b03948895fdfb8e"),
    "settings_permission": ("d11faf1b", "7141280578a6c419"),
    "settings_rename": ("6a5177cb", "31e56fef8974119d"),
    "contacts_open": ("f56efef1", "5c2d1f70d637c393"),
    "contacts_scroll": ("faacb428", "405e13418a623312"),
    "contacts_search": ("304d25b3", "9cf6c5c255fad13b"),
    "contacts_favourite": ("c1221e7c", "d8612a319b2ae986"),
    "contacts_delete": ("94d58cb7", "4832165f23f1c312"),
    "contacts_edit_phone": ("aec3fe55", "cc779f9852bb722d"),
    "contacts_add": ("e26aee6a", "f87449c4b71c779f"),
    "clock_toggle": ("76981c7d", "559df10ab84a3c2b"),
    "clock_delete": ("a674ee4d", "7fed677d5959a3a5"),
    "clock_add": ("2745ab71", "fe152651f5c29848"),
    "clock_label": ("bcb6ad57", "54bd327c3fd9e016"),
    "clock_add_labelled": ("11683f57", "d4079e03983a6b8e"),
    "clock_timer": ("d23164ac", "6f25d6d347ae21da"),
    "tickets_orders": ("3650d83c", "af11574e3b2e9c8b"),
    "tickets_alert": ("0abce4e7", "8eb9869fff69b73e"),
    "tickets_open_order": ("dca88287", "b165f1c2f220e359"),
    "tickets_open_passenger": ("0bb78965", "7417343771b57420"),
    "tickets_receipt": ("1712bd89", "edf08c28bcb4f3ba"),
    "tickets_cancel": ("002c2dae", "0dcfd6cf1dac1156"),
    "tickets_change_date": ("96289b9d", "2c87fa574aee82ee"),
    "tickets_add_passenger": ("122e2269", "09f11bc141cc9c07"),
    "tickets_find": ("38ea056d", "e45ee386fc1bf6b0"),
    "tickets_find_class": ("9b444816", "b1e2eea2f7705375"),
    "tickets_cheapest": ("ac4abca8", "b52aa47089d21049"),
    "tickets_find_date": ("3eff6e42", "47b4a8db011c5245"),
    "tickets_book_voucher": ("9eef6351", "67425442b54f6328"),
    "tickets_book_date_class": ("e7222dec", "45302c7450897a89"),
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
        if action.kind is ActionKind.FINISH:
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


@pytest.mark.parametrize("template", [one.name for one in templates()])
def test_clones_are_shown_to_the_policy_as_ever(template):
    assert (template, *hashes(template)) == (template, *GOLDEN.get(template, ()))


def test_the_recorded_plays_have_typed_and_touched_something():
    seen = [
        history
        for template in ("contacts_add", "settings_rename")
        for *_, history, _ in played(template, OraclePolicy, seed=0)
    ]
    assert any(history.typed for history in seen)
    assert any(history.memory for history in seen)
    assert max(len(history.entries) for history in seen) == 4

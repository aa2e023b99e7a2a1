"""Who acts in an assignment: the installed release, a hand-written actor, or a user's own file.

A user's file is Python that defines `decide(request) -> Action`, or a class `Policy` that follows
`device_runtime.ports.Policy`. Only files that were named when the process started are ever run:
an assignment that came over the wire can choose one of them by name, and never bring one.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from apps_mock.adb_clone import AdbClone
from apps_mock.baselines import LexicalPolicy, NoopPolicy, RandomPolicy
from apps_mock.faults import FaultyPhone
from apps_mock.oracle import OraclePolicy
from apps_mock.phone import MockPhone
from device_runtime.errors import UnknownTaskError
from device_runtime.ports import Decided, Phone, Policy, PolicyRequest
from device_runtime.scripted import FunctionPolicy
from sync.errors import RejectedError
from sync.vocabulary import ActionKind, Assignment, Purpose

_ENDINGS = frozenset({ActionKind.FINISH, ActionKind.ANSWER})
_NO_FILES: Mapping[str, Policy] = MappingProxyType({})


class NoisyTeacher:
    """A teacher whose steps are sometimes replaced by random ones, so that recoveries are shown.

    Each step carries what the teacher would have done as `taught_action`. A random action never
    ends the episode.

    Args:
        share: probability (0..1) that a step is random.
    """

    wants_encoding = False

    def __init__(self, teacher: Policy, *, share: float) -> None:
        if not 0.0 <= share <= 1.0:
            raise ValueError(f"share is a probability in 0..1, got {share}")
        self._teacher = teacher
        self._wanderer = RandomPolicy()
        self._share = share

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """The teacher's choice or a random one per request, and the teacher's as what is taught."""
        return [self._decide(request) for request in requests]

    def _decide(self, request: PolicyRequest) -> Decided:
        taught = self._teacher.decide([request])[0].action
        action = taught
        if taught.kind not in _ENDINGS and request.random.random() < self._share:
            wandered = self._wanderer.decide([request])[0].action
            action = taught if wandered.kind in _ENDINGS else wandered
        return Decided(action, taught_action=taught)


class Actors:
    """Chooses the policy of an assignment by its actor's name.

    Args:
        release: the policy of the installed releases; None where only scripted actors play.
        files: users' policies by the name that assignments use (see `read_policy_file`).
        demonstration_noise: probability that a step of the oracle's demonstrations is random.
    """

    def __init__(
        self,
        release: Policy | None = None,
        *,
        files: Mapping[str, Policy] = _NO_FILES,
        demonstration_noise: float = 0.0,
    ) -> None:
        self._release = release
        self._files = files
        self._noise = demonstration_noise
        self._stateless: dict[str, Policy] = {
            "lexical": LexicalPolicy(),
            "random": RandomPolicy(),
            "noop": NoopPolicy(),
        }

    def policy_for(self, assignment: Assignment, phone: Phone) -> Policy:
        """The policy that plays `assignment` on `phone`.

        Raises: UnknownTaskError: nobody here is such an actor (reason "unknown_actor").
        """
        actor = assignment.actor
        if actor == "release" and self._release is not None:
            return self._release
        clone = _clone_of(phone)
        if actor == "oracle" and clone is not None:
            return self._oracle(assignment, clone)
        chosen = self._stateless.get(actor) or self._files.get(actor)
        if chosen is None:
            known = ", ".join(["release", "oracle", *self._stateless, *self._files])
            raise UnknownTaskError(
                f"no actor {actor!r} plays here: choose one of {known}", reason="unknown_actor"
            )
        return chosen

    def _oracle(self, assignment: Assignment, phone: MockPhone) -> Policy:
        oracle: Policy = OraclePolicy(phone)
        if assignment.purpose is Purpose.DEMONSTRATE and self._noise > 0.0:
            return NoisyTeacher(oracle, share=self._noise)
        return oracle


def _clone_of(phone: Phone) -> MockPhone | None:
    """The clone that is played, in process, over ADB or with faults; None on any other phone."""
    if isinstance(phone, AdbClone | FaultyPhone):
        return phone.phone
    return phone if isinstance(phone, MockPhone) else None


def read_policy_file(path: Path) -> Policy:
    """The policy that a user's Python file defines; the file is run.

    Raises: RejectedError: there is no such file, it fails to load, or it defines no policy.
    """
    spec = importlib.util.spec_from_file_location(f"policy_file_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise RejectedError(f"{path} is no Python file: name a .py file", reason="no_such_file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the user's code may raise anything
        raise _broken(error, path) from error
    return _policy_in(module, path)


def _broken(error: Exception, path: Path) -> RejectedError:
    from apps_mock.user_files import line_of  # noqa: PLC0415 - it loads the gates

    return RejectedError(
        f"{path}{line_of(error, path)}: {type(error).__name__}: {error}; repair it",
        reason="malformed",
    )


def _policy_in(module: Any, path: Path) -> Policy:  # Any: a user's module has any attributes
    made: Callable[[], Policy] | None = getattr(module, "Policy", None)
    if made is not None:
        try:
            return made()
        except Exception as error:  # the user's code may raise anything
            raise _broken(error, path) from error
    decide = getattr(module, "decide", None)
    if decide is None:
        raise RejectedError(
            f"{path} defines neither decide(request) nor a class Policy: add one",
            reason="malformed",
        )
    return FunctionPolicy(decide, name=path.stem)

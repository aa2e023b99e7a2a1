"""What the shipped base decides on 200 made-up screens: `python -m tests.decisions` writes it.

Run it after the base or the encoding of screens has changed on purpose, and never to make a test
pass: what else changes decisions is a fault of the runtime, or of the library below it.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from random import Random
from typing import Any, Final

from device_runtime.policy import OnnxPolicy
from outrider.bench import (
    RELEASE,
    decisions_digest,
    encoded_request,
    made_up_requests,
    some_adapter,
)
from outrider.graphs import graphs_of

GOLDEN: Final = Path(__file__).parent / "golden" / "decisions.json"
ELEMENTS: Final = 64
SCREENS: Final = 200


def decided() -> dict[str, Any]:  # Any: JSON
    """The base, the digest that `outrider bench policy` prints, and the choices per screen."""
    with tempfile.TemporaryDirectory() as folder:
        policy = OnnxPolicy(graphs_of(None, Path(folder)))
    policy.load_adapter(RELEASE, some_adapter(policy))
    policy.use(RELEASE)
    requests = made_up_requests(ELEMENTS, SCREENS, Random(0))
    found = [policy.decide([encoded_request(request)])[0] for request in requests]
    choices = [" ".join(str(one.choice) for one in each.decisions) for each in found]
    return {"base": policy.base_digest, "digest": decisions_digest(found), "choices": choices}


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(decided(), indent=1) + "\n", encoding="utf-8")

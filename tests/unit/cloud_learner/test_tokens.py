"""Tokens of the API, and who has ordered something by them."""

from __future__ import annotations

import hashlib

import pytest
from fastapi import Depends, FastAPI, Request
from fastapi.testclient import TestClient

from cloud_learner.api_guard import guard, signed_for
from cloud_learner.tokens import Scope, TokenFile, TokenHolder

TOKEN = "a-token-of-sufficient-length"


def test_each_token_has_a_name_and_ends_alone(tmp_path):
    file = TokenFile(tmp_path / "token")
    ann, ben = "ann-" + "a" * 20, "ben-" + "b" * 20
    file.write(TOKEN)
    file.write(ann, name="ann")
    file.write(ben, Scope.READ, name="ben")
    file.write("ann-" + "c" * 20, name="ann")

    assert [file.holder_of(one) for one in (TOKEN, ann, ben)] == [
        TokenHolder("operate", Scope.OPERATE), None, TokenHolder("ben", Scope.READ),
    ]  # fmt: skip
    assert (file.remove("ben"), file.remove("ben"), file.accepts(ben)) == (True, False, False)
    assert file.accepts(TOKEN)
    with pytest.raises(ValueError, match="name"):
        file.write(ann, name="two words")


def test_a_token_of_an_older_program_may_everything(tmp_path):
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    (tmp_path / "token").write_text(f"{digest}\n")
    assert TokenFile(tmp_path / "token").holder_of(TOKEN) == TokenHolder("operate", Scope.OPERATE)


def test_an_order_is_signed_for_by_the_token_whatever_the_caller_says(tmp_path):
    file = TokenFile(tmp_path / "token")
    file.write(TOKEN, name="ann")
    app = FastAPI()

    @app.get("/", dependencies=[Depends(guard(file, Scope.OPERATE))])
    def order(request: Request, says: str) -> str:
        return signed_for(request, says)

    @app.get("/free")
    def free(request: Request, says: str) -> str:
        return signed_for(request, says)

    with TestClient(app, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        said = [client.get("/", params={"says": who}).json() for who in ("ann", "eve", "x" * 90)]
        unguarded = client.get("/free", params={"says": "eve"}).json()
    assert said == ["ann", "ann (eve)", f"ann ({'x' * 58})"]
    assert unguarded == "eve"

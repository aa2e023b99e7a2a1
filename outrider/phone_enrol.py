"""`outrider phone enroll`: a new phone shows its claim token and becomes a device of the fleet.

Its key is made and written first, its credentials last: killed anywhere in between, the same
command with the same token goes on, because the cloud knows the key.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.errors import MisuseError
from outrider.fleet import labels_of
from outrider.fleet_access import Authority, asked, checked_url
from outrider.options import Json
from outrider.output import Output

if TYPE_CHECKING:
    from sync.credentials import CredentialStore


def enrol_phone(
    *,
    url: Annotated[str, typer.Option("--url", help="The cloud's address: http(s)://host:port.")],
    token: Annotated[
        str, typer.Option("--token", envvar="OUTRIDER_CLAIM", help="Its claim token, used once.")
    ],
    phone: Annotated[Path, typer.Option("--phone", help="The phone's folder; made if missing.")],
    name: Annotated[
        str, typer.Option("--id", help="What to call it; the folder's name if not set.")
    ] = "",
    attribute: Annotated[
        list[str] | None,
        typer.Option("--attribute", help="What it is: model=Pixel; repeatable."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Ask anew, though it is enrolled: it lost its account.")
    ] = False,
    authority: Authority = None,
    json: Json = False,
) -> None:
    """Enrol a phone: its own key, its account at the broker, and what it is to trust.

    `outrider phone run --phone DIR` needs nothing else then. A command that was cut off is simply
    given again.
    """
    from sync.credentials import CredentialStore

    address = checked_url(url)
    out = Output(json_lines=json)
    try:
        phone.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise MisuseError(f"{phone} cannot be a folder ({error.strerror}): name another") from error
    store = CredentialStore(phone)
    is_new = again or not store.is_enrolled
    if is_new:
        attributes = {key: value for key, value in labels_of(attribute or []).items() if value}
        _enrol(
            store, phone,
            url=address, token=token, name=name, attributes=attributes, authority=authority,
        )  # fmt: skip
    given = store.read()
    out.summary(
        device_id=given.device_id,
        fleet=given.fleet,
        broker=given.broker_url,
        channel=given.channel,
        phone=str(phone),
        already=not is_new,
    )


def _enrol(
    store: CredentialStore,
    phone: Path,
    *,
    url: str,
    token: str,
    name: str,
    attributes: dict[str, str],
    authority: Path | None,
) -> None:
    """Ask the cloud and write down what it gives.

    Raises:
        CommandError: it refused, or nobody answers.
        IntegrityError: the phone trusts another fleet already.
    """
    from urllib.request import Request

    from device_runtime.installer import enrol
    from sync.enrolment import EnrolmentRequest, decode_enrolment, public_key_of, signed_request

    key = store.key()
    wanted = EnrolmentRequest(
        token=token.strip(),
        public_key=public_key_of(key),
        name=name or phone.resolve().name,
        attributes=attributes,
    )
    request = Request(  # noqa: S310 - an address that was checked
        f"{url}/v1/enrolment",
        signed_request(wanted, key),
        {"Content-Type": "application/json"},
        method="POST",
    )
    given = decode_enrolment(asked(request, authority))
    if given.root:
        enrol(phone, given.root)
        (phone / "trust" / "root.json").chmod(0o600)
    store.write(given, url=url)

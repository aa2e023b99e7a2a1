"""The page on which a person plays a clone, as a browser and as a stranger see it."""

from __future__ import annotations

import http.client
import io
import json
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

from outrider.clones_play_server import PlayServer
from outrider.clones_play_session import PlaySession
from sync.vocabulary import Split


@pytest.fixture
def server():
    session = PlaySession("contacts_delete", seed=4, split=Split.TRAIN, look=0)
    server = PlayServer(session)
    server.start()
    yield server
    server.stop()


class Browser:
    """Speaks to the server as the page does."""

    def __init__(self, server):
        self.server = server
        self.host = f"127.0.0.1:{server.port}"

    def ask(self, path, *, move=None, token=None, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=10)
        sent = {"Host": self.host, "Content-Type": "application/json"}
        sent.update({name.replace("_", "-"): value for name, value in headers.items()})
        if move is not None:
            body = json.dumps(move).encode()
        token = self.server.token if token is None else token
        method = "GET" if body is None else "POST"
        connection.request(method, f"/{token}/{path}", body=body, headers=sent)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content

    def method(self, name, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=10)
        connection.request(name, f"/{self.server.token}/{path}", headers={"Host": self.host})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer, content

    def view(self):
        return json.loads(self.ask("view")[1])

    def act(self, **move):
        answer, content = self.ask("act", move=move)
        assert answer.status == 200, content
        return json.loads(content)


@pytest.fixture
def browser(server):
    return Browser(server)


def nodes(tree):
    yield tree
    for child in tree["children"]:
        yield from nodes(child)


def middle_of(view, text):
    node = next(each for each in nodes(view["tree"]) if text in {each["text"], each["description"]})
    left, top, right, bottom = node["bounds"]
    return {"x": (left + right) // 2, "y": (top + bottom) // 2}


def test_a_tap_changes_screen_and_state(browser):
    before = browser.view()

    after = browser.act(kind="tap", **middle_of(before, "Contacts"))

    assert after["front"] != before["front"]
    assert after["state_hash"] != before["state_hash"]
    assert after["steps"] == 1
    foreground = next(each for each in after["state"]["phone"] if each["name"] == "foreground")
    assert foreground == {"name": "foreground", "value": "contacts", "was": "home"}


def test_a_task_can_be_played_to_its_end(browser):
    view = browser.act(kind="tap", **middle_of(browser.view(), "Contacts"))
    name = view["goal"].partition("delete ")[2]
    for text in (name, "Remove"):
        view = browser.act(kind="tap", **middle_of(view, text))
    confirming = [each["text"] for each in nodes(view["tree"]) if "clickable" in each["flags"]]
    view = browser.act(kind="tap", **middle_of(view, confirming[-1]))
    assert view["verdict"]["reached"]
    assert not view["verdict"]["success"]
    contacts = next(app for app in view["state"]["apps"] if app["name"] == "contacts")
    assert "removed" in {record["status"] for record in contacts["tables"][0]["records"]}

    view = browser.act(kind="finish")

    assert view["verdict"]["success"]
    assert all(check["passed"] for check in view["verdict"]["checks"])
    assert browser.act(kind="restart")["verdict"]["success"] is False


def test_keys_text_and_swipes_reach_the_phone(browser):
    view = browser.act(kind="tap", **middle_of(browser.view(), "Contacts"))
    field = next(each for each in nodes(view["tree"]) if each["class"] == "EditText")
    left, top, right, bottom = field["bounds"]
    browser.act(kind="tap", x=(left + right) // 2, y=(top + bottom) // 2)

    typed = browser.act(kind="text", text="Zz <&>")
    deleted = browser.act(kind="key", key="delete")
    hidden = browser.act(kind="key", key="back")
    away = browser.act(kind="key", key="home")
    shade = browser.act(kind="swipe", x=500, y=5, x2=500, y2=900)

    assert "Zz <&>" in {each["text"] for each in nodes(typed["tree"])}
    assert "Zz <&" in {each["text"] for each in nodes(deleted["tree"])}
    assert typed["keyboard"]
    assert not hidden["keyboard"]
    assert "launcher" in away["front"]
    assert shade["state_hash"] != away["state_hash"]


def test_the_picture_comes_as_pixels_and_as_vectors(browser):
    picture, svg = browser.ask("screen.png"), browser.ask("screen.svg")

    assert picture[0].headers["Content-Type"] == "image/png"
    assert Image.open(io.BytesIO(picture[1])).width == 720
    assert ET.fromstring(svg[1]).tag.endswith("svg")


@pytest.mark.parametrize("path", ["", "page.css", "page.js"])
def test_the_page_needs_nothing_from_outside(browser, path):
    answer, content = browser.ask(path)

    assert answer.status == 200
    assert b"http" not in content.replace(b"application/json", b"")
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["", "view", "screen.png"])
def test_a_wrong_token_is_refused(browser, path):
    assert browser.ask(path, token="guess")[0].status == 403
    assert browser.ask(path, token="")[0].status == 403


def test_a_move_with_a_wrong_token_changes_nothing(browser):
    before = browser.view()

    answer, _ = browser.ask("act", token="guess", move={"kind": "key", "key": "recents"})

    assert answer.status == 403
    assert browser.view() == before


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example"}, {"Host": "evil.example:80"}, {"Origin": "http://evil.example"}],
)
def test_another_host_or_origin_is_refused(browser, headers):
    answer, _ = browser.ask("act", move={"kind": "key", "key": "home"}, **headers)

    assert answer.status == 403


@pytest.mark.parametrize(
    ("move", "reason"),
    [
        ({"kind": "fly"}, "tap"),
        ({}, "tap"),
        ({"kind": "tap", "x": "left"}, "pixels"),
        ({"kind": "tap", "x": 1e9, "y": 1}, "farther"),
        ({"kind": "tap", "x": float("nan"), "y": 1}, "farther"),
        ({"kind": "key", "key": "power"}, "recents"),
        ({"kind": "text", "text": ""}, "characters"),
        ({"kind": "answer", "text": " "}, "text"),
    ],
)
def test_a_move_that_makes_no_sense_is_answered_with_the_reason(browser, move, reason):
    answer, content = browser.ask("act", move=move)

    assert answer.status == 422
    assert reason in json.loads(content)["error"]


@pytest.mark.parametrize("body", [b"[]", b"{", b"\xff"])
def test_a_body_that_is_no_object_is_refused(browser, body):
    assert browser.ask("act", body=body)[0].status == 400


def test_a_huge_body_is_refused_unread(browser):
    assert browser.ask("act", body=b"{}", Content_Length="99999999")[0].status == 413


def test_a_form_of_another_page_cannot_move(browser):
    answer, _ = browser.ask("act", body=b"{}", Content_Type="text/plain")

    assert answer.status == 415


_COMMAND = """
import sys, typer
from outrider import clones_play
from outrider.errors import MisuseError
app = typer.Typer()
app.command()(clones_play.play)
try:
    app(sys.argv[1:], standalone_mode=False)
except MisuseError as error:
    print(error, file=sys.stderr)
    sys.exit(2)
"""


def test_the_command_says_where_the_page_is_and_sums_up_when_interrupted():
    with subprocess.Popen(
        [sys.executable, "-c", _COMMAND, "clock", "--no-browser", "--json"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        listening = json.loads(process.stdout.readline())
        task = json.loads(process.stdout.readline())
        connection = http.client.HTTPConnection("127.0.0.1", listening["port"], timeout=10)
        connection.request("GET", listening["url"].partition(str(listening["port"]))[2] + "view")
        view = json.loads(connection.getresponse().read())
        connection.close()
        process.send_signal(2)
        rest = process.stdout.read().splitlines()
        code = process.wait(timeout=20)

    assert listening["event"] == "listening"
    assert view["goal"] == task["goal"]
    assert json.loads(rest[-1])["event"] == "summary"
    assert code == 0


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["nonsense"], "contacts"),
        (["--task", "nonsense"], "clones list"),
        ([], "--task"),
        (["clock", "--task", "clock_add"], "--task"),
        (["clock", "--seed", "-1"], "--seed"),
        (["clock", "--port", "70000"], "--port"),
    ],
)
def test_misuse_is_one_clear_line(arguments, names):
    import typer
    from typer.testing import CliRunner

    from outrider import clones_play
    from outrider.errors import MisuseError

    app = typer.Typer()
    app.command()(clones_play.play)
    result = CliRunner().invoke(app, [*arguments, "--no-browser"])

    assert isinstance(result.exception, MisuseError)
    assert names in str(result.exception)
    assert "\n" not in str(result.exception)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_other_methods_are_refused_in_json(browser, method):
    answer, content = browser.method(method, "act")

    assert answer.status == 405
    assert answer.headers.get_content_type() == "application/json"
    reason = f"there is no {method} here: GET shows, POST to act moves"
    assert json.loads(content) == {"error": reason}

"""The shop app: things to buy, a cart, orders."""

from __future__ import annotations

from dataclasses import dataclass

from apps_mock.app import App, AppState
from apps_mock.entities import Draw
from apps_mock.look import Look
from apps_mock.widgets import Event, Screen, Text


@dataclass(frozen=True, slots=True)
class CartLine:
    """A thing in the cart."""

    id: str


@dataclass(frozen=True, slots=True)
class ShopData:
    """Everything in the app."""

    cart: tuple[CartLine, ...] = ()


def fixture(_draw: Draw) -> ShopData:
    """What is in the app before a task is set up."""
    return ShopData()


def update(state: AppState[ShopData], _event: Event) -> AppState[ShopData]:
    """The state after an event."""
    return state


def view(_state: AppState[ShopData], look: Look) -> Screen:
    """What the page on top shows."""
    return Screen(look.say("Marlo"), (Text(look.say("Nothing new today")),), back=False)


APP: App[ShopData] = App(
    name="shop",
    label="Marlo",
    package="org.outrider.clones.shop",
    update=update,
    view=view,
)

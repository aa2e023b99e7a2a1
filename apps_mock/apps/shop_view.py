"""What the shop app shows: cart, checkout, orders and addresses; and the app itself."""

from __future__ import annotations

from collections.abc import Callable

from apps_mock.app import App, AppState, Page
from apps_mock.apps import shop_pages
from apps_mock.apps.shop import (
    DEFAULT_DELIVERY,
    DEFAULT_PAYMENT,
    DELIVERIES,
    ORDERED,
    PAYMENTS,
    Address,
    Item,
    ShopData,
    price_of,
    total_of,
    update,
)
from apps_mock.apps.shop_pages import CART, ORDERS, quantity_picker
from apps_mock.look import Look, wording
from apps_mock.records import find
from apps_mock.widgets import Button, Event, Field, Row, Screen, Text, Widget

CHECKOUT = wording("Check out", "Go to checkout", held_out=("Buy now",))
PLACE_ORDER = wording("Place order", "Order and pay", held_out=("Finish the purchase",))
CANCEL_PURCHASE = wording("Cancel order", "Cancel this order", held_out=("Call it off",))
REMOVE = wording("Remove", "Remove from cart", held_out=("Take out",))
UPDATE = wording("Update", "Update quantity", held_out=("Change quantity",))
SHIP_TO = wording("Delivery address", "Ship to", held_out=("Send to",))
VOUCHER_CODE = wording("Voucher code", "Voucher", held_out=("Gift code",))


def view(state: AppState[ShopData], look: Look) -> Screen:
    """What the page on top shows."""
    return _VIEWS[state.page.name](state.data, state.page, look)


def _line_text(data: ShopData, item: Item, look: Look) -> str:
    parts = [look.say(item.colour), item.size, f"{item.quantity} × {price_of(data, item.product)}"]
    return ", ".join(part for part in parts if part) + " EUR"


def _title(data: ShopData, product_id: str) -> str:
    product = find(data.products, product_id)
    return product.title if product else product_id


def _cart(data: ShopData, _page: Page, look: Look) -> Screen:
    if not data.cart:
        return Screen(look.word(CART), (Text(look.say("Your cart is empty")),))
    rows: list[Widget] = [
        Row(
            _title(data, line.product),
            _line_text(data, Item(line.product, line.colour, line.size, line.quantity), look),
            on_tap=Event("go", "line", line.id),
        )
        for line in look.ordered(data.cart, lambda line: line.id)
    ]
    goods = sum(line.quantity * price_of(data, line.product) for line in data.cart)
    rows.append(Text(look.say("Subtotal {price} EUR").format(price=goods), heading=True))
    rows.extend(Text(text) for text in look.noise("cart"))
    buy = Button(look.word(CHECKOUT), Event("go", "checkout"), primary=True)
    return Screen(look.word(CART), tuple(rows), (buy,))


def _line(data: ShopData, page: Page, look: Look) -> Screen:
    line = find(data.cart, page.argument)
    if line is None:
        return Screen(look.word(CART), (Text(look.say("This product is gone")),))
    item = Item(line.product, line.colour, line.size, line.quantity)
    return Screen(
        _title(data, line.product),
        (
            Text(_line_text(data, item, look)),
            quantity_picker(page.draft("quantity", str(line.quantity)), look),
        ),
        (
            Button(look.word(REMOVE), Event("remove_line", line.id)),
            Button(look.word(UPDATE), Event("update_line", line.id), primary=True),
        ),
        (Button(look.say("Show product"), Event("go", "product", line.product)),),
    )


def _address_text(address: Address | None) -> str:
    return f"{address.name}, {address.street}, {address.city}" if address else ""


def _checkout(data: ShopData, page: Page, look: Look) -> Screen:
    delivery = page.draft("delivery", DEFAULT_DELIVERY)
    address = find(data.addresses, page.draft("address", data.addresses[0].id))
    total = total_of(data, delivery, page.draft("voucher"))
    body: list[Widget] = [
        Row(look.word(SHIP_TO), _address_text(address), on_tap=Event("go", "addresses")),
        Text(look.say("Delivery"), heading=True),
        *_radios("delivery", tuple(DELIVERIES), delivery, look),
        Text(look.say("Payment"), heading=True),
        *_radios("payment", PAYMENTS, page.draft("payment", DEFAULT_PAYMENT), look),
        Field("voucher", look.word(VOUCHER_CODE), page.draft("voucher")),
        Text(look.say("Total {price} EUR").format(price=total), heading=True),
    ]
    buy = Button(look.word(PLACE_ORDER), Event("go", "confirm"), primary=True)
    return Screen(look.say("Checkout"), tuple(body), (buy,))


def _radios(key: str, names: tuple[str, ...], chosen: str, look: Look) -> list[Widget]:
    return [
        Row(
            look.say(name),
            f"{DELIVERIES[name]} EUR" if name in DELIVERIES else "",
            checked=name == chosen,
            on_toggle=Event("set", key, name),
            radio=True,
        )
        for name in names
    ]


def _addresses(data: ShopData, _page: Page, look: Look) -> Screen:
    rows = tuple(
        Row(address.name, f"{address.street}, {address.city}", on_tap=event)
        for address, event in (
            (each, Event("pick", "address", each.id)) for each in _in_order(data, look)
        )
    )
    add = Button(look.say("New address"), Event("go", "add_address"))
    return Screen(look.word(SHIP_TO), rows, (add,))


def _in_order(data: ShopData, look: Look) -> list[Address]:
    return look.ordered(data.addresses, lambda address: address.id)


def _book(data: ShopData, _page: Page, look: Look) -> Screen:
    rows = tuple(
        Row(address.name, f"{address.street}, {address.city}") for address in _in_order(data, look)
    )
    add = Button(look.say("New address"), Event("go", "add_address"))
    return Screen(look.say("My addresses"), rows, (add,))


def _add_address(_data: ShopData, page: Page, look: Look) -> Screen:
    fields = (("name", "Receiver"), ("street", "Street and number"), ("city", "Town"))
    body = tuple(Field(key, look.say(label), page.draft(key)) for key, label in fields)
    return Screen(
        look.say("New address"),
        body,
        (Button(look.word("save"), Event("save_address"), primary=True),),
    )


def _confirm(_data: ShopData, _page: Page, look: Look) -> Screen:
    return Screen(
        look.word(PLACE_ORDER),
        (Text(look.say("Do you want to buy what is in your cart")),),
        (
            Button(look.word("keep"), Event("back")),
            Button(look.word("yes"), Event("order"), primary=True),
        ),
        dialog=True,
    )


def _orders(data: ShopData, _page: Page, look: Look) -> Screen:
    rows: list[Widget] = [
        Row(
            look.say("Order {number}").format(number=order.number),
            f"{_title(data, order.items[0].product)}, {look.say(order.status)}",
            on_tap=Event("go", "order", order.id),
        )
        for order in look.ordered(data.orders, lambda order: order.id)
    ]
    rows.extend(Text(text) for text in look.noise("shop_orders"))
    return Screen(look.word(ORDERS), tuple(rows))


def _order(data: ShopData, page: Page, look: Look) -> Screen:
    order = find(data.orders, page.argument)
    if order is None:
        return Screen(look.word(ORDERS), (Text(look.say("This order is gone")),))
    lines = (
        ("Status", look.say(order.status)),
        ("Arrives on", order.arrives),
        ("Delivery address", _address_text(find(data.addresses, order.address))),
        ("Delivery", look.say(order.delivery)),
        ("Payment", look.say(order.payment)),
        ("Total", f"{order.total} EUR"),
    )
    body: list[Widget] = [
        Row(_title(data, item.product), _line_text(data, item, look)) for item in order.items
    ]
    body.extend(Row(look.say(label), text) for label, text in lines)
    if order.voucher:
        body.append(Row(look.word(VOUCHER_CODE), order.voucher))
    actions: tuple[Button, ...] = ()
    if order.status == ORDERED:
        actions = (Button(look.word(CANCEL_PURCHASE), Event("go", "cancel", order.id)),)
    return Screen(look.say("Order {number}").format(number=order.number), tuple(body), actions)


def _cancel(_data: ShopData, page: Page, look: Look) -> Screen:
    return Screen(
        look.word(CANCEL_PURCHASE),
        (Text(look.say("The order will not be sent")),),
        (
            Button(look.word("keep"), Event("back")),
            Button(look.word("yes"), Event("cancel", page.argument), primary=True),
        ),
        dialog=True,
    )


_VIEWS: dict[str, Callable[[ShopData, Page, Look], Screen]] = {
    "home": shop_pages.home,
    "results": shop_pages.results,
    "category": shop_pages.category,
    "filter": shop_pages.filters,
    "product": shop_pages.product,
    "reviews": shop_pages.reviews,
    "write_review": shop_pages.write_review,
    "wishes": shop_pages.wishes,
    "cart": _cart,
    "line": _line,
    "checkout": _checkout,
    "addresses": _addresses,
    "book": _book,
    "add_address": _add_address,
    "confirm": _confirm,
    "orders": _orders,
    "order": _order,
    "cancel": _cancel,
}

APP: App[ShopData] = App(
    name="shop",
    label="Marlo",
    package="org.outrider.clones.shop",
    update=update,
    view=view,
    takes_shares="shared",
)

"""Ways through the shop that several of its tasks take."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.shop import CartLine, Order, Product, ShopData, fixture, found
from apps_mock.entities import Draw
from apps_mock.plans import Entry, Fill, Plan, Press
from apps_mock.records import changed
from apps_mock.wanted import Change
from apps_mock.widgets import Event


def some_product(draw: Draw, *, sized: bool | None = None) -> tuple[ShopData, Product]:
    """A shop, and a product of it that can be bought and is not in the cart."""
    data = fixture(draw)
    product = draw.random.choice(
        [each for each in data.products if sized is None or bool(each.sizes) == sized]
    )
    products = changed(data.products, product.id, in_stock=True)
    cart = tuple(line for line in data.cart if line.product != product.id)
    return replace(data, products=products, cart=cart), replace(product, in_stock=True)


def first_of(data: ShopData, query: str) -> Product:
    """The first product that a search shows."""
    return found(data, query)[0]


def search(query: str) -> Plan:
    """The way to what a search finds."""
    return {("home", ""): Fill((Entry("query", query),), Event("search"))}


def open_product(query: str, product: Product) -> Plan:
    """The way to a product by a search that finds it."""
    plan = search(query)
    plan["results", query] = Press(Event("go", "product", product.id))
    return plan


def size_entry(size: str) -> Entry:
    """The choice of a size on a product's page."""
    return Entry("size", size, picker="choice")


def colour_entry(product: Product, colour: str) -> Entry:
    """The choice of a colour on a product's page."""
    return Entry("colour", colour, Event("set", "colour", colour), default=product.colours[0])


def quantity_entry(quantity: str) -> Entry:
    """The choice of a quantity on a product's page."""
    return Entry("quantity", quantity, default="1", picker="choice")


def add_to_cart(product: Product, *entries: Entry) -> Plan:
    """What to do on a product's page that adds it to the cart."""
    return {("product", product.id): Fill(entries, Event("add_to_cart", product.id))}


def new_line(product: Product, *, colour: str = "", size: str = "", quantity: int = 1) -> Change:
    """The line of the cart that adding the product makes."""
    return Change(
        "cart",
        None,
        (
            ("product", product.id),
            ("colour", colour or product.colours[0]),
            ("size", size),
            ("quantity", quantity),
        ),
    )


def to_cart(line: CartLine | None = None) -> Plan:
    """The way to the cart, or to one of its lines."""
    plan: Plan = {("home", ""): Press(Event("go", "cart"))}
    if line is not None:
        plan["cart", ""] = Press(Event("go", "line", line.id))
    return plan


def to_orders(order: Order) -> Plan:
    """The way to an order."""
    return {
        ("home", ""): Press(Event("go", "orders")),
        ("orders", ""): Press(Event("go", "order", order.id)),
    }

"""Tasks in the shop that fill the cart, empty it, or buy what is in it."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.shop import (
    CANCELLED,
    DEFAULT_DELIVERY,
    DEFAULT_PAYMENT,
    DELIVERIES,
    ORDERED,
    PAYMENTS,
    QUANTITIES,
    CartLine,
    Item,
    Product,
    ShopData,
    arrival,
    fixture,
    found,
    next_number,
    street_of,
    total_of,
    variant,
)
from apps_mock.catalogue import Term
from apps_mock.entities import Draw
from apps_mock.plans import Entry, Fill, Plan, Press
from apps_mock.records import changed
from apps_mock.suites.shop_paths import (
    add_to_cart,
    colour_entry,
    new_line,
    open_product,
    quantity_entry,
    search,
    size_entry,
    some_product,
    to_cart,
    to_orders,
)
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change
from apps_mock.widgets import Event


def _buy_size(draw: Draw) -> Instance:
    data, product = some_product(draw, sized=True)
    size = draw.random.choice(product.sizes)
    plan = open_product(product.title, product) | add_to_cart(product, size_entry(size))
    words = {"title": product.title, "size": size}
    return Instance(words, data, plan, (new_line(product, size=size),))


def _buy_variant(draw: Draw) -> Instance:
    data, product = some_product(draw, sized=True)
    size = draw.random.choice(product.sizes)
    colour = draw.random.choice(product.colours[1:])
    entries = (colour_entry(product, colour), size_entry(size))
    plan = open_product(product.title, product) | add_to_cart(product, *entries)
    words: dict[str, str | Term] = {"title": product.title, "size": size, "colour": Term(colour)}
    return Instance(words, data, plan, (new_line(product, colour=colour, size=size),))


def _buy_several(draw: Draw) -> Instance:
    data, product = some_product(draw, sized=False)
    quantity = draw.random.choice(QUANTITIES[1:])
    plan = open_product(product.title, product) | add_to_cart(product, quantity_entry(quantity))
    words = {"title": product.title, "quantity": quantity}
    return Instance(words, data, plan, (new_line(product, quantity=int(quantity)),))


def _buy_cheapest(draw: Draw) -> Instance:
    data, product = some_product(draw, sized=True)
    brand = product.brand
    data = _only_sized(data, brand)
    best = min(found(data, brand), key=lambda each: each.price)
    size = draw.random.choice(best.sizes)
    plan = search(brand) | add_to_cart(best, size_entry(size))
    plan["results", brand] = Fill(
        (Entry("sort", "cheapest", Event("set", "sort", "cheapest")),),
        Event("go", "product", best.id),
    )
    words = {"brand": brand, "size": size}
    return Instance(words, data, plan, (new_line(best, size=size),))


def _only_sized(data: ShopData, brand: str) -> ShopData:
    """The shop without what the brand has in one size only; all of the brand can be bought."""
    products = tuple(
        replace(each, in_stock=True) if each.brand == brand else each
        for each in data.products
        if each.sizes or each.brand != brand
    )
    kept = {each.id for each in products if each.brand != brand}
    cart = tuple(line for line in data.cart if line.product in kept)
    known = {each.id for each in products}
    orders = tuple(order for order in data.orders if order.items[0].product in known)
    reviews = tuple(review for review in data.reviews if review.product in known)
    return replace(data, products=products, cart=cart, orders=orders, reviews=reviews)


def filled(draw: Draw) -> tuple[ShopData, Product, CartLine]:
    """A shop with two products in its cart, and one of the two."""
    data, product = some_product(draw)
    other = draw.random.choice([each for each in data.products if each.id != product.id])
    lines = tuple(
        CartLine(f"l{index}", each.id, *variant(draw, each), draw.random.randrange(1, 4))
        for index, each in enumerate((product, other))
    )
    return replace(data, cart=lines), product, lines[0]


def _remove(draw: Draw) -> Instance:
    data, product, line = filled(draw)
    plan = to_cart(line)
    plan["line", line.id] = Press(Event("remove_line", line.id))
    change = Change("cart", line.id, removed=True)
    return Instance({"title": product.title}, data, plan, (change,))


def _change_quantity(draw: Draw) -> Instance:
    data, product, line = filled(draw)
    quantity = draw.random.choice([each for each in QUANTITIES if int(each) != line.quantity])
    plan = to_cart(line)
    entry = Entry("quantity", quantity, default=str(line.quantity), picker="choice")
    plan["line", line.id] = Fill((entry,), Event("update_line", line.id))
    change = Change("cart", line.id, (("quantity", int(quantity)),))
    words = {"title": product.title, "quantity": quantity}
    return Instance(words, data, plan, (change,))


def purchase(
    data: ShopData,
    now: str,
    *,
    address: str = "",
    delivery: str = DEFAULT_DELIVERY,
    payment: str = DEFAULT_PAYMENT,
    voucher: str = "",
) -> tuple[Plan, tuple[Change, ...]]:
    """The way from the start page to an order of what is in the cart, and what it changes."""
    first = data.addresses[0].id
    address = address or first
    plan = to_cart()
    plan["cart", ""] = Press(Event("go", "checkout"))
    plan["addresses", ""] = Press(Event("pick", "address", address))
    plan["confirm", ""] = Press(Event("order"))
    plan["checkout", ""] = Fill(
        (
            Entry("address", address, Event("go", "addresses"), default=first),
            _radio("delivery", delivery, DEFAULT_DELIVERY),
            _radio("payment", payment, DEFAULT_PAYMENT),
            Entry("voucher", voucher),
        ),
        Event("go", "confirm"),
    )
    items = tuple(Item(each.product, each.colour, each.size, each.quantity) for each in data.cart)
    values = (
        ("number", next_number(data.orders)),
        ("items", items),
        ("total", total_of(data, delivery, voucher)),
        ("address", address),
        ("delivery", delivery),
        ("payment", payment),
        ("voucher", voucher),
        ("arrives", arrival(now[:10], delivery)),
        ("status", ORDERED),
    )
    emptied = tuple(Change("cart", line.id, removed=True) for line in data.cart)
    return plan, (Change("orders", None, values), *emptied)


def some_moment(draw: Draw) -> str:
    """A day and a time at which somebody may buy something."""
    month, day, hour = (draw.random.randrange(*bounds) for bounds in ((1, 13), (1, 29), (8, 20)))
    return f"2025-{month:02}-{day:02}T{hour:02}:15"


def _radio(field: str, value: str, default: str) -> Entry:
    return Entry(field, value, Event("set", field, value), default=default)


def _order_voucher(draw: Draw) -> Instance:
    data = fixture(draw)
    code = draw.random.choice(data.vouchers).code
    now = some_moment(draw)
    plan, changes = purchase(data, now, voucher=code)
    return Instance({"voucher": code}, data, plan, changes, now=now)


def _order_to(draw: Draw) -> Instance:
    data = fixture(draw)
    address = draw.random.choice(data.addresses[1:])
    now = some_moment(draw)
    plan, changes = purchase(data, now, address=address.id)
    return Instance({"name": address.name}, data, plan, changes, now=now)


def _order_all(draw: Draw) -> Instance:
    """The longest way to buy: another address, a delivery, a payment, and a voucher."""
    data = fixture(draw)
    address = draw.random.choice(data.addresses[1:])
    delivery = draw.random.choice([each for each in DELIVERIES if each != DEFAULT_DELIVERY])
    payment = draw.random.choice([each for each in PAYMENTS if each != DEFAULT_PAYMENT])
    now = some_moment(draw)
    plan, changes = purchase(data, now, address=address.id, delivery=delivery, payment=payment)
    words: dict[str, str | Term] = {
        "name": address.name,
        "delivery": Term(delivery),
        "payment": Term(payment),
    }
    return Instance(words, data, plan, changes, now=now)


def _add_address(draw: Draw) -> Instance:
    data = fixture(draw)
    name, street, city = draw.name(), street_of(draw), draw.city()
    entries = (Entry("name", name), Entry("street", street), Entry("city", city))
    plan: Plan = {
        ("home", ""): Press(Event("go", "book")),
        ("book", ""): Press(Event("go", "add_address")),
        ("add_address", ""): Fill(entries, Event("save_address")),
    }
    values = (("name", name), ("street", street), ("city", city))
    words = {"name": name, "street": street, "city": city}
    return Instance(words, data, plan, (Change("addresses", None, values),))


def _cancel(draw: Draw) -> Instance:
    data = fixture(draw)
    order = draw.random.choice(data.orders)
    data = replace(data, orders=changed(data.orders, order.id, status=ORDERED))
    plan = to_orders(order)
    plan["order", order.id] = Press(Event("go", "cancel", order.id))
    plan["cancel", order.id] = Press(Event("cancel", order.id))
    change = Change("orders", order.id, (("status", CANCELLED),))
    return Instance({"number": order.number}, data, plan, (change,))


BUYING_TEMPLATES = (
    Template(
        name="shop_buy_size",
        app="shop",
        oracle_steps=12,
        phrasings=(
            "Put the {title} in size {size} into the cart of Marlo",
            "At Marlo add {title} to the cart in size {size}",
        ),
        set_up=_buy_size,
        tags=("scrolls",),
        held_out=("I want {title} from Marlo in size {size} so put it in my cart",),
    ),
    Template(
        name="shop_buy_variant",
        app="shop",
        oracle_steps=13,
        phrasings=(
            "Put the {title} in {colour} and size {size} into the cart of Marlo",
            "At Marlo add {title} to the cart with the colour {colour} and the size {size}",
        ),
        set_up=_buy_variant,
        tags=("scrolls",),
        held_out=("My Marlo cart needs one {title} in {colour} and in size {size}",),
    ),
    Template(
        name="shop_buy_several",
        app="shop",
        oracle_steps=11,
        phrasings=(
            "Put {quantity} pieces of {title} into the cart of Marlo",
            "At Marlo add {title} to the cart with the quantity {quantity}",
        ),
        set_up=_buy_several,
        tags=("scrolls",),
        held_out=("Have {quantity} of {title} in my Marlo cart",),
    ),
    Template(
        name="shop_buy_cheapest",
        app="shop",
        oracle_steps=13,
        phrasings=(
            "Put the cheapest product by {brand} in size {size} into the cart of Marlo",
            "At Marlo find the cheapest {brand} and add it to the cart in size {size}",
        ),
        set_up=_buy_cheapest,
        tags=("scrolls",),
        held_out=("Of all {brand} products at Marlo put the cheapest in size {size} in my cart",),
    ),
    Template(
        name="shop_remove",
        app="shop",
        oracle_steps=8,
        phrasings=(
            "Remove {title} from the cart of Marlo",
            "I no longer want {title} so take it out of my Marlo cart",
        ),
        set_up=_remove,
        tags=("scrolls",),
        held_out=("Get {title} out of the shopping cart at Marlo",),
    ),
    Template(
        name="shop_change_quantity",
        app="shop",
        oracle_steps=10,
        phrasings=(
            "Change the quantity of {title} in the cart of Marlo to {quantity}",
            "In my Marlo cart set {title} to {quantity} pieces",
        ),
        set_up=_change_quantity,
        tags=("scrolls",),
        held_out=("I need {quantity} of {title} so correct my Marlo cart",),
    ),
    Template(
        name="shop_order_voucher",
        app="shop",
        oracle_steps=13,
        phrasings=(
            "Order what is in the Marlo cart with the voucher {voucher}",
            "Buy everything in my Marlo cart and use the voucher {voucher}",
        ),
        set_up=_order_voucher,
        tags=("scrolls",),
        held_out=("Check out at Marlo with the code {voucher}",),
    ),
    Template(
        name="shop_order_to",
        app="shop",
        oracle_steps=12,
        phrasings=(
            "Order what is in the Marlo cart to the address of {name}",
            "Buy everything in my Marlo cart and send it to {name}",
        ),
        set_up=_order_to,
        tags=("scrolls",),
        held_out=("Check out at Marlo and ship it to {name}",),
    ),
    Template(
        name="shop_order_all",
        app="shop",
        oracle_steps=15,
        phrasings=(
            "Order the Marlo cart to {name} with the delivery {delivery} and the payment {payment}",
            "Buy my Marlo cart for {name} choosing {delivery} as delivery and {payment} as payment",
        ),
        set_up=_order_all,
        tags=("scrolls",),
        held_out=("Send the Marlo cart to {name} by {delivery} and pay with {payment}",),
    ),
    Template(
        name="shop_add_address",
        app="shop",
        oracle_steps=12,
        phrasings=(
            "Add the address {street} in {city} for {name} to Marlo",
            "Save {name} at {street} in {city} among my Marlo addresses",
        ),
        set_up=_add_address,
        held_out=("Marlo shall know that {name} lives at {street} in {city}",),
    ),
    Template(
        name="shop_cancel",
        app="shop",
        oracle_steps=10,
        phrasings=(
            "Cancel the Marlo order {number}",
            "I do not need the order {number} from Marlo so cancel it",
        ),
        set_up=_cancel,
        tags=("scrolls",),
        held_out=("Call off my purchase {number} at Marlo",),
    ),
)

"""The shop app: products with variants, a cart, checkout, orders, wishes and reviews."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import NamedTuple

from apps_mock.app import AppState, Page, Say, Share
from apps_mock.entities import LAST_NAMES, Draw
from apps_mock.records import changed, find, fresh_id, without
from apps_mock.widgets import Event

KINDS: dict[str, tuple[str, ...]] = {
    "Clothing": ("Jacket", "Sweater", "Shirt", "Trousers"),
    "Shoes": ("Trainers", "Boots", "Sandals"),
    "Kitchen": ("Kettle", "Toaster", "Pan"),
    "Electronics": ("Headphones", "Speaker", "Keyboard"),
}
"""Categories and what is in them."""

CATEGORIES = tuple(KINDS)
CATEGORY_OF = {kind: category for category, kinds in KINDS.items() for kind in kinds}
SIZES: dict[str, tuple[str, ...]] = {
    "Clothing": ("S", "M", "L", "XL"),
    "Shoes": ("38", "39", "40", "41", "42"),
}
COLOURS = ("Red", "Blue", "Green", "Black", "White", "Grey")
DELIVERIES: dict[str, int] = {"Standard delivery": 4, "Express": 9, "Pick-up point": 2}
"""Ways of delivery and what they cost in euros."""
PAYMENTS = ("Card", "Invoice", "On delivery")
DEFAULT_DELIVERY = "Standard delivery"
DEFAULT_PAYMENT = "Card"
ORDERED = "Ordered"
CANCELLED = "Cancelled"
FILTERS = ("colour", "size", "price", "stars")
"""Drafts of a list of products that narrow it."""
PRICE_LIMITS = ("50", "100", "150")
STARS = ("3", "4")
QUANTITIES = tuple(str(number) for number in range(1, 7))

VOUCHER_ALPHABET = "ABCDEFGHJKLMNPRSTUVWXYZ23456789"
BRANDS = tuple(
    "Alvero Bernwald Birkhof Bluvia Borana Calimo Cervona Dalmo Dornfeld Drivano Eldoro Elmstedt "
    "Fabrino Falkona Ferrola Finnmark Fjordal Gallino Gerbold Glanda Grinda Halvor Harpino Heldra "
    "Hollwig Immergut Isarno Jolanda Kalveno Karbona Kestrano Kornelia Kupfero Landeck Larimo "
    "Lindmark Lumina Maravo Merkano Mirabo Molden Nordal Norvena Oberlin Olvido Orkana Palmero "
    "Pelano Quarzo Ravello Rindal Rosmar Rubeno Salvia Sandoro Selvik Silvaro Solenta Stegmar "
    "Tallin Tarano Thorvik Trevano Ulmar Valdoro Varnis Velmont Vernado Vindal Waldura Wendal "
    "Westmar Xaveno Yorvik Zandero Zelmira Zirbel".split()
)


@dataclass(frozen=True, slots=True)
class Product:
    """Something to buy; `price` in euros, `rating` in tenths of a star."""

    id: str
    brand: str
    model: str
    kind: str
    price: int
    rating: int
    colours: tuple[str, ...]
    sizes: tuple[str, ...]
    in_stock: bool = True
    wished: bool = False

    @property
    def title(self) -> str:
        """What people call it."""
        return f"{self.brand} {self.model}"

    @property
    def category(self) -> str:
        """The category that it is in."""
        return CATEGORY_OF[self.kind]


@dataclass(frozen=True, slots=True)
class CartLine:
    """A product in the cart, in one of its variants."""

    id: str
    product: str
    colour: str
    size: str
    quantity: int


class Item(NamedTuple):
    """A line of an order."""

    product: str
    colour: str
    size: str
    quantity: int


@dataclass(frozen=True, slots=True)
class Order:
    """Something that was bought; days are as `2025-03-14`."""

    id: str
    number: str
    items: tuple[Item, ...]
    total: int
    address: str
    delivery: str
    payment: str
    voucher: str
    arrives: str
    status: str = ORDERED


@dataclass(frozen=True, slots=True)
class Address:
    """Where parcels may go."""

    id: str
    name: str
    street: str
    city: str


@dataclass(frozen=True, slots=True)
class Review:
    """What somebody thinks of a product; `stars` from 1 to 5."""

    id: str
    product: str
    author: str
    stars: int
    text: str


@dataclass(frozen=True, slots=True)
class Voucher:
    """A code that makes an order cheaper."""

    id: str
    code: str
    percent: int


@dataclass(frozen=True, slots=True)
class ShopData:
    """The shop and the account."""

    products: tuple[Product, ...]
    cart: tuple[CartLine, ...]
    orders: tuple[Order, ...]
    addresses: tuple[Address, ...]
    reviews: tuple[Review, ...]
    vouchers: tuple[Voucher, ...]


def fixture(draw: Draw) -> ShopData:
    """A shop with some things in its cart and some that were ordered."""
    products = _products(draw)
    addresses = tuple(_address(draw, f"a{index}") for index in range(3))
    cart = tuple(
        CartLine(f"l{index}", product.id, *variant(draw, product), draw.random.randrange(1, 4))
        for index, product in enumerate(_sample(draw, products, draw.random.randrange(1, 4)))
    )
    orders = tuple(
        _order(draw, f"o{index}", product, addresses)
        for index, product in enumerate(_sample(draw, products, 4))
    )
    reviews = tuple(
        Review(f"r{index}", product.id, draw.first_name(), draw.random.randrange(1, 6), draw.city())
        for index, product in enumerate(_sample(draw, products, 2))
    )
    vouchers = tuple(
        Voucher(f"v{index}", draw.code(VOUCHER_ALPHABET, 6), 5 * draw.random.randrange(1, 7))
        for index in range(2)
    )
    return ShopData(products, cart, orders, addresses, reviews, vouchers)


def _products(draw: Draw) -> tuple[Product, ...]:
    """A few products of each category, no two at the same price."""
    random = draw.random
    brands = [draw.of(BRANDS, pseudo=True) for _ in range(5)]
    categories = [category for category in CATEGORIES for _ in range(random.randrange(4, 6))]
    prices = random.sample(range(12, 190), len(categories))
    return tuple(
        Product(
            id=f"p{index}",
            brand=random.choice(brands),
            model=draw.code("23456789", 3),
            kind=random.choice(KINDS[category]),
            price=price,
            rating=random.randrange(25, 50),
            colours=tuple(random.sample(COLOURS, 3)),
            sizes=SIZES.get(category, ()),
            in_stock=random.random() < 0.85,
            wished=random.random() < 0.15,
        )
        for index, (category, price) in enumerate(zip(categories, prices, strict=True))
    )


def _sample(draw: Draw, products: tuple[Product, ...], count: int) -> list[Product]:
    return draw.random.sample([each for each in products if each.in_stock], count)


def variant(draw: Draw, product: Product) -> tuple[str, str]:
    """A colour and a size of the product."""
    size = draw.random.choice(product.sizes) if product.sizes else ""
    return draw.random.choice(product.colours), size


def _address(draw: Draw, address_id: str) -> Address:
    return Address(address_id, draw.name(), street_of(draw), draw.city())


def street_of(draw: Draw) -> str:
    """A street with a number."""
    return f"{draw.of(LAST_NAMES, pseudo=True)}weg {draw.random.randrange(1, 90)}"


def _order(draw: Draw, order_id: str, product: Product, addresses: tuple[Address, ...]) -> Order:
    random = draw.random
    quantity = random.randrange(1, 3)
    delivery = random.choice(tuple(DELIVERIES))
    arrives = date(2025, 1, 1) + timedelta(days=random.randrange(365))
    return Order(
        id=order_id,
        number=draw.code("0123456789", 6),
        items=(Item(product.id, *variant(draw, product), quantity),),
        total=product.price * quantity + DELIVERIES[delivery],
        address=random.choice(addresses).id,
        delivery=delivery,
        payment=random.choice(PAYMENTS),
        voucher="",
        arrives=arrives.isoformat(),
        status=random.choice((ORDERED, "On the way", "Delivered")),
    )


def found(
    data: ShopData, query: str, said: Callable[[str], str] = lambda word: word
) -> tuple[Product, ...]:
    """Products with words that begin with each word of the query; `said` translates kinds."""
    wanted = query.casefold().split()
    return tuple(
        product
        for product in data.products
        if all(
            any(word.startswith(part) for word in _words(product, said(product.kind)))
            for part in wanted
        )
    )


def _words(product: Product, kind: str) -> list[str]:
    return [*product.title.casefold().split(), *kind.casefold().split()]


def narrowed(products: tuple[Product, ...], page: Page) -> tuple[Product, ...]:
    """The products that the page's filters leave, in the order that it asks for."""
    colour, size = page.draft("colour"), page.draft("size")
    limit, stars = page.draft("price"), page.draft("stars")
    left = [
        product
        for product in products
        if (not colour or colour in product.colours)
        and (not size or size in product.sizes)
        and (not limit or product.price <= int(limit))
        and (not stars or product.rating >= 10 * int(stars))
    ]
    match page.draft("sort"):
        case "cheapest":
            left.sort(key=lambda product: product.price)
        case "dearest":
            left.sort(key=lambda product: -product.price)
        case "rating":
            left.sort(key=lambda product: -product.rating)
    return tuple(left)


def total_of(data: ShopData, delivery: str, voucher: str) -> int:
    """What the cart costs in euros, with its delivery and the voucher's discount."""
    goods = sum(line.quantity * price_of(data, line.product) for line in data.cart)
    known = voucher_of(data, voucher)
    discount = goods * known.percent // 100 if known else 0
    return goods - discount + DELIVERIES[delivery]


def price_of(data: ShopData, product_id: str) -> int:
    """What one piece of a product costs."""
    product = find(data.products, product_id)
    return product.price if product else 0


def voucher_of(data: ShopData, code: str) -> Voucher | None:
    """The voucher with that code."""
    wanted = code.strip().casefold()
    return next((each for each in data.vouchers if each.code.casefold() == wanted), None)


def update(state: AppState[ShopData], event: Event) -> AppState[ShopData]:
    """The state after an event."""
    match event.name:
        case "search":
            query = state.page.draft("query").strip()
            return state.pushed(Page("results", query)) if query else state
        case "shared":
            return state.pushed(Page("results", event.value.strip()))
        case "share_product":
            return state.emitting(Share(event.value))
        case "filter" | "reset" | "apply" | "pick":
            return _chosen(state, event)
        case "add_to_cart" | "update_line" | "remove_line":
            return _cart_changed(state, event)
        case "order" | "cancel":
            return _order_changed(state, event)
        case "save_address" | "publish":
            return _written(state, event)
        case _:
            return state


def _chosen(state: AppState[ShopData], event: Event) -> AppState[ShopData]:
    page = state.page
    if event.name == "filter":
        drafts = tuple(entry for entry in page.drafts if entry[0] != "sort")
        return state.pushed(Page("filter", page.argument, drafts))
    if event.name == "reset":
        return state.with_page(replace(page, drafts=()))
    below = state.popped()
    chosen = [(event.value, event.extra)]
    if event.name == "apply":
        chosen = [(field, page.draft(field)) for field in FILTERS]
    result = below.page
    for field, text in chosen:
        result = result.with_draft(field, text)
    return below.with_page(result)


def _cart_changed(state: AppState[ShopData], event: Event) -> AppState[ShopData]:
    data, page = state.data, state.page
    if event.name == "remove_line":
        cart = without(data.cart, event.value)
        return state.with_data(replace(data, cart=cart)).popped().emitting(Say("Removed"))
    if event.name == "update_line":
        cart = changed(data.cart, event.value, quantity=int(page.draft("quantity", "1")))
        return state.with_data(replace(data, cart=cart)).popped()
    product = find(data.products, event.value)
    if product is None or not product.in_stock:
        return state
    size = page.draft("size")
    if product.sizes and not size:
        return state.emitting(Say("Choose a size first"))
    item = Item(
        product.id,
        page.draft("colour", product.colours[0]),
        size,
        int(page.draft("quantity", "1")),
    )
    cart = _with_item(data.cart, item)
    return state.with_data(replace(data, cart=cart)).emitting(Say("Added to your cart"))


def _with_item(cart: tuple[CartLine, ...], item: Item) -> tuple[CartLine, ...]:
    for line in cart:
        if (line.product, line.colour, line.size) == item[:3]:
            return changed(cart, line.id, quantity=line.quantity + item.quantity)
    return (*cart, CartLine(fresh_id(cart, "l"), *item))


def _order_changed(state: AppState[ShopData], event: Event) -> AppState[ShopData]:
    data = state.data
    if event.name == "cancel":
        orders = changed(data.orders, event.value, status=CANCELLED)
        return state.with_data(replace(data, orders=orders)).popped()
    below = state.popped()
    checkout, code = below.page, below.page.draft("voucher").strip()
    voucher = voucher_of(data, code)
    if not data.cart:
        return below
    if code and voucher is None:
        return below.emitting(Say("This voucher is not valid"))
    delivery = checkout.draft("delivery", DEFAULT_DELIVERY)
    order = Order(
        id=fresh_id(data.orders, "o"),
        number=next_number(data.orders),
        items=tuple(
            Item(each.product, each.colour, each.size, each.quantity) for each in data.cart
        ),
        total=total_of(data, delivery, code),
        address=checkout.draft("address", data.addresses[0].id),
        delivery=delivery,
        payment=checkout.draft("payment", DEFAULT_PAYMENT),
        voucher=voucher.code if voucher else "",
        arrives=arrival(state.provided.today, delivery),
    )
    bought = replace(data, cart=(), orders=(*data.orders, order))
    ordered = replace(state, data=bought, stack=(Page("home"), Page("orders")))
    return ordered.pushed(Page("order", order.id)).emitting(Say("Thank you for your order"))


def next_number(orders: tuple[Order, ...]) -> str:
    """The number that the next order gets."""
    highest = max((int(order.number) for order in orders), default=100000)
    return f"{(highest + 17) % 1000000:06}"


def arrival(today: str, delivery: str) -> str:
    """The day on which what is ordered today arrives."""
    days = 1 if delivery == "Express" else 4
    return (date.fromisoformat(today) + timedelta(days=days)).isoformat()


def _written(state: AppState[ShopData], event: Event) -> AppState[ShopData]:
    data, page = state.data, state.page
    if event.name == "publish":
        text, stars = page.draft("text").strip(), page.draft("stars")
        if not text or not stars:
            return state.emitting(Say("Choose the stars and write a few words"))
        review = Review(fresh_id(data.reviews, "r"), page.argument, "", int(stars), text)
        return state.with_data(replace(data, reviews=(*data.reviews, review))).popped()
    name, street, city = (page.draft(field).strip() for field in ("name", "street", "city"))
    if not (name and street and city):
        return state.emitting(Say("Fill in all fields"))
    address = Address(fresh_id(data.addresses, "a"), name, street, city)
    return state.with_data(replace(data, addresses=(*data.addresses, address))).popped()

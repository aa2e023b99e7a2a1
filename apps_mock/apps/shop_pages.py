"""What the shop app shows: home, lists of products, a product, and its reviews."""

from __future__ import annotations

from apps_mock.app import Page
from apps_mock.apps.shop import (
    CATEGORIES,
    COLOURS,
    PRICE_LIMITS,
    QUANTITIES,
    SIZES,
    STARS,
    Product,
    ShopData,
    found,
    narrowed,
)
from apps_mock.look import Look, wording
from apps_mock.records import find
from apps_mock.widgets import (
    Button,
    Card,
    Chip,
    Chips,
    Event,
    Field,
    Image,
    Option,
    Picker,
    Row,
    Screen,
    Text,
    Widget,
)

SEARCH_MARLO = wording("Search Marlo", "What are you looking for", held_out=("Find products",))
ADD_TO_CART = wording("Add to cart", "Put in the cart", held_out=("Take it",))
CART = wording("Cart", "Shopping cart", held_out=("Basket",))
WISHES = wording("Wish list", "My wish list", held_out=("Saved products",))
ORDERS = wording("My orders", "Orders and returns", held_out=("What I bought",))
FILTER = wording("Filter", "Filters", held_out=("Narrow down",))
APPLY = wording("Apply", "Show results", held_out=("Show products",))
WRITE_REVIEW = wording("Write a review", "Rate this product", held_out=("Give your opinion",))
PUBLISH = wording("Publish", "Send review", held_out=("Post it",))

SORT_LABELS = {
    "": "Relevance",
    "cheapest": "Lowest price",
    "dearest": "Highest price",
    "rating": "Best rated",
}


def home(data: ShopData, page: Page, look: Look) -> Screen:
    """Search bar, categories, and some products."""
    body: list[Widget] = [
        _search_field(page, look),
        Button(look.say("Search"), Event("search")),
        Text(look.say("Categories"), heading=True),
    ]
    body.extend(
        Row(look.say(category), on_tap=Event("go", "category", category), icon="category")
        for category in look.ordered(CATEGORIES, str)
    )
    body.append(Text(look.say("Deals of the day"), heading=True))
    body.extend(_card(product, look) for product in look.ordered(data.products[::5], _id))
    body.extend(Text(line) for line in look.noise("shop"))
    return Screen(
        look.say("Marlo"),
        tuple(body),
        places=(
            Button(look.word(CART), Event("go", "cart")),
            Button(look.word(WISHES), Event("go", "wishes")),
            Button(look.word(ORDERS), Event("go", "orders")),
        ),
        overflow=(Button(look.say("My addresses"), Event("go", "book")),),
        back=False,
    )


def _id(product: Product) -> str:
    return product.id


def _search_field(page: Page, look: Look) -> Field:
    text = page.draft("query")
    label = look.word(SEARCH_MARLO)
    return Field("query", label, text, search=True, on_enter=Event("search"))


def _card(product: Product, look: Look) -> Card:
    return Card(
        product.title,
        (look.say(product.kind), f"{product.price} EUR", f"★ {product.rating / 10:.1f}"),
        on_tap=Event("go", "product", product.id),
        image=product.kind,
        badge="" if product.in_stock else look.say("Sold out"),
    )


def results(data: ShopData, page: Page, look: Look) -> Screen:
    """What a search found."""
    return _listing(page.argument, found(data, page.argument, look.say), page, look)


def category(data: ShopData, page: Page, look: Look) -> Screen:
    """What is in a category."""
    own = tuple(each for each in data.products if each.category == page.argument)
    return _listing(look.say(page.argument), own, page, look)


def _listing(title: str, products: tuple[Product, ...], page: Page, look: Look) -> Screen:
    shown = narrowed(products, page)
    sort = page.draft("sort")
    chips = Chips(
        tuple(
            Chip(look.say(label), key == sort, Event("set", "sort", key))
            for key, label in SORT_LABELS.items()
        )
    )
    active = [_active(field, text, look) for field, text in page.drafts if field != "sort"]
    body: list[Widget] = [chips]
    if active:
        body.append(Text(" · ".join(text for text in active if text)))
    body.extend(_card(product, look) for product in shown)
    if not shown:
        body.append(Text(look.say("Nothing was found")))
    return Screen(
        title,
        tuple(body),
        (Button(look.word(FILTER), Event("filter")),),
        (Button(look.word(CART), Event("go", "cart")),),
    )


def _active(field: str, value: str, look: Look) -> str:
    """What is written of a filter that is on."""
    match field if value else "":
        case "price":
            return look.say("Up to {price} EUR").format(price=value)
        case "stars":
            return look.say("{stars} stars and more").format(stars=value)
        case "colour":
            return look.say(value)
        case "size":
            return value
        case _:
            return ""


def filters(_data: ShopData, page: Page, look: Look) -> Screen:
    """Drop-downs that narrow a list of products."""
    sizes = tuple(size for group in SIZES.values() for size in group)
    groups = (
        ("colour", "Colour", COLOURS),
        ("size", "Size", sizes),
        ("price", "Price", PRICE_LIMITS),
        ("stars", "Rating", STARS),
    )
    body = tuple(_choice(key, label, values, page, look) for key, label, values in groups)
    actions = (
        Button(look.word("clear"), Event("reset")),
        Button(look.word(APPLY), Event("apply"), primary=True),
    )
    return Screen(look.word(FILTER), body, actions)


def _choice(key: str, label: str, values: tuple[str, ...], page: Page, look: Look) -> Picker:
    options = tuple(Option(value, _active(key, value, look)) for value in values)
    return Picker(key, look.say(label), page.draft(key), options=options)


def product(data: ShopData, page: Page, look: Look) -> Screen:
    """One product with its variants."""
    shown = find(data.products, page.argument)
    if shown is None:
        return Screen(look.say("Marlo"), (Text(look.say("This product is gone")),))
    reviews = sum(review.product == shown.id for review in data.reviews)
    body: list[Widget] = [
        Image(shown.kind, look.say(shown.kind)),
        Text(f"{shown.price} EUR", heading=True, copyable=True),
        Row(
            look.say("Reviews"),
            f"★ {shown.rating / 10:.1f} · {reviews}",
            on_tap=Event("go", "reviews", shown.id),
        ),
        *_variants(shown, page, look),
        Row(
            look.word(WISHES),
            checked=shown.wished,
            on_toggle=Event("toggle", shown.id, "wished"),
            icon="heart",
        ),
        Row(look.say("Brand"), shown.brand),
        Row(look.say("Category"), look.say(shown.category)),
        Text(look.say("Returns are free within thirty days")),
    ]
    actions: tuple[Button, ...] = ()
    if shown.in_stock:
        actions = (Button(look.word(ADD_TO_CART), Event("add_to_cart", shown.id), primary=True),)
    return Screen(
        shown.title,
        tuple(body),
        actions,
        (Button(look.word(CART), Event("go", "cart")),),
        overflow=(Button(look.say("Share product"), Event("share_product", shown.title)),),
    )


def _variants(shown: Product, page: Page, look: Look) -> tuple[Widget, ...]:
    if not shown.in_stock:
        return (Text(look.say("Sold out"), heading=True),)
    colour = page.draft("colour", shown.colours[0])
    chips = Chips(
        tuple(
            Chip(look.say(name), name == colour, Event("set", "colour", name))
            for name in shown.colours
        )
    )
    widgets: list[Widget] = [chips]
    if shown.sizes:
        options = tuple(Option(size, size) for size in shown.sizes)
        widgets.append(Picker("size", look.say("Size"), page.draft("size"), options=options))
    widgets.append(quantity_picker(page.draft("quantity", "1"), look))
    return tuple(widgets)


def quantity_picker(value: str, look: Look) -> Picker:
    """How many pieces."""
    text = look.say("Quantity: {count}")
    options = tuple(Option(number, text.format(count=number)) for number in QUANTITIES)
    return Picker("quantity", look.say("Quantity"), value, options=options)


def reviews(data: ShopData, page: Page, look: Look) -> Screen:
    """What people think of a product."""
    own = [review for review in data.reviews if review.product == page.argument]
    rows: list[Widget] = [
        Row(review.author or look.say("You"), review.text, badge=f"★ {review.stars}")
        for review in own
    ]
    if not own:
        rows.append(Text(look.say("No reviews yet")))
    write = Button(look.word(WRITE_REVIEW), Event("go", "write_review", page.argument))
    return Screen(look.say("Reviews"), tuple(rows), (write,))


def write_review(_data: ShopData, page: Page, look: Look) -> Screen:
    """The form of a review."""
    stars = page.draft("stars")
    chips = Chips(
        tuple(
            Chip(f"{number} ★", str(number) == stars, Event("set", "stars", str(number)))
            for number in range(1, 6)
        )
    )
    return Screen(
        look.word(WRITE_REVIEW),
        (chips, Field("text", look.say("Your review"), page.draft("text"), lines=3)),
        (Button(look.word(PUBLISH), Event("publish"), primary=True),),
    )


def wishes(data: ShopData, _page: Page, look: Look) -> Screen:
    """The wish list."""
    own = [each for each in data.products if each.wished]
    body: tuple[Widget, ...] = tuple(_card(each, look) for each in look.ordered(own, _id))
    return Screen(look.word(WISHES), body or (Text(look.say("Your wish list is empty")),))

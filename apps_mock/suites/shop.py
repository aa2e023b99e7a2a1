"""Tasks in the shop: looking for things, filling the cart, buying, asking."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.shop import (
    CartLine,
    ShopData,
    fixture,
    found,
    variant,
)
from apps_mock.catalogue import Term
from apps_mock.entities import ALARM_LABELS, Draw
from apps_mock.plans import Entry, Fill, GiveAnswer, GiveUp, Plan, Press, Stage
from apps_mock.records import changed
from apps_mock.suites.shop_buying import BUYING_TEMPLATES
from apps_mock.suites.shop_links import SHOP_LINKS
from apps_mock.suites.shop_paths import (
    add_to_cart,
    first_of,
    new_line,
    open_product,
    search,
    some_product,
    to_cart,
    to_orders,
)
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Answer, Change, PageGoal
from apps_mock.widgets import Event


def _visit(draw: Draw) -> Instance:
    return Instance({}, fixture(draw), {}, page=PageGoal("home"))


def _search(draw: Draw) -> Instance:
    data = fixture(draw)
    brand = draw.random.choice(data.products).brand
    return Instance({"brand": brand}, data, search(brand), page=PageGoal("results", brand))


def _first(draw: Draw) -> Instance:
    data = fixture(draw)
    brand = draw.random.choice(data.products).brand
    product = first_of(data, brand)
    return Instance(
        {"brand": brand},
        data,
        open_product(brand, product),
        page=PageGoal("product", product.id),
    )


def _first_to_cart(draw: Draw) -> Instance:
    """The first result of a brand's search, which has no sizes and is in stock."""
    data = _first_is_simple(draw)
    brand = data.products[0].brand
    product = first_of(data, brand)
    return Instance(
        {"brand": brand},
        data,
        {**open_product(brand, product), **add_to_cart(product)},
        (new_line(product),),
    )


def _first_is_simple(draw: Draw) -> ShopData:
    """A shop whose first product has no sizes, is in stock and not in the cart."""
    data = fixture(draw)
    simple = [each for each in data.products if not each.sizes]
    first = replace(draw.random.choice(simple), in_stock=True)
    others = tuple(each for each in data.products if each.id != first.id)
    cart = tuple(line for line in data.cart if line.product != first.id)
    return replace(data, products=(first, *others), cart=cart)


def _view_cart(draw: Draw) -> Instance:
    data = _first_is_simple(draw)
    product = data.products[0]
    adding = open_product(product.title, product) | add_to_cart(product)
    line = new_line(product)
    to_the_cart = Press(Event("go", "cart"))
    return Instance(
        {"title": product.title},
        data,
        {("home", ""): to_the_cart, ("product", product.id): to_the_cart},
        (line,),
        page=PageGoal("cart"),
        stages=(Stage("shop", adding, changes=(line,)),),
    )


def _browse(draw: Draw) -> Instance:
    data, product = some_product(draw)
    plan: Plan = {
        ("home", ""): Press(Event("go", "category", product.category)),
        ("category", product.category): Press(Event("go", "product", product.id)),
    }
    words: dict[str, str | Term] = {"title": product.title, "category": Term(product.category)}
    return Instance(words, data, plan, page=PageGoal("product", product.id))


def _wish(draw: Draw) -> Instance:
    data, product = some_product(draw)
    data = replace(data, products=changed(data.products, product.id, wished=False))
    plan = open_product(product.title, product)
    plan["product", product.id] = Press(Event("toggle", product.id, "wished"))
    change = Change("products", product.id, (("wished", True),))
    return Instance({"title": product.title}, data, plan, (change,))


def _filter(draw: Draw) -> Instance:
    data, product = some_product(draw)
    brand, colour = product.brand, draw.random.choice(product.colours)
    plan = search(brand)
    plan["results", brand] = Fill((Entry("colour", colour, Event("filter")),))
    plan["filter", brand] = Fill((Entry("colour", colour, picker="choice"),), Event("apply"))
    return Instance(
        {"brand": brand, "colour": Term(colour)},
        data,
        plan,
        page=PageGoal("results", brand, (("colour", colour),)),
    )


def _cheapest(draw: Draw) -> Instance:
    data, product = some_product(draw)
    brand = product.brand
    cheapest = min(found(data, brand), key=lambda each: each.price)
    plan = search(brand)
    plan["results", brand] = Fill(
        (Entry("sort", "cheapest", Event("set", "sort", "cheapest")),),
        Event("go", "product", cheapest.id),
    )
    return Instance({"brand": brand}, data, plan, page=PageGoal("product", cheapest.id))


def _review(draw: Draw) -> Instance:
    data, product = some_product(draw)
    text, stars = draw.of(ALARM_LABELS, pseudo=True), str(draw.random.randrange(1, 6))
    plan = open_product(product.title, product)
    plan["product", product.id] = Press(Event("go", "reviews", product.id))
    plan["reviews", product.id] = Press(Event("go", "write_review", product.id))
    plan["write_review", product.id] = Fill(
        (Entry("stars", stars, Event("set", "stars", stars)), Entry("text", text)),
        Event("publish"),
    )
    values = (("product", product.id), ("author", ""), ("stars", int(stars)), ("text", text))
    words = {"title": product.title, "stars": stars, "text": text}
    return Instance(words, data, plan, (Change("reviews", None, values),))


def _price(draw: Draw) -> Instance:
    data, product = some_product(draw)
    plan = open_product(product.title, product)
    plan["product", product.id] = GiveAnswer()
    return Instance(
        {"title": product.title}, data, plan, answer=Answer("number", str(product.price))
    )


def _cheapest_price(draw: Draw) -> Instance:
    data, product = some_product(draw)
    brand = product.brand
    best = min(found(data, brand), key=lambda each: each.price)
    plan = search(brand)
    plan["results", brand] = Fill(
        (Entry("sort", "cheapest", Event("set", "sort", "cheapest")),),
        Event("go", "product", best.id),
    )
    plan["product", best.id] = GiveAnswer()
    return Instance({"brand": brand}, data, plan, answer=Answer("number", str(best.price)))


def _arrival(draw: Draw) -> Instance:
    data = fixture(draw)
    order = draw.random.choice(data.orders)
    plan = to_orders(order)
    plan["order", order.id] = GiveAnswer()
    return Instance({"number": order.number}, data, plan, answer=Answer("date", order.arrives))


def _quantity_in_cart(draw: Draw) -> Instance:
    data, product = some_product(draw)
    line = CartLine("l9", product.id, *variant(draw, product), draw.random.randrange(2, 7))
    others = tuple(each for each in data.cart if each.product != product.id)
    data = replace(data, cart=(*others, line))
    plan = to_cart(line)
    plan["line", line.id] = GiveAnswer()
    answer = Answer("number", str(line.quantity))
    return Instance({"title": product.title}, data, plan, answer=answer)


def _sold_out(draw: Draw) -> Instance:
    data, product = some_product(draw)
    data = replace(data, products=changed(data.products, product.id, in_stock=False))
    cart = tuple(line for line in data.cart if line.product != product.id)
    plan = open_product(product.title, product)
    plan["product", product.id] = GiveUp()
    return Instance({"title": product.title}, replace(data, cart=cart), plan, infeasible=True)


TEMPLATES = (
    Template(
        name="shop_visit",
        app="shop",
        oracle_steps=2,
        phrasings=("Go to Marlo", "Open the shop Marlo"),
        set_up=_visit,
        tags=("no_parameters",),
        held_out=("Take me to the start page of Marlo",),
        suite="web_shopping",
    ),
    Template(
        name="shop_search",
        app="shop",
        oracle_steps=5,
        phrasings=("Go to Marlo and search for {brand}", "Search Marlo for {brand}"),
        set_up=_search,
        held_out=("Show what Marlo has by {brand}",),
        suite="web_shopping",
    ),
    Template(
        name="shop_search_first",
        app="shop",
        oracle_steps=6,
        phrasings=(
            "Go to Marlo and search for {brand} and select the first entry",
            "Search Marlo for {brand} and open the first result",
        ),
        set_up=_first,
        tags=("scrolls",),
        held_out=("Open what comes first when one looks for {brand} at Marlo",),
        suite="web_shopping",
    ),
    Template(
        name="shop_search_cart",
        app="shop",
        oracle_steps=9,
        phrasings=(
            "Go to Marlo and search for {brand} and add the first entry to the cart",
            "Search Marlo for {brand} and put the first result into the cart",
        ),
        set_up=_first_to_cart,
        tags=("scrolls",),
        held_out=("Look for {brand} at Marlo and take what comes first into the cart",),
        suite="web_shopping",
    ),
    Template(
        name="shop_view_cart",
        app="shop",
        oracle_steps=11,
        phrasings=(
            "Add {title} to the cart on Marlo and then view the cart",
            "Put {title} into the cart of Marlo and show the cart",
        ),
        set_up=_view_cart,
        tags=("scrolls",),
        held_out=("Take {title} into the Marlo cart and look at the cart afterwards",),
        suite="web_shopping",
    ),
    Template(
        name="shop_browse",
        app="shop",
        oracle_steps=6,
        phrasings=(
            "Open {title} in the category {category} of Marlo",
            "Browse {category} at Marlo and open {title}",
        ),
        set_up=_browse,
        tags=("scrolls",),
        held_out=("Find {title} among the {category} of Marlo and show it",),
    ),
    Template(
        name="shop_wish",
        app="shop",
        oracle_steps=9,
        phrasings=(
            "Put {title} on the wish list of Marlo",
            "Add {title} to my wish list at Marlo",
        ),
        set_up=_wish,
        tags=("scrolls",),
        held_out=("I wish for {title} so note that at Marlo",),
    ),
    Template(
        name="shop_filter",
        app="shop",
        oracle_steps=13,
        phrasings=(
            "Search Marlo for {brand} and show only what comes in {colour}",
            "Find products by {brand} at Marlo and filter them by the colour {colour}",
        ),
        set_up=_filter,
        tags=("scrolls",),
        held_out=("Which {brand} products does Marlo have in {colour} when one filters them",),
    ),
    Template(
        name="shop_cheapest",
        app="shop",
        oracle_steps=8,
        phrasings=(
            "Open the cheapest product by {brand} at Marlo",
            "Search Marlo for {brand} and open the cheapest one",
        ),
        set_up=_cheapest,
        tags=("scrolls",),
        held_out=("Show the details of what {brand} sells for the least at Marlo",),
    ),
    Template(
        name="shop_review",
        app="shop",
        oracle_steps=12,
        phrasings=(
            "Review {title} at Marlo with {stars} stars and the text {text}",
            "Give {title} at Marlo {stars} stars and write {text} as review",
        ),
        set_up=_review,
        tags=("scrolls",),
        held_out=("Say {text} about {title} at Marlo and rate it with {stars} stars",),
    ),
    Template(
        name="shop_price",
        app="shop",
        oracle_steps=6,
        phrasings=(
            "How many euros does {title} cost at Marlo",
            "What is the price of {title} at Marlo in euros",
        ),
        set_up=_price,
        tags=("answer", "scrolls"),
        held_out=("Tell me what I have to pay for {title} at Marlo",),
    ),
    Template(
        name="shop_cheapest_price",
        app="shop",
        oracle_steps=8,
        phrasings=(
            "How many euros does the cheapest product by {brand} cost at Marlo",
            "What is the lowest price of a {brand} product at Marlo",
        ),
        set_up=_cheapest_price,
        tags=("answer", "scrolls"),
        held_out=("For how many euros does {brand} at Marlo start",),
    ),
    Template(
        name="shop_arrival",
        app="shop",
        oracle_steps=8,
        phrasings=(
            "On which day does the Marlo order {number} arrive",
            "When will my order {number} from Marlo come",
        ),
        set_up=_arrival,
        tags=("answer", "scrolls"),
        held_out=("Tell me the day on which Marlo brings the order {number}",),
    ),
    Template(
        name="shop_quantity",
        app="shop",
        oracle_steps=7,
        phrasings=(
            "How many pieces of {title} are in the cart of Marlo",
            "What quantity of {title} is in my Marlo cart",
        ),
        set_up=_quantity_in_cart,
        tags=("answer", "scrolls"),
        held_out=("Count the {title} in the shopping cart at Marlo",),
    ),
    Template(
        name="shop_sold_out",
        app="shop",
        oracle_steps=6,
        phrasings=(
            "Buy one {title} at Marlo",
            "Order {title} at Marlo and add nothing else",
        ),
        set_up=_sold_out,
        tags=("infeasible",),
        held_out=("Get me the {title} from Marlo",),
    ),
    *BUYING_TEMPLATES,
    *SHOP_LINKS,
)

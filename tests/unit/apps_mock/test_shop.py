"""What the shop does, beyond the paths that tasks take."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from apps_mock.app import AppState, Page, Provided, Say, Share
from apps_mock.apps.shop import (
    CANCELLED,
    CATEGORIES,
    DELIVERIES,
    CartLine,
    Item,
    ShopData,
    arrival,
    fixture,
    found,
    narrowed,
    total_of,
)
from apps_mock.apps.shop_view import APP
from apps_mock.entities import Draw
from apps_mock.look import draw_look, look_number
from apps_mock.widgets import Button, Card, Event, Screen
from sync.vocabulary import Split

LOOK = draw_look(Split.TEST, 1)


@pytest.fixture
def data() -> ShopData:
    return fixture(Draw(Random(3), Split.TEST))


def at(data: ShopData, *pages: Page) -> AppState[ShopData]:
    return AppState(data, (Page("home"), *pages), Provided(today="2025-03-14"))


def cards_of(screen: Screen) -> list[str]:
    return [widget.title for widget in screen.body if isinstance(widget, Card)]


def test_a_search_finds_brands_models_and_kinds_by_the_beginnings_of_words(data):
    product = data.products[0]

    assert product in found(data, product.title)
    assert product in found(data, product.brand[:4].upper())
    assert product in found(data, product.kind)
    assert found(data, f"{product.brand} nowhere") == ()


def test_kinds_are_found_in_the_language_of_the_screen(data):
    german = draw_look(Split.TEST, look_number("de", 1))
    product = data.products[0]
    state = at(data, Page("results", german.say(product.kind)))

    assert product.title in cards_of(APP.view(state, german))


def test_filters_narrow_what_a_list_shows(data):
    products = data.products
    page = Page("results", "", (("colour", "Red"), ("price", "100"), ("stars", "3")))

    left = narrowed(products, page)

    assert left == tuple(
        each
        for each in products
        if "Red" in each.colours and each.price <= 100 and each.rating >= 30
    )


@pytest.mark.parametrize(
    ("sort", "key"),
    [
        ("cheapest", lambda each: each.price),
        ("dearest", lambda each: -each.price),
        ("rating", lambda each: -each.rating),
    ],
)
def test_lists_are_sorted_as_the_chip_says(data, sort, key):
    shown = narrowed(data.products, Page("results", "", (("sort", sort),)))

    assert list(shown) == sorted(data.products, key=key)


def test_the_filter_form_begins_with_the_lists_filters_and_hands_them_back(data):
    state = at(data, Page("results", "x", (("sort", "rating"), ("colour", "Red"))))

    form = APP.step(state, Event("filter"))
    assert form.page.drafts == (("colour", "Red"),)
    back = APP.step(APP.step(form, Event("set", "size", "M")), Event("apply"))

    assert back.page.name == "results"
    assert (back.page.draft("size"), back.page.draft("sort")) == ("M", "rating")


def test_a_size_has_to_be_chosen_before_something_goes_into_the_cart(data):
    product = replace(next(each for each in data.products if each.sizes), in_stock=True)
    data = replace(data, products=(product,), cart=())
    state = at(data, Page("product", product.id))

    refused = APP.step(state, Event("add_to_cart", product.id))
    assert refused.data.cart == ()
    assert refused.effects == (Say("Choose a size first"),)

    chosen = APP.step(state, Event("set", "size", product.sizes[0]))
    added = APP.step(chosen, Event("add_to_cart", product.id))
    (line,) = added.data.cart
    expected = (product.colours[0], product.sizes[0], 1)
    assert (line.colour, line.size, line.quantity) == expected


def test_the_same_variant_twice_is_one_line_of_the_cart(data):
    product = replace(next(each for each in data.products if not each.sizes), in_stock=True)
    state = at(replace(data, products=(product,), cart=()), Page("product", product.id))

    once = APP.step(state, Event("add_to_cart", product.id))
    twice = APP.step(once, Event("add_to_cart", product.id))
    other = APP.step(twice, Event("set", "colour", product.colours[1]))
    thrice = APP.step(other, Event("add_to_cart", product.id))

    assert [line.quantity for line in twice.data.cart] == [2]
    assert [line.quantity for line in thrice.data.cart] == [2, 1]


def test_what_is_sold_out_cannot_be_bought(data):
    product = replace(data.products[0], in_stock=False)
    state = at(replace(data, products=(product,), cart=()), Page("product", product.id))

    assert APP.step(state, Event("add_to_cart", product.id)).data.cart == ()
    assert APP.view(state, LOOK).actions == ()


def test_a_voucher_makes_the_goods_cheaper_and_not_the_delivery(data):
    product, voucher = data.products[0], data.vouchers[0]
    data = replace(data, cart=(CartLine("l0", product.id, "Red", "", 2),))
    goods, delivery = 2 * product.price, DELIVERIES["Express"]

    assert total_of(data, "Express", "") == goods + delivery
    expected = goods - goods * voucher.percent // 100 + delivery
    assert total_of(data, "Express", voucher.code.lower()) == expected
    assert total_of(data, "Express", "WRONG") == goods + delivery


def test_an_order_empties_the_cart_and_keeps_what_was_chosen(data):
    address, lines = data.addresses[1], data.cart
    drafts = (("address", address.id), ("delivery", "Express"), ("payment", "Invoice"))
    state = at(data, Page("cart"), Page("checkout", "", drafts), Page("confirm"))

    after = APP.step(state, Event("order"))

    order = after.data.orders[-1]
    assert after.data.cart == ()
    assert (order.address, order.delivery, order.payment) == (address.id, "Express", "Invoice")
    assert order.arrives == arrival("2025-03-14", "Express") == "2025-03-15"
    items = tuple(Item(each.product, each.colour, each.size, each.quantity) for each in lines)
    assert order.items == items
    assert after.page == Page("order", order.id)


def test_a_wrong_voucher_stops_the_order(data):
    state = at(data, Page("checkout", "", (("voucher", "NOPE99"),)), Page("confirm"))

    after = APP.step(state, Event("order"))

    assert after.data is data
    assert after.page.name == "checkout"
    assert after.effects == (Say("This voucher is not valid"),)


def test_an_empty_cart_cannot_be_ordered(data):
    empty = replace(data, cart=())

    assert APP.view(at(empty, Page("cart")), LOOK).actions == ()
    after = APP.step(at(empty, Page("checkout"), Page("confirm")), Event("order"))
    assert after.data is empty


def test_only_an_order_that_is_not_on_its_way_can_be_cancelled(data):
    order = replace(data.orders[0], status="Ordered")
    open_order = at(replace(data, orders=(order,)), Page("order", order.id))
    assert len(APP.view(open_order, LOOK).actions) == 1

    asked = open_order.pushed(Page("cancel", order.id))
    after = APP.step(asked, Event("cancel", order.id))

    assert after.data.orders[0].status == CANCELLED
    assert APP.view(after, LOOK).actions == ()


def test_a_review_needs_stars_and_words(data):
    product = data.products[0]
    state = at(data, Page("write_review", product.id, (("text", "Fine"),)))

    refused = APP.step(state, Event("publish"))
    assert refused.data is data

    starred = APP.step(state, Event("set", "stars", "4"))
    review = APP.step(starred, Event("publish")).data.reviews[-1]
    assert (review.product, review.stars, review.text) == (product.id, 4, "Fine")


def test_an_address_needs_all_of_its_fields(data):
    state = at(data, Page("add_address", "", (("name", "Ada Adler"), ("city", "Ulm"))))

    assert APP.step(state, Event("save_address")).data is data
    filled = APP.step(state, Event("edit", "street", "Falkweg 3"))
    address = APP.step(filled, Event("save_address")).data.addresses[-1]
    assert (address.name, address.street, address.city) == ("Ada Adler", "Falkweg 3", "Ulm")


def test_a_line_of_the_cart_changes_its_quantity_or_goes(data):
    line = data.cart[0]
    state = at(data, Page("cart"), Page("line", line.id, (("quantity", "6"),)))

    updated = APP.step(state, Event("update_line", line.id))
    removed = APP.step(state, Event("remove_line", line.id))

    assert updated.data.cart[0].quantity == 6
    assert line.id not in {each.id for each in removed.data.cart}
    assert removed.page.name == "cart"


def test_products_are_shared_and_shared_texts_are_searched(data):
    title = data.products[0].title

    assert APP.step(at(data), Event("share_product", title)).effects == (Share(title),)
    assert APP.step(at(data), Event("shared", title)).page == Page("results", title)


@pytest.mark.parametrize("name", ["product", "line", "order"])
def test_pages_of_what_is_gone_say_so(data, name):
    screen = APP.view(at(data, Page(name, "nothing")), LOOK)

    assert not [widget for widget in screen.body if isinstance(widget, Button)]
    assert screen.actions == ()


def test_every_category_has_products(data):
    assert {product.category for product in data.products} == set(CATEGORIES)
    prices = [product.price for product in data.products]
    assert len(set(prices)) == len(prices)

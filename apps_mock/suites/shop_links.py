"""Tasks over the shop, the app store and other apps: what stands in one is needed in the other."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps import shop, todo
from apps_mock.entities import Draw
from apps_mock.plans import Entry, Fill, Hold, Press, Stage
from apps_mock.suites.messages_scenes import Scene, scene, to_thread
from apps_mock.suites.messages_twins import composing
from apps_mock.suites.notes_links import copied
from apps_mock.suites.shop_buying import purchase, some_moment
from apps_mock.suites.shop_paths import open_product, some_product, to_orders
from apps_mock.suites.store_paths import installing, store_with
from apps_mock.suites.todo_plans import new_todo, to_new
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change
from apps_mock.widgets import Event

_TAGS = ("cross_app", "scrolls")
CLIPBOARD = (("system", "clipboard"),)


def sending(now: Scene, number: str, text: str) -> tuple[Change, ...]:
    """That a text is sent to a number."""
    return (now.new_message(number, text),)


def _send_price(draw: Draw) -> Instance:
    """The price is copied in the shop and pasted into a message."""
    now, number = scene(draw), draw.phone()
    data, product = some_product(draw)
    text = f"{product.price} EUR"
    plan = open_product(product.title, product)
    plan["product", product.id] = Hold(Event("copy_text", text))
    return Instance(
        words={"title": product.title, "number": number},
        data=now.data,
        others={"contacts": now.book, "shop": data},
        stages=(Stage("shop", plan, changes=(copied(text),)),),
        plan=composing(Entry("to", number), Entry("text", text, paste=True)),
        changes=sending(now, number, text),
        free=CLIPBOARD,
        now=now.now,
    )


def _share_product(draw: Draw) -> Instance:
    """The name of what the wish list holds goes through the share sheet into a message."""
    now, number = scene(draw), draw.phone()
    data, product = some_product(draw)
    products = tuple(replace(each, wished=each.id == product.id) for each in data.products)
    stage = Stage(
        "shop",
        {
            ("home", ""): Press(Event("go", "wishes")),
            ("wishes", ""): Press(Event("go", "product", product.id)),
            ("product", product.id): Press(Event("share_product", product.title)),
        },
        page=("compose", ""),
        page_app="messages",
    )
    fill = Fill((Entry("text", product.title), Entry("to", number)), Event("send"))
    return Instance(
        words={"number": number},
        data=now.data,
        others={"contacts": now.book, "shop": replace(data, products=products)},
        stages=(stage,),
        plan={("compose", ""): fill},
        changes=sending(now, number, product.title),
        free=CLIPBOARD,
        now=now.now,
    )


def _order_named(draw: Draw) -> Instance:
    """A message says to whose address the cart has to be sent."""
    now, data = scene(draw), shop.fixture(draw)
    friend, address = draw.random.choice(now.friends), draw.random.choice(data.addresses[1:])
    now = now.with_message(friend.phone, address.name)
    plan, changes = purchase(data, now.now, address=address.id)
    return Instance(
        words={"name": friend.name},
        data=data,
        others={"contacts": now.book, "messages": now.data},
        stages=(Stage("messages", to_thread(friend.phone), page=("thread", friend.phone)),),
        plan=plan,
        changes=changes,
        free=CLIPBOARD,
        now=now.now,
    )


def _task_at_arrival(draw: Draw) -> Instance:
    """A task is due on the day on which an order arrives."""
    data, now, title = shop.fixture(draw), some_moment(draw), todo.title(draw)
    order = draw.random.choice(data.orders)
    arrives = shop.arrival(now[:10], shop.DEFAULT_DELIVERY)
    orders = tuple(
        replace(each, arrives=arrives) if each.id == order.id else each for each in data.orders
    )
    return Instance(
        words={"number": order.number, "title": title},
        data=todo.fixture(draw),
        others={"shop": replace(data, orders=orders)},
        stages=(Stage("shop", to_orders(order), page=("order", order.id)),),
        plan=to_new(Entry("due", arrives, picker="date"), Entry("title", title)),
        changes=(new_todo(title, due=arrives),),
        now=now,
    )


def _install_named(draw: Draw) -> Instance:
    """A message names the app that has to be installed."""
    now = scene(draw)
    data, app = store_with(draw, installed=False)
    friend = draw.random.choice(now.friends)
    now = now.with_message(friend.phone, app.label)
    plan, change = installing(app)
    return Instance(
        words={"name": friend.name},
        data=data,
        others={"contacts": now.book, "messages": now.data},
        stages=(Stage("messages", to_thread(friend.phone), page=("thread", friend.phone)),),
        plan=plan,
        changes=(change,),
        free=CLIPBOARD,
        now=now.now,
    )


SHOP_LINKS = (
    Template(
        name="cross_shop_send_price",
        app="messages",
        oracle_steps=16,
        phrasings=(
            "Look up the price of {title} at Marlo and send it as shown to {number}",
            "Send {number} a message with the price that Marlo shows for {title}",
        ),
        set_up=_send_price,
        tags=_TAGS,
        held_out=("Tell {number} by message what Marlo wants for {title}",),
        suite="cross_app",
    ),
    Template(
        name="cross_shop_share",
        app="messages",
        oracle_steps=14,
        phrasings=(
            "Share the product on my Marlo wish list by message with {number}",
            "Send {number} the name of what is on my wish list at Marlo",
        ),
        set_up=_share_product,
        tags=_TAGS,
        held_out=("Let {number} know by message what I wish for at Marlo",),
        suite="cross_app",
    ),
    Template(
        name="cross_shop_order_named",
        app="shop",
        oracle_steps=15,
        phrasings=(
            "Order the Marlo cart to the person whose name {name} wrote me in a message",
            "Send what is in my Marlo cart to whom the last message of {name} names",
        ),
        set_up=_order_named,
        tags=_TAGS,
        held_out=("Read what {name} wrote last and ship my Marlo cart to that person",),
        suite="cross_app",
    ),
    Template(
        name="cross_shop_task",
        app="todo",
        oracle_steps=17,
        phrasings=(
            "Add the task {title} for the day on which the Marlo order {number} arrives",
            "See when my Marlo order {number} arrives and create a task {title} due that day",
        ),
        set_up=_task_at_arrival,
        tags=_TAGS,
        held_out=("I have to do {title} when Marlo brings the order {number} so note a task",),
        suite="cross_app",
    ),
    Template(
        name="cross_store_install_named",
        app="store",
        oracle_steps=13,
        phrasings=(
            "Install the app that {name} wrote me about from Bazaar",
            "Read the last message of {name} and install the app that it names from Bazaar",
        ),
        set_up=_install_named,
        tags=_TAGS,
        held_out=("Get the app from Bazaar whose name {name} sent me",),
        suite="cross_app",
    ),
)

"""The shop: its orders and policies, and the tools with which agents use them.

Changes are kept in the chat's state folder, so every chat has a shop of its own.
"""

import json
import os
import re
import threading
from pathlib import Path

from agents import function_tool

DATA = Path(__file__).resolve().parent / "data"
CHANGING = threading.Lock()  # the SDK calls tools in threads, several at once


def orders():
    """All orders by number, as this chat has changed them."""
    own = _own_file()
    return json.loads((own if own.exists() else DATA / "orders.json").read_text("utf-8"))


def _change(number, allowed, status, **more):
    """Change an order that has an allowed status; returns what prevents it."""
    with CHANGING:
        changed = orders()
        before = changed[number]["status"] if number in changed else "unknown"
        if before not in allowed:
            return f"Order {number} cannot be {status}: it is {before}."
        changed[number].update(status=status, **more)
        _own_file().write_text(json.dumps(changed, indent=2), "utf-8")
    return ""


def _own_file():
    return Path(os.environ.get("MOBOX_STATE", ".")) / "orders.json"


@function_tool
def list_orders() -> str:
    """List all orders of the customer."""
    return "\n".join(
        f"{number}: {order['item']}, {order['price']:.2f} EUR, {order['status']}"
        for number, order in orders().items()
    )


@function_tool
def get_order(order_number: str) -> str:
    """Get one order: its item, price, date, status and carrier."""
    order = orders().get(order_number)
    if order is None:
        return f"There is no order {order_number}."
    return "; ".join(f"{name}: {value}" for name, value in order.items())


@function_tool(needs_approval=True)
def refund_order(order_number: str, reason: str) -> str:
    """Refund an order in full that was sent. A person approves it first."""
    problem = _change(order_number, ("delivered", "on its way"), "refunded", reason=reason)
    return (
        problem or f"Refunded {orders()[order_number]['price']:.2f} EUR for order {order_number}."
    )


@function_tool(needs_approval=True)
def cancel_order(order_number: str) -> str:
    """Cancel an order that is still being packed. A person approves it first."""
    problem = _change(order_number, ("being packed",), "cancelled")
    return problem or f"Cancelled order {order_number}."


@function_tool
def search_policies(query: str) -> str:
    """Search the shop's policies; returns the two sections that fit best."""
    sections = (DATA / "policies.md").read_text("utf-8").split("\n\n")
    words = set(re.findall(r"\w{4,}", query.lower()))
    fit = sorted(sections, key=lambda text: -sum(word in text.lower() for word in words))
    return "\n\n".join(fit[:2])

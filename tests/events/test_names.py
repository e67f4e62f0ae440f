"""Ids: those that were told, made unique, and counted ones."""

from mobox.events.names import IdAllocator


def test_repeated_name_is_marked() -> None:
    names = IdAllocator("p.")
    assert [names.unique("a", "message") for _ in range(3)] == ["a", "a~2", "a~3"]
    names.take("b~2")
    assert [names.unique("b", "message") for _ in range(2)] == ["b", "b~3"]


def test_unnamed_items_get_unused_counted_names() -> None:
    names = IdAllocator("p.")
    names.take("p.call_2")
    counted = [names.unique(told, "call") for told in (None, "")]
    assert [*counted, names.fresh("call"), names.fresh("step")] == [
        *("p.call_1", "p.call_3", "p.call_4", "p.step_1"),
    ]
    assert names.unique("p.call_1", "call") == "p.call_1~2"

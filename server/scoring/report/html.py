"""Markup in which nothing anybody said can be anything but text."""

import re
from html import escape

VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "wbr"})
# What steers a page or a terminal rather than being read: all but tab and line feed, those that
# turn the direction of what follows, and halves of letters, which no file can hold.
STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff"
    "\ud800-\udfff]"
)
REPLACED = "\N{REPLACEMENT CHARACTER}"


class Html(str):
    """Markup made here. Every other string is escaped before it comes near a page."""

    __slots__ = ()


def cleaned(said: object) -> str:
    """As text without anything that steers."""
    return STEERING.sub(REPLACED, str(said).replace("\r\n", "\n").replace("\r", "\n"))


def text(said: object) -> Html:
    """Safe inside an element and inside a quoted attribute."""
    return said if isinstance(said, Html) else Html(escape(cleaned(said), quote=True))


def tag(name: str, /, *inside: object, **attributes: object) -> Html:
    """An element. Attributes: `class_` is class, `stroke_width` is stroke-width, None is none."""
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{joined(*inside)}</{name}>")


def joined(*parts: object) -> Html:
    return Html("".join(text(part) for part in parts if part is not None))


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    return f' {name}="{text(_number(value))}"'


def _number(value: object) -> object:
    """Drawings need no more than hundredths."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value

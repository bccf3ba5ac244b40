"""Whether a judge would judge itself."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2

from server.sessions.format import ModelUsed

_FILE = re.compile(r"\.(gguf|onnx|ort|pt|safetensors)$")
# What is behind a name and makes no other model of it: releases, dates, how numbers are stored.
_SUFFIX = re.compile(
    r"[-.](latest|free|preview|v\d+(\.\d+)*|\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|gguf|awq|gptq|mlx"
    r"|i?q\d[a-z0-9]*(-[a-z0-9]{1,2})*|(bf|fp|f)\d+|int\d+|nf4|w\d+a\d+|\d+-?bit)$"
)


def same(judge: str, url: httpx2.URL, used: ModelUsed | None) -> bool:
    """Whether the model that answered is the judge, as far as names tell."""
    if used is None:
        return False
    names = {normal(name) for name in _names(used)}
    if normal(judge) in names:
        return True
    # It took whatever its server offered, and that is the judge's server.
    unnamed = not used.options.get("model") and not used.files
    return unnamed and _place(str(used.options.get("url", ""))) == _place(str(url))


def normal(name: str) -> str:
    """A model's name without case, path, release and form of storage."""
    found = name.strip().casefold().replace("\\", "/").rstrip("/").rpartition("/")[2]
    found = _FILE.sub("", found.partition("@")[0])
    found = re.sub(r"[\s_:]+", "-", found)
    while (shorter := _SUFFIX.sub("", found)) != found:
        found = shorter
    return found


def _names(used: ModelUsed) -> Iterator[str]:
    from models.weights import TABLE, Merged, find

    if isinstance(model := used.options.get("model"), str):
        yield model
    for file in used.files:
        yield file.name
        # Here a file has a short name of ours; the one others know it by is where it came from.
        for row in TABLE:
            if file.sha256 and row.sha256 == file.sha256:
                yield row.member
                if isinstance(row.origin, Merged):  # taught or not, it is the same network
                    yield find(row.origin.base).member


def _place(url: str) -> tuple[str, int | None] | None:
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    try:
        return (parts.hostname, parts.port or default) if parts.hostname else None
    except ValueError:  # a port that is none
        return None

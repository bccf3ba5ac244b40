"""Log lines for people, or for machines: when, where and what, and nothing anybody said."""

import logging
import multiprocessing
from datetime import UTC, datetime
from typing import Any

import orjson

from server.private_log import where

TEXT = "%(asctime)s %(levelname)s %(name)s %(message)s"
OF_ONE = "%(asctime)s %(levelname)s [%(processName)s] %(name)s %(message)s"


class TextLines(logging.Formatter):
    """For people. Of an error only its kind and place: its words may be private."""

    def __init__(self, form: str = TEXT) -> None:
        super().__init__(form)

    def formatException(self, ei: Any) -> str:
        return where(ei[1])


class JsonLines(logging.Formatter):
    """One JSON object a line, with as much of an error."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.processName,
            "thread": record.threadName,
        }
        if record.exc_info and record.exc_info[1]:
            line["error"] = where(record.exc_info[1])
        return orjson.dumps(line).decode()


def begin(level: str, form: str) -> None:
    """Log from now on, for the whole process."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def name_process(name: str) -> None:
    """Every line says from now on which of several processes it is of."""
    multiprocessing.current_process().name = name  # from which logging takes it
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, TextLines):
            handler.setFormatter(TextLines(OF_ONE))

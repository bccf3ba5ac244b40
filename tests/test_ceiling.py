"""How far good replies go the way of their cue: nobody's can be asked to do better."""

from models.corpus.exchange import Split, Way, load
from models.corpus.references import of_all
from models.tuning.evaluation.ceiling import ceiling

TEST = load(Split.TEST)[:20]
WAYS = {reply: way for each in TEST for way in Way for reply in of_all()(each, way)}


def test_replies_nearest_to_others_of_their_way_are_steered_every_time() -> None:
    found = ceiling(TEST, lambda one, other: float(WAYS[one] is WAYS[other]), seed=7)
    assert len(found) == 2, "two sets beside the author's"
    for each in found:
        for figures in each.values():
            assert figures["all"]["value"] == figures["follows"]["value"] == 1.0


def test_replies_nearest_to_those_of_another_way_are_not() -> None:
    for each in ceiling(TEST, lambda one, other: float(WAYS[one] is not WAYS[other]), seed=7):
        for figures in each.values():
            assert figures["all"]["value"] == figures["follows"]["value"] == 0.0


def test_no_reply_is_compared_with_itself() -> None:
    compared: list[tuple[str, str]] = []

    def near(one: str, other: str) -> float:
        compared.append((one, other))
        return 0.0

    ceiling(TEST, near, seed=7)
    assert compared and not any(one == other for one, other in compared)

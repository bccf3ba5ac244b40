"""The table of names: whole, free of strays, and the same both ways."""

import pytest

from models.perception import labels
from models.perception.labels import BEYOND, COLUMNS, DIMENSIONS, UNSCORED

KNOWN = {*labels.EVENTS, *(a for d in DIMENSIONS.values() for a in d.answers)}


def test_the_taxonomy_has_twelve_dimensions_and_thirty_nine_attributes() -> None:
    attributes = [a for dimension in DIMENSIONS.values() for a in dimension.attributes]
    assert len(DIMENSIONS) == 12
    assert len(attributes) == len(set(attributes)) == 39


def test_its_three_groups_are_of_the_published_sizes() -> None:
    sizes: dict[str, int] = {}
    for dimension in DIMENSIONS.values():
        sizes[dimension.group] = sizes.get(dimension.group, 0) + len(dimension.attributes)
    assert sizes == {"speaker": 4, "paralinguistic": 19, "environment": 16}


def test_what_goes_beyond_the_taxonomy_repeats_nothing_of_it() -> None:
    beyond = {name for names in BEYOND.values() for name in names}
    assert beyond == {"sneeze", "throat", "scream"}
    assert not beyond & {a for d in DIMENSIONS.values() for a in d.attributes}


def test_exclusive_dimensions_are_those_whose_chances_add_up() -> None:
    exclusive = {name for name, dimension in DIMENSIONS.items() if dimension.exclusive}
    assert exclusive == {"gender", "age", "emotion", "volume", "speed"}


@pytest.mark.parametrize(
    ("column", "spelling", "name"),
    [
        ("emotion", "calm", "neutral"),
        ("event", "laughing", "laughter"),
        ("event", "clapping", "applause"),
        ("env", "dog_bark", "dog"),
        ("age_group", "teen", UNSCORED),
        ("gender", " Female ", "female"),
        ("emotion", "bored", None),
    ],
)
def test_a_spelling_is_known_by_our_name(column: str, spelling: str, name: str | None) -> None:
    assert labels.attribute(column, spelling) == name


@pytest.mark.parametrize("column", COLUMNS)
def test_every_spelling_leads_to_a_name_that_leads_back(column: str) -> None:
    for spelling in labels.spellings(column, UNSCORED):
        assert labels.attribute(column, spelling) == UNSCORED
    mapped = [name for name in KNOWN if labels.spellings(column, name)]
    assert mapped
    for name in mapped:
        for spelling in labels.spellings(column, name):
            assert labels.attribute(column, spelling) == name


def test_no_spelling_leads_to_a_name_that_does_not_exist() -> None:
    for column, spellings in labels._TABLE["manifest"].items():
        assert set(spellings.values()) <= KNOWN | {UNSCORED}, column


def test_every_emotion_gender_and_age_can_be_written_in_a_manifest() -> None:
    for column, dimension in (("emotion", "emotion"), ("gender", "gender"), ("age_group", "age")):
        for answer in DIMENSIONS[dimension].answers:
            assert labels.spellings(column, answer)

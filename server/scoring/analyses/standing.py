"""How systems stand after people's votes, by Bradley and Terry."""

from collections import Counter
from collections.abc import Sequence

from pydantic import BaseModel

from server.arena.strength import Tally, elo, strengths
from server.scoring.scored import Vote

MOST_DRAWS = 1000


class Standing(BaseModel):
    """`strength` in natural units, 0 the mean of all; `elo` the same on the scale of chess."""

    name: str
    strength: float
    low: float
    high: float
    elo: float
    wins: int
    losses: int
    ties: int


def standings(votes: Sequence[Vote], draws: int, seed: int) -> list[Standing]:
    """The strongest first."""
    names = sorted({name for vote in votes for name in (vote.first, vote.second)})
    places = {name: place for place, name in enumerate(names)}
    met = [vote for vote in votes if vote.first != vote.second]
    # In the order of names, so that who was heard first makes no difference to the draws.
    outcomes = Counter((*sorted((vote.first, vote.second)), vote.winner) for vote in met)
    tallies = {
        (places[first], places[second]): Tally(
            outcomes[first, second, first],
            outcomes[first, second, second],
            outcomes[first, second, None],
        )
        for first, second in {tuple(sorted((vote.first, vote.second))) for vote in met}
    }
    found = strengths(len(names), tallies, min(draws, MOST_DRAWS), seed)
    told = [
        Standing(
            name=name,
            strength=strength.value,
            low=strength.low,
            high=strength.high,
            elo=elo(strength.value),
            wins=sum(vote.winner == name for vote in met),
            losses=sum(
                vote.winner not in (None, name) and name in (vote.first, vote.second)
                for vote in met
            ),
            ties=sum(vote.winner is None and name in (vote.first, vote.second) for vote in met),
        )
        for name, strength in zip(names, found, strict=True)
    ]
    return sorted(told, key=lambda standing: -standing.strength)

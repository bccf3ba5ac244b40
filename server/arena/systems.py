"""The systems that are compared: those of the settings, or the four that are shipped."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from models.provenance import describe
from models.registry import Choice
from server.config import Config, ConfigError, ModelChoice, System, choices, of_profile

FEWEST = 2
MARK = 12  # letters by which a system is known again


@dataclass(frozen=True, slots=True)
class Contestant:
    """A system, with all that makes it answer as it does."""

    name: str
    label: str
    instructions: str
    perception: bool
    flat_voice: bool
    choices: Mapping[str, Choice]

    @property
    def mark(self) -> str:
        """Another once it is set up otherwise: votes on what it was do not count for what it is."""
        told = {
            "instructions": self.instructions,
            "perception": self.perception,
            "flat_voice": self.flat_voice,
            "models": {
                role: {"backend": each.backend, "options": each.options}
                for role, each in describe(self.choices).items()  # shows no secret
            },
        }
        written = json.dumps(told, sort_keys=True, default=str)
        return hashlib.sha256(written.encode()).hexdigest()[:MARK]


def contestants(config: Config) -> list[Contestant]:
    """In the order of the settings; ConfigError where one cannot be made of what is there."""
    own = choices(config)
    given = config.arena.systems or shipped(own)
    if len(given) < FEWEST:
        raise ConfigError("arena.systems needs two systems or more, or none for those shipped")
    return [_contestant(name, each, config, own) for name, each in given.items()]


def shipped(own: Mapping[str, Choice]) -> dict[str, System]:
    """What the server is, and what it would be without one of its faculties."""
    return {
        "attune": System(label="Hears and plans"),
        "words": System(label="Plans from the words alone", perception=False),
        "plain": System(
            label="Plain prompt, words alone", perception=False, models={"thinker": _bare(own)}
        ),
        "flat": System(label="Hears and plans, flat voice", voice="flat"),
    }


def _bare(own: Mapping[str, Choice]) -> ModelChoice:
    """The model prompted with nothing but the words; who is in distress is still looked after."""
    thinker = own["thinker"]
    care = ("distress_file", "helplines")
    kept = {
        name: value
        for name, value in thinker.options.items()
        if thinker.backend == "dual" or name in care
    }
    options = {**kept, "strength": "zero", "refine_sec": 0.0}
    return ModelChoice(backend="dual", options=options)


def _contestant(name: str, system: System, config: Config, own: Mapping[str, Choice]) -> Contestant:
    try:
        chosen = {**own} if system.profile is None else of_profile(system.profile)
    except ConfigError as error:
        raise ConfigError(f"arena.systems.{name}: {error}") from None
    for role, choice in system.models.items():
        if role not in own:
            known = ", ".join(own)
            raise ConfigError(f"arena.systems.{name}: unknown role '{role}'; one of: {known}")
        chosen[role] = Choice(choice.backend, choice.options)
    return Contestant(
        name,
        system.label or name,
        system.instructions or config.ui.persona,
        system.perception,
        system.voice == "flat",
        chosen,
    )


def alike(choice: Choice) -> str:
    """The same for two choices of which one model will do."""
    return json.dumps(asdict(choice), sort_keys=True, default=str)

"""One stage of training: from examples to an adapter, in steps that can be taken up again."""

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, softplus

from models.tuning.encoded import UNSAID, Batch, Fork, batches

LOG, STATE = "log.jsonl", "state.pt"
EVERY = 50  # steps from one saved state to the next
WARM = 0.05  # of all steps: the pace grows
LEAST = 0.1  # of the pace, at the end
FEW = 64  # numbers of each weight, by which a network is known
STEEP = 2.0  # by how much a nat between a right and a wrong answer matters
GREEN = 0.2  # of all steps: until then everything is surprising, and learned from


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to learn; the same recipe, seed and examples give the same adapter."""

    epochs: float = 2.0
    batch: int = 8
    pace: float = 1e-3  # the highest learning rate
    decay: float = 0.0
    clip: float = 1.0
    trim: float = 0.0  # of a batch's answers, the most surprising, which are not learned to be said
    apart: float = 0.0  # the weight of telling right answers from wrong ones
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Step:
    """What is known after a step: of the step's own batch, or of examples held out."""

    step: int
    loss: float
    held_out: float | None = None
    told_apart: float | None = (
        None  # of the held-out answers with a wrong one beside, those likelier
    )


Report = Callable[[Step, int], None]  # the step, and how many there will be


def learn(
    network: Any,
    forks: Sequence[Fork],
    held_out: Sequence[Fork],
    recipe: Recipe,
    folder: Path,
    pad: int,
    report: Report,
    made_of: Mapping[str, Any],
) -> None:
    """Train what of the network is trainable, and leave a log; goes on where it was stopped.

    It goes on only with the same recipe, examples and `made_of`, which is all else that makes the
    adapter what it is: another run would neither learn what is asked nor be what it says it is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    examples = hashlib.sha256(repr((forks, held_out)).encode()).hexdigest()[:16]
    run = _plain({**asdict(recipe), **made_of, "examples": examples})
    weights = [each for each in network.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=recipe.pace, weight_decay=recipe.decay)
    per_epoch = sum(1 for _ in batches(forks, recipe.batch, pad, recipe.seed))
    steps = max(1, round(recipe.epochs * per_epoch))
    done = _resume(folder, network, optimizer, run)
    torch.manual_seed(recipe.seed + done)
    network.train()
    step = 0
    for epoch in range(math.ceil(recipe.epochs)):
        for batch in batches(forks, recipe.batch, pad, recipe.seed + epoch):
            if step >= steps:
                break
            step += 1
            if step <= done:
                continue
            for group in optimizer.param_groups:
                group["lr"] = recipe.pace * _pace(step / steps)
            optimizer.zero_grad()
            trim = recipe.trim if step > GREEN * steps else 0.0
            answers = weigh(network, batch)
            loss = answers.loss(trim)
            (loss + recipe.apart * answers.confusion()).backward()
            torch.nn.utils.clip_grad_norm_(weights, recipe.clip)
            optimizer.step()
            checked = step % EVERY == 0 or step == steps
            held = checked_on(network, held_out, recipe.batch, pad) if checked else (None, None)
            told = Step(step, round(float(loss.detach()), 4), *held)
            with (folder / LOG).open("a", encoding="utf-8") as log:
                log.write(json.dumps(asdict(told)) + "\n")
            if checked:
                _save(folder, network, optimizer, run, step)
            report(told, steps)


@dataclass(frozen=True, slots=True)
class Answers:
    """How surprising the answers of a batch are, token by token."""

    losses: Tensor
    owners: Tensor  # which answer each token is of
    rivals: Tensor  # pairs: a right answer, and a wrong one

    def loss(self, trim: float = 0.0) -> Tensor:
        """Of the right ones, by token.

        A small network that is made to learn what it cannot know learns to make things up: those
        that surprise it most may be left out (loss truncation, Kang and Hashimoto 2020).
        """
        right = ~torch.isin(self.owners, self.rivals[:, 1])
        return self.losses[right & self._kept(trim)].mean()

    def confusion(self) -> Tensor:
        """How far wrong answers are from being told by how unlikely they are; 0 without any.

        Right and wrong answer the same words, said in two ways: what tells them apart is the way.
        The difference is one of mean log-probabilities, as in SimPO (Meng et al. 2024).
        """
        if not len(self.rivals):
            return self.losses.new_zeros(())
        return softplus(STEEP * self._behind()).mean()

    def told_apart(self) -> list[bool]:
        """Of each right answer with a rival, whether it is the likelier one."""
        return [bool(each) for each in self._behind() < 0] if len(self.rivals) else []

    def _behind(self) -> Tensor:
        each = self._each()
        return each[self.rivals[:, 0]] - each[self.rivals[:, 1]]

    def _each(self) -> Tensor:
        count = int(self.owners.max()) + 1
        lengths = torch.bincount(self.owners, minlength=count).clamp(min=1)
        sums = self.losses.new_zeros(count).index_add(0, self.owners, self.losses)
        return sums / lengths

    def _kept(self, trim: float) -> Tensor:
        """Which tokens are of answers that are not among the most surprising right ones."""
        each = self._each().detach()
        each[self.rivals[:, 1]] = -math.inf
        count = len(each) - len(self.rivals)
        return ~torch.isin(self.owners, each.topk(int(trim * count)).indices)


def weigh(network: Any, batch: Batch) -> Answers:
    """Reads a batch; only where something is said are words looked for at all."""
    device = next(network.parameters()).device
    body = network.get_base_model() if hasattr(network, "get_base_model") else network
    reader = getattr(body.model, "language_model", body.model)  # beside ears and eyes
    hidden = reader(
        input_ids=batch.tokens.to(device),
        attention_mask=batch.seen.to(device, body.dtype),
        position_ids=batch.places.to(device),
        use_cache=False,
    ).last_hidden_state[:, :-1]
    labels = batch.labels[:, 1:].to(device)
    said = labels != UNSAID
    losses = cross_entropy(body.lm_head(hidden[said]).float(), labels[said], reduction="none")
    return Answers(losses, batch.owners[:, 1:].to(device)[said], batch.rivals.to(device))


def said_loss(network: Any, batch: Batch, trim: float = 0.0) -> Tensor:
    return weigh(network, batch).loss(trim)


def mean_loss(network: Any, forks: Sequence[Fork], size: int, pad: int) -> float | None:
    """Over held-out examples; None without any."""
    return checked_on(network, forks, size, pad)[0]


def checked_on(
    network: Any, forks: Sequence[Fork], size: int, pad: int
) -> tuple[float | None, float | None]:
    """Over held-out examples: the loss, and how many are told from a wrong one; None if none."""
    if not forks:
        return None, None
    losses: list[tuple[float, int]] = []
    apart: list[bool] = []
    network.eval()
    with torch.inference_mode():
        for batch in batches(forks, size, pad, 0):
            answers = weigh(network, batch)
            right = ~torch.isin(answers.owners, answers.rivals[:, 1])
            losses.append((float(answers.loss()), int(right.sum())))
            apart += answers.told_apart()
    network.train()
    count = sum(n for _, n in losses)
    return (
        round(sum(loss * n for loss, n in losses) / count, 4),
        round(sum(apart) / len(apart), 4) if apart else None,
    )


def read_log(folder: Path) -> list[Step]:
    lines = (folder / LOG).read_text("utf-8").splitlines()
    return [Step(**json.loads(line)) for line in lines]


def fingerprint(network: Any) -> str:
    """Which network this is, by a few numbers of each weight, in whatever precision it lies."""
    found = hashlib.sha256()
    for name, weight in network.named_parameters():
        few = weight.detach().flatten()[:FEW].to(torch.bfloat16).float().cpu()
        found.update(f"{name} {tuple(weight.shape)} {few.tolist()}".encode())
    return found.hexdigest()[:16]


def _pace(done: float) -> float:
    if done < WARM:
        return done / WARM
    turn = (done - WARM) / (1 - WARM)
    return LEAST + (1 - LEAST) * (1 + math.cos(math.pi * turn)) / 2


def _plain(run: Mapping[str, Any]) -> dict[str, Any]:
    """As it is read again from a file: enums are words, and tuples lists."""
    plain: dict[str, Any] = json.loads(json.dumps(run))
    return plain


def _save(folder: Path, network: Any, optimizer: Any, run: dict[str, Any], step: int) -> None:
    trained = {n: p.detach().cpu() for n, p in network.named_parameters() if p.requires_grad}
    state = {
        "step": step,
        "run": run,
        "weights": trained,
        "optimizer": optimizer.state_dict(),
    }
    partial = folder / f"{STATE}.partial"
    torch.save(state, partial)
    os.replace(partial, folder / STATE)


def _resume(folder: Path, network: Any, optimizer: Any, run: dict[str, Any]) -> int:
    """The step that was reached before; what was logged after it is taken back."""
    file = folder / STATE
    if not file.exists():
        (folder / LOG).unlink(missing_ok=True)
        return 0
    state = torch.load(file, weights_only=True)
    if other := _differing(state.get("run"), run):
        raise ValueError(f"{folder} was begun otherwise ({other}): choose another --out.")
    network.load_state_dict(state["weights"], strict=False)
    optimizer.load_state_dict(state["optimizer"])
    kept = [step for step in read_log(folder) if step.step <= state["step"]]
    text = "".join(json.dumps(asdict(step)) + "\n" for step in kept)
    (folder / LOG).write_text(text, encoding="utf-8")
    return int(state["step"])


def _differing(begun: Mapping[str, Any] | None, now: Mapping[str, Any]) -> str:
    """What is not as it was when a run was begun; empty if nothing."""
    if begun is None:
        return "it does not say what it learns from"
    names = [name for name in {**begun, **now} if begun.get(name) != now.get(name)]
    return "; ".join(f"{name}: {begun.get(name)}, now {now.get(name)}" for name in names)

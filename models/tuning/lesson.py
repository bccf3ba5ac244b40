"""One stage of training: from examples to an adapter, in steps that can be taken up again."""

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from models.tuning.encoded import UNSAID, Batch, Fork, batches

LOG, STATE = "log.jsonl", "state.pt"
EVERY = 50  # steps from one saved state to the next
WARM = 0.05  # of all steps: the pace grows
LEAST = 0.1  # of the pace, at the end
GREEN = 0.2  # of all steps: until then everything is surprising, and learned from


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to learn; the same recipe, seed and examples give the same adapter."""

    epochs: float = 2.0
    batch: int = 8
    pace: float = 1e-3  # the highest learning rate
    decay: float = 0.0
    clip: float = 1.0
    trim: float = 0.0  # of a batch's answers, the most surprising, from which nothing is learned
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Step:
    """What is known after a step: of the step's own batch, or of examples held out."""

    step: int
    loss: float
    held_out: float | None = None


Report = Callable[[Step, int], None]  # the step, and how many there will be


def learn(
    network: Any,
    forks: Sequence[Fork],
    held_out: Sequence[Fork],
    recipe: Recipe,
    folder: Path,
    pad: int,
    report: Report,
) -> None:
    """Train what of the network is trainable, and leave a log; goes on where it was stopped."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = [each for each in network.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=recipe.pace, weight_decay=recipe.decay)
    per_epoch = sum(1 for _ in batches(forks, recipe.batch, pad, recipe.seed))
    steps = max(1, round(recipe.epochs * per_epoch))
    done = _resume(folder, network, optimizer, recipe)
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
            loss = said_loss(network, batch, recipe.trim if step > GREEN * steps else 0.0)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, recipe.clip)
            optimizer.step()
            checked = step % EVERY == 0 or step == steps
            held = mean_loss(network, held_out, recipe.batch, pad) if checked else None
            told = Step(step, round(float(loss.detach()), 4), held)
            with (folder / LOG).open("a", encoding="utf-8") as log:
                log.write(json.dumps(asdict(told)) + "\n")
            if checked:
                _save(folder, network, optimizer, recipe, step)
            report(told, steps)


def said_loss(network: Any, batch: Batch, trim: float = 0.0) -> Tensor:
    """How surprising the answers are, by token; only there are words looked for at all.

    A small network that is made to learn what it cannot know learns to make things up: the answers
    that surprise it most may be left out (loss truncation, Kang and Hashimoto 2020).
    """
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
    owners = batch.owners[:, 1:].to(device)[said]
    return losses[_kept(losses.detach(), owners, trim)].mean()


def _kept(losses: Tensor, owners: Tensor, trim: float) -> Tensor:
    """Which tokens are of answers that are not among the most surprising."""
    count = int(owners.max()) + 1
    lengths = torch.bincount(owners, minlength=count).clamp(min=1)
    each = torch.bincount(owners, losses, minlength=count) / lengths
    left_out = each.topk(int(trim * count)).indices
    return ~torch.isin(owners, left_out)


def mean_loss(network: Any, forks: Sequence[Fork], size: int, pad: int) -> float | None:
    """Over held-out examples; None without any."""
    if not forks:
        return None
    network.eval()
    with torch.inference_mode():
        losses = [
            (float(said_loss(network, batch)), int((batch.labels != UNSAID).sum()))
            for batch in batches(forks, size, pad, 0)
        ]
    network.train()
    return round(sum(loss * n for loss, n in losses) / sum(n for _, n in losses), 4)


def read_log(folder: Path) -> list[Step]:
    lines = (folder / LOG).read_text("utf-8").splitlines()
    return [Step(**json.loads(line)) for line in lines]


def _pace(done: float) -> float:
    if done < WARM:
        return done / WARM
    turn = (done - WARM) / (1 - WARM)
    return LEAST + (1 - LEAST) * (1 + math.cos(math.pi * turn)) / 2


def _save(folder: Path, network: Any, optimizer: Any, recipe: Recipe, step: int) -> None:
    trained = {n: p.detach().cpu() for n, p in network.named_parameters() if p.requires_grad}
    state = {
        "step": step,
        "recipe": asdict(recipe),
        "weights": trained,
        "optimizer": optimizer.state_dict(),
    }
    partial = folder / f"{STATE}.partial"
    torch.save(state, partial)
    os.replace(partial, folder / STATE)


def _resume(folder: Path, network: Any, optimizer: Any, recipe: Recipe) -> int:
    """The step that was reached before; what was logged after it is taken back."""
    file = folder / STATE
    if not file.exists():
        (folder / LOG).unlink(missing_ok=True)
        return 0
    state = torch.load(file, weights_only=True)
    if state["recipe"] != asdict(recipe):
        raise ValueError(f"{folder} was begun with another recipe; choose another --out")
    network.load_state_dict(state["weights"], strict=False)
    optimizer.load_state_dict(state["optimizer"])
    kept = [step for step in read_log(folder) if step.step <= state["step"]]
    text = "".join(json.dumps(asdict(step)) + "\n" for step in kept)
    (folder / LOG).write_text(text, encoding="utf-8")
    return int(state["step"])

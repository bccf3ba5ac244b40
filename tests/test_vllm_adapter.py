"""An adapter of ours, put on by a real vLLM beside the network it changes."""

from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from models.responder_vllm import VllmResponder
from models.thinking.told import SYSTEM
from models.types import Turn
from tests.vllm_serving import NAME, PYTHON, VllmServer

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.timeout(900),  # vLLM is slow to start
    pytest.mark.filterwarnings("ignore"),
]

ASKED = [Turn("system", SYSTEM), Turn("user", "I was in the stock room most of the day.")]
TOKENS = 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2 as vLLM reads it, and two adapters of chance as one."""
    import torch  # here and below: `make test` collects this file without it

    from models.tuning import adapters
    from models.tuning.base import load as load_base

    place = tmp_path_factory.mktemp("adapted")
    base = load_base("smollm2")
    whole = copied(base.network)  # one that was read from a GGUF cannot be saved itself
    whole.save_pretrained(place / "base")
    base.tokenizer.save_pretrained(place / "base")
    for number in (1, 2):
        network = adapters.put_on(load_base("smollm2").network, number, rank=4)
        torch.manual_seed(number)
        for name, weight in network.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(weight, std=0.02)
        adapters.save(network, place / str(number), "smollm2")
    adapters.joined([place / "1", place / "2"], place / "both")
    return place


def copied(network: Any) -> Any:
    fields = network.config.to_dict()
    fields.pop("quantization_config", None)
    other = type(network)(type(network.config)(**fields))
    other.load_state_dict(network.state_dict())
    return other


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[VllmServer]:
    if not PYTHON.exists():
        pytest.skip("make vllm-cpu makes .venv-vllm")
    lora = ("--enable-lora", "--max-lora-rank", "8", "--lora-modules", f"kind={folder / 'both'}")
    server = VllmServer(folder / "log.txt", folder / "base", lora)
    server.start()
    yield server
    server.stop()


def by_torch(folder: Path, wearing: tuple[Path, ...]) -> str:
    """What the likeliest words are, without vLLM."""
    import torch

    from models.tuning import adapters
    from models.tuning.base import load as load_base
    from models.tuning.encoded import laid_out

    base = load_base(str(folder / "base"))
    network: Any = adapters.merged(base.network, wearing).eval()
    asked = base.tokenizer(laid_out(base.tokenizer, ASKED), return_tensors="pt")
    with torch.inference_mode():
        said = network.generate(**asked, max_new_tokens=TOKENS, do_sample=False)
    start = asked["input_ids"].shape[1]
    return str(base.tokenizer.decode(said[0, start:], skip_special_tokens=True))


async def by_vllm(server: VllmServer, model: str) -> str:
    responder = VllmResponder(server.url, model=model, temperature=0)
    async with aclosing(responder.respond(ASKED, TOKENS)) as tokens:
        return "".join([token async for token in tokens])


async def test_vllm_answers_with_the_adapter_as_torch_does(
    server: VllmServer, folder: Path
) -> None:
    plain, kind = await by_vllm(server, NAME), await by_vllm(server, "kind")
    assert plain == by_torch(folder, ())
    assert kind == by_torch(folder, (folder / "1", folder / "2")) != plain

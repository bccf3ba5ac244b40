"""Scoring reports: reading them whole or broken, opening them safely, and making them."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from server.access import Access
from server.app import may_connect
from server.config import Config
from server.consent import Consent
from server.openapi import DescribedApp
from server.report_digest import FILE, BrokenReport
from server.report_shelf import Shelf, UnknownReport
from server.report_tickets import VALID_SEC, Tickets
from server.reports import ScoresFile
from server.reports_api import router
from server.scoring_run import COMMAND, NICE, passed_on
from server.sessions.library import Library
from tests.made_reports import MADE, METRICS, made_report, session_ids
from tests.made_sessions import made_session

TOKEN = "the operator's own token"
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}


@dataclass
class Place:
    runs: Path
    library: Library
    client: httpx2.AsyncClient

    @property
    def reports(self) -> Path:
        return self.runs / "reports"

    async def get(self, path: str = "", who: dict[str, str] = OPERATOR) -> httpx2.Response:
        return await self.client.get(f"/api/reports{path}", headers=who)

    async def start(self, **body: Any) -> httpx2.Response:
        return await self.client.post("/api/reports", json=body, headers=OPERATOR)

    async def ended(self, name: str) -> dict[str, Any]:
        while True:
            told: dict[str, Any] = (await self.get(f"/{name}/progress")).json()
            if told["state"] != "running":
                return told
            await asyncio.sleep(0.01)

    async def said(self, name: str, doing: str) -> dict[str, Any]:
        while True:
            told: dict[str, Any] = (await self.get(f"/{name}/progress")).json()
            assert told["state"] == "running"
            if told["doing"] == doing:
                return told
            await asyncio.sleep(0.01)


@asynccontextmanager
async def asking(runs: Path, command: Sequence[str] = COMMAND) -> AsyncGenerator[Place, None]:
    library = Library.open(str(runs))
    app = DescribedApp()
    allowed = partial(may_connect, config=Config())
    app.include_router(router(library, str(runs), Access(TOKEN), allowed, command))
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app), base_url="http://localhost"
        ) as client,
    ):
        yield Place(runs, library, client)
    library.close()


def scorer(tmp_path: Path, body: str) -> tuple[str, str]:
    """A command that runs this instead of a scorer; `out` and `runs` are what it is given."""
    script = tmp_path / "scorer.py"
    script.write_text(
        "import json, os, signal, sys, time\nfrom pathlib import Path\n"
        "runs, out = Path(sys.argv[1]), Path(sys.argv[3])\n"
        "assert sys.argv[2] == '--out'\n"
        "def tell(**step): print(json.dumps(step), flush=True)\n" + body
    )
    return sys.executable, str(script)


def code(answer: httpx2.Response) -> Any:
    return answer.json()["error"]["code"]


# ---- the form


def test_a_report_may_say_more_than_we_know_and_nothing_is_lost_of_the_rest(tmp_path: Path) -> None:
    written = made_report(tmp_path, "march")
    read = Shelf(tmp_path).digest("march")
    assert read.exchanges().total == len(written["exchanges"]) == 36
    assert read.head().metrics[0].title == "Fits the context"
    assert read.head().metrics[0].mean == written["metrics"][0]["mean"]
    summary = json.loads(read.summary())
    assert [each["id"] for each in summary["sessions"]] == read_ids(written["sessions"])


def read_ids(sessions: list[dict[str, Any]]) -> list[str]:
    return [each["id"] for each in sessions]


@pytest.mark.parametrize(
    "wrong",
    [
        {"schema_version": 2},
        {"software": None},
        {"metrics": [{"name": "Not A Name", "title": ""}]},
        {"sessions": [{"id": "../../etc", "started": MADE.isoformat()}]},
        {"exchanges": [{"session_id": "sess_" + "0" * 20, "number": 0, "scores": {"a": {}}}]},
    ],
)
def test_what_is_not_a_report_is_not_taken_for_one(tmp_path: Path, wrong: dict[str, Any]) -> None:
    made_report(tmp_path, "wrong", **wrong)
    shelf = Shelf(tmp_path)
    for _ in range(2):
        with pytest.raises(BrokenReport, match=r"scores\.json"):
            shelf.digest("wrong")


def test_a_report_written_anew_is_read_anew(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    made_report(tmp_path, "march")
    assert shelf.digest("march").head().software == "attune 0.1.0"
    file = tmp_path / "march" / "scores.json"
    file.write_text(file.read_text().replace("attune 0.1.0", "attune 0.2.0 and more"))
    assert shelf.digest("march").head().software == "attune 0.2.0 and more"
    (tmp_path / "march" / FILE).write_bytes(b"what is this?" * 99)
    assert Shelf(tmp_path).digest("march").head().software == "attune 0.2.0 and more"
    (tmp_path / "march" / FILE).unlink()
    assert shelf.digest("march").exchanges().total == 36


def test_a_report_is_read_once_however_often_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_report(tmp_path, "march")
    assert Shelf(tmp_path).digest("march").exchanges().total == 36
    monkeypatch.setattr("server.report_digest._make", None)
    again = Shelf(tmp_path)
    assert again.digest("march").exchanges().total == again.digest("march").counts()[1] == 36


def test_a_large_report_is_never_read_in_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.report_digest.SMALL", 0)
    monkeypatch.setattr("server.report_digest.make", None)
    made_report(tmp_path, "march")
    made_report(tmp_path, "wrong", schema_version=2)
    shelf = Shelf(tmp_path)
    assert shelf.digest("march").head().software == "attune 0.1.0"
    with pytest.raises(BrokenReport, match="another version"):
        shelf.digest("wrong")
    assert {each.name for each in (tmp_path / "march").iterdir()} == {
        FILE, "scores.json", "report"
    }  # fmt: skip


def test_exchanges_are_found_by_session_and_metric_and_put_in_order(tmp_path: Path) -> None:
    ids = session_ids(4)
    made_report(tmp_path, "march", sessions=ids)
    digest = Shelf(tmp_path).digest("march")

    def values(**asked: Any) -> list[float | None]:
        found = map(json.loads, digest.exchanges(metric="ctx_fit", **asked).exchanges)
        return [each["scores"]["ctx_fit"]["value"] for each in found]

    of_one = [json.loads(each) for each in digest.exchanges(ids[1]).exchanges]
    assert [(each["session_id"], each["number"]) for each in of_one] == [
        (ids[1], number) for number in range(3)
    ]
    assert digest.exchanges(metric="no_such_metric").total == 0
    found = values(order="lowest")
    scored = [value for value in found if value is not None]
    assert scored == sorted(scored) and found[: len(scored)] == scored and len(found) == 12
    assert values(order="highest")[0] == max(scored)
    assert values(order="lowest", offset=2, limit=3) == found[2:5]
    assert len(values(order="lowest", session_id=ids[2])) == 3


def test_the_trend_is_by_the_day_of_the_session_for_all_and_for_each_model(tmp_path: Path) -> None:
    written = made_report(tmp_path, "march", sessions=session_ids(6))
    points = Shelf(tmp_path).digest("march").trend("latency")
    days = [point.day for point in points if point.model is None]
    assert days == sorted((MADE - timedelta(days=n)).date() for n in range(1, 7))
    assert {point.model for point in points} == {None, "llamacpp", "vllm"}
    total = sum(point.n for point in points if point.model is None)
    assert total == written["metrics"][-1]["n"]
    mean = sum(point.mean * point.n for point in points if point.model is None) / total
    assert mean == pytest.approx(written["metrics"][-1]["mean"], abs=0.01)


# ---- over HTTP


async def test_without_reports_the_list_is_empty_and_only_the_operator_gets_it(
    tmp_path: Path,
) -> None:
    async with asking(tmp_path) as place:
        told = await place.get()
        assert told.json() == {"reports": [], "running": None}
        for path in ("", "/march", "/march/exchanges", "/march/trend?metric=wer",
                     "/march/progress", "/march/files/scores.json"):  # fmt: skip
            assert (await place.get(path, {})).status_code == 401, path
        assert (await place.client.delete("/api/reports/march")).status_code == 401
        assert (await place.client.post("/api/reports", json={})).status_code == 401


async def test_reports_are_listed_newest_first_and_a_broken_one_says_why(tmp_path: Path) -> None:
    async with asking(tmp_path) as place:
        made_report(place.reports, "old", made=MADE - timedelta(days=30))
        made_report(place.reports, "new")
        made_report(place.reports, "broken", schema_version=9)
        (place.reports / "half" / "report").mkdir(parents=True)  # its scores are not yet there
        reports = (await place.get()).json()["reports"]
        assert [each["name"] for each in reports] == ["new", "old", "broken"]
        assert reports[2]["problem"] is not None and reports[2]["metrics"] == []
        head = reports[0]
        assert (head["sessions"], head["exchanges"]) == (12, 36)
        assert [each["name"] for each in head["metrics"]] == [each["name"] for each in METRICS]
        assert code(await place.get("/broken")) == "report_broken"
        assert (await place.get("/half")).status_code == 404


async def test_a_report_is_shown_with_its_exchanges_a_page_at_a_time(tmp_path: Path) -> None:
    async with asking(tmp_path) as place:
        made_report(place.reports, "march", page=False)
        report = (await place.get("/march")).json()
        assert (report["page"], report["files"]) == (None, ["scores.json"])
        assert [each["by"] for each in report["breakdowns"]] == ["responder", "emotion"]
        page = (await place.get("/march/exchanges?metric=wer&offset=30&limit=20")).json()
        assert (len(page["exchanges"]), page["total"]) == (6, 36)
        assert (await place.get("/march/exchanges?session_id=nobody")).status_code == 400
        points = (await place.get("/march/trend?metric=wer")).json()["points"]
        assert {point["model"] for point in points} == {None, "llamacpp", "vllm"}
        assert (await place.get("/NO..NAME")).status_code == 400


@pytest.mark.parametrize(
    "path",
    ["report/../../secret.txt", "../secret.txt", "/etc/passwd", "report/.hidden.html", "report",
     "report/leads-out.txt", "report/tool.exe", "secret.txt", "report/%2e%2e/scores.json", ""],
)  # fmt: skip
def test_no_file_outside_a_report_is_given_out(tmp_path: Path, path: str) -> None:
    made_report(tmp_path, "march")
    (tmp_path / "secret.txt").write_text("secret")
    inside = tmp_path / "march"
    (inside / "secret.txt").write_text("secret")
    for name in (".hidden.html", "tool.exe"):
        (inside / "report" / name).write_text("secret")
    (inside / "report" / "leads-out.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(UnknownReport):
        Shelf(tmp_path).file("march", path)
    assert Shelf(tmp_path).file("march", "report/look.css").name == "look.css"


async def test_a_report_opens_in_a_tab_for_a_while_and_may_run_nothing(tmp_path: Path) -> None:
    async with asking(tmp_path) as place:
        made_report(place.reports, "march")
        made_report(place.reports, "april")
        page = (await place.get("/march")).json()["page"]
        opened = await place.client.get(page)
        assert opened.status_code == 200 and opened.headers["content-type"].startswith("text/html")
        policy = opened.headers["content-security-policy"]
        assert policy.startswith("sandbox ") and "default-src 'none'" in policy
        assert "allow-scripts" not in policy and "script-src" not in policy
        assert opened.headers["x-content-type-options"] == "nosniff"
        assert (await place.client.get(page.replace("index.html", "look.css"))).status_code == 200
        assert (await place.client.get(page.replace("march", "april"))).status_code == 404
        ticket = page.split("/")[5]
        changed = ticket[:-1] + ("0" if ticket[-1] != "0" else "1")
        assert (await place.client.get(page.replace(ticket, changed))).status_code == 404
        outside = page.replace("report/index.html", "report/%2e%2e/%2e%2e/april/scores.json")
        assert (await place.client.get(outside)).status_code == 404


def test_a_ticket_ends_after_its_time() -> None:
    now = 1000.0
    tickets = Tickets(lambda: now)
    ticket = tickets.of("march")
    assert tickets.holds("march", ticket)
    longer = f"{int(ticket.split('-')[0]) + 9999}-{ticket.split('-')[1]}"
    assert not tickets.holds("march", longer)
    assert not any(tickets.holds("march", each) for each in ("", "-", "9-", "x-y", "²-a", "é"))
    now += VALID_SEC
    assert not tickets.holds("march", ticket)


async def test_a_report_can_be_deleted(tmp_path: Path) -> None:
    async with asking(tmp_path) as place:
        made_report(place.reports, "march")
        gone = await place.client.delete("/api/reports/march", headers=OPERATOR)
        assert gone.json() == {"name": "march", "stopped": False}
        assert not (place.reports / "march").exists()
        assert (await place.get("/march")).status_code == 404


# ---- whom it is about


async def test_a_report_put_there_by_hand_goes_with_the_sessions_it_tells_of(
    tmp_path: Path,
) -> None:
    known, other = made_session(tmp_path), made_session(tmp_path)
    async with asking(tmp_path) as place:
        made_report(place.reports, "march", sessions=[*session_ids(1), known, *session_ids(1)])
        written = made_report(place.reports, "april", sessions=session_ids(2))
        about_another = {**written["exchanges"][0], "session_id": other}
        made_report(place.reports, "may", sessions=session_ids(1), exchanges=[about_another])
        assert len((await place.get()).json()["reports"]) == 3
        place.library.delete(known)
        assert [each["name"] for each in (await place.get()).json()["reports"]] == ["may", "april"]
        place.library.delete(other)
        assert [each["name"] for each in (await place.get()).json()["reports"]] == ["april"]


@pytest.mark.parametrize("path", ["", "/march", "/march/exchanges", "/march/files/scores.json"])
async def test_nothing_is_given_out_of_a_report_about_somebody_who_has_left(
    tmp_path: Path, path: str
) -> None:
    left = made_session(tmp_path)
    async with asking(tmp_path) as place:
        place.library.delete(left)
        made_report(place.reports, "march", sessions=[*session_ids(1), left, *session_ids(1)])
        answer = await place.get(path)
        if path:
            assert answer.status_code == 404
        else:
            assert answer.json()["reports"] == []
        assert not (place.reports / "march").exists()


async def test_a_report_that_deleting_could_not_reach_is_not_shown(tmp_path: Path) -> None:
    async with asking(tmp_path / "runs") as place:
        made_report(tmp_path / "elsewhere", "march")
        place.reports.mkdir()
        (place.reports / "march").symlink_to(tmp_path / "elsewhere" / "march")
        assert code(await place.get("/march")) == "report_broken"
        assert code(await place.get("/march/files/scores.json")) == "report_broken"


# ---- making one


async def test_a_scoring_tells_how_far_it_is_and_its_report_appears(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    ids = [made_session(runs), made_session(runs)]
    made_report(tmp_path, "prepared", sessions=ids)
    command = scorer(tmp_path, f"""
print("loading the judges")
tell(done=1, total=2, doing="listening")
while not (runs / "go").exists(): time.sleep(0.01)
assert "ATTUNE_OPERATOR_TOKEN" not in os.environ
(out / "nice").write_text(str(os.nice(0)))
(out / "scores.json").write_text(Path({str(tmp_path / "prepared/scores.json")!r}).read_text())
""")  # fmt: skip
    async with asking(runs, command) as place:
        begun = await place.start(name="march")
        assert (begun.status_code, begun.json()["state"]) == (202, "running")
        told = await place.said("march", "listening")
        assert (told["done"], told["total"]) == (1, 2)
        listed = (await place.get()).json()
        assert listed["running"]["name"] == "march" and listed["reports"] == []
        assert code(await place.start(name="april")) == "scoring_running"
        (runs / "go").touch()
        assert (await place.ended("march"))["state"] == "finished"
        listed = (await place.get()).json()
        assert listed["running"] is None
        assert [each["name"] for each in listed["reports"]] == ["march"]
        assert int((place.reports / "march" / "nice").read_text()) == NICE
        assert code(await place.start(name="march")) == "report_exists"
        # Deleting a session takes what was made of it along.
        place.library.delete(ids[0])
        assert not (place.reports / "march").exists()


@pytest.mark.slow  # it loads real networks
async def test_our_own_scorer_makes_a_report_that_is_listed_opened_and_goes_with_its_session(
    tmp_path: Path,
) -> None:
    session_id = made_session(tmp_path / "runs")
    async with asking(tmp_path / "runs") as place:
        assert (await place.start(name="march")).status_code == 202
        told = await place.ended("march")
        assert (told["state"], told["problem"]) == ("finished", None)
        (listed,) = (await place.get()).json()["reports"]
        assert (listed["name"], listed["sessions"]) == ("march", 1)
        shown = (await place.get("/march")).json()
        page = await place.client.get(shown["page"])
        assert page.status_code == 200 and "What was scored" in page.text
        scores = {each["name"]: each for each in shown["metrics"]}
        assert scores["ctx_fit"]["mean"] is None and scores["ctx_fit"]["reasons"]
        place.library.delete(session_id)
        assert not (place.reports / "march").exists()
        assert not list((tmp_path / "runs" / "scores").glob("*"))


async def test_a_report_about_somebody_who_left_meanwhile_is_not_kept(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    ids = [made_session(runs), made_session(runs)]
    made_report(tmp_path, "prepared", sessions=ids)
    command = scorer(tmp_path, f"""
tell(done=0, doing="begun")
while not (runs / "go").exists(): time.sleep(0.01)
(out / "scores.json").write_text(Path({str(tmp_path / "prepared/scores.json")!r}).read_text())
""")  # fmt: skip
    async with asking(runs, command) as place:
        await place.start(name="march")
        await place.said("march", "begun")
        place.library.revoke(ids[1], Consent(transcript=True, audio=True, research=False))
        (runs / "go").touch()
        await place.ended("march")
        assert not (place.reports / "march").exists()


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("print('no judge\\nThe judge cannot be reached.', file=sys.stderr); sys.exit(1)",
         "The judge cannot be reached."),
        ("sys.exit(3)", "The scorer ended without saying why."),
        ("(out / 'notes.txt').write_text('half')", "The scorer wrote no scores.json."),
        ("(out / 'scores.json').write_text('{}'); sys.exit('No room is left.')",
         "No room is left."),
        ("(out / 'scores.json').write_text('{}')",
         "scores.json is of another version than 1, which this server reads."),
    ],
)  # fmt: skip
async def test_a_scoring_that_fails_says_why_and_leaves_nothing(
    tmp_path: Path, body: str, problem: str
) -> None:
    async with asking(tmp_path / "runs", scorer(tmp_path, body)) as place:
        name = (await place.start()).json()["name"]
        told = await place.ended(name)
        assert (told["state"], told["problem"]) == ("failed", problem)
        assert not (place.reports / name).exists()


def test_a_scorer_is_told_nothing_secret() -> None:
    told = {
        "PATH": "/bin", "HOME": "/root", "LANG": "C", "LC_ALL": "C", "PYTHONPATH": "x",
        "CUDA_VISIBLE_DEVICES": "0", "HF_HOME": "/models", "hf_hub_offline": "1",
        "ATTUNE_CACHE": "/opt", "ATTUNE_JUDGE_KEY": "the judge's own",
    }  # fmt: skip
    secret = {
        "ATTUNE_OPERATOR_TOKEN": "s", "attune_operator_token": "s", "OPENAI_API_KEY": "s",
        "HF_TOKEN": "s", "hf_token": "s", "AWS_SECRET_ACCESS_KEY": "s", "HTTPS_PROXY": "s",
        "ATTUNE_RECORDING__SPEAKER_KEY": "s", "Database_Url": "s",
    }  # fmt: skip
    assert passed_on(told | secret) == told


STUBBORN = """
(out / "scores.json").write_text("{}")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
tell(done=0, doing=f"{os.getpid()} {child}")
time.sleep(60)
"""


async def test_a_scoring_can_be_stopped_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.scoring_run.STOP_SEC", 0.1)
    async with asking(tmp_path / "runs", scorer(tmp_path, STUBBORN)) as place:
        await place.start(name="march")
        told = await _doing(place, "march")
        gone = await place.client.delete("/api/reports/march", headers=OPERATOR)
        assert gone.json() == {"name": "march", "stopped": True}
        assert (await place.ended("march"))["state"] == "stopped"
        assert not (place.reports / "march").exists()
        await _are_gone(told["doing"])


async def test_when_the_server_stops_so_does_the_scorer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.scoring_run.STOP_SEC", 0.1)
    async with asking(tmp_path / "runs", scorer(tmp_path, STUBBORN)) as place:
        await place.start(name="march")
        told = await _doing(place, "march")
    await _are_gone(told["doing"])


async def _doing(place: Place, name: str) -> dict[str, Any]:
    while True:
        told: dict[str, Any] = (await place.get(f"/{name}/progress")).json()
        if told["doing"]:
            return told
        await asyncio.sleep(0.01)


async def _are_gone(pids: str) -> None:
    async with asyncio.timeout(5):
        for pid in map(int, pids.split()):
            while _runs(pid):  # noqa: ASYNC110 - nobody tells when a stranger's child ends
                await asyncio.sleep(0.01)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().split()[2] == "Z")  # a dead one may wait


def test_the_example_in_the_docs_is_a_report_with_every_field() -> None:
    told = (Path(__file__).parents[1] / "docs" / "scores-format.md").read_text("utf-8")
    example = json.loads(told.split("```json\n", 1)[1].split("```", 1)[0])
    scores = ScoresFile.model_validate(example)
    assert set(example) == set(ScoresFile.model_fields)
    assert set(example["metrics"][0]) == set(type(scores.metrics[0]).model_fields)
    assert set(example["exchanges"][0]) == set(type(scores.exchanges[0]).model_fields)

"""python -m server.audit: is what we install locked, and is anything of it known to be weak?"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata, util
from pathlib import Path
from typing import Annotated

import typer
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from server import advisories, locked, needed
from server.locked import Locked

SERVICE_SEC = 300  # for pip-audit to ask about every package
WEAK, UNKNOWN = 1, 3  # exit codes


def main(
    lock_file: Annotated[
        Path, typer.Option("--lock", help="What is installed, with hashes.")
    ] = locked.LOCK,
    advisory_files: Annotated[
        Path | None,
        typer.Option("--advisories", help="Advisories in OSV form: a JSON file, folder or zip."),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not ask anybody; what needs asking stays unknown.")
    ] = False,
    installed: Annotated[
        bool, typer.Option("--installed", help="Another version here than the locked is wrong.")
    ] = False,
) -> None:
    """Look at the lock, and at what is known about each package in it.

    Leaves with 1 if something is wrong, and with 3 if that could not be found out.
    """
    try:
        lock = locked.read(lock_file)
    except (OSError, locked.BadLock) as error:
        print(f"audit: {lock_file} cannot be read: {error}", file=sys.stderr)
        raise typer.Exit(WEAK) from None
    asked = locked.wanted()
    wrong = [*locked.complaints(lock, asked), *_incomplete(lock, asked)]
    for complaint in wrong:
        print(f"lock: {complaint}")
    print(f"lock: {len(lock)} packages, {len(wrong)} complaints")
    others = _installed_otherwise(lock)
    print(f"installed here in another version: {', '.join(others) or 'none'}")
    if installed and others:
        print("installed: not what is locked; rm .venv/.installed*, and make installs it again")
    code = WEAK if wrong or (installed and others) else 0
    if advisory_files is not None:
        code = max(code, _by_files(advisory_files, lock))
    elif offline:
        print("advisories: not looked at; nothing is known about weaknesses")
    else:
        code = code or _by_service(lock_file)
    raise typer.Exit(code)


def _incomplete(lock: Mapping[str, Locked], asked: Sequence[Requirement]) -> list[str]:
    """What locked packages need, and pip would refuse to install for want of a hash."""
    found = {
        f"{canonicalize_name(need.name)}, which {whose} needs, is not locked"
        for whose, need in needed.needed(asked)
        if canonicalize_name(need.name) not in lock
    }
    return sorted(found)


def _installed_otherwise(lock: Mapping[str, Locked]) -> list[str]:
    """Told in any case; held against nobody who does not ask for that."""
    others = []
    for name, package in lock.items():
        try:
            here = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        if here != str(package.version):
            others.append(f"{name} {here} (locked: {package.version})")
    return others


def _by_files(place: Path, lock: Mapping[str, Locked]) -> int:
    try:
        known = list(advisories.read(place))
        found = list(advisories.matched(known, lock))
    except (OSError, ValueError, KeyError) as error:
        print(f"audit: {place} cannot be read: {error}", file=sys.stderr)
        return UNKNOWN
    for weakness in found:
        fixed = f"; fixed in {', '.join(weakness.fixed)}" if weakness.fixed else ""
        print(f"weak: {weakness.package} {weakness.version}: {weakness.id}{fixed}")
        print(f"      {weakness.summary}")
    print(f"advisories: {len(known)} read, {len(found)} about what is locked")
    if not known:
        return UNKNOWN
    return WEAK if found else 0


def _by_service(lock_file: Path) -> int:
    """Ask pip-audit's service, if it is there; what it does not know is not called good."""
    if util.find_spec("pip_audit") is None:
        print("advisories: pip-audit is not installed; or give --advisories, or --offline")
        return UNKNOWN
    command = [sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip"]
    command += ["--progress-spinner", "off", "-f", "json", "-r", str(lock_file)]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=SERVICE_SEC)
        packages = json.loads(told.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        print("advisories: the service cannot be reached; give --advisories, or --offline")
        return UNKNOWN
    weak = [each for each in packages if each.get("vulns")]
    unknown = [each["name"] for each in packages if "skip_reason" in each]
    for each in weak:
        known = ", ".join(one["id"] for one in each["vulns"])
        print(f"weak: {each['name']} {each['version']}: {known}")
    print(f"advisories: {len(packages) - len(unknown)} packages looked up, {len(weak)} weak")
    if unknown:
        print(f"advisories: the service knows nothing of {len(unknown)}; give --advisories")
    return WEAK if weak else UNKNOWN if unknown else 0


if __name__ == "__main__":
    typer.run(main)

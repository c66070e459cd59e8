"""The README runs: its Python blocks print what stands below them."""

import contextlib
import io
import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README.read_text(), flags=re.DOTALL)


def test_every_python_block_prints_what_stands_below_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict = {}
    assert len(BLOCKS) == README.read_text().count("```python")
    for code, expected in BLOCKS:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)  # our own README
        assert printed.getvalue().split() == expected.split()
        assert expected.strip()


def test_the_first_screen_shows_frame_call_and_frame():
    text = README.read_text()
    assert text.index("percent_decrease(") < text.index("## ")
    assert len(text[: text.index("## ")].splitlines()) < 60


def test_two_commands_do_everything():
    commands = re.findall(r"^python3 -m venv .+ && .+$", README.read_text(), flags=re.MULTILINE)
    assert [c.split(" && ")[-1] for c in commands] == ["salstats demo", "pytest"]


@pytest.mark.parametrize("command", re.findall(r"^salstats (\w+) ", README.read_text(), flags=re.MULTILINE))
def test_commands_of_the_readme_exist(command, capsys):
    from salstats.cli import run

    assert run([command, "--help"]) == 0
    assert "Example: salstats" in capsys.readouterr().out

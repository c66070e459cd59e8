"""The README and the pages of `docs` run: their Python blocks print what stands below them."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
#: What makes a block one about a folder of maps and annotations, which is not embedded.
READS_A_STUDY = "read_study("
#: And one about recordings of gaze.
READS_GAZE = "read_gaze("
#: And one that makes maps, which needs torch.
EXPLAINS = "import explain as ex"
PAGES = sorted((README.parent / "docs").glob("*/*.md"))


def blocks_of(page):
    """Code and what it prints; every Python block has both."""
    text = page.read_text()
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == text.count("```python"), page.name
    return blocks


BLOCKS = blocks_of(README)


def run_blocks(blocks):
    """Run blocks one after the other and compare what each prints with what stands below it."""
    namespace: dict = {}
    for code, expected in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)  # our own README
        assert printed.getvalue().split() == expected.split()
        assert expected.strip()


def test_every_python_block_prints_what_stands_below_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    apart = (READS_A_STUDY, READS_GAZE, EXPLAINS)
    run_blocks([b for b in BLOCKS if not any(mark in b[0] for mark in apart)])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_python_block_of_a_page_prints_what_stands_below_it(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_blocks(blocks_of(page))


@pytest.mark.torch
def test_from_a_network_to_maps(tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="needs the explain extra")
    monkeypatch.chdir(tmp_path)
    blocks = [b for b in BLOCKS if EXPLAINS in b[0]]
    assert len(blocks) == 1
    run_blocks(blocks)


@pytest.mark.filterwarnings("ignore::salstats.checks.SalstatsWarning")  # two findings are rare there
def test_from_a_chexlocalize_folder_to_table_1(made_up, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chexlocalize").symlink_to(made_up / "inputs", target_is_directory=True)
    blocks = [b for b in BLOCKS if READS_A_STUDY in b[0] and EXPLAINS not in b[0]]
    assert len(blocks) == 1
    assert len(blocks[0][0].splitlines()) <= 10
    run_blocks(blocks)
    assert (tmp_path / "table1.docx").stat().st_size > 5000


@pytest.mark.filterwarnings("ignore::salstats.checks.SalstatsWarning")  # one recording is discarded there
def test_from_gaze_recordings_to_means(shared, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inputs = shared / "oracles" / "gaze" / "inputs"
    (tmp_path / "reflacx").symlink_to(inputs / "main_data", target_is_directory=True)
    with np.load(inputs / "maps.npz") as maps:
        for folder, kind in (("gradcam", "sono"), ("lungs", "lungs256")):
            (tmp_path / folder).mkdir()
            for name in maps.files:
                if name.endswith(f"_{kind}"):
                    np.save(tmp_path / folder / f"{name.removesuffix(f'_{kind}')}.npy", maps[name])
    blocks = [b for b in BLOCKS if READS_GAZE in b[0]]
    assert len(blocks) == 1
    run_blocks(blocks)


def test_the_first_screen_shows_frame_call_and_frame():
    text = README.read_text()
    assert text.index("percent_decrease(") < text.index("## ")
    assert len(text[: text.index("## ")].splitlines()) < 60


def test_two_commands_do_everything():
    commands = re.findall(r"^python3 -m venv .+ && .+$", README.read_text(), flags=re.MULTILINE)
    assert [c.split(" && ")[-1] for c in commands] == ["salstats demo", "pytest -n auto"]


@pytest.mark.parametrize("command", re.findall(r"^salstats (\w+) ", README.read_text(), flags=re.MULTILINE))
def test_commands_of_the_readme_exist(command, capsys):
    from salstats.cli.app import run

    assert run([command, "--help"]) == 0
    assert "Example: salstats" in capsys.readouterr().out

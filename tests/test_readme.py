"""The README and the pages of the site: blocks print what stands below them, calls and commands are there."""

import ast
import contextlib
import functools
import inspect
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer

import salstats as ss
from salstats.cli.app import make_app_with_options_of_one_command, run
from salstats.stats.models.fit import Fit
from salstats.studies import declarations, engine

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "data" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs").glob("[!_]*/*.md")),
]
#: What a page says where it reads files of the reader's own, and the fixture that brings such.
GIVEN = {
    'read_study("chexlocalize"': "chexlocalize",
    "summarize hits.csv": "scores",
}
#: Shell that is not run, by what it says, and why; its commands and options are checked.
NOT_RUN = {
    "pip install": "installs; CI does it",
    "salstats demo": "takes long; CI does it",
    "salstats report": "takes long; tests of reports do it",
    "salstats reproduce": "takes long, or data that are not here; tests of the studies do it",
    "make-maps images": "takes a network and images of the reader",
    "--what cutoff": "takes images without a finding",
}
#: What the first word of a call in running text is.
WORDS = {"ss": ss, "fit": Fit, "model": Fit, "study": ss.Study, "Study": ss.Study}


def name(page):
    return str(page.relative_to(ROOT))


def blocks_of(page):
    """Language, code and what is printed, of Python and shell that can be run; every Python block says it."""
    found = re.findall(
        r"^```(python|bash)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?",
        page.read_text(),
        flags=re.DOTALL | re.MULTILINE,
    )
    assert all(printed for language, _, printed in found if language == "python"), name(page)
    return [block for block in found if not any(says in block[1] for says in NOT_RUN)]


def printed_by(language, code, namespace):
    """What a block prints; plain commands of a shell run in this process, which has all imported."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if language == "python":
            exec(code, namespace)  # our own page
            return printed.getvalue()
        parts = re.split(r"^(salstats [^|<>$;&*\n]+\n)", code.replace("\\\n", ""), flags=re.MULTILINE)
        for number, part in enumerate(parts):
            if number % 2:
                assert run(shlex.split(part, comments=True)[1:]) == 0, part
            elif part.strip():
                print(in_shell(part), end="")
    return printed.getvalue()


def in_shell(code):
    """What a shell prints that finds the commands of this environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = ["bash", "-euo", "pipefail", "-c", code]
    return subprocess.run(
        shell, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def commands_of(page):
    """The commands of a page, each as its words."""
    shells = re.findall(r"```(?:bash|sh|console)\n(.*?)```", page.read_text(), flags=re.DOTALL)
    # of the page on commands the one that it makes is not there
    shells += [s for s in inline(page) if s.startswith("salstats ") and page.stem != "add_command"]
    lines = re.sub(r"^cat >.*?^END$", "", "\n".join(shells), flags=re.DOTALL | re.MULTILINE)
    lines = re.split(r"\n| \| | 2>&1", lines.replace("\\\n", " "))
    words = (shlex.split(line.removeprefix("$ "), comments=True) for line in lines)
    return [w[1:] for w in words if w[:1] == ["salstats"] and not w[1].startswith("-")]


def inline(page):
    """Code within the text and the tables of a page."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    return [" ".join(span.split()).replace(r"\|", "|") for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", text)]


def calls_of(page):
    """Calls of the package within the text of a page, as expressions; `weights=` stands for any value."""
    spans = [re.sub(r" <[\w.]+>$|^\w+ = ", "", span) for span in inline(page)]
    spans = [re.sub(r"=(?=[,)])", "=...", re.sub(r"(?<!\(), \.\.\.(?=[)}])", "", span)) for span in spans]
    return [ast.parse(s, mode="eval").body for s in spans if re.match(rf"({'|'.join(WORDS)}|ex)\b.*\(", s)]


def meant(node):
    """What an expression of a page stands for: a function, or the class of an object."""
    if isinstance(node, ast.Name):
        explain = node.id == "ex"
        return pytest.importorskip("salstats.explain", reason="needs torch") if explain else WORDS[node.id]
    if isinstance(node, ast.Attribute):
        return getattr(meant(node.value), node.attr)
    if isinstance(node, ast.Subscript):
        # columns of a result
        meant(node.value)
        return pd.DataFrame
    function = meant(node.func)
    # a method as of its object
    own = (
        () if inspect.isclass(function) or not re.match(r"(Fit|Study)\.", function.__qualname__) else (None,)
    )
    keywords = {k.arg: None for k in node.keywords}
    inspect.signature(function).bind_partial(*own, *node.args, **keywords)
    for inner in (*node.args, *(k.value for k in node.keywords)):
        if isinstance(inner, ast.Call) and ast.unparse(inner.func).startswith("ss."):
            meant(inner)
    made = inspect.signature(function).return_annotation
    classes = {"Fit": Fit, "Study": ss.Study, "DataFrame": pd.DataFrame}
    return classes.get(getattr(made, "__name__", made))


@pytest.fixture
def designs():
    """What the page on designs calls its frames and studies, small."""
    rng, scores = np.random.default_rng(0), ss.datasets.load_simulated()
    kept = scores["task"].isin(["Edema", "Atelectasis"]) & scores["case"].isin(scores["case"].unique()[:60])
    scores = scores[kept].assign(stands_for=lambda rows: np.where(rows["case"] < "c030", 2, 1))
    ious = scores.query("metric == 'iou'")
    readings = pd.concat(
        [
            ious.assign(reader=r, score=(ious["score"] + rng.normal(0, 0.03, len(ious))).clip(0, 1))
            for r in "abc"
        ]
    )
    disc, cases = np.hypot(*np.mgrid[-16:16, -16:16]), "abcdefgh"
    masks = {
        (case, "Edema", reader): disc < rng.uniform(4, 12) for case in cases for reader in ("R1", "R2", "R3")
    }
    return {
        "ss": ss,
        "scores": scores,
        "readings": readings,
        "distances": ious.assign(metric="hd95", score=60 * (1 - ious["score"])),
        "trainings": readings.rename(columns={"reader": "seed"}),
        "hits": readings.assign(score=(readings["score"] > 0.3).astype(float), metric="hit"),
        "ratings": readings.assign(metric="rating", truth=(readings["prob"] > 0.5).astype(int)),
        "pilot": ious.query("task == 'Edema' and method != 'occlusion'"),
        "study": ss.study_from_arrays({}, {(case, "Edema", "cam"): -disc for case in cases}, readers=masks),
    }


@pytest.fixture
def chexlocalize(made_up, tmp_path):
    (tmp_path / "chexlocalize").symlink_to(made_up / "inputs", target_is_directory=True)


@pytest.fixture
def scores(tmp_path):
    scores = ss.datasets.load_simulated()
    ss.write_frame(scores, tmp_path / "scores.csv")
    ss.write_frame(scores.query("metric == 'hit'"), tmp_path / "hits.csv")
    both = scores.drop_duplicates(["case", "task"]).rename(columns={"prob": "net_a", "area_ratio": "net_b"})
    ss.write_frame(
        both.assign(label=lambda t: t.net_a.gt(0.5) ^ t.case.str.endswith("1")), tmp_path / "table.csv"
    )


def pages_with(code_of, marks_of_site=()):
    """Pages that have such code, with marks for those of the site; one that makes maps needs torch."""
    parameters = []
    for page in PAGES:
        if not code_of(page):
            continue
        marks = []
        if "docs" in page.relative_to(ROOT).parts:
            marks.extend(marks_of_site)
        if re.search(r"import explain|`ex\.", page.read_text()):
            marks.append(pytest.mark.torch)
        parameters.append(pytest.param(page, id=name(page), marks=marks))
    return parameters


# findings that are rare in a made-up study, a recording that is discarded
@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
@pytest.mark.parametrize("page", pages_with(blocks_of, marks_of_site=[pytest.mark.docs]))
def test_every_block_prints_what_stands_below_it(page, tmp_path, monkeypatch, request):
    if any(mark.name == "torch" for mark in request.node.iter_markers()):
        pytest.importorskip("torch", reason="needs the explain extra")
    for says, fixture in GIVEN.items():
        if says in page.read_text():
            request.getfixturevalue(fixture)
    monkeypatch.chdir(tmp_path)
    namespace: dict = {}
    for language, code, expected in blocks_of(page):
        printed = printed_by(language, code, namespace)
        assert not expected or printed.split() == expected.split()


def test_what_is_not_run_stands_on_a_page():
    text = "".join(page.read_text() for page in PAGES)
    assert [says for says in NOT_RUN if says not in text] == []


@functools.cache
def options_of(command):
    """The options of a command, whose help is shown."""
    assert run([command, "--help"]) == 0
    made = typer.main.get_command(make_app_with_options_of_one_command(command)).commands[command]
    return {spelled for p in made.params for spelled in (*p.opts, *p.secondary_opts)}


@pytest.mark.parametrize(
    ("page", "words"),
    [pytest.param(p, c, id=f"{name(p)}: {' '.join(c)[:50]}") for p in PAGES for c in commands_of(p)],
)
def test_commands_and_their_options_exist(page, words):
    if words[0] == "reproduce" and words[1:2] not in ([], ["list"], ["KEY"]):
        # a study has options of its own
        known = {"-o", *engine.parser_of(declarations.declaration_of(words[1])).flags.values()}
    else:
        known = options_of(words[0])
    assert {w.split("=")[0] for w in words[1:] if re.match(r"--?[a-z]", w)} <= known | {"--help"}


@pytest.mark.parametrize("page", pages_with(calls_of))
def test_calls_in_the_text_exist_with_these_arguments(page):
    for call in calls_of(page):
        meant(call)


@pytest.mark.filterwarnings("ignore::salstats.errors.SalstatsWarning")
def test_calls_for_designs_run_on_such_frames(designs):
    for call in calls_of(ROOT / "docs/explanation/designs.md"):
        if isinstance(call, ast.Call) and call.args:
            assert eval(ast.unparse(call), dict(designs)) is not None, ast.unparse(call)


def test_links_of_the_readme_lead_to_files():
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "README.md").read_text())
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_two_commands_of_the_readme_do_everything():
    text = (ROOT / "README.md").read_text()
    commands = re.findall(r"^python3 -m venv .+ && .+$", text, flags=re.MULTILINE)
    assert [c.split(" && ")[-1] for c in commands] == ["salstats demo", "pytest -n auto"]

"""The pages of the site as they are written: the map "which call?" of the front page, and lost lines."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "NEWS.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("[!_]*/*.md"))]
FRONT = (DOCS / "index.md").read_text()
DESIGNS = (DOCS / "explanation" / "designs.md").read_text()


def rows_of_the_map():
    """Address that a study leads to, call, and the function whose page the call leads to."""
    section = FRONT.split("## Which call?\n")[1].split("\n## ")[0]
    return re.findall(r"^\| \[.+\]\((.+)\) \| \{py:obj\}`(.+) <salstats\.(\w+)>` \|$", section, re.M)


def anchor(heading):
    return re.sub(r"[^\w ]", "", heading).lower().replace(" ", "-")


def test_every_call_of_the_map_stands_on_the_page_of_designs_and_leads_to_its_function():
    rows = rows_of_the_map()
    assert len(rows) == FRONT.count("\n| ") - 1
    assert [call for _, call, _ in rows if f"`{call}`" not in DESIGNS] == []
    assert [call for _, call, function in rows if not call.startswith(f"ss.{function}(")] == []


def test_the_map_leads_to_every_part_of_the_page_of_designs():
    parts = {anchor(heading) for heading in re.findall("^## (.+)$", DESIGNS, re.M)}
    reached = {a.removeprefix("explanation/designs.md#") for a, _, _ in rows_of_the_map() if "#" in a}
    assert reached == parts


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_line_of_text_is_left_out_as_a_comment(page):
    # a line that begins with a percent sign is a comment in MyST
    text = re.sub(r"^(```+).*?^\1$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^\s*%.*$", text, re.MULTILINE) == []


@pytest.mark.parametrize("page", sorted((DOCS / "developers").glob("*.md")), ids=lambda page: page.stem)
def test_constants_that_a_page_for_developers_names_are_in_the_code(page):
    code = "\n".join(
        file.read_text() for folder in ("salstats", "tests") for file in (ROOT / folder).rglob("*.py")
    )
    named = set(re.findall(r"`([A-Z_]{4,})`", page.read_text()))
    assert named - set(re.findall(r"\w+", code)) == set()

"""Text of the pages, for the search where a site is opened from a disk and scripts cannot fetch pages."""

import json
from pathlib import Path

from lxml import html


def write_texts(pages: list[str], site: Path) -> None:
    """Write the text of each page, by the address of its file, as a script that search.js loads."""
    texts = {}
    for page in pages:
        file = site / f"{page}.html"
        (article,) = html.fromstring(file.read_bytes()).xpath("//article[contains(@class, 'bd-article')]")
        texts[file.relative_to(site).as_posix()] = sections(article)
    (site / "_static" / "page_texts.js").write_text(f"setPageTexts({json.dumps(texts)});\n")


def sections(article: html.HtmlElement) -> str:
    """Return the HTML of an article without all but the text of its sections and their names."""
    for element in article.xpath(".//script | .//style | .//*[contains(@class, 'headerlink')]"):
        element.drop_tree()
    for element in list(article.iterdescendants()):
        if not isinstance(element.tag, str):
            element.drop_tree()
        elif element.tag != "section":
            element.drop_tag()
    return f'<main role="main">{html.tostring(article, encoding="unicode")}</main>'

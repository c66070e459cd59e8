"""The papers behind the report's methods, by how its text cites them."""

from collections.abc import Sequence

import pandas as pd

from salstats.files.inputs import data_folder


def references() -> dict[str, str]:
    """Author and year, as the Methods section writes it, and the reference."""
    table = pd.read_csv(data_folder() / "report" / "references.csv")
    return dict(zip(table["cited"], table["reference"], strict=True))


def methods_references(paragraphs: Sequence[str]) -> tuple[str, ...]:
    """References that paragraphs cite, in the order in which they are first cited."""
    text = "\n".join(paragraphs)
    cited = [(text.index(key), reference) for key, reference in references().items() if key in text]
    return tuple(reference for _, reference in sorted(cited))

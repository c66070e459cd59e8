"""The formats of studies: what each is called, what its folders are known by, and what reads it."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Format:
    """One row of the registry.

    Attributes
    ----------
    name : str
        Name in `read_study(format=)`.
    label : str
        What it is, for help.
    signs : str
        Names of files that it is known by, for messages.
    module : str
        The reader's file in `salstats/readers`. Its function `recognise(folder)` says whether a folder is in
        the format.
    reader : str
        The file's function that reads a folder and returns a Study.
    """

    name: str
    label: str
    signs: str
    module: str
    reader: str

    def recognise(self, folder: Path) -> bool:
        """Whether a folder is in this format."""
        return bool(self._function("recognise")(folder))

    @property
    def read(self) -> Callable[..., Any]:
        """The reader: takes a folder and its own options, returns a Study."""
        return self._function(self.reader)

    def _function(self, name: str) -> Callable[..., Any]:
        """A function of the reader's file, imported when it is asked for."""
        function: Callable[..., Any] = getattr(import_module(f"salstats.readers.{self.module}"), name)
        return function


_ROWS = (
    # first: a table of maps says what a folder is, whatever lies beside it
    Format("maps", "a map folder", "maps.csv", "map_folder", "read_map_folder"),
    Format(
        "chexlocalize",
        "the CheXlocalize release",
        "gt_segmentations*.json, gt_annotations*.json",
        "chexlocalize",
        "read_chexlocalize",
    ),
    Format("mrxai2025", "images beside their masks", "*/*_mask.tif", "mrxai2025", "read_mrxai2025"),
    Format(
        "saliency_bench", "Saliency-Bench", "attention_label/*.csv", "saliency_bench", "read_saliency_bench"
    ),
    Format("coco", "COCO annotations and results", "instances*.json, *.coco.json", "coco", "read_coco"),
)
FORMATS = {row.name: row for row in _ROWS}

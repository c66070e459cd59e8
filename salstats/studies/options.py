"""Readers of options that several studies have: folders by name, lists, and values by method."""

import argparse
import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from salstats.display.text.labels import Labels
from salstats.errors import Message, SalstatsError, Setting, ValueRangeError
from salstats.files.input_files import is_one_unnamed_value

#: Form of an option that names the folder of a series.
SERIES_FORM = "METHOD[:MODEL[:SEED]]=DIR"
#: The fewest replicates whose order statistics give a 95 % interval.
MIN_REPLICATES = 40


def name_and_folder_parser(form_of_option: str, *, unnamed: bool = False) -> Callable[[str], tuple[str, str]]:
    """Return a function that splits an option's text NAME=DIR into the name and the folder.

    Parameters
    ----------
    form_of_option : str
        Form of the option, such as NAME=DIR, for the error.
    unnamed : bool
        Read DIR alone too, with an empty name: a folder of folders, see `folder_by_series_name`.
    """

    def parse(text: str) -> tuple[str, str]:
        name, equals, folder = text.partition("=")
        if unnamed and not equals:
            return "", text
        if not name or not folder:
            raise argparse.ArgumentTypeError(f"{text!r} is not {form_of_option}")
        return name, folder

    return parse


def folder_by_series_name(named_folders: Iterable[tuple[str, str]], option: str) -> dict[str, str] | None:
    """Return the folders of an option by the names of their series; None without folders.

    A folder without a name holds a folder for each series, called METHOD or METHOD_MODEL. Methods that have
    a label may have underscores in their names; other methods end at the last underscore. A name that
    stands twice raises an error.
    """
    folder_by_name: dict[str, str] = {}
    for name, folder in named_folders:
        series_folders = {name: folder}
        if not name:
            series_folders = _series_folders(Path(folder))
        if not series_folders:
            raise SalstatsError(
                Setting(option, folder),
                ": holds no folders METHOD or METHOD_MODEL",
                hint=Message("name its method, as in ", Setting(option, {"gradcam": folder})),
                path=folder,
            )
        for series_name, series_folder in series_folders.items():
            if series_name in folder_by_name:
                raise SalstatsError(
                    Setting(option),
                    f" names {series_name!r} twice",
                    hint=f"tell models and seeds apart as in {series_name}:a:1",
                    value=series_name,
                )
            folder_by_name[series_name] = series_folder
    return folder_by_name or None


def names_in(values: Sequence[str] | None) -> list[str] | None:
    """Read a repeated or comma-separated option as a list; a name with a comma stands in double quotes."""
    if values is None:
        return None
    names = []
    for cells in csv.reader(values, skipinitialspace=True):
        # An empty value has no cells; it stands for an empty name, which is an error.
        names += [name.strip() for name in cells or [""]]
    if not all(names):
        raise SalstatsError(f"an empty name in {','.join(values)!r}", value=values)
    return names


def values_by_option_and_method(**values: list[str] | None) -> dict[str, str | dict[tuple[None, str], str]]:
    """Return options that make masks by their names, without those that are None.

    An option of one value or file, which holds for all methods, is a str. One such as ig=100,lrp=80 is a
    dict of the values by (None, method), where None stands for all tasks.
    """
    options: dict[str, str | dict[tuple[None, str], str]] = {}
    for name, texts in values.items():
        if texts is None:
            continue
        if is_one_unnamed_value(texts):
            options[name] = texts[0]
            continue
        value_by_method: dict[tuple[None, str], str] = {}
        for text in names_in(texts) or []:
            method, equals, value = text.partition("=")
            is_complete = method and equals and value
            if not is_complete or (None, method) in value_by_method:
                raise SalstatsError(Setting(name, text), " should read like ig=100, each method once")
            value_by_method[None, method] = value
        options[name] = value_by_method
    return options


def check_enough_replicates(n_replicates: int) -> None:
    """Raise where intervals could not be made of so few replicates."""
    if n_replicates < MIN_REPLICATES:
        raise ValueRangeError(
            Setting("replicates"),
            f" must be at least {MIN_REPLICATES}, not {n_replicates}",
            value=n_replicates,
        )


def _series_folders(folder: Path) -> dict[str, str]:
    """Return the subfolders of a folder by the names of their series; hidden ones are left out."""
    subfolders = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    return {
        _series_of_folder_name(path.name): str(path) for path in subfolders if not path.name.startswith(".")
    }


def _series_of_folder_name(folder_name: str) -> str:
    """Return the series METHOD or METHOD:MODEL of a folder called METHOD or METHOD_MODEL."""
    words = folder_name.split("_")
    labels = Labels()
    # By default the method ends at the last underscore. A longer or shorter name that has a label, such as
    # integrated_gradients, is the method, the longest first.
    method = "_".join(words[:-1]) or folder_name
    for n_words in range(len(words), 0, -1):
        candidate = "_".join(words[:n_words])
        has_label = labels.value("method", candidate.lower()) != candidate.lower()
        if has_label:
            method = candidate
            break
    model = folder_name[len(method) + 1 :]
    if not model:
        return method
    return f"{method}:{model}"

"""The choices of published studies: the arguments with which their maps were made."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Any

import pandas as pd

from salstats.checks import check_choice, check_count, quoted
from salstats.errors import Message, Setting, ValueRangeError

#: preset -> the paper.
SOURCES = {
    "saporta2022": "Saporta et al. (2022), doi:10.1038/s42256-022-00536-x",
    "lanfredi2021": "Bigolin Lanfredi et al. (2021), doi:10.48550/arXiv.2112.11716",
}
#: preset -> approximate side in pixels of the study's images, at which their maps were smoothed.
IMAGE_SIDES = {"saporta2022": 2000}
FUNCTIONS = ("explain", "score")


@dataclass(frozen=True)
class PresetChoice:
    """The choice of a study for the maps of a method, as an argument of `explain` or of `score`."""

    preset: str
    method: str
    #: The only network for which the choice holds; None for all.
    network: str | None = None
    #: Function, argument and value are None if the study used the method and reports no choice for it.
    function: str | None = None
    argument: str | None = None
    value: Any = None


CHOICES: tuple[PresetChoice, ...] = (
    PresetChoice("saporta2022", "gradcam"),
    PresetChoice("saporta2022", "gradcam++"),
    PresetChoice("saporta2022", "integrated_gradients", "DenseNet121", "score", "smooth", 100),
    PresetChoice("saporta2022", "integrated_gradients", "ResNet152", "score", "smooth", 50),
    PresetChoice("saporta2022", "integrated_gradients", "Inception-v4", "score", "smooth", 50),
    PresetChoice("saporta2022", "eigencam"),
    PresetChoice("saporta2022", "deeplift", None, "score", "smooth", 50),
    PresetChoice("saporta2022", "lrp", None, "score", "smooth", 80),
    PresetChoice("saporta2022", "occlusion", None, "explain", "window", 40),
    PresetChoice("saporta2022", "occlusion", None, "explain", "stride", 40),
    PresetChoice("lanfredi2021", "gradcam", None, "explain", "join", "sum"),
    PresetChoice("lanfredi2021", "activation"),
)


def list_presets() -> pd.DataFrame:
    """The choices of studies that `explain(preset=)` and `preset_arguments` know, one row per argument.

    Returns
    -------
    DataFrame
        `preset`, `method`. `network`: the one it holds for, missing where it holds for all. `function`,
        `argument`, `value`: what `explain` or `score` is given; missing where the study used the method and
        reports no choice. `source`: the paper.

    Notes
    -----
    What a study does not say, such as how channels are reduced, is left as `list_methods` has it. The windows
    of saporta2022 are in pixels of its networks' input, 320 x 320. Its box filters are those of `score`: the
    study smoothed maps at the size of the original image, about 2,000 pixels, for the mask, and took the peak
    of the map as it is. A filter of `explain` is part of the map, and moves the peak. lanfredi2021 joins the
    three levels that the classifier of its network with attention gates is given (`layer` names them); its
    maps are divided by their number of channels as well, which no score sees.

    Examples
    --------
    >>> from salstats.explain import list_presets
    >>> rows = list_presets()
    >>> rows.loc[rows["method"] == "integrated_gradients", ["network", "function", "argument", "value"]]
            network function argument value
    2   DenseNet121    score   smooth   100
    3     ResNet152    score   smooth    50
    4  Inception-v4    score   smooth    50
    """
    rows = [(*astuple(choice), SOURCES[choice.preset]) for choice in CHOICES]
    columns = ["preset", "method", "network", "function", "argument", "value", "source"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def preset_arguments(
    preset: str,
    method: str,
    network: str | None = None,
    *,
    function: str = "explain",
    side: int | None = None,
) -> dict[str, Any]:
    """Arguments of `explain` or `score` with which a study made or scored its maps of a method.

    Parameters
    ----------
    preset : str
        See `list_presets`.
    method : str
    network : str, optional
        The architecture, where the study's choice depends on it. Case, spaces, dots, hyphens and
        underscores do not count: "densenet-121" is "DenseNet121".
    function : {"explain", "score"}
        The function that takes the arguments.
    side : int, optional
        With function="score": side in pixels of the images that are scored, where they are not of the study's
        size: `smooth` is scaled to it. 320 where maps are scored at the size of saporta2022's networks.

    Returns
    -------
    dict
        Empty where the study used the method and reports no choice for the function.

    Raises
    ------
    ValueRangeError
        The preset is not known, the study did not use the method, the network is none of the study's, or
        missing where its choice depends on it, or `side` is given for "explain".

    Examples
    --------
    >>> from salstats.explain import preset_arguments
    >>> preset_arguments("saporta2022", "occlusion")
    {'window': 40, 'stride': 40}
    >>> preset_arguments("saporta2022", "integrated_gradients", "densenet-121", function="score")
    {'smooth': 100}
    >>> preset_arguments("saporta2022", "integrated_gradients", "densenet-121", function="score", side=320)
    {'smooth': 16}
    """
    check_choice(preset, tuple(SOURCES), "preset")
    check_choice(function, FUNCTIONS, "function")
    if side is not None:
        check_count(side, "side")
        if function != "score":
            raise ValueRangeError(
                Setting("side"),
                " scales the filter of score",
                hint=Message("give ", Setting("function", "score"), ", or leave ", Setting("side"), " out"),
            )
    preset_choices = [choice for choice in CHOICES if choice.preset == preset]
    method_choices = [choice for choice in preset_choices if choice.method == method]
    if not method_choices:
        methods = list(dict.fromkeys(choice.method for choice in preset_choices))
        raise ValueRangeError(
            Setting("preset", preset),
            f" says nothing of method {method!r}",
            hint=Message(
                "leave ", Setting("preset"), f" out, or name one of the study's methods: {quoted(methods)}"
            ),
            option="method",
            value=method,
            choices=methods,
        )
    study_networks = _distinct_network_names(preset_choices)
    if network is not None and study_networks and not _is_among(network, study_networks):
        raise ValueRangeError(
            Setting("network", network),
            " is none of ",
            Setting("preset", preset),
            f", which has {quoted(study_networks)}",
            hint=Message(
                "give one of these, or leave ", Setting("network"),
                " out where the choice does not depend on it",
            ),
            choices=study_networks,
        )  # fmt: skip
    function_choices = [choice for choice in method_choices if choice.function == function]
    networks = _distinct_network_names(function_choices)
    if networks and (network is None or not _is_among(network, networks)):
        raise ValueRangeError(
            Setting("network", network),
            ": ",
            Setting("preset", preset),
            f" depends on it for method {method!r}, and has {quoted(networks)}",
            hint=Message("give one of these, or leave ", Setting("preset"), " out"),
            choices=networks,
        )
    arguments: dict[str, Any] = {}
    for choice in function_choices:
        if choice.network is None or (network is not None and _is_among(network, [choice.network])):
            arguments[str(choice.argument)] = choice.value
    if side is not None and "smooth" in arguments:
        scale = side / IMAGE_SIDES[preset]
        arguments["smooth"] = max(1, round(arguments["smooth"] * scale))
    return arguments


def _distinct_network_names(choices: Iterable[PresetChoice]) -> list[str]:
    """Return the distinct networks for which choices hold."""
    return list(dict.fromkeys(choice.network for choice in choices if choice.network is not None))


def _is_among(network: str, names: Iterable[str]) -> bool:
    """Return whether a network's name is among names, ignoring case and punctuation."""
    return _letters_and_digits(network) in map(_letters_and_digits, names)


def _letters_and_digits(network: str) -> str:
    """Return the letters and digits of a network's name in lower case."""
    return "".join(character for character in network.lower() if character.isalnum())

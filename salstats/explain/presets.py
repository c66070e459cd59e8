"""The choices of published studies: what their maps were made with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from salstats.checks import ValueRangeError, check_choice, quoted


@dataclass(frozen=True)
class Choice:
    """What a study chose for a method.

    Attributes
    ----------
    preset, method : str
    arguments : mapping of str to Any
        For `explain`; empty where the study has the method and nothing to say of it.
    network : str, optional
        The only network of the study that this holds for.
    """

    preset: str
    method: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    network: str | None = None


#: preset -> the paper.
SOURCES = {"saporta2022": "Saporta et al. (2022), doi:10.1038/s42256-022-00536-x"}
CHOICES = (
    Choice("saporta2022", "gradcam"),
    Choice("saporta2022", "gradcam++"),
    Choice("saporta2022", "integrated_gradients", {"smooth": 100}, network="DenseNet121"),
    Choice("saporta2022", "integrated_gradients", {"smooth": 50}, network="ResNet152"),
    Choice("saporta2022", "integrated_gradients", {"smooth": 50}, network="Inception-v4"),
    Choice("saporta2022", "eigencam"),
    Choice("saporta2022", "deeplift", {"smooth": 50}),
    Choice("saporta2022", "lrp", {"smooth": 80}),
    Choice("saporta2022", "occlusion", {"window": 40, "stride": 40}),
)


def list_presets() -> pd.DataFrame:
    """The choices of studies that `explain(preset=)` knows, one row per argument.

    Returns
    -------
    DataFrame
        `preset`, `method`. `network`: the one it holds for, missing where it holds for all. `argument`,
        `value`: what `explain` is given; both missing where the study has the method and nothing to say of
        it. `source`: the paper.

    Notes
    -----
    What a study does not say, such as how channels are reduced, is left as `list_methods` has it. `smooth`
    is in pixels of the map that `explain` returns; saporta2022's networks took images of 320 x 320.

    Examples
    --------
    >>> from salstats.explain import list_presets
    >>> rows = list_presets()
    >>> rows.loc[rows["method"] == "integrated_gradients", ["network", "argument", "value"]]
            network argument value
    2   DenseNet121   smooth   100
    3     ResNet152   smooth    50
    4  Inception-v4   smooth    50
    """
    rows = [
        (one.preset, one.method, one.network, *pair, SOURCES[one.preset])
        for one in CHOICES
        for pair in one.arguments.items() or [(None, None)]
    ]
    columns = ["preset", "method", "network", "argument", "value", "source"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def preset_arguments(preset: str, method: str, network: str | None = None) -> dict[str, Any]:
    """Arguments of `explain` with which a study made its maps of a method.

    Parameters
    ----------
    preset : str
        See `list_presets`.
    method : str
    network : str, optional
        The architecture, where the study's choice depends on it. Case, spaces, dots, hyphens and
        underscores do not count: "densenet-121" is "DenseNet121".

    Returns
    -------
    dict
        Empty where the study used the method and has nothing to say of it.

    Raises
    ------
    ValueRangeError
        The preset is not known, the study did not use the method, or the network is missing or none of the
        study's where its choice depends on it.

    Examples
    --------
    >>> from salstats.explain import preset_arguments
    >>> preset_arguments("saporta2022", "occlusion")
    {'window': 40, 'stride': 40}
    >>> preset_arguments("saporta2022", "integrated_gradients", "densenet-121")
    {'smooth': 100}
    """
    check_choice(preset, tuple(SOURCES), "preset")
    choices = [one for one in CHOICES if one.preset == preset]
    of_method = [one for one in choices if one.method == method]
    if not of_method:
        known = dict.fromkeys(one.method for one in choices)
        raise ValueRangeError(
            f"preset={preset!r} says nothing of method {method!r}; leave preset out, or name one of the "
            f"study's methods: {quoted(known)}"
        )
    networks = {_plain(one.network): one.network for one in of_method if one.network is not None}
    if networks and network is None:
        raise ValueRangeError(
            f"preset={preset!r} depends on the network for method {method!r}; say network=, one of "
            f"{quoted(networks.values())}"
        )
    asked = _plain(network)
    if networks and asked not in networks:
        raise ValueRangeError(
            f"network={network!r} is none of {quoted(networks.values())}, for which preset={preset!r} says "
            f"what method {method!r} takes; leave preset out and say so yourself"
        )
    found: dict[str, Any] = {}
    for one in of_method:
        if one.network is None or _plain(one.network) == asked:
            found |= one.arguments
    return found


def _plain(network: str | None) -> str:
    """Letters and digits of a network's name in lower case."""
    return "".join(c for c in str(network).lower() if c.isalnum())

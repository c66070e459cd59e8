"""The choices of published studies: what their maps were made with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pandas as pd

from salstats.checks import ValueRangeError, check_choice, quoted


@dataclass(frozen=True)
class Choice:
    """What a study chose for a method.

    Attributes
    ----------
    arguments : mapping of str to Any
        For `explain`, whatever the network.
    by_network : mapping of str to mapping
        Further arguments for each of the study's networks, where they differ.
    """

    arguments: Mapping[str, Any] = field(default_factory=dict)
    by_network: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Preset:
    """One study: its source, and its choices by method."""

    source: str
    choices: Mapping[str, Choice]


#: name -> Preset.
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "saporta2022": Preset(
            "Saporta et al. (2022), doi:10.1038/s42256-022-00536-x",
            {
                "gradcam": Choice(),
                "gradcam++": Choice(),
                "integrated_gradients": Choice(
                    by_network={
                        "DenseNet121": {"smooth": 100},
                        "ResNet152": {"smooth": 50},
                        "Inception-v4": {"smooth": 50},
                    }
                ),
                "eigencam": Choice(),
                "deeplift": Choice({"smooth": 50}),
                "lrp": Choice({"smooth": 80}),
                "occlusion": Choice({"window": 40, "stride": 40}),
            },
        )
    }
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
    rows = []
    for name, preset in PRESETS.items():
        for method, choice in preset.choices.items():
            said: list[tuple[str | None, Mapping[str, Any]]] = [(None, choice.arguments)]
            said += choice.by_network.items()
            made: list[tuple[Any, ...]] = [
                (network, *pair) for network, arguments in said for pair in arguments.items()
            ]
            for network, argument, value in made or [(None, None, None)]:
                rows.append((name, method, network, argument, value, preset.source))
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
    choices = PRESETS[check_choice(preset, tuple(PRESETS), "preset")].choices
    if method not in choices:
        raise ValueRangeError(
            f"preset={preset!r} says nothing of method {method!r}; leave preset out, or name one of the "
            f"study's methods: {quoted(choices)}"
        )
    choice = choices[method]
    if not choice.by_network:
        return dict(choice.arguments)
    if network is None:
        raise ValueRangeError(
            f"preset={preset!r} depends on the network for method {method!r}; say network=, one of "
            f"{quoted(choice.by_network)}"
        )
    plain = {_plain(name): name for name in choice.by_network}
    if _plain(network) not in plain:
        raise ValueRangeError(
            f"network={network!r} is none of {quoted(choice.by_network)}, for which preset={preset!r} says "
            f"what method {method!r} takes; leave preset out and say so yourself"
        )
    return {**choice.arguments, **choice.by_network[plain[_plain(network)]]}


def _plain(network: str) -> str:
    """Letters and digits of a network's name in lower case."""
    return "".join(c for c in str(network).lower() if c.isalnum())

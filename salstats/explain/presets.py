"""The choices of published studies: what their maps were made with."""

from typing import Any

import pandas as pd

from salstats.checks import ValueRangeError, check_choice, quoted

#: preset -> the paper.
SOURCES = {
    "saporta2022": "Saporta et al. (2022), doi:10.1038/s42256-022-00536-x",
    "lanfredi2021": "Bigolin Lanfredi et al. (2021), doi:10.48550/arXiv.2112.11716",
}
#: Preset, method, the only network it holds for, argument of `explain`, value; None: nothing to say.
CHOICES: tuple[tuple[str, str, str | None, str | None, Any], ...] = (
    ("saporta2022", "gradcam", None, None, None),
    ("saporta2022", "gradcam++", None, None, None),
    ("saporta2022", "integrated_gradients", "DenseNet121", "smooth", 100),
    ("saporta2022", "integrated_gradients", "ResNet152", "smooth", 50),
    ("saporta2022", "integrated_gradients", "Inception-v4", "smooth", 50),
    ("saporta2022", "eigencam", None, None, None),
    ("saporta2022", "deeplift", None, "smooth", 50),
    ("saporta2022", "lrp", None, "smooth", 80),
    ("saporta2022", "occlusion", None, "window", 40),
    ("saporta2022", "occlusion", None, "stride", 40),
    ("lanfredi2021", "gradcam", None, "join", "sum"),
    ("lanfredi2021", "activation", None, None, None),
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
    lanfredi2021 joins the three levels that the classifier of its network with attention gates is given
    (`layer` names them); its maps are divided by their number of channels as well, which no score sees.

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
    rows = [(*row, SOURCES[row[0]]) for row in CHOICES]
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
    rows = [(own, argument, value) for p, m, own, argument, value in CHOICES if (p, m) == (preset, method)]
    if not rows:
        known = dict.fromkeys(m for p, m, *_ in CHOICES if p == preset)
        raise ValueRangeError(
            f"preset={preset!r} says nothing of method {method!r}; leave preset out, or name one of the "
            f"study's methods: {quoted(known)}"
        )
    networks = [own for own, _, _ in rows if own is not None]
    if networks and _plain(network) not in map(_plain, networks):
        raise ValueRangeError(
            f"network={network!r}: preset={preset!r} depends on it for method {method!r}, and knows "
            f"{quoted(networks)}; say one of these, or leave preset out"
        )
    mine = [row for row in rows if row[0] is None or _plain(row[0]) == _plain(network)]
    return {argument: value for _, argument, value in mine if argument is not None}


def _plain(network: str | None) -> str:
    """Letters and digits of a network's name in lower case."""
    return "".join(c for c in str(network).lower() if c.isalnum())

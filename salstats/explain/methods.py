"""The methods: what each is called, where it comes from, what it needs, and what it gives by default."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pandas as pd

from salstats.checks import check_choice, quoted
from salstats.errors import SalstatsError

#: What a method looks at.
CAM, GRADIENT, PERTURBATION, ATTENTION, ACTIVATION = (
    "cam", "gradient", "perturbation", "attention", "activation",
)  # fmt: skip


@dataclass(frozen=True)
class Method:
    """One row of the registry.

    Attributes
    ----------
    name, label : str
        Name in the `method` column and in `explain(method=)`, and for tables and figures.
    kind : str
        "cam", "gradient", "perturbation", "attention" or "activation".
    library : str
        What computes it: "grad-cam", "captum" or "salstats" (with scikit-learn where a model is fitted).
    run : str
        Where its runner is, "module:function"; see `Request`.
    source : str
        The paper, with its DOI where it has one.
    random : bool
        Whether it draws random numbers.
    by_target : bool
        Whether its map depends on the output that it is asked about.
    channels, sign : str
        How channels are reduced and what is kept where nothing else is said; see `explain`.
    options : mapping of str to Any
        Its own options and their defaults.
    """

    name: str
    label: str
    kind: str
    library: str
    run: str
    source: str
    random: bool = False
    by_target: bool = True
    channels: str = "sum"
    sign: str = "positive"
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def hooks(self) -> bool:
        """Whether it needs hooks or gradients inside the network, which some models refuse."""
        return self.kind != PERTURBATION

    @property
    def layer(self) -> bool:
        """Whether it reads a layer of the network."""
        return self.kind in (CAM, ACTIVATION)


#: What stands in a file of runners: kind, and library where a row does not say it.
_FILES = {
    "cams": (CAM, "salstats"),
    "gradients": (GRADIENT, "salstats"),
    "perturbations": (PERTURBATION, "salstats"),
    "superpixels": (PERTURBATION, "salstats"),
    "attention": (ATTENTION, "salstats"),
}
#: Facts of a method; what else is said of one is an option of its own.
_FACTS = ("kind", "library", "random", "by_target", "channels", "sign")


def _row(file: str, name: str, label: str, source: str, **said: Any) -> Method:
    """A method whose runner stands in a file."""
    kind, library = _FILES[file]
    facts = {"kind": kind, "library": library} | {key: said.pop(key) for key in _FACTS if key in said}
    run = f"salstats.explain.{file}:run_{name.replace('++', 'plusplus')}"
    return Method(name, label, run=run, source=source, options=MappingProxyType(said), **facts)


_ROWS = (
    _row("cams", "gradcam", "Grad-CAM", "Selvaraju et al. (2017), doi:10.1109/ICCV.2017.74",
         eigen_smooth=False),
    _row("cams", "gradcam++", "Grad-CAM++", "Chattopadhay et al. (2018), doi:10.1109/WACV.2018.00097",
         eigen_smooth=False),
    _row("cams", "eigencam", "Eigen-CAM", "Muhammad & Yeasin (2020), doi:10.1109/IJCNN48605.2020.9206626",
         library="grad-cam", by_target=False, orient="library"),
    _row("cams", "scorecam", "Score-CAM", "Wang et al. (2020), doi:10.1109/CVPRW50498.2020.00020"),
    _row("cams", "layercam", "Layer-CAM", "Jiang et al. (2021), doi:10.1109/TIP.2021.3089943"),
    _row("cams", "hirescam", "HiRes-CAM", "Draelos & Carin (2020), arXiv:2011.08891"),
    _row("cams", "xgradcam", "XGrad-CAM", "Fu et al. (2020), arXiv:2008.02312", eigen_smooth=False),
    _row("cams", "ablationcam", "Ablation-CAM",
         "Desai & Ramaswamy (2020), doi:10.1109/WACV45572.2020.9093360"),
    _row("cams", "activation", "Activation",
         "a module's output as it is; for attention gates Schlemper et al. (2019), "
         "doi:10.1016/j.media.2019.01.012",
         kind=ACTIVATION, by_target=False, channels="mean", sign="signed"),
    _row("gradients", "integrated_gradients", "Integrated Gradients",
         "Sundararajan et al. (2017), arXiv:1703.01365", library="captum", baseline="zero", n_steps=50),
    _row("gradients", "input_x_gradient", "Input x Gradient", "Shrikumar et al. (2016), arXiv:1605.01713",
         library="captum"),
    _row("gradients", "deeplift", "DeepLIFT", "Shrikumar et al. (2017), arXiv:1704.02685", baseline="zero"),
    _row("gradients", "gradient_shap", "GradientSHAP", "Lundberg & Lee (2017), arXiv:1705.07874",
         random=True, baseline="zero", n_samples=20, stdev=0.0),
    _row("gradients", "lrp", "LRP", "Bach et al. (2015), doi:10.1371/journal.pone.0130140", epsilon=1e-9),
    _row("perturbations", "occlusion", "Occlusion",
         "Zeiler & Fergus (2014), doi:10.1007/978-3-319-10590-1_53",
         channels="mean", window=16, stride=8, baseline="zero"),
    _row("superpixels", "lime", "LIME", "Ribeiro et al. (2016), doi:10.1145/2939672.2939778",
         random=True, channels="mean",
         segments="grid", n_segments=49, n_samples=1000, alpha=0.01, kernel_width=1.0, baseline="zero"),
    _row("superpixels", "kernel_shap", "KernelSHAP", "Lundberg & Lee (2017), arXiv:1705.07874",
         random=True, channels="mean", segments="grid", n_segments=49, n_samples=1000, baseline="zero"),
    _row("perturbations", "rise", "RISE", "Petsiuk et al. (2018), arXiv:1806.07421",
         random=True, sign="signed",
         n_masks=4000, cells=7, keep=0.5, probability="softmax", baseline="zero"),
    _row("attention", "attention_rollout", "Attention rollout",
         "Abnar & Zuidema (2020), doi:10.18653/v1/2020.acl-main.385", by_target=False, sign="signed",
         modules=None, heads="mean", discard=0.0, residual=0.5, n_prefix=1, grid=None),
)  # fmt: skip

#: name -> Method, in the order of tables.
METHODS: Mapping[str, Method] = MappingProxyType({row.name: row for row in _ROWS})


def list_methods() -> pd.DataFrame:
    """The methods that `explain` knows, one row each.

    Returns
    -------
    DataFrame
        `method`: name in `explain(method=)` and in frames. `label`: name in tables and figures. `kind`: what
        it looks at: "cam" (a layer's output weighted by its effect), "gradient", "perturbation" (outputs of
        changed images), "attention" or "activation" (a layer's output alone). `library`: what computes it.
        `hooks`: whether it looks inside the network, which TorchScript and exported models refuse. `layer`:
        whether it reads a layer that can be named. `random`: whether it draws random numbers. `channels`,
        `sign`: how channels are reduced and what is kept where nothing else is said. `options`: its own
        options with their defaults. `source`: the paper.

    Notes
    -----
    LRP takes networks of convolutions, linear layers, batch normalisation, pooling, sums and activations,
    such as VGG, ResNet, DenseNet and Inception: none with layer normalisation, attention or gates.

    Examples
    --------
    >>> from salstats.explain import list_methods
    >>> rows = list_methods()
    >>> rows.loc[rows["kind"] == "cam", ["method", "label", "library"]].head(2)
         method       label   library
    0   gradcam    Grad-CAM  salstats
    1  gradcam++  Grad-CAM++  salstats
    """
    columns = ("label", "kind", "library", "hooks", "layer", "random", "channels", "sign")
    rows = [
        {
            "method": row.name,
            **{name: getattr(row, name) for name in columns},
            "options": ", ".join(f"{name}={value!r}" for name, value in row.options.items()),
            "source": row.source,
        }
        for row in METHODS.values()
    ]
    return pd.DataFrame(rows)


def check_method(name: object) -> Method:
    """Row of a method."""
    return METHODS[check_choice(name, tuple(METHODS), "method")]


def check_options(method: Method, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a method, its defaults filled in."""
    unknown = [name for name in options if name not in method.options]
    if unknown:
        has = f"it has {quoted(method.options)}" if method.options else "it has none of its own"
        raise SalstatsError(f"method {method.name!r} has no option {unknown[0]!r}; {has}")
    return {**method.options, **options}


def without_hooks() -> list[str]:
    """Methods that need no more of a model than its outputs."""
    return [row.name for row in METHODS.values() if not row.hooks]

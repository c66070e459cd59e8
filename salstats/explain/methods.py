"""The methods: what each is called, where it comes from, what it needs, and what it gives by default."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pandas as pd

from salstats.checks import check_choice, quoted
from salstats.errors import SalstatsError

#: Kinds of method, by what they use of a network.
CAM = "cam"
GRADIENT = "gradient"
PERTURBATION = "perturbation"
ATTENTION = "attention"
ACTIVATION = "activation"


@dataclass(frozen=True)
class Method:
    """The record of a method.

    Attributes
    ----------
    name, label : str
        Name in the `method` column and in `explain(method=)`, and for tables and figures.
    kind : str
        "cam", "gradient", "perturbation", "attention" or "activation".
    library : str
        The library that computes it: "grad-cam", "captum" or "salstats" (with scikit-learn for
        fitted models).
    run : str
        The function that runs it, "module:function"; see `Request`.
    source : str
        The paper, with its DOI where it has one.
    random : bool
        Whether it draws random numbers.
    depends_on_target : bool
        Whether its map depends on the output that is explained.
    channels, sign : str
        Default reduction of channels and default treatment of signs; see `explain`.
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
    depends_on_target: bool = True
    channels: str = "sum"
    sign: str = "positive"
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def needs_hooks(self) -> bool:
        """Return whether it needs hooks or gradients inside the network, which some models refuse."""
        return self.kind != PERTURBATION

    @property
    def reads_layer(self) -> bool:
        """Return whether it reads a layer of the network."""
        return self.kind in (CAM, ACTIVATION)


#: Module of a method's function, and kind of the methods in it; records may name another kind.
_KINDS = {
    "cams": CAM,
    "gradients": GRADIENT,
    "perturbations": PERTURBATION,
    "superpixels": PERTURBATION,
    "attention": ATTENTION,
}
#: Attributes of a record; other keyword arguments of `_method_record` are options of the method.
_ATTRIBUTES = ("kind", "library", "random", "depends_on_target", "channels", "sign")


def _method_record(module: str, name: str, label: str, source: str, **attributes_and_options: Any) -> Method:
    """Return the record of a method whose function is in a module of this package.

    Keyword arguments that are not in `_ATTRIBUTES` are its options and their defaults.
    """
    attributes: dict[str, Any] = {"kind": _KINDS[module], "library": "salstats"}
    attributes.update({key: value for key, value in attributes_and_options.items() if key in _ATTRIBUTES})
    options = {key: value for key, value in attributes_and_options.items() if key not in _ATTRIBUTES}
    function = f"run_{name.replace('++', 'plusplus')}"
    return Method(
        name,
        label,
        run=f"salstats.explain.{module}:{function}",
        source=source,
        options=MappingProxyType(options),
        **attributes,
    )


_METHODS = (
    _method_record(
        "cams", "gradcam", "Grad-CAM", "Selvaraju et al. (2017), doi:10.1109/ICCV.2017.74", eigen_smooth=False
    ),
    _method_record(
        "cams",
        "gradcam++",
        "Grad-CAM++",
        "Chattopadhay et al. (2018), doi:10.1109/WACV.2018.00097",
        eigen_smooth=False,
    ),
    _method_record(
        "cams",
        "eigencam",
        "Eigen-CAM",
        "Muhammad & Yeasin (2020), doi:10.1109/IJCNN48605.2020.9206626",
        library="grad-cam",
        depends_on_target=False,
        orient="library",
    ),
    _method_record("cams", "scorecam", "Score-CAM", "Wang et al. (2020), doi:10.1109/CVPRW50498.2020.00020"),
    _method_record("cams", "layercam", "Layer-CAM", "Jiang et al. (2021), doi:10.1109/TIP.2021.3089943"),
    _method_record("cams", "hirescam", "HiRes-CAM", "Draelos & Carin (2020), arXiv:2011.08891"),
    _method_record("cams", "xgradcam", "XGrad-CAM", "Fu et al. (2020), arXiv:2008.02312", eigen_smooth=False),
    _method_record(
        "cams", "ablationcam", "Ablation-CAM", "Desai & Ramaswamy (2020), doi:10.1109/WACV45572.2020.9093360"
    ),
    _method_record(
        "cams",
        "activation",
        "Activation",
        "a module's output as it is; for attention gates Schlemper et al. (2019), "
        "doi:10.1016/j.media.2019.01.012",
        kind=ACTIVATION,
        depends_on_target=False,
        channels="mean",
        sign="signed",
    ),
    _method_record(
        "gradients",
        "integrated_gradients",
        "Integrated Gradients",
        "Sundararajan et al. (2017), arXiv:1703.01365",
        library="captum",
        baseline="zero",
        n_steps=50,
    ),
    _method_record(
        "gradients",
        "input_x_gradient",
        "Input x Gradient",
        "Shrikumar et al. (2016), arXiv:1605.01713",
        library="captum",
    ),
    _method_record(
        "gradients", "deeplift", "DeepLIFT", "Shrikumar et al. (2017), arXiv:1704.02685", baseline="zero"
    ),
    _method_record(
        "gradients",
        "gradient_shap",
        "GradientSHAP",
        "Lundberg & Lee (2017), arXiv:1705.07874",
        random=True,
        baseline="zero",
        n_samples=20,
        stdev=0.0,
    ),
    _method_record(
        "gradients", "lrp", "LRP", "Bach et al. (2015), doi:10.1371/journal.pone.0130140", epsilon=1e-9
    ),
    _method_record(
        "perturbations",
        "occlusion",
        "Occlusion",
        "Zeiler & Fergus (2014), doi:10.1007/978-3-319-10590-1_53",
        channels="mean",
        window=16,
        stride=8,
        baseline="zero",
    ),
    _method_record(
        "superpixels",
        "lime",
        "LIME",
        "Ribeiro et al. (2016), doi:10.1145/2939672.2939778",
        random=True,
        channels="mean",
        segments="grid",
        n_segments=49,
        n_samples=1000,
        alpha=0.01,
        kernel_width=1.0,
        baseline="zero",
    ),
    _method_record(
        "superpixels",
        "kernel_shap",
        "KernelSHAP",
        "Lundberg & Lee (2017), arXiv:1705.07874",
        random=True,
        channels="mean",
        segments="grid",
        n_segments=49,
        n_samples=1000,
        baseline="zero",
    ),
    _method_record(
        "perturbations",
        "rise",
        "RISE",
        "Petsiuk et al. (2018), arXiv:1806.07421",
        random=True,
        sign="signed",
        n_masks=4000,
        cells=7,
        keep=0.5,
        probability="softmax",
        baseline="zero",
    ),
    _method_record(
        "attention",
        "attention_rollout",
        "Attention rollout",
        "Abnar & Zuidema (2020), doi:10.18653/v1/2020.acl-main.385",
        depends_on_target=False,
        sign="signed",
        modules=None,
        heads="mean",
        discard=0.0,
        residual=0.5,
        n_prefix=1,
        grid=None,
    ),
)

#: name -> Method, in the order of tables.
METHODS: Mapping[str, Method] = MappingProxyType({record.name: record for record in _METHODS})


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
    rows = []
    for record in METHODS.values():
        rows.append(
            {
                "method": record.name,
                "label": record.label,
                "kind": record.kind,
                "library": record.library,
                "hooks": record.needs_hooks,
                "layer": record.reads_layer,
                "random": record.random,
                "channels": record.channels,
                "sign": record.sign,
                "options": ", ".join(f"{name}={value!r}" for name, value in record.options.items()),
                "source": record.source,
            }
        )
    return pd.DataFrame(rows)


def checked_method(name: object) -> Method:
    """Return the record of a method."""
    return METHODS[check_choice(name, tuple(METHODS), "method")]


def options_with_defaults(method: Method, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a method, with its defaults filled in; SalstatsError for an unknown option."""
    for name in options:
        if name not in method.options:
            has = f"it has {quoted(method.options)}" if method.options else "it has none of its own"
            raise SalstatsError(
                f"method {method.name!r} has no option {name!r}",
                hint=has,
                option=name,
                choices=method.options,
            )
    return {**method.options, **options}


def names_of_methods_without_hooks() -> list[str]:
    """Return the names of the methods that need only the outputs of a model."""
    return [record.name for record in METHODS.values() if not record.needs_hooks]

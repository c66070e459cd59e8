"""The torch side: saliency maps made from models, and how faithful they are. Needs `salstats[explain]`.

Nothing else in the package needs torch; this part is imported only when one of its names is used.
The modules are:

methods, presets             the record of each method, and the choices of published studies
cams, cam_formulas, gradients, multipliers, perturbations, superpixels, attention
                             the methods; each takes a `Request` (request) and returns raw attributions
baselines                    the values of a pixel that is hidden
networks, weight_files, torchvision_networks
                             a network with its tasks; its trained weights
layers, hooks                the layers of a network, and hooks that read or replace their outputs
input_checks, forward_passes checks of images, targets and outputs; passes through a model
saliency_maps, map_finishing `explain`: from attributions to maps
ensembles                    means over trainings
map_plans, case_images, map_runs
                             `make_maps`: the maps of a whole study, written into a folder
named_maps, pixel_steps, faithfulness, curves, minimal_masks
                             insertion, deletion, and the fewest pixels that keep a class
rise_masks                   the share of RISE's masks that keep a class
digits                       the trained networks of the embedded study
"""

from importlib.util import find_spec

import lazy_loader

_missing = [name for name in ("torch", "pytorch_grad_cam", "captum") if find_spec(name) is None]
if _missing:
    raise ModuleNotFoundError(
        f"salstats.explain needs {', '.join(_missing)}, not installed here; "
        "pip install 'salstats[explain]' brings it",
        name=_missing[0],
    )

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

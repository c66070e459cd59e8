"""The torch side: saliency maps made from models, and how faithful they are. Needs `salstats[explain]`.

Nothing else in the package needs torch; this part is imported only when it is asked for. Where things are:

methods, presets             the record of each method, and what published studies chose
cams, cam_formulas, gradients, multipliers, perturbations, superpixels, attention
                             what computes them; each takes a `Request` (request) and gives raw attributions
baselines                    what stands where a pixel is not shown
networks, checkpoints, torchvision_networks
                             a network with its tasks; its trained weights
layers, tapping              the layers of a network, and what they give in a pass
inputs, forward              images and targets, checked; passes through a model
making, reductions           `explain`: from attributions to maps
ensembles                    means over trainings
map_plans, case_images, map_runs
                             `make_maps`: a whole study into a folder
named_maps, stepping, faithfulness, curves, minimal_masks
                             insertion, deletion, and the fewest pixels that keep a class
rise_masks                   how many of RISE's masks keep a class
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

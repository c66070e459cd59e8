"""The torch side: saliency maps made from models, and how faithful they are. Needs `salstats[explain]`.

Nothing else in the package needs torch; this part is imported only when it is asked for.
"""

from importlib.util import find_spec

import lazy_loader

_missing = [name for name in ("torch", "pytorch_grad_cam", "captum") if find_spec(name) is None]
if _missing:
    raise ModuleNotFoundError(
        f"salstats.explain needs {', '.join(_missing)}, which is not installed; "
        "pip install 'salstats[explain]' brings it",
        name=_missing[0],
    )

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

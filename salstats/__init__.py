"""Statistics for saliency maps: per-case scores in, honest intervals, contrasts and regressions out.

Public names in the order of the pipeline; each is loaded when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"

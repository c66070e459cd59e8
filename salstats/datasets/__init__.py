"""Data that come with the package, simulated studies, and data that are fetched with a checksum."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""A network with a module for every step, which DeepLIFT and LRP once needed."""

from torch import nn

from salstats.checks import warn


def separate_modules(model: nn.Module) -> nn.Module:
    """Return the network itself: DeepLIFT and LRP take any network as it is.

    They once needed a module of its own for each activation, pooling and addition.

    Parameters
    ----------
    model : torch.nn.Module

    Returns
    -------
    torch.nn.Module
        `model`.

    Warns
    -----
    DeprecationWarning
        Always.
    """
    warn(
        "separate_modules() is no longer needed: DeepLIFT and LRP take a network as it is", DeprecationWarning
    )
    return model

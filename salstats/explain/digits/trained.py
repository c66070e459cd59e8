"""The trained networks of the digits study, ready to be explained."""

from functools import partial

from salstats.checks import check_choice
from salstats.datasets import digits_examples
from salstats.explain.digits.networks import ARCHITECTURES, read_network
from salstats.explain.networks import Network
from salstats.images.preparation import Preparation


def digits_network(architecture: str = "residual", *, seed: int = 0) -> Network:
    """Return a trained network of the embedded study, which finds handwritten digits on a canvas.

    Parameters
    ----------
    architecture : {"residual", "plain"}
        Two residual blocks, or five convolutions one after another.
    seed : {0, 1, 2}
        Which training.

    Returns
    -------
    Network
        For `make_maps` and `explain_ensemble`; `.open()` gives the torch.nn.Module. It takes grey canvases of
        64 x 64 pixels, from 0 to 1; its ten outputs are the tasks "digit 0" to "digit 9", each with a
        probability of its own.

    Raises
    ------
    ValueRangeError
        No such architecture or training.

    See Also
    --------
    salstats.datasets.digits_examples : canvases, and where they lie.

    Examples
    --------
    >>> from salstats import explain as ex
    >>> network = ex.digits_network("plain")
    >>> network.tasks["digit 7"], network.open().output.out_features
    (7, 10)
    """
    check_choice(architecture, ARCHITECTURES, "architecture")
    folder = digits_examples().parent / "weights"
    seeds = sorted(file.stem.rpartition("-")[2] for file in folder.glob(f"{architecture}-*.npz"))
    name = check_choice(str(seed), seeds, "seed")
    return Network(
        architecture,
        partial(read_network, architecture, folder / f"{architecture}-{name}.npz"),
        seed=name,
        tasks={f"digit {i}": i for i in range(10)},
        probability="sigmoid",
        preparation=Preparation((64, 64), channels=1),
    )

"""Images parted for training, validation and testing: seeded, and with every class in each part."""

from collections.abc import Mapping, Sequence

import numpy as np

from salstats.checks import check_generator
from salstats.errors import ValueRangeError

#: What the parts of a data set are called.
PARTS = ("train", "validation", "test")


def split_images(
    labels: Mapping[str, str],
    *,
    shares: Sequence[float] = (0.7, 0.15, 0.15),
    rng: int | np.random.Generator = 0,
) -> dict[str, str]:
    """The part of the data that each image belongs to, with every class spread evenly over them.

    `labels` is the class by image, in any order; `shares` are those of "train", "validation" and "test". Of n
    images int(share * n) are for training, as many by their share for validation, the rest for testing.
    """
    sizes = [float(s) for s in shares]
    if len(sizes) != len(PARTS) or not all(s >= 0 for s in sizes) or abs(sum(sizes) - 1) > 1e-9:
        raise ValueRangeError(
            f"shares must be three numbers from 0 that add up to 1 ({', '.join(PARTS)}), not {list(shares)}"
        )
    generator = check_generator(rng)
    placed: list[tuple[float, str, str]] = []
    for label in sorted(set(labels.values())):
        members = np.array(sorted(name for name, own in labels.items() if own == label), dtype=object)
        # a class's images at even steps from 0 to 1, begun at a place of its own
        places = (np.arange(len(members)) + generator.random()) / len(members)
        placed += [(p, label, m) for p, m in zip(places, generator.permutation(members), strict=True)]
    placed.sort()
    # rounded, as 0.7 * 10 is not to be 6.999
    train, validation = (int(round(size * len(placed), 9)) for size in sizes[:2])
    ends = (train, train + validation)
    part_of_image = {}
    for i, (_, _, name) in enumerate(placed):
        # the number of ends at or before the place: 0 for training, 1 for validation, 2 for testing
        n_ends = sum(i >= end for end in ends)
        part_of_image[name] = PARTS[n_ends]
    return dict(sorted(part_of_image.items()))

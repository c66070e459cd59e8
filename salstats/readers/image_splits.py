"""Split images for training, validation and testing: seeded, and with every class in each part."""

from collections.abc import Mapping, Sequence

import numpy as np

from salstats.checks import check_generator
from salstats.errors import ValueRangeError

#: Names of the parts of a data set.
PARTS = ("train", "validation", "test")


def split_images(
    labels: Mapping[str, str],
    *,
    shares: Sequence[float] = (0.7, 0.15, 0.15),
    rng: int | np.random.Generator = 0,
) -> dict[str, str]:
    """Return the part of the data that each image belongs to, with every class spread evenly over the parts.

    `labels` is the class by image, in any order; `shares` are those of "train", "validation" and "test". Of n
    images int(share * n) are for training, as many by their share for validation, the rest for testing.
    """
    sizes = [float(share) for share in shares]
    are_shares = len(sizes) == len(PARTS) and all(size >= 0 for size in sizes)
    if not are_shares or abs(sum(sizes) - 1) > 1e-9:
        raise ValueRangeError(
            f"shares must be three numbers from 0 that add up to 1 ({', '.join(PARTS)}), not {list(shares)}",
            option="shares",
            value=shares,
        )
    generator = check_generator(rng)
    # (position from 0 to 1, class, image) of each image
    positioned: list[tuple[float, str, str]] = []
    for label in sorted(set(labels.values())):
        members = sorted(image for image, image_label in labels.items() if image_label == label)
        # a class's images lie at even steps from 0 to 1, and the first of them at random within one step
        positions = (np.arange(len(members)) + generator.random()) / len(members)
        shuffled = generator.permutation(np.array(members, dtype=object))
        for position, image in zip(positions, shuffled, strict=True):
            positioned.append((position, label, image))
    positioned.sort()
    # rounded first, as 0.7 * 10 is 6.999... in floats
    n_train = int(round(sizes[0] * len(positioned), 9))
    n_validation = int(round(sizes[1] * len(positioned), 9))
    part_of_image = {}
    for number, (_, _, image) in enumerate(positioned):
        if number < n_train:
            part_of_image[image] = "train"
        elif number < n_train + n_validation:
            part_of_image[image] = "validation"
        else:
            part_of_image[image] = "test"
    return dict(sorted(part_of_image.items()))

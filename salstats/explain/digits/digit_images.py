"""The real part: scikit-learn's copy of the UCI handwritten digits, divided once and for all."""

from dataclasses import dataclass

import numpy as np

#: Shares of the digit images of each part; no image is in two of them.
PARTS = {"train": 0.55, "tune": 0.10, "test": 0.35}
_SPLIT_SEED = 1998


@dataclass(frozen=True)
class DigitImages:
    """Digit images of one part.

    Attributes
    ----------
    images : ndarray of float, shape (n, 8, 8)
        Ink from 0 to 16.
    digits : ndarray of int, shape (n,)
        Which digit each is.
    index : ndarray of int, shape (n,)
        Its place in scikit-learn's data.
    """

    images: np.ndarray
    digits: np.ndarray
    index: np.ndarray

    def of(self, digit: int) -> np.ndarray:
        """Return the images of one digit."""
        return self.images[self.digits == digit]


def load_parts() -> dict[str, DigitImages]:
    """Return the 1797 handwritten digits, divided into parts that share no image.

    Returns
    -------
    dict of str to DigitImages
        "train", "tune" and "test"; every digit is divided in the same shares.

    References
    ----------
    Alpaydin E, Kaynak C. Optical Recognition of Handwritten Digits. UCI Machine Learning Repository, 1998.
    https://doi.org/10.24432/C50P49 (CC BY 4.0). As `sklearn.datasets.load_digits` carries it: its test part,
    bitmaps of 32 x 32 counted in blocks of 4 x 4.
    """
    from sklearn.datasets import load_digits

    data = load_digits()
    rng = np.random.default_rng(_SPLIT_SEED)
    part = np.empty(len(data.target), dtype=object)
    for digit in range(10):
        places = rng.permutation(np.flatnonzero(data.target == digit))
        ends = np.rint(np.cumsum(list(PARTS.values())) * len(places)).astype(int)
        for name, chunk in zip(PARTS, np.split(places, ends[:-1]), strict=True):
            part[chunk] = name
    return {
        name: DigitImages(data.images[part == name], data.target[part == name], np.flatnonzero(part == name))
        for name in PARTS
    }

"""The analysis of readers against the leave-one-out loop that its jackknife stands for, in one run."""

import numpy as np
from mrmc_readings import readings
from timing import fastest

from salstats.stats.engine.roc import concordant_share_of_each_score
from salstats.stats.mrmc.covariances import BY_NAME, BootstrapOptions
from salstats.stats.mrmc.figures_of_merit import BY_NAME as FIGURES

#: The figure to reach; R's loops take some 30 to 600 times as long as the whole call.
FASTER_THAN_A_LOOP = 100


def test_the_jackknife_of_areas_is_faster_than_leaving_out_each_case():
    rng = np.random.default_rng(0)
    positive = np.arange(300) % 2 == 0
    scores = rng.normal(size=(300, 10)) + positive[:, None]
    own = readings(scores, positive)

    def areas(left):
        return [
            concordant_share_of_each_score(c, positive[left])[positive[left]].mean() for c in scores[left].T
        ]

    def loop():
        without = np.array([areas(np.arange(300) != case) for case in range(300)])
        return 299 / 300 * (without - without.mean(axis=0)).T @ (without - without.mean(axis=0))

    def ours():
        return BY_NAME["jackknife"].kernel(own, FIGURES["auc"], BootstrapOptions(0, rng))

    np.testing.assert_allclose(ours(), loop(), atol=1e-15)
    fast, slow = fastest(ours, loop, enough=FASTER_THAN_A_LOOP, turns=20, least=2)
    assert slow > FASTER_THAN_A_LOOP * fast

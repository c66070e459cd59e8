"""A run over a study that is slow enough to be killed: python interrupted_run.py FOLDER N_CASES."""

import sys
import time
from pathlib import Path


def main(folder, n_cases):
    from explain.tiny_networks import OUTPUTS, cnn, pictures

    from salstats.explain.map_runs import make_maps
    from salstats.explain.networks import Network

    model = cnn()
    model.register_forward_pre_hook(lambda module, inputs: time.sleep(0.05))
    make_maps(folder, pictures(n_cases), Network("cnn", model, tasks=OUTPUTS), batch_size=4)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    main(sys.argv[1], int(sys.argv[2]))

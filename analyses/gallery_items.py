"""Items of the page of figures and tables: frames, simple and difficult, and the calls that use them."""

from dataclasses import dataclass

#: Frames by their name, as the code that makes them.
FRAMES = {
    "embedded": """
        scores = ss.datasets.load_simulated()
        labels = {"gradcam": "Grad-CAM", "occlusion": "Occlusion", "human": "Radiologists"}
    """,
    "eight methods": """
        scores = ss.datasets.load_digits_scores().query("dataset == 'textured' and model == 'residual'")
        scores = scores[scores["metric"].isin(["iou", "hit"])].drop(columns=["dataset", "model", "seed"])
        labels = {"gradcam": "Grad-CAM", "human": "Simulated annotator"}
    """,
    "twenty tasks": """
        from salstats.datasets.simulation import METHODS
        like_gradcam = ["Grad-CAM", "Layer-CAM", "Eigen-CAM", "DeepLIFT"]
        like_occlusion = ["Occlusion", "RISE", "SHAP"]
        methods = {name: METHODS["gradcam"] for name in like_gradcam}
        methods |= {name: METHODS["occlusion"] for name in like_occlusion} | {"human": METHODS["human"]}
        scores = ss.simulate_scores(60, tasks=[f"Finding {i}" for i in range(1, 21)], methods=methods)
        labels = {"human": "Radiologists"}
    """,
    "six patients, two tasks": """
        scores = ss.simulate_scores(6, tasks=["Edema", "Pleural Effusion"], two_views=1, rng=3)
        labels = {"gradcam": "Grad-CAM", "human": "Radiologists"}
    """,
    "long names": """
        scores = ss.datasets.load_simulated().query("task != 'Edema'")
        labels = {
            "gradcam": "Gradient-weighted class activation mapping, last layer",
            "occlusion": "Occlusion sensitivity with a grey patch of 64 px",
            "human": "Consensus of three thoracic radiologists",
            "Atelectasis": "Atelectasis of the left lower lobe, lateral view only",
            "iou": "Intersection over union with the consensus segmentation",
            "elongation": "Elongation of the smallest rectangle around the finding",
        }
    """,
    "patients": """
        import numpy as np
        import pandas as pd
        rng = np.random.default_rng(0)
        patients = pd.DataFrame({
            "patient": [f"p{number}" for number in range(80)],
            "site": rng.choice(["Site A", "Site B"], 80),
            "age": rng.normal(64, 12, 80).round(),
            "sex": rng.choice(["F", "M"], 80),
            "stage": pd.Categorical(rng.choice(["I", "II", "III"], 80), ["I", "II", "III", "IV"]),
            "smoker": rng.choice(["yes", "no", None], 80, p=[0.3, 0.6, 0.1]),
            "bmi": rng.normal(26, 4, 80).round(1),
        })
        labels = {
            "age": "Age (years)",
            "sex": {"F": "Female", "M": "Male"},
            "smoker": "Current smoker",
            "bmi": "Body mass index (kg/m\u00b2)",
        }
    """,
    "images": """
        study_folder = ss.datasets.digits_examples()
        study = ss.read_study(study_folder)
        one_case = ss.score(study, metrics=["iou", "hit"])
    """,
    "images of unequal size": """
        import numpy as np
        sizes = {"tall": (300, 90), "wide": (90, 300), "large": (1000, 1200), "small": (64, 64)}
        images, truths, maps, readers = {}, {}, {}, {}
        for case, (height, width) in sizes.items():
            row, col = np.mgrid[:height, :width] / [[[height]], [[width]]]
            noise = np.random.default_rng(0).normal(0, 0.06, (height, width))
            images[case] = (255 * np.clip(0.35 + 0.3 * np.cos(5 * row) * col + noise, 0, 1)).astype(np.uint8)
            near = np.exp(-8 * ((row - 0.6) ** 2 + (col - 0.4) ** 2))
            truths[case, "Edema"] = near > 0.8
            if case != "wide":
                truths[case, "Nodule"] = np.hypot(row - 0.25, col - 0.7) < 0.1
            for number in range(5):
                if (case, number) != ("small", 1):
                    shifted = np.exp(-6 * ((row - 0.5) ** 2 + (col - 0.2 - 0.1 * number) ** 2))
                    maps[case, "Edema", f"method {number + 1}"] = shifted[::4, ::4]
                    maps[case, "Nodule", f"method {number + 1}"] = 1 - near[::4, ::4] * number / 4
            for number, level in enumerate((0.66, 0.78, 0.9)):
                readers[case, "Edema", f"reader {number + 1}"] = near > level
        study = ss.study_from_arrays(truths, maps, readers=readers)
        one_case = ss.score(study, metrics=["iou"])
    """,
    "gaze": """
        from functools import partial
        import numpy as np
        from salstats.images.fixations import Fixations
        from salstats.study import Case, Content, Prediction, Recording, Series, Study
        shape, rng = (120, 100), np.random.default_rng(4)
        looks = []
        for reader in ("0", "1", "2"):
            points = np.vstack([rng.normal((45, 65), 9, (9, 2)), rng.normal((60, 50), 16, (7, 2))])
            arrays = (points, np.full(16, 0.3), np.full((16, 2), 7), np.tile((0, 0, *shape), (16, 1)))
            looks.append(Recording("P" + reader, reader, partial(Fixations, *arrays), "drawn here"))
        row, col = np.mgrid[: shape[0], : shape[1]]
        maps = {"gradcam": (48, 60, 14), "occlusion": (75, 35, 20)}
        answers = []
        for name, (top, left, sd) in maps.items():
            blob = np.exp(-((row - top) ** 2 + (col - left) ** 2) / (2 * sd**2))
            answers.append(Prediction("", Series(name), partial(Content, saliency=blob), "drawn here"))
        series = tuple(answer.series for answer in answers)
        case = Case("image 1", shape, predictions=tuple(answers), recordings=tuple(looks))
        study = Study((case,), (), series, "drawn here")
    """,
}
SHAPED = ("embedded", "eight methods", "twenty tasks", "six patients, two tasks", "long names")


@dataclass(frozen=True)
class Item:
    """A call and the frames it is made of; its last line is what is shown."""

    title: str
    code: str
    frames: tuple[str, ...] = ("embedded",)


def _with_outcomes(by: str, shown: str) -> str:
    """Code that correlates covariates with outcomes by something and shows what was found."""
    return f"""
        import pandas as pd
        pairs = [(x, y) for x in ["prob", "area_ratio", "elongation"] for y in ["iou", "hit"]]
        found = pd.concat([ss.correlate(scores, x, y, by={by}) for x, y in pairs])
        ss.{shown}(found, labels=labels)
        """


ITEMS = (
    Item(
        "table_describe",
        """
        described = ss.describe(scores)
        ss.table_describe(described, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "table_patients",
        """
        described = ss.describe_patients(patients, ["age", "sex", "stage", "smoker", "bmi"], by="site")
        ss.table_patients(described, labels=labels)
        """,
        ("patients",),
    ),
    Item(
        "plot_flow",
        """
        flow = ss.case_flow(scores, reference="human")
        ss.plot_flow(flow, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "table_estimates",
        """
        means = ss.summarize(scores, average="task")
        ss.table_estimates(means, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "table_estimates, findings in columns",
        """
        means = ss.summarize(scores, average="task")
        ss.table_estimates(means, rows="method", columns="task", groups="metric", labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "plot_intervals",
        """
        means = ss.summarize(scores, average="task")
        decrease = ss.percent_decrease(scores, reference="human", average="task")
        auroc = ss.auroc(scores, "prob", "label", by="task")
        ss.plot_intervals(means, decrease=decrease, auroc=auroc, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "plot_heatmap",
        """
        means = ss.summarize(scores, average="task")
        ss.plot_heatmap(means, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "plot_heatmap of ranks by task",
        """
        ranks = ss.rank_stability(scores, by=["metric", "task"], n_replicates=200)
        ss.plot_heatmap(ranks, labels=labels)
        """,
        ("embedded", "long names"),
    ),
    Item(
        "plot_intervals of one metric",
        """
        means = ss.summarize(scores.query("metric == 'iou'"), average="task")
        ss.plot_intervals(means, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "plot_intervals of one method",
        """
        means = ss.summarize(scores.query("method == 'human'"), average="task")
        ss.plot_intervals(means, labels=labels)
        """,
        ("embedded", "long names"),
    ),
    Item(
        "table_decrease",
        """
        decrease = ss.percent_decrease(scores, reference="human", average="task", adjust="holm")
        ss.table_decrease(decrease, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "plot_decrease",
        """
        decrease = ss.percent_decrease(scores, reference="human", average="task", adjust="holm")
        ss.plot_decrease(decrease, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "plot_decrease as ratios of means",
        """
        decrease = ss.percent_decrease(scores, reference="human", average="task", adjust="holm")
        ss.plot_decrease(decrease, scale="log-ratio", labels=labels)
        """,
        ("embedded", "long names"),
    ),
    Item(
        "plot_decrease within limits",
        """
        gap = ss.difference(scores, reference="human", average="task", adjust="holm")
        ss.plot_decrease(gap, limits={"iou": (-0.3, 0.05), "hit": (-0.6, 0.1)}, labels=labels)
        """,
        ("embedded", "long names"),
    ),
    Item(
        "plot_forest",
        """
        gap = ss.difference(scores.query("metric == 'iou'"), reference="human", average="task")
        ss.plot_forest(gap, p_values=True, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "plot_pairs",
        """
        overlap = scores.query("metric == 'iou'")
        gap = ss.difference(overlap, reference="human")
        ss.plot_pairs(overlap, gap, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "plot_pairs of one method",
        """
        pair = scores.query("method in ['human', 'gradcam']")
        gap = ss.difference(pair, reference="human")
        ss.plot_pairs(pair, gap, labels=labels)
        """,
        ("embedded", "long names"),
    ),
    Item("plot_box", """ss.plot_box(scores.query("metric == 'iou'"), labels=labels)""", SHAPED),
    Item(
        "plot_box of one method",
        """ss.plot_box(scores.query("metric == 'iou' and method == 'gradcam'"), labels=labels)""",
        ("embedded", "long names"),
    ),
    Item(
        "plot_box as rainclouds",
        """ss.plot_box(scores.query("metric == 'iou'"), form="raincloud", labels=labels)""",
    ),
    Item(
        "plot_box as half-eyes",
        """ss.plot_box(scores.query("metric == 'iou'"), form="halfeye", labels=labels)""",
    ),
    Item("plot_box of two metrics", """ss.plot_box(scores, labels=labels)"""),
    Item(
        "plot_letter_values",
        """
        values = ss.letter_values(scores, ["area_ratio", "elongation", "irrectangularity"])
        ss.plot_letter_values(values, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "table_regression",
        """
        terms = ss.regress(scores, ["iou ~ area_ratio + elongation", "hit ~ area_ratio + elongation"],
                           by=["method", "task"])
        ss.table_regression(terms, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "table_regression of one model per method",
        """
        terms = ss.regress(scores, ["iou ~ area_ratio + elongation + task"], by="method")
        ss.table_regression(terms, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "table_regression of factors, P of each as a whole",
        """
        model = ss.fit(scores.query("metric == 'iou'"), "iou ~ method * area_ratio + task")
        fitted = {"fit": model.glance(), "joint": model.joint(each=True)}
        [ss.table_regression(model.tidy(), **fitted, labels=labels),
         ss.table_regression(model.tidy(), **fitted, p_values=True, labels=labels)]
        """,
        ("embedded", "long names"),
    ),
    Item(
        "table_regression of several outcomes and models",
        """
        crude = ["iou ~ area_ratio", "hit ~ area_ratio"]
        adjusted = [f"{formula} + elongation + task" for formula in crude]
        one = scores.query("method == 'human'")
        models = {"Crude": ss.fit(one, crude, by="method"), "Adjusted": ss.fit(one, adjusted)}
        terms = {name: model.tidy() for name, model in models.items()}
        fitted = {name: model.glance() for name, model in models.items()}
        joint = {"Adjusted": models["Adjusted"].joint(each=True)}
        ss.table_regression(terms, fit=fitted, joint=joint, labels=labels)
        """,
        ("embedded", "long names"),
    ),
    Item(
        "logistic regression, odds ratios",
        """
        model = ss.fit(scores, "hit ~ method + area_ratio", by=(), family="binomial")
        terms = model.tidy(exponentiate=True)
        fitted = {"fit": model.glance(), "joint": model.joint(each=True)}
        [ss.table_regression(terms, **fitted, digits=2, labels=labels),
         ss.plot_regression(terms, labels=labels), ss.plot_forest(model.effects(), labels=labels)]
        """,
        ("embedded", "long names"),
    ),
    Item(
        "generalised estimating equations",
        """
        options = {"family": "binomial", "correlation": "exchangeable"}
        model = ss.fit(scores, "hit ~ method + area_ratio", by=(), **options)
        ss.table_regression(model.tidy(), fit=model.glance(), joint=model.joint(each=True), labels=labels)
        """,
        ("embedded",),
    ),
    Item(
        "ordered beta regression, effects on the score",
        """
        model = ss.fit(scores, "iou ~ method + area_ratio", by=(), family="ordered-beta")
        gaps = model.contrasts("method", reference="human")
        [ss.table_regression({"Model": model.tidy()}, fit={"Model": model.glance()}, labels=labels),
         ss.table_regression(model.effects(), fit=model.glance(), labels=labels),
         ss.plot_regression(model.effects(), labels=labels), ss.plot_forest(model.effects(), labels=labels),
         ss.plot_forest(gaps, p_values=True, labels=labels),
         ss.plot_forest(model.means("method"), labels=labels)]
        """,
        ("embedded", "long names"),
    ),
    Item(
        "plot_regression",
        """
        models = ["iou ~ area_ratio + elongation", "hit ~ area_ratio + elongation"]
        terms = ss.regress(scores, models, by="method")
        ss.plot_regression(terms, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "plot_regression by task",
        """
        terms = ss.regress(scores, "iou ~ area_ratio + elongation", by=["method", "task"])
        ss.plot_regression(terms, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "plot_scatter",
        """ss.plot_scatter(scores.query("metric == 'iou'"), "area_ratio", "score", labels=labels)""",
        SHAPED,
    ),
    Item(
        "plot_scatter of hits",
        """ss.plot_scatter(scores, "area_ratio", "hit", labels=labels)""",
        ("embedded",),
    ),
    Item(
        "plot_scatter of one method in a colour of its own",
        """
        one = scores.query("metric == 'iou' and method == 'gradcam' and task == 'Cardiomegaly'")
        own = labels | {"colours": {"gradcam": "darkgreen"}}
        ss.plot_scatter(one, "area_ratio", "score", labels=own)
        """,
        ("embedded", "long names"),
    ),
    Item(
        "plot_scatter with lines and correlations",
        """
        one = scores.query("metric == 'iou'")
        fit = ss.fit_line(one, "iou ~ area_ratio", by=["method", "task"])
        found = ss.correlate(one, "area_ratio", "iou", by=["method", "task"])
        ss.plot_scatter(one, "area_ratio", "iou", fit=fit, correlations=found, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "table_correlation",
        _with_outcomes('["method", "task"]', "table_correlation"),
        SHAPED,
    ),
    Item(
        "plot_correlation, covariates by outcomes",
        _with_outcomes('"method"', "plot_correlation"),
        SHAPED,
    ),
    Item(
        "plot_correlation, covariates by outcomes of methods and findings",
        _with_outcomes('["method", "task"]', "plot_correlation"),
        SHAPED,
    ),
    Item(
        "plot_correlation, one pair of methods and findings",
        """
        found = ss.correlate(scores, "iou", "area_ratio", by=["method", "task"])
        ss.plot_correlation(found, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "plot_correlation, one pair of findings",
        """
        one = scores.query("method == 'human'")
        found = ss.correlate(one, "iou", "area_ratio", by=["method", "task"])
        ss.plot_correlation(found, labels=labels)
        """,
        ("embedded", "twenty tasks"),
    ),
    Item(
        "plot_correlation, every pair by method",
        """
        import pandas as pd
        from itertools import combinations
        names = ["iou", "hit", "prob", "area_ratio", "elongation"]
        found = pd.concat([ss.correlate(scores, x, y, by="method") for x, y in combinations(names, 2)])
        ss.plot_correlation(found, labels=labels)
        """,
        ("eight methods", "long names"),
    ),
    Item(
        "plot_correlation, every pair",
        """
        import pandas as pd
        from itertools import combinations
        names = ["iou", "hit", "prob", "area_ratio", "elongation"]
        one = scores.query("method == 'human'")
        found = pd.concat([ss.correlate(one, x, y, by="method") for x, y in combinations(names, 2)])
        ss.plot_correlation(found, labels=labels)
        """,
        ("embedded", "long names"),
    ),
    Item(
        "plot_residuals",
        """
        one = scores.query("metric == 'iou' and method == 'human'").drop(columns="patient", errors="ignore")
        fitted = ss.augment(one, "score ~ area_ratio", by="task")
        ss.plot_residuals(fitted, labels=labels)
        """,
        ("embedded", "six patients, two tasks", "long names"),
    ),
    Item(
        "plot_ranks",
        """
        ranks = ss.rank_stability(scores, n_replicates=200)
        ss.plot_ranks(ranks, frequencies=ss.rank_frequencies(scores, n_replicates=200), labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "plot_significance",
        """
        tests = ss.significance_map(scores)
        ss.plot_significance(tests, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "plot_significance, diagram",
        """
        ranks = ss.rank_stability(scores, scheme="mean-rank", n_replicates=200)
        tests = ss.significance_map(scores, test="wilcoxon")
        ss.plot_significance(tests, form="diagram", ranks=ranks, labels=labels)
        """,
        SHAPED,
    ),
    Item(
        "plot_agreement",
        """
        pair = scores.query("metric == 'iou' and method in ['human', 'gradcam']")
        limits = ss.agreement(pair, over="method", kind="bland-altman")
        ss.plot_agreement(pair, limits, labels=labels)
        """,
        ("embedded", "six patients, two tasks", "long names"),
    ),
    Item(
        "table_estimates of agreement",
        """
        found = ss.agreement(scores.query("metric == 'iou'"), over="method", by="task")
        ss.table_estimates(found, labels=labels)
        """,
        ("embedded", "long names"),
    ),
    Item(
        "readers and cases",
        """
        readings = scores.query("metric == 'iou'").rename(columns={"task": "reader"})
        found = ss.mrmc(readings, reference="human")
        [ss.table_estimates(found, labels=labels), ss.table_decrease(found, labels=labels),
         ss.table_estimates(ss.mrmc_components(readings), labels=labels),
         ss.plot_readers(ss.mrmc_readers(readings), means=found, labels=labels)]
        """,
        ("embedded", "long names", "twenty tasks"),
    ),
    Item(
        "mixed model",
        """
        model = ss.fit(scores.query("metric == 'iou'"), "iou ~ method + area_ratio + (1|case)", by=())
        parts = model.variance_components()
        fitted = {"fit": model.glance(), "components": parts, "joint": model.joint(each=True)}
        terms = model.tidy()
        [ss.table_regression(terms, **fitted, labels=labels), ss.plot_regression(terms, labels=labels),
         ss.plot_forest(parts, labels=labels)]
        """,
        ("embedded", "long names"),
    ),
    Item(
        "planning a study",
        """
        pilot = scores.query("metric == 'iou' and method in ['gradcam', 'human']")
        asked = {"effect": [-0.05, -0.1], "n_cases": [20, 40, 80, 160]}
        plan = ss.power(pilot, reference="human", approach="formula", **asked)
        [ss.plot_power(plan, labels=labels), ss.table_power(plan, labels=labels)]
        """,
        ("embedded", "long names"),
    ),
    Item(
        "plot_coverage",
        """
        coverage = ss.datasets.load_coverage()
        ss.plot_coverage(coverage)
        """,
    ),
    Item(
        "plot_gallery",
        """
        picks = ss.pick_cases(one_case, metric="iou", method="gradcam")
        ss.plot_gallery(study, picks, images=study_folder / "images")
        """,
        ("images",),
    ),
    Item(
        "plot_gallery of every method's picks",
        """
        picks = ss.pick_cases(one_case, metric="iou")
        ss.plot_gallery(study, picks, images=study_folder / "images")
        """,
        ("images",),
    ),
    Item(
        "plot_gallery of two tasks",
        """
        picks = ss.pick_cases(one_case, metric="iou", method="gradcam")
        picks = picks[picks["task"].isin(picks["task"].unique()[:2])]
        ss.plot_gallery(study, picks, scores=one_case, images=study_folder / "images", human=True)
        """,
        ("images",),
    ),
    Item(
        "plot_gallery of two methods and of one",
        """
        picks = ss.pick_cases(one_case, metric="iou", method="gradcam", at=["worst", "best"])
        shown = {"scores": one_case, "images": study_folder / "images", "spacing": 0.5, "scale": "shared"}
        [ss.plot_gallery(study, picks, methods=["gradcam", "human"], **shown),
         ss.plot_gallery(study, picks.head(1), methods=["gradcam"], **shown)]
        """,
        ("images",),
    ),
    Item(
        "plot_overlay",
        """
        first = one_case.iloc[0]
        ss.plot_overlay(study, first["case"], first["task"], images=study_folder / "images", method="gradcam")
        """,
        ("images",),
    ),
    Item(
        "plot_overlay beside its image, in other colours",
        """
        first = one_case.iloc[0]
        shown = {"case": first["case"], "task": first["task"], "method": "gradcam"}
        images = study_folder / "images"
        [ss.plot_overlay(study, **shown, images=images, cmap="viridis", alpha=0.6, with_image=True),
         ss.plot_overlay(study, **shown, images=images, alpha=0)]
        """,
        ("images",),
    ),
    Item(
        "plot_gallery of unequal images",
        """
        cases = one_case[["case", "task"]].drop_duplicates()
        ss.plot_gallery(study, cases, scores=one_case, images=images, spacing=0.2, human=True)
        """,
        ("images of unequal size",),
    ),
    Item(
        "plot_overlay of unequal images",
        """
        [ss.plot_overlay(study, case, "Edema", method="method 2", images=images) for case in sizes]
        """,
        ("images of unequal size",),
    ),
    Item(
        "plot_overlay of people and of nothing",
        """
        [ss.plot_overlay(study, "large", "Edema", method="human", images=images),
         ss.plot_overlay(study, "wide", "Nodule", method="method 1", images=images)]
        """,
        ("images of unequal size",),
    ),
    Item("plot_gaze", """ss.plot_gaze(study, "image 1", labels={"gradcam": "Grad-CAM"})""", ("gaze",)),
    Item(
        "plot_curves",
        """
        import pandas as pd
        from salstats import explain as ex
        canvases = {file.stem: file for file in sorted((study_folder / "images").glob("*.png"))}
        network = ex.digits_network("residual")
        walks = [walk(network, canvases, study_folder, steps=20) for walk in (ex.insertion, ex.deletion)]
        curves = ss.mean_curves(pd.concat(walks), by=["metric", "method"])
        ss.plot_curves(curves)
        """,
        ("images",),
    ),
    Item(
        "plot_roc",
        """
        curves = ss.roc_curve(scores, "prob", "label")
        ss.plot_roc(curves, auroc=ss.auroc(scores, "prob", "label"), labels=labels)
        """,
        ("embedded", "long names", "twenty tasks"),
    ),
    Item(
        "plot_calibration",
        """
        curves = ss.calibration_curve(scores, "prob", "label")
        ss.plot_calibration(curves, calibration=ss.calibration(scores, "prob", "label"), labels=labels)
        """,
        ("embedded", "long names", "twenty tasks"),
    ),
    Item(
        "plot_thresholds",
        """
        tuned = ss.tune(study)
        ss.plot_thresholds(tuned)
        """,
        ("images",),
    ),
)

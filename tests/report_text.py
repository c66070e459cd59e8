"""What a report says, without writing it; and the words of a page."""

from html.parser import HTMLParser

from salstats.display.report.analyses import run_analyses
from salstats.display.report.composition import composed_report, report_labels
from salstats.display.report.settings import Settings, resolve_scores_and_settings
from salstats.display.report.wording import Wording


def settings_of(scores, **options):
    """The settings of a report on scores."""
    return resolve_scores_and_settings(scores, Settings(**options))[1]


def analyses_of(scores, **options):
    """The analyses of a report on scores."""
    used, settings = resolve_scores_and_settings(scores, Settings(**{"n_replicates": 199} | options))
    return run_analyses(used, settings)


def frames_of(scores, **options):
    """The frames of a report on scores."""
    return analyses_of(scores, **options).frames


def composed(scores, **options):
    """A report on scores."""
    used, settings = resolve_scores_and_settings(scores, Settings(**{"n_replicates": 199} | options))
    return composed_report(
        used, run_analyses(used, settings), Wording(settings, report_labels(used, settings))
    )


def sentences_of(scores, **options):
    """Every sentence of a report on scores as one text."""
    report = composed(scores, **options)
    results = [text for section in report.sections for text in section.sentences]
    return " ".join([*results, *report.methods, *report.warnings])


class _Text(HTMLParser):
    """The words of a page, without scripts and styles."""

    def __init__(self):
        super().__init__()
        self.words, self._hidden = [], 0

    def handle_starttag(self, tag, attributes):
        self._hidden += tag in ("script", "style")

    def handle_endtag(self, tag):
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data):
        if not self._hidden:
            self.words.append(data)


def page_text(folder):
    """The words of a folder's page."""
    parser = _Text()
    parser.feed((folder / "index.html").read_text(encoding="utf-8"))
    return " ".join(" ".join(parser.words).split())


def files(folder):
    """The files of a folder, by their paths in it."""
    return {f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file()}

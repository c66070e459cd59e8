"""Problems of fitted models, collected so that a warning names all models with the same problem."""

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

from salstats.errors import ColumnName, Message, MessagePart, SalstatsWarning, warn

#: Number of models that a warning names.
_MAX_NAMED_MODELS = 5


def column_or_text(name: str, columns: Container[str]) -> MessagePart:
    """Return the name of a variable or coefficient for a note, as a `ColumnName` if it is one of `columns`.

    Other names, such as "taskEdema" or "log(prob)", are text.
    """
    if name in columns:
        return ColumnName(name)
    return name


@dataclass
class _Note:
    """One kind of problem, with the models that have it."""

    problem: MessagePart
    #: Advice on what to change, "" for none.
    hint: MessagePart
    #: Class of the warning.
    category: type[SalstatsWarning]
    #: Fields of the warning, such as its option and column.
    fields: dict[str, Any]
    #: Label of each model, often with details.
    models: list[MessagePart] = field(default_factory=list)


class Notes:
    """Problems by kind, each with the models that have it."""

    def __init__(self) -> None:
        self._notes: dict[str, _Note] = {}

    def add(
        self,
        problem: MessagePart,
        model: MessagePart,
        hint: MessagePart = "",
        category: type[SalstatsWarning] = SalstatsWarning,
        **fields: Any,
    ) -> None:
        """Add a model to those with a problem.

        Parameters
        ----------
        problem : str or Message
            The kind of problem, as the beginning of a sentence that "in 2 models" completes.
        model : str or Message
            Label of the model, often with details.
        hint : str or Message
            Advice on what to change, the same for all models with this problem.
        category : type of SalstatsWarning
            Class of the warning, the same for all models with this problem.
        **fields
            Fields of the warning, the same for all models with this problem.
        """
        note = self._notes.setdefault(str(problem), _Note(problem, hint, category, fields))
        note.models.append(model)

    def copy(self) -> "Notes":
        """Return the same notes, to which others can be added."""
        copied = Notes()
        for kind, note in self._notes.items():
            copied._notes[kind] = _Note(
                note.problem, note.hint, note.category, note.fields, list(note.models)
            )
        return copied

    def warn(self) -> None:
        """Warn once for each kind of problem, with its first models."""
        for note in self._notes.values():
            n_models = "1 model" if len(note.models) == 1 else f"{len(note.models)} models"
            models = Message()
            for position, model in enumerate(note.models[:_MAX_NAMED_MODELS]):
                separator = "; " if position else ""
                models = Message(models, separator, model)
            if len(note.models) > _MAX_NAMED_MODELS:
                models = Message(models, f"; and {len(note.models) - _MAX_NAMED_MODELS} more")
            warn(note.category(note.problem, f" in {n_models}: ", models, hint=note.hint, **note.fields))

"""Draw ROC curves and learning curves (by matplotlib)."""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spamnb.base import durable
from spamnb.base.errors import SpamnbError
from spamnb.base.label import Label, Verdict
from spamnb.evaluation.comparison import Trial
from spamnb.evaluation.measures import Outcome
from spamnb.evaluation.replay import Life

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WINDOW = 200  # messages of a class for each point of a learning curve


def plot_run(directory: str, outcomes: Sequence[Outcome]) -> None:
    """Write `roc.png` and `learning.png` for one evaluation into a directory."""
    score = np.array([outcome.score for outcome in outcomes])
    labels = np.array([outcome.label for outcome in outcomes])
    figure, axes = _figure()
    lost, caught = Trial("", "", 0, score, labels).roc()
    axes.step(100 * lost, 100 * caught, where="post")
    _label(axes, "ROC curve", "ham taken for spam (%)", "spam caught (%)")
    axes.set_xscale("symlog", linthresh=0.1)
    _save(figure, directory, "roc.png")

    figure, axes = _figure()
    for label, name in ((Label.HAM, "ham taken for spam"), (Label.SPAM, "spam not caught")):
        places = np.flatnonzero(labels == label)
        errors = [(outcomes[i].verdict is Verdict.SPAM) != (label is Label.SPAM) for i in places.tolist()]
        window = min(_WINDOW, len(errors))
        mean = np.convolve(np.array(errors, dtype=float), np.ones(window) / window, mode="valid")
        axes.plot(places[window - 1 :], 100 * mean, label=name)
    axes.legend()
    _label(axes, f"Learning curve (mean over {_WINDOW} messages of a class)", "messages", "percent")
    _save(figure, directory, "learning.png")


def plot_months(directory: str, lives: Iterable[Life]) -> None:
    """Write `months.png`: the share of the spam of each month that a life caught."""
    figure, axes = _figure()
    for life in lives:
        months = life.months()
        shares = [100 * month.caught / month.spam for month in months]
        axes.plot([month.name for month in months], shares, marker="o", label=life.words)
    axes.legend()
    axes.tick_params("x", rotation=90)
    _label(axes, "What it would have done", "month", "spam caught (%)")
    _save(figure, directory, "months.png")


def plot_comparison(directory: str, trials: Iterable[Trial]) -> None:
    """Write the ROC curves of a comparison, one picture per corpus and number of attributes."""
    pictures: dict[tuple[str, int], list[Trial]] = {}
    for trial in trials:
        pictures.setdefault((trial.dataset, trial.attributes), []).append(trial)
    for (name, number), drawn in pictures.items():
        figure, axes = _figure()
        for trial in drawn:
            lost, caught = trial.roc()
            axes.plot(100 * lost, 100 * caught, label=trial.model)
        axes.set_xlim(0, 20)
        axes.set_ylim(80, 100)
        axes.legend(loc="lower right")
        _label(axes, f"{name}, {number or 'all'} attributes", "ham taken for spam (%)", "spam caught (%)")
        _save(figure, directory, f"roc-{''.join(c if c.isalnum() else '_' for c in name)}-{number or 'all'}.png")


def _figure() -> tuple["Figure", Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5), layout="constrained")
    return figure, figure.subplots()


def _label(axes: Any, title: str, x: str, y: str) -> None:
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.grid(alpha=0.3)


def _save(figure: "Figure", directory: str, name: str) -> None:
    try:
        os.makedirs(directory, exist_ok=True)
        with durable.writing(os.path.join(directory, name)) as file:
            figure.savefig(file, format="png", dpi=120)
    except OSError as fault:
        raise SpamnbError(f"cannot write {os.path.join(directory, name)}: {fault.strerror}") from fault

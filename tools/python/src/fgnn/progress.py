"""Draws a job that is watched: a bar on a terminal, plain lines elsewhere."""

import json
import shutil
from typing import Any, TextIO

from fgnn.states import JobState, Progress

_WIDEST_BAR = 30
_NARROWEST_BAR = 5
_WIPE_LINE = '\r\x1b[K'


def bar(state: JobState, progress: Progress, width: int) -> str:
    """One line of at most `width` columns."""
    if _evaluates(state, progress):
        return _evaluation(progress, width)
    if not _in_epoch(state, progress):
        return _phase(state, progress)[:width]
    p = progress
    before = p.epochs_done * p.batches_per_epoch
    batch = min(max(0, p.batches_committed - before), p.batches_per_epoch)
    head = f'epoch {p.epochs_done + 1}/{p.epochs} '
    tail = f' {batch}/{p.batches_per_epoch}'
    parts = [f'loss {p.loss:.4f}']
    if p.edges_per_second > 0:
        parts.append(f'{_rate(p.edges_per_second)}edges/s')
    if p.seconds_left is not None:
        parts.append(f'{_seconds(p.seconds_left)} left')
    for part in parts:
        if len(head) + len(tail) + len(part) + 2 <= width:
            tail += '  ' + part
    columns = min(width - len(head) - len(tail) - 2, _WIDEST_BAR)
    if columns < _NARROWEST_BAR:
        return (head + tail[1:])[:width]
    return f'{head}[{_drawn(p.share, columns)}]{tail}'


def epoch_line(line: str, num_epochs: int) -> str:
    """Returns the text for a line of metrics.jsonl."""
    epoch: dict[str, Any] = json.loads(line)
    text = f"epoch {epoch['epoch']}/{num_epochs}  loss {epoch['loss']:.4f}"
    for key, name, digits in (('valid_accuracy', 'valid accuracy', '.4f'),
                              ('valid_mrr', 'valid MRR', '.4f'),
                              ('valid_rmse', 'valid RMSE', '.5g'),
                              ('valid_micro_f1', 'valid micro-F1', '.4f')):
        if isinstance(epoch.get(key), (int, float)):
            text += f'  {name} {epoch[key]:{digits}}'
    if isinstance(epoch.get('seconds'), (int, float)):
        text += f"  {_seconds(epoch['seconds'])}"
    return text


class Reporter:
    """Writes to one stream; not thread-safe."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._terminal = out.isatty()
        self._shown = ''
        self._warnings: dict[str, str] = {}

    def update(self, state: JobState, progress: Progress,
               waiting_for: str = '') -> None:
        for kind, warning in (('dataset', progress.warning),
                              ('checkpoints', progress.checkpoint_warning)):
            if warning and warning != self._warnings.get(kind):
                self.say(f'warning: {warning}')
            self._warnings[kind] = warning
        if self._terminal:
            # One column is kept: a full line makes some terminals wrap.
            width = shutil.get_terminal_size().columns - 1
            line = (bar(state, progress, width) if not waiting_for else
                    f'{state}: {waiting_for}'[:width])
            if line != self._shown:
                self._out.write(_WIPE_LINE + line)
        elif _in_epoch(state, progress) or (
                _evaluates(state, progress) and progress.evaluated is None):
            return  # Its epochs are told of when they end.
        else:
            line = (f'{state}: {waiting_for}' if waiting_for else
                    _phase(state, progress))
            if line != self._shown:
                self._out.write(line + '\n')
        self._shown = line
        self._out.flush()

    def say(self, line: str) -> None:
        self.clear()
        self._out.write(line + '\n')
        self._out.flush()

    def clear(self) -> None:
        if self._terminal and self._shown:
            self._out.write(_WIPE_LINE)
            self._out.flush()
            self._shown = ''


def _evaluates(state: JobState, p: Progress) -> bool:
    return state is JobState.RUNNING and (
        p.evaluated is not None or p.phase.startswith('evaluating'))


def _in_epoch(state: JobState, p: Progress) -> bool:
    return (state is JobState.RUNNING and p.batches_per_epoch > 0 and
            p.epochs_done < p.epochs and not _evaluates(state, p))


def _evaluation(p: Progress, width: int) -> str:
    if p.evaluated is None:
        return p.phase[:width]
    tail = f' {int(100 * p.evaluated)} %'
    columns = min(width - len(p.phase) - len(tail) - 3, _WIDEST_BAR)
    if columns < _NARROWEST_BAR:
        return (p.phase + tail)[:width]
    return f'{p.phase} [{_drawn(p.evaluated, columns)}]{tail}'


def _drawn(share: float, columns: int) -> str:
    done = int(share * columns)
    return ('=' * done + ('>' if done < columns else '')).ljust(columns)


def _phase(state: JobState, progress: Progress) -> str:
    if state.ended or progress.phase in ('', str(state)):
        return str(state)
    return f'{state}: {progress.phase}'


def _rate(per_second: float) -> str:
    for size, unit in ((1e9, 'G'), (1e6, 'M'), (1e3, 'k')):
        if per_second >= size:
            return f'{per_second / size:.1f} {unit} '
    return f'{per_second:.0f} '


def _seconds(seconds: float) -> str:
    if seconds >= 3600:
        return f'{int(seconds / 3600)} h {int(seconds % 3600 / 60)} min'
    if seconds >= 60:
        return f'{int(seconds / 60)} min {int(seconds % 60)} s'
    return f'{seconds:.1f} s'

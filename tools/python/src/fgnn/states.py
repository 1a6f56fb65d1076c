"""A job's states, and how far it is."""

import dataclasses
import enum
from typing import Any

from fgnn.v1 import job_service_pb2 as pb

_PREFIX = 'JOB_STATE_'


class JobState(str, enum.Enum):
    """As the command line spells them."""
    QUEUED = 'queued'
    PREPARING = 'preparing'
    RUNNING = 'running'
    CANCELLING = 'cancelling'
    COMPLETED = 'completed'
    FAILED = 'failed'
    CANCELLED = 'cancelled'
    PAUSED = 'paused'
    UNKNOWN = 'unknown'  # State of a later release.

    def __str__(self) -> str:
        return str(self.value)

    @property
    def ended(self) -> bool:
        return self in (JobState.COMPLETED, JobState.FAILED,
                        JobState.CANCELLED)


def from_number(number: int) -> JobState:
    value = pb.JobState.DESCRIPTOR.values_by_number.get(number)
    name = value.name.removeprefix(_PREFIX).lower() if value else ''
    try:
        return JobState(name)
    except ValueError:
        return JobState.UNKNOWN


def to_name(state: JobState | str) -> str:
    """Returns the name in fgnn.v1. ValueError: there is no such state."""
    known = [str(one) for one in JobState if one is not JobState.UNKNOWN]
    if str(state) not in known:
        raise ValueError(
            f"no state '{state}'; there are {', '.join(known)}")
    return _PREFIX + str(state).upper()


@dataclasses.dataclass(frozen=True)
class Progress:
    """What fgnn.v1.JobProgress says, with None for what is not known."""
    phase: str
    epochs: int
    epochs_done: int
    batches_per_epoch: int
    batches_committed: int
    batches_expected: int
    loss: float
    edges_per_second: float
    seconds_left: float | None
    valid_accuracy: float | None
    test_accuracy: float | None
    test_macro_f1: float | None
    test_roc_auc: float | None
    valid_mrr: float | None
    test_mrr: float | None
    test_mean_rank: float | None
    valid_rmse: float | None
    test_rmse: float | None
    test_mae: float | None
    test_r2: float | None
    valid_micro_f1: float | None
    test_micro_f1: float | None
    restarts: int
    warning: str
    checkpoint_warning: str  # A checkpoint failed, or they are written again.
    evaluated: float | None  # Share of the evaluation under way, 0 to 1.

    @property
    def share(self) -> float:
        """Share of the job's batches that are done, 0 to 1."""
        if self.batches_expected == 0:
            return 0.0
        return min(1.0, self.batches_committed / self.batches_expected)


def _known(message: Any, name: str) -> Any:
    """The field, or None where it may be absent and is."""
    field = message.DESCRIPTOR.fields_by_name[name]
    if field.has_presence and not message.HasField(name):
        return None
    return getattr(message, name)


def progress_of(message: pb.JobProgress) -> Progress:
    values = {}
    for name in (field.name for field in dataclasses.fields(Progress)):
        split, _, score = name.partition('_')
        values[name] = (_known(getattr(message, split), score)
                        if split in ('valid', 'test')
                        else _known(message, name))
    if values['seconds_left'] < 0:
        values['seconds_left'] = None
    return Progress(**values)

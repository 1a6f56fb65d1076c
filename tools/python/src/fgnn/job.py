"""A job of a service."""

import json
import os
import pathlib
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO

from fgnn import checkpoint as checkpoints
from fgnn import errors, program, spec
from fgnn.progress import Reporter, epoch_line
from fgnn.rpc import Calls
from fgnn.states import JobState, Progress, from_number, progress_of
from fgnn.v1 import job_service_pb2 as pb

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

What = Literal['classes', 'values', 'probabilities', 'embeddings']
_PREDICT_SECONDS = 24 * 3600.0
_LOGS_SECONDS = 60.0


class JobError(NamedTuple):
    """Why a job failed."""
    code: str  # The name of a status of gRPC, e.g. 'RESOURCE_EXHAUSTED'.
    message: str


class Service(NamedTuple):
    """Where a job lives, and how it is asked."""
    calls: Calls
    state_dir: pathlib.Path
    program: str


class Job:
    """What the service said of a job when it was last asked; refresh() and
    what changes the job ask again. Made by Client. Not thread-safe."""

    def __init__(self, service: Service, message: pb.Job) -> None:
        self._service = service
        self._message = message

    def __repr__(self) -> str:
        return f'<fgnn.Job {self.id} {self.state}>'

    @property
    def message(self) -> pb.Job:
        """All that the service said (fgnn.v1.Job)."""
        return self._message

    @property
    def id(self) -> str:
        return self._message.job_id

    @property
    def name(self) -> str:
        return self._message.name

    @property
    def user(self) -> str:
        return self._message.user

    @property
    def state(self) -> JobState:
        return from_number(self._message.state)

    @property
    def progress(self) -> Progress:
        return progress_of(self._message.progress)

    @property
    def spec(self) -> dict[str, Any]:
        """Every field as it is used, defaults filled in. A job that named no
        devices has none here: see `devices`."""
        return spec.to_dict(self._message.spec)

    @property
    def run_dir(self) -> pathlib.Path:
        return pathlib.Path(self._message.run_dir)

    @property
    def devices(self) -> tuple[str, ...]:
        """Devices that it has, or had at its end; none while it waits."""
        return tuple(self._message.devices)

    @property
    def waiting_for(self) -> str:
        """What the job waits for, in one line; empty: nothing."""
        return self._message.waiting_for

    @property
    def error(self) -> JobError | None:
        """Error of a failed job, or the last failure of one that is tried
        again."""
        if self._message.error_code == 0:
            return None
        code = errors.CODES.get(self._message.error_code, 'UNKNOWN')
        return JobError(code, self._message.error_message)

    def refresh(self) -> 'Job':
        return self._become(self._service.calls.get(self.id))

    def cancel(self) -> 'Job':
        """Returns once nothing of it is left running. WrongState: it completed
        or failed already."""
        return self._become(self._service.calls.cancel(self.id))

    def pause(self) -> 'Job':
        """Lets go of its devices, with a checkpoint. WrongState: it ended."""
        return self._become(self._service.calls.pause(self.id))

    def resume(self) -> 'Job':
        """Goes on after pause(). WrongState: it ended; Client.resume() goes on
        with its run."""
        return self._become(self._service.calls.go_on(self.id))

    def delete(self) -> bool:
        """Deletes what its run has made, the run's folder, and then the job
        itself, as `fgnn rm` does; this object keeps what the service said
        last. False: there was no folder, or it stays, since it has other files
        in it or another job has gone on in it.

        WrongState: it has not ended, or a job that has not ended needs it.
        NotFound: it was deleted before.
        """
        return self._service.calls.delete(self.id).folder_deleted

    def watch(self, progress: bool | TextIO = True) -> Iterator['Job']:
        """The job now and whenever it has changed, until it has ended; this
        object is each of them in turn, and iterating may be left off at any.
        Draws progress on stderr, or on the stream that is given. Goes on where
        the service is started again meanwhile. Unavailable: it did not come
        back within ten seconds."""
        out = sys.stderr if progress is True else progress or None
        reporter = Reporter(out) if out else None
        epochs_told = 0
        updates = self._service.calls.watch(self.id)
        try:
            for message in updates:
                self._become(message)
                if reporter:
                    epochs_told = self._tell_epochs(reporter, epochs_told)
                    reporter.update(self.state, self.progress,
                                    self.waiting_for)
                yield self
                if self.state.ended:
                    return
        finally:
            updates.close()  # type: ignore[attr-defined]
            if reporter:
                reporter.clear()
        raise errors.Error(
            f'the service stopped telling of job {self.id} while it was '
            f'{self.state}', 'INTERNAL')

    def wait(self, timeout: float | None = None,
             progress: bool | TextIO = False) -> 'Job':
        """Returns once it has completed. JobFailed with the job's code and
        message, JobCancelled; TimeoutError after `timeout` seconds, which
        are noticed when the job says something, ten times a second while it
        trains and every half minute at least."""
        deadline = None if timeout is None else time.monotonic() + timeout
        for _ in self.watch(progress):
            if self.state.ended:
                break
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(
                    f'job {self.id} is {self.state} after {timeout:g} s')
        if self.state is JobState.CANCELLED:
            raise errors.JobCancelled(f'job {self.id} was cancelled')
        if self.state is not JobState.COMPLETED:
            why = self.error or JobError('UNKNOWN', str(self.state))
            raise errors.JobFailed(
                f'job {self.id} failed: {why.message}', why.code)
        return self

    def metrics(self) -> 'pd.DataFrame':
        """A row per epoch, from 1, a column per number of metrics.jsonl, those
        of objects as 'stages.train'. DataLoss: a line is damaged. Needs pandas:
        pip install 'fgnn[pandas]'."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "metrics() needs pandas: pip install 'fgnn[pandas]'") from error
        rows: list[dict[str, Any]] = []
        try:
            while lines := self._metric_lines(len(rows)):
                rows += map(json.loads, lines)
            table = pandas.json_normalize(rows)
            return table.set_index('epoch') if rows else table
        except errors.NOT_READABLE as error:
            raise errors.DataLoss(
                f'metrics.jsonl of job {self.id} is damaged: {error!r}'
            ) from None

    def summary(self) -> dict[str, Any]:
        """summary.json of the run; `best_epoch` counts from 1. NotFound: it has
        not ended yet. DataLoss: the file is damaged."""
        file = self.run_dir / 'summary.json'
        try:
            found: dict[str, Any] = json.loads(file.read_text(encoding='utf-8'))
        except FileNotFoundError:
            raise errors.NotFound(
                f'{file} is written when job {self.id} has ended; it is '
                f'{self.state}') from None
        except OSError as error:
            raise errors.PermissionDenied(
                f'{file}: {error.strerror}') from None
        except errors.NOT_READABLE as error:
            raise errors.DataLoss(f'{file}: it is damaged: {error}') from None
        if not isinstance(found, dict):
            raise errors.DataLoss(f'{file}: it is damaged: no object')
        return found

    def checkpoint(self) -> pathlib.Path:
        """The file of the best epoch, of the newest where none is known to be
        best. NotFound: the run has saved none yet."""
        return checkpoints.find(self.run_dir)

    def logs(self, daemon: str = '') -> str:
        """What the scheduler and the daemons, or one of them ('sampler.0'),
        said while it ran; by `fgnn logs`."""
        words = ['logs', self.id, *(['--daemon', daemon] if daemon else [])]
        return program.run(self._service.program, self._service.state_dir,
                           words, _LOGS_SECONDS)

    def predict(self, dataset: str | os.PathLike[str],
                what: What | None = None,
                timeout: float = _PREDICT_SECONDS,
                device: str | None = None) -> 'np.ndarray[Any, Any]':
        """A row per vertex of the dataset, by the checkpoint of the best epoch:
        classes, i64 [vertices]; values, f32 [vertices, columns], of
        node_regression; probabilities, f32 [vertices, classes]; or embeddings,
        f32 [vertices, hidden]. Default: values of node_regression, else
        classes; those of multi_label_classification are the probabilities. By
        `fgnn predict`. Classes have the dataset's numbers, -1 where it has no
        class of the name; columns of probabilities and values are in the
        model's order. Warns if the two differ. `device`: 'cuda:0', or cores
        such as 'cpu:0-7'; default: all cores."""
        import numpy
        with tempfile.TemporaryDirectory(prefix='fgnn-') as folder:
            file = pathlib.Path(folder) / 'rows.npy'
            answer = program.run(
                self._service.program, self._service.state_dir,
                ['predict', str(self.run_dir), '--dataset', os.fspath(dataset),
                 *(['--what', what] if what else []),
                 *(['--device', device] if device else []),
                 '--out', str(file), '--json'], timeout)
            rows: np.ndarray[Any, Any] = numpy.load(file)
        notice = json.loads(answer)['notice']
        if notice:
            warnings.warn(notice, stacklevel=2)
        return rows

    def _become(self, message: pb.Job) -> 'Job':
        self._message = message
        return self

    def _metric_lines(self, after_epoch: int) -> list[str]:
        return list(self._service.calls.metrics(self.id, after_epoch).lines)

    def _tell_epochs(self, reporter: Reporter, told: int) -> int:
        """The lines of epochs that were not told yet: each once, also where
        the run went back to a checkpoint and writes some again."""
        while told < self.progress.epochs_done:
            try:
                lines = [epoch_line(line, self.progress.epochs)
                         for line in self._metric_lines(told)]
            except (errors.Error, *errors.NOT_READABLE):
                # A picture alone; the next change asks again. A line may be
                # cut while it is read.
                return told
            if not lines:
                return told
            for line in lines:
                reporter.say(line)
            told += len(lines)
        return told

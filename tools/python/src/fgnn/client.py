"""A service of this machine, or of another one."""

import dataclasses
import json
import os
import pathlib
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any

from fgnn import errors, remote, spec, state_dir as places
from fgnn.job import Job, Service
from fgnn.rpc import Calls, message
from fgnn.states import JobState, to_name
from fgnn.v1 import job_service_pb2 as pb

_PAGE = 100


@dataclasses.dataclass(frozen=True)
class ServiceInfo:
    """What a service says of itself."""
    version: str
    pid: int
    state_dir: pathlib.Path
    devices: tuple[str, ...]
    jobs_queued: int
    jobs_running: int


def _override(key: str, value: Any) -> str:
    try:
        return f'{key}={json.dumps(value)}'
    except (TypeError, ValueError, RecursionError) as error:
        raise errors.InvalidJob(f'overrides: {key}: {error}') from None


class Client:
    """The service of a state folder, by default that of the command line:
    $FGNN_STATE_DIR, else /var/lib/fgnn for root and ~/.local/state/fgnn for
    others. `program` is the command `fgnn`, which makes predictions and logs.
    Jobs belong to the user of this process. Thread-safe.

    `server` names a service on another machine instead, as HOST:PORT, by
    default $FGNN_SERVER where state_dir is not given. `tls_dir` is the folder
    with ca.pem, and user.pem and user.key or token: by default $FGNN_TLS_DIR,
    else ~/.config/fgnn. Jobs belong to the user whom these name. Folders of
    jobs are on that machine, so predictions, summaries and logs are not to be
    had. `insecure` speaks in the clear, with a token. Unauthenticated: the
    service does not know the caller.

    Unavailable: no service runs there. Every call has a deadline, and one that
    meets the service's end is made again where it is back within ten seconds.
    """

    def __init__(self, state_dir: str | os.PathLike[str] | None = None, *,
                 program: str = 'fgnn', server: str | None = None,
                 tls_dir: str | os.PathLike[str] | None = None,
                 insecure: bool = False) -> None:
        if server is None and state_dir is None:
            server = os.environ.get('FGNN_SERVER') or None
        if server is not None:
            if state_dir is not None:
                raise errors.InvalidJob(
                    'server and state_dir name two services; leave one out')
            elsewhere = remote.Remote(
                server, remote.default_tls_dir() if tls_dir is None else
                pathlib.Path(tls_dir), insecure)
            self._service = Service(
                Calls(elsewhere), pathlib.Path('/nonexistent'), program)
            return
        folder = (places.default_state_dir() if state_dir is None else
                  pathlib.Path(state_dir)).absolute()
        socket = places.socket_path(folder)
        if not places.listens(socket):
            raise errors.Unavailable(
                f"no service runs in {folder}; start one with 'fgnn up', or "
                'name another state_dir')
        self._service = Service(Calls(socket), folder, program)

    def __enter__(self) -> 'Client':
        return self

    def __exit__(self, kind: type[BaseException] | None,
                 error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._service.calls.close()

    def submit(self, job: Mapping[str, Any] | str | os.PathLike[str], *,
               run_dir: str | os.PathLike[str] | None = None,
               name: str | None = None, priority: int = 0,
               after: Iterable['Job | str'] = (), retries: int = 0,
               time_limit: float | None = None, key: str | None = None,
               overrides: Mapping[str, Any] | None = None,
               digest: bool = False, trace: bool = False) -> Job:
        """Queues a job: a dict as YAML would spell it, or the path of a job
        file. `overrides` are dotted keys ({'training.epochs': 3}).

        run_dir     folder for the results, new or empty; default: the
                    service's
        priority    -100 to 100; higher ones go first
        after       jobs, or their ids, that must have completed before
        retries     starts after a failure that another one may mend
        time_limit  seconds with devices, after which it fails
        key         the same key and job name the same job, so a program that
                    does not know whether it submitted may do so again;
                    default: a new one
        digest      write batches.crc, to compare runs
        trace       write trace.json, a timeline for chrome://tracing

        Warns where the service has a note on the job, such as a field that it
        leaves out and on which its weights depend.

        InvalidJob names the field; AlreadyExists: the key was used for another
        job, or run_dir is not empty.
        """
        if isinstance(job, Mapping):
            read = spec.from_dict(job)
        else:
            read = spec.from_file(job)
        for dotted, value in (overrides or {}).items():
            spec.override(dotted, value, read)
        if time_limit is not None and not 0 < time_limit < 2**32:
            raise errors.InvalidJob(
                f'time_limit: {time_limit} is out of range; give seconds, or '
                'None for no limit')
        request = message(
            pb.SubmitJobRequest, spec=read, name=name or '',
            priority=priority, retries=retries,
            run_dir='' if run_dir is None else os.path.abspath(run_dir),
            client_key=uuid.uuid4().hex if key is None else key, digest=digest,
            trace=trace,
            after=[a.id if isinstance(a, Job) else a for a in after],
            time_limit_seconds=0 if time_limit is None else max(
                1, round(time_limit)))
        return self._submit(request)

    def resume(self, run: Job | str | os.PathLike[str], *,
               overrides: Mapping[str, Any] | None = None) -> Job:
        """Goes on in the folder of a run that ended early, from its newest
        checkpoint. The job that does so already, if any. `overrides` change
        fields of the run ({'training.epochs': 20} trains a complete run on).

        InvalidJob: nothing is left to train, or an override is wrong.
        WrongState: a job that has not ended has the run, and there are
        overrides."""
        try:
            folder = os.path.realpath(
                run.run_dir if isinstance(run, Job) else run)
        except ValueError as error:
            raise errors.InvalidJob(f'run is no path: {error}') from None
        request = message(
            pb.SubmitJobRequest, run_dir=folder, resume=True,
            client_key=uuid.uuid4().hex,
            overrides=[_override(key, value)
                       for key, value in (overrides or {}).items()])
        return self._submit(request)

    def job(self, job_id: str) -> Job:
        """By its id, a unique part of it, its name, or 'last'. NotFound."""
        return Job(self._service, self._service.calls.get(job_id))

    def jobs(self, *, state: JobState | str | Iterable[JobState | str] = (),
             user: str = '', search: str = '',
             limit: int | None = None) -> Iterator[Job]:
        """Newest first, asked for by pages as they are taken. `search` is
        looked for in ids, names, datasets, run folders and errors."""
        states = [state] if isinstance(state, str) else list(state)
        request = message(
            pb.ListJobsRequest, states=[to_name(one) for one in states],
            user=user, search=search)
        left = limit
        while left is None or left > 0:
            request.limit = _PAGE if left is None else min(left, _PAGE)
            page = self._service.calls.list(request).jobs
            if not page:
                return
            for found in page:
                yield Job(self._service, found)
            request.before_job_id = page[-1].job_id
            left = None if left is None else left - len(page)

    def service(self) -> ServiceInfo:
        info = self._service.calls.service()
        return ServiceInfo(
            version=info.version, pid=info.pid,
            state_dir=pathlib.Path(info.state_dir), devices=tuple(info.devices),
            jobs_queued=info.jobs_queued, jobs_running=info.jobs_running)

    def _submit(self, request: pb.SubmitJobRequest) -> Job:
        answer = self._service.calls.submit(request)
        for note in answer.notes:
            warnings.warn(note, stacklevel=3)
        return Job(self._service, answer.job)

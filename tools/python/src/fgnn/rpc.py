"""Calls to the job service: each has a deadline."""

import pathlib
import time
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import grpc
from google.protobuf.message import Message

from fgnn import errors, state_dir
from fgnn.remote import Remote
from fgnn.v1 import job_service_pb2 as pb

SERVICE = 'fgnn.v1.JobService'
QUERY_SECONDS = 10.0
# A submission checks the dataset's arrays, a cancellation drains daemons.
ACTION_SECONDS = 60.0
# A stream of a job's states is asked for again after that time.
WATCH_SECONDS = 30.0
# That a service which is started again may take.
COME_BACK_SECONDS = 10.0
# Streams in a row that end before they said anything.
_MOST_MISSES = 3

_MOST_BYTES = 1 << 20
_OPTIONS = (
    ('grpc.max_receive_message_length', _MOST_BYTES),
    ('grpc.max_send_message_length', _MOST_BYTES),
    # A local server is back within a second of its restart.
    ('grpc.initial_reconnect_backoff_ms', 100),
    ('grpc.min_reconnect_backoff_ms', 5000),
    ('grpc.max_reconnect_backoff_ms', 500),
    ('grpc.use_local_subchannel_pool', 1),
    ('grpc.enable_http_proxy', 0),
)

# Between two tries of a call that a busy service did not begin.
_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 0.5

Answer = TypeVar('Answer', bound=Message)


def message(kind: type[Answer], **fields: Any) -> Answer:
    """A request. InvalidJob: a field does not fit its type, or is no text that
    UTF-8 has."""
    try:
        return kind(**fields)
    except (TypeError, ValueError) as error:
        raise errors.InvalidJob(
            f'numbers are whole ones, all else is text: {error}') from None


def _is_busy(error: grpc.RpcError) -> bool:
    """gRPC's own word for a server that has no thread left for a call."""
    return (errors.code_of(error) == grpc.StatusCode.RESOURCE_EXHAUSTED
            and 'Threadpool' in str(errors.from_rpc(error)))


class Calls:
    """One service's calls. Thread-safe."""

    def __init__(self, place: pathlib.Path | Remote) -> None:
        """The socket of a service of this machine, or one elsewhere."""
        self._place = place
        self._metadata: tuple[tuple[str, str], ...] = ()
        if isinstance(place, Remote):
            self._metadata = place.metadata()
            credentials = place.credentials()
            self._channel = (
                grpc.insecure_channel(place.server, options=_OPTIONS)
                if credentials is None else grpc.secure_channel(
                    place.server, credentials, options=_OPTIONS))
        else:
            self._channel = grpc.insecure_channel(
                'unix:' + urllib.parse.quote(str(place)), options=_OPTIONS)
        self._submit = self._unary('SubmitJob', pb.SubmitJobResponse)
        self._get = self._unary('GetJob', pb.Job)
        self._list = self._unary('ListJobs', pb.ListJobsResponse)
        self._cancel = self._unary('CancelJob', pb.Job)
        self._pause = self._unary('PauseJob', pb.Job)
        self._continue = self._unary('ContinueJob', pb.Job)
        self._delete = self._unary('DeleteJob', pb.DeleteJobResponse)
        self._metrics = self._unary('GetMetrics', pb.GetMetricsResponse)
        self._service = self._unary('GetService', pb.ServiceInfo)
        self._watch = self._channel.unary_stream(
            f'/{SERVICE}/WatchJob', pb.WatchJobRequest.SerializeToString,
            pb.Job.FromString)

    def close(self) -> None:
        self._channel.close()

    def submit(self, request: pb.SubmitJobRequest) -> pb.SubmitJobResponse:
        return self._call(self._submit, request, ACTION_SECONDS)

    def get(self, job_id: str) -> pb.Job:
        return self._call(self._get, message(pb.GetJobRequest, job_id=job_id))

    def list(self, request: pb.ListJobsRequest) -> pb.ListJobsResponse:
        return self._call(self._list, request)

    def cancel(self, job_id: str) -> pb.Job:
        return self._call(self._cancel, pb.CancelJobRequest(job_id=job_id),
                          ACTION_SECONDS)

    def pause(self, job_id: str) -> pb.Job:
        return self._call(self._pause, pb.PauseJobRequest(job_id=job_id),
                          ACTION_SECONDS)

    def go_on(self, job_id: str) -> pb.Job:
        return self._call(self._continue, pb.ContinueJobRequest(job_id=job_id),
                          ACTION_SECONDS)

    def delete(self, job_id: str) -> pb.DeleteJobResponse:
        return self._call(self._delete, pb.DeleteJobRequest(job_id=job_id),
                          ACTION_SECONDS)

    def metrics(self, job_id: str, after_epoch: int) -> pb.GetMetricsResponse:
        return self._call(self._metrics, pb.GetMetricsRequest(
            job_id=job_id, after_epoch=after_epoch))

    def service(self) -> pb.ServiceInfo:
        return self._call(self._service, pb.GetServiceRequest())

    def watch(self, job_id: str) -> Iterator[pb.Job]:
        """The job now and whenever it has changed, until the service has no
        more to tell. Goes on with a service that was started again.
        Unavailable: it did not come back."""
        request = pb.WatchJobRequest(job_id=job_id)
        misses = 0
        while True:
            call = self._watch(
                request, timeout=WATCH_SECONDS, wait_for_ready=True,
                metadata=self._metadata)
            heard = False
            try:
                for job in call:
                    heard = True
                    yield job
                return
            except grpc.RpcError as error:
                code = errors.code_of(error)
                misses = 0 if heard else misses + 1
                away = code == grpc.StatusCode.UNAVAILABLE
                if away and misses < _MOST_MISSES:
                    self._wait_until_back(job_id)
                elif not (code == grpc.StatusCode.DEADLINE_EXCEEDED and heard):
                    raise errors.from_rpc(error) from None
            finally:
                call.cancel()  # Who iterates may have left.

    def _unary(self, name: str, answer: type[Answer]
               ) -> Callable[..., Answer]:
        return self._channel.unary_unary(
            f'/{SERVICE}/{name}', lambda request: request.SerializeToString(),
            answer.FromString)

    def _call(self, method: Callable[..., Answer], request: Message,
              seconds: float = QUERY_SECONDS) -> Answer:
        """All calls are idempotent: one that met the service's end, or for
        which the service had no thread left, is made again."""
        deadline = time.monotonic() + seconds
        pause = _FIRST_PAUSE_SECONDS
        was_away = False
        while True:
            left = max(0.1, deadline - time.monotonic())
            try:
                return method(request, timeout=left, wait_for_ready=was_away,
                              metadata=self._metadata)
            except grpc.RpcError as error:
                code = errors.code_of(error)
                if code == grpc.StatusCode.UNAVAILABLE and not was_away:
                    was_away = True
                    self._wait_until_back('')
                elif _is_busy(error) and time.monotonic() + pause < deadline:
                    time.sleep(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
                else:
                    raise errors.from_rpc(error) from None

    def _wait_until_back(self, job_id: str) -> None:
        if isinstance(self._place, Remote):
            deadline = time.monotonic() + COME_BACK_SECONDS
            while why := self._place.explain():
                if (not isinstance(why, errors.Unavailable) or
                        time.monotonic() > deadline):
                    raise why
                time.sleep(_LONGEST_PAUSE_SECONDS)
        elif not state_dir.wait_for_server(self._place, COME_BACK_SECONDS):
            during = f' while job {job_id} was watched' if job_id else ''
            raise errors.Unavailable(
                f'the service at {self._place} went away{during}; start one '
                "with 'fgnn up'")

"""A job service without a scheduler: what it answers is what a test says."""

import concurrent.futures
import queue
import threading

import grpc
from fgnn.v1 import job_service_pb2 as pb
from fgnn.v1 import job_service_pb2_grpc as pb_grpc

# Of any wait; what is waited for comes at once.
SECONDS = 60
_END = object()
_FINAL = (pb.JOB_STATE_COMPLETED, pb.JOB_STATE_FAILED, pb.JOB_STATE_CANCELLED)


class FakeJobService(pb_grpc.JobServiceServicer):
    """Serves on a socket until stop(); keeps every call that was made."""

    def __init__(self, state_dir, *port):
        self.calls = []      # (method, request)
        self.metadata = []   # One dict each.
        self.remaining = []  # Seconds to the deadline.
        self.refuse = []     # (code, message) of the next calls.
        self.jobs = {}
        self.notes = []      # On every job that is submitted.
        self.metric_lines = []
        self.most_lines = 2  # Of one answer.
        self.client_left = threading.Event()
        self._updates = queue.Queue()
        self._server = grpc.server(
            concurrent.futures.ThreadPoolExecutor(max_workers=8))
        pb_grpc.add_JobServiceServicer_to_server(self, self._server)
        socket = state_dir / 'scheduler.sock'
        socket.unlink(missing_ok=True)
        self._server.add_insecure_port(f'unix:{socket}')
        self.port = self.listen(*port) if port else None
        self._server.start()

    def listen(self, certificate, key, authority):
        """Also serves a port with TLS, to clients with a certificate; it."""
        return self._server.add_secure_port(
            '127.0.0.1:0', grpc.ssl_server_credentials(
                [(key, certificate)], authority, require_client_auth=True))

    def stop(self):
        self._server.stop(grace=None).wait(SECONDS)

    def tell(self, *messages):
        """Those who watch, or begin to, are told these in turn."""
        for message in messages:
            self._updates.put(message)

    def _note(self, method, request, context):
        self.calls.append((method, request))
        self.metadata.append(dict(context.invocation_metadata()))
        self.remaining.append(context.time_remaining())
        if self.refuse:
            context.abort(*self.refuse.pop(0))

    def SubmitJob(self, request, context):
        self._note('SubmitJob', request, context)
        job = self.jobs.setdefault(request.client_key, pb.Job(
            job_id=f'job-{len(self.jobs)}', state=pb.JOB_STATE_QUEUED,
            spec=request.spec))
        return pb.SubmitJobResponse(job=job, notes=self.notes)

    def _answer(self, method, request, context, state):
        self._note(method, request, context)
        return pb.Job(job_id=request.job_id, state=state)

    def GetJob(self, request, context):
        return self._answer('GetJob', request, context, pb.JOB_STATE_QUEUED)

    def CancelJob(self, request, context):
        return self._answer('CancelJob', request, context,
                            pb.JOB_STATE_CANCELLED)

    def PauseJob(self, request, context):
        return self._answer('PauseJob', request, context, pb.JOB_STATE_PAUSED)

    def ContinueJob(self, request, context):
        return self._answer('ContinueJob', request, context,
                            pb.JOB_STATE_QUEUED)

    def DeleteJob(self, request, context):
        self._note('DeleteJob', request, context)
        return pb.DeleteJobResponse(job_id=request.job_id, folder_deleted=True)

    def ListJobs(self, request, context):
        self._note('ListJobs', request, context)
        ids = sorted(job.job_id for job in self.jobs.values())[::-1]
        if request.before_job_id:
            ids = [one for one in ids if one < request.before_job_id]
        return pb.ListJobsResponse(
            jobs=[pb.Job(job_id=one) for one in ids[:request.limit]])

    def GetMetrics(self, request, context):
        self._note('GetMetrics', request, context)
        lines = self.metric_lines[request.after_epoch:]
        return pb.GetMetricsResponse(lines=lines[:self.most_lines])

    def GetService(self, request, context):
        self._note('GetService', request, context)
        return pb.ServiceInfo(version='fake', devices=['cpu:0'])

    def WatchJob(self, request, context):
        self._note('WatchJob', request, context)
        ended = threading.Event()

        def end():
            if not ended.is_set():
                self.client_left.set()
                self._updates.put(_END)

        if not context.add_callback(end):
            return
        while True:
            message = self._updates.get(timeout=SECONDS)
            if message is _END:
                return
            if message.state in _FINAL:
                ended.set()
                yield message
                return
            yield message

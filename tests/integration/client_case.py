"""The Python client beside a service that says what a test wants."""

import pathlib
import shutil
import tempfile
import unittest

import python_package

fgnn = python_package.load()
import fake_job_service  # noqa: E402: with the package.
from fgnn.v1 import job_service_pb2 as pb  # noqa: E402


class ClientTest(unittest.TestCase):

    def setUp(self):
        # Sockets have short names.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='fgnn-', dir='/tmp'))
        self.addCleanup(shutil.rmtree, self.folder)
        self.serve()
        self.client = fgnn.Client(self.folder)
        self.addCleanup(self.client.close)

    def serve(self):
        self.service = fake_job_service.FakeJobService(self.folder)
        self.addCleanup(self.service.stop)

    def assert_raises(self, kind, *names):
        """An error of this class whose message has all of `names`."""
        return self.assertRaisesRegex(
            kind, '(?s)' + '.*'.join(map(str, names)))

    def running(self, committed, **fields):
        return pb.Job(job_id='job-0', state=pb.JOB_STATE_RUNNING,
                      progress=pb.JobProgress(
                          epochs=2, batches_per_epoch=10, batches_expected=20,
                          batches_committed=committed, loss=0.5,
                          seconds_left=-1, **fields))

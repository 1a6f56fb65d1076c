"""FGNN from Python: submit jobs to a service, follow them, use what they made.

    import fgnn
    job = fgnn.Client().submit('job.yaml')
    job.wait(progress=True)
    print(job.summary()['test_accuracy'])
"""

from fgnn.batch_arrays import Batch, Block
from fgnn.batches import Loader, loader
from fgnn.client import Client, ServiceInfo
from fgnn.errors import (AlreadyExists, DataLoss, DeadlineExceeded, Error,
                         InvalidJob, JobCancelled, JobFailed, NotFound,
                         OutOfResources, PermissionDenied, ProgramFailed,
                         Unauthenticated, Unavailable, WrongState)
from fgnn.job import Job, JobError
from fgnn.neighbor_loader import NeighborLoader
from fgnn.pyg import from_pyg, to_pyg
from fgnn.states import JobState, Progress

__all__ = [
    'AlreadyExists', 'Batch', 'Block', 'Client', 'DataLoss',
    'DeadlineExceeded', 'Error', 'InvalidJob', 'Job', 'JobCancelled',
    'JobError', 'JobFailed', 'JobState', 'Loader', 'NeighborLoader',
    'NotFound', 'OutOfResources', 'PermissionDenied', 'Progress',
    'ProgramFailed', 'ServiceInfo', 'Unauthenticated', 'Unavailable',
    'WrongState', 'from_pyg', 'loader', 'to_pyg',
]

"""FGNN from Python: batches for a training loop of one's own, and jobs for a
service.

    import fgnn
    for batch in fgnn.loader('graph', fanouts=[10, 10], batch_size=1024):
        ...

    job = fgnn.Client().submit('job.yaml')
    job.wait(progress=True)
    print(job.summary()['test_accuracy'])
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
else:
    def __getattr__(name):
        """Imports what has the name when it is used first: `import fgnn` alone
        takes milliseconds, and NumPy and gRPC take a quarter of a second."""
        for home, names in _HOMES.items():
            if name in names.split():
                from importlib import import_module
                value = getattr(import_module(f'fgnn.{home}'), name)
                globals()[name] = value
                return value
        raise AttributeError(f"module 'fgnn' has no attribute '{name}'")

    def __dir__():
        return sorted({*globals(), *__all__})

    _HOMES = {
        'batch_arrays': 'Batch Block',
        'batches': 'Loader loader',
        'client': 'Client ServiceInfo',
        'errors': 'AlreadyExists DataLoss DeadlineExceeded Error InvalidJob '
                  'JobCancelled JobFailed NotFound OutOfResources '
                  'PermissionDenied ProgramFailed Unauthenticated Unavailable '
                  'WrongState',
        'job': 'Job JobError',
        'neighbor_loader': 'NeighborLoader',
        'pyg': 'from_pyg to_pyg',
        'states': 'JobState Progress'}

__all__ = [
    'AlreadyExists', 'Batch', 'Block', 'Client', 'DataLoss',
    'DeadlineExceeded', 'Error', 'InvalidJob', 'Job', 'JobCancelled',
    'JobError', 'JobFailed', 'JobState', 'Loader', 'NeighborLoader',
    'NotFound', 'OutOfResources', 'PermissionDenied', 'Progress',
    'ProgramFailed', 'ServiceInfo', 'Unauthenticated', 'Unavailable',
    'WrongState', 'from_pyg', 'loader', 'to_pyg',
]

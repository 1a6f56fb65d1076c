"""Batches for a training loop of one's own: fgnn.loader()."""

import json
import os
import threading
import weakref
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy
import yaml

from fgnn import batch_arrays, errors, native
from fgnn import loader_request as requests
from fgnn.native import Array

LAYOUTS = ('pyg', 'blocks', 'numpy')
DROPS = ('step', 'none')
_STATE_VERSION = 1


class Loader:
    """Batches of a dataset, epoch after epoch: see fgnn.loader()."""

    def __init__(self, request: dict[str, Any], seeds: Array | None,
                 layout: str, device: Any = None) -> None:
        self._samplers = native.Samplers(request, seeds)
        self._request = request
        self._layout = layout
        self._device = device  # None: batches stay in memory.
        self._facts = self._samplers.facts()
        self._job = _job_of(request, seeds, yaml.safe_load(self._facts['spec']))
        if layout == 'pyg' and self._job['sampling.resample']:
            raise errors.InvalidJob(
                "sampling.resample: true has other edges in each hop, and "
                "layout 'pyg' has one edge_index; set resample=False, or take "
                "layout 'blocks'")
        self._begin = 0  # Batch of all ranks that the next loop begins with.
        self._loop: weakref.ref[_Loop] | None = None  # The newest one.
        self._taking = threading.Lock()

    @property
    def batches_per_epoch(self) -> int:
        """Batches of an epoch of all ranks."""
        batches: int = self._facts['batches_per_epoch']
        return batches

    @property
    def num_nodes(self) -> int:
        """Vertices of the dataset."""
        number: int = self._facts['num_nodes']
        return number

    @property
    def num_features(self) -> int:
        """Columns of x; 0: the dataset has no features."""
        number: int = self._facts['columns']
        return number

    @property
    def num_classes(self) -> int:
        """Classes of the labels; 0: the dataset has none."""
        number: int = self._facts['num_classes']
        return number

    @property
    def epoch(self) -> int:
        """Number of the epoch that the next batch is in, from 0."""
        return self._position() // self.batches_per_epoch

    def __len__(self) -> int:
        """Batches of an epoch that this rank has."""
        batches = self.batches_per_epoch
        world: int = self._request['world']
        rank: int = self._request['rank']
        if self._request['drops_last']:
            return batches // world
        return max(0, -(-(batches - rank) // world))

    def _position(self) -> int:
        """The next batch of all ranks. A loop that was broken off leaves out the
        rest of its epoch."""
        loop = None if self._loop is None else self._loop()
        if loop is not None:
            return loop.next_batch
        return self._begin

    def __iter__(self) -> Iterator[Any]:
        self._samplers.check_process()
        begin = self._position()
        old = None if self._loop is None else self._loop()
        if old is not None and old.has_begun:
            begin = old.end
        loop = _Loop(self, begin, self._samplers.seek(begin))
        self._loop = weakref.ref(loop)
        return loop

    def _take(self) -> Any:
        self._samplers.check_process()
        memory, view = self._samplers.next()
        if self._layout == 'pyg':
            from fgnn import loader_pyg
            return loader_pyg.data_of(self._facts, memory, view)
        return batch_arrays.batch_of(self._facts, memory, view)

    def layers(self, batch_size: int | None = None) -> Iterator['Loader']:
        """For inference layer by layer: as many passes as the job has hops, each
        over the whole neighbourhoods of all vertices in order.

        h = x                                     # Of all vertices.
        for conv, batches in zip(model.convs, loader.layers()):
            h = torch.cat([conv((h[b.n_id], h[b.n_id[:b.batch_size]]),
                                b.edge_index) for b in batches])

        Between two layers goes what the model has there, such as a ReLU. Batches
        have no features. batch_size: vertices of a batch; default: that of the
        job.
        """
        spec = yaml.safe_load(self._facts['spec'])
        hops = len(spec['sampling']['fanouts'])
        size = batch_size or spec['sampling']['batch_size']
        request = {
            **self._request, 'shuffle': False, 'reads_features': False,
            'drops_last': False, 'rank': 0, 'world': 1, 'job': json.dumps({
                'dataset': spec['dataset'], 'model': {'layers': 1},
                'sampling': {'fanouts': [-1], 'resample': False,
                             'batch_size': size}}, ensure_ascii=False)}
        request.pop('job_file', None)
        passes = Loader(request,
                        numpy.arange(self.num_nodes, dtype=numpy.int64),
                        self._layout, self._device)
        for _ in range(hops):
            yield passes

    def state_dict(self) -> dict[str, Any]:
        """Where the loop is: behind the batch that it took last. Saved together
        with the weights, each batch is trained once. Behind a loop that was
        broken off, it is where the next loop begins: at the next epoch."""
        return {'version': _STATE_VERSION, 'batch': self._position(),
                'epoch': self.epoch, 'dataset': self._facts['dataset'],
                'job': json.dumps(self._job, sort_keys=True)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next loop goes on where state_dict() was called, with any number
        of threads and ranks. InvalidJob names the field in which job or dataset
        differ."""
        try:
            version, theirs = state['version'], json.loads(state['job'])
            batch, dataset = int(state['batch']), state['dataset']
        except (KeyError, TypeError, ValueError, AttributeError):
            raise errors.InvalidJob(
                'state: it is none of fgnn.Loader.state_dict()') from None
        if version != _STATE_VERSION:
            raise errors.InvalidJob(
                f'state: version {version!r} is not {_STATE_VERSION}; it is '
                'not of this release')
        ours = json.loads(json.dumps(self._job))
        for name in sorted(theirs.keys() | ours.keys()):
            if theirs.get(name) != ours.get(name):
                raise errors.InvalidJob(
                    f'{name}: the state is of a job with {theirs.get(name)!r}, '
                    f'and this loader has {ours.get(name)!r}')
        if dataset != self._facts['dataset']:
            raise errors.InvalidJob(
                f'dataset: the state is of contents {dataset}, and this loader '
                f"reads {self._facts['dataset']}")
        self._begin = requests.whole_number('state: batch', batch, 0, 2**63)
        self._loop = None


class _Loop:
    """One loop over a loader: an epoch, or what is left of it."""

    def __init__(self, loader: Loader, begin: int, count: int) -> None:
        batches = loader.batches_per_epoch
        self.end = (begin // batches + 1) * batches
        self.next_batch = begin  # Of all ranks.
        self.has_begun = False
        self._loader = loader
        self._world: int = loader._request['world']
        self._left = count
        self._drops_last: bool = loader._request['drops_last']
        self._batches: Iterator[Any] = (loader._take() for _ in range(count))
        if loader._device is not None:
            from fgnn import loader_pyg
            self._batches = loader_pyg.on_device(self._batches, loader._device)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        loader = self._loader
        if self._left == 0:
            self._finish()
            raise StopIteration
        if loader._loop is None or loader._loop() is not self:
            raise errors.WrongState(
                'another loop over this loader has begun, or a state was '
                'loaded; make a loader for each loop')
        if not loader._taking.acquire(blocking=False):
            raise errors.WrongState(
                'two threads take batches of one loader; make a loader for '
                'each thread')
        try:
            batch = next(self._batches)
        finally:
            loader._taking.release()
        self._left -= 1
        self.has_begun = True
        # A loop that is broken off here begins with the next epoch.
        loader._begin = self.end
        self.next_batch += self._world
        if self._left == 0 and self._drops_last or self.next_batch > self.end:
            self.next_batch = self.end
        return batch

    def _finish(self) -> None:
        loader = self._loader
        if loader._loop is not None and loader._loop() is self:
            self.next_batch = self.end
            self.has_begun = True
            loader._begin = self.end


def _job_of(request: Mapping[str, Any], seeds: Array | None,
            spec: Mapping[str, Any]) -> dict[str, Any]:
    """What batches depend on, by field."""
    job = {'split': request['split'], 'shuffle': request['shuffle']}
    if seeds is not None:
        job['split'] = (f'{len(seeds)} vertices, CRC '
                        f'{zlib.crc32(seeds.tobytes()):08x}')
    sampling, training = spec['sampling'], spec['training']
    job |= {f'sampling.{name}': value for name, value in sampling.items()
            if name != 'threads'}
    job |= {f'training.{name}': training[name] for name in requests.TRAINING
            if name in training and (name != 'batches_per_step' or
                                     sampling['order'] == 'matched')}
    return job


def loader(dataset: str | os.PathLike[str] | None = None, *,
           job: str | os.PathLike[str] | None = None,
           split: Any = 'train', layout: str = 'pyg', threads: int = 2,
           ahead: int = 4, rank: int | None = None, world: int | None = None,
           drop_last: str = 'step', shuffle: bool = True, device: Any = 'cpu',
           **fields: Any) -> Loader:
    """Sampled batches of a dataset, for a training loop of one's own.

    fgnn.from_pyg(data, 'graph')       # Once: an own Data becomes a dataset.
    loader = fgnn.loader('graph', fanouts=[10, 10], batch_size=1024)
    model = GraphSAGE(loader.num_features, 64, 2, loader.num_classes)
    for epoch in range(10):
        for batch in loader:           # A loop is an epoch.
            logits = model(batch.x, batch.edge_index)[:batch.batch_size]
            loss = cross_entropy(logits, batch.y)
            ...                        # Backward and step, as ever.
    state = loader.state_dict()        # In the middle of an epoch, too.
    loader.load_state_dict(state)      # The next loop goes on from there.
    tests = fgnn.loader('graph', fanouts=[10, 10], batch_size=1024,
                        split='test', shuffle=False, drop_last='none')

    dataset    folder of a dataset (fgnn.from_pyg, `fgnn dataset import`)
    job        a job file in its place, whose batches come as from the service
    split      seeds: 'train', 'valid', 'test', ids of vertices, each once, or a
               mask [vertices]
    layout     what a batch is: see below
    threads    threads that sample and read features
    ahead      batches that are made before they are needed
    rank, world  this rank has the batches t * world + rank; default: those of
               torchrun, else one rank
    drop_last  'step': leaves out the batches behind an epoch's last whole step
               of all ranks, so that all have as many; 'none': leaves out none.
               Of one rank, neither leaves out any
    shuffle    whether each epoch has the seeds in another order; False: in that
               of `split`
    device     'cuda', 'cuda:1', …: copies batches of layout 'pyg' there, each
               from pinned memory while the loop has the one before
    fields     of a job, by name. Of `sampling`: fanouts, a number of edges a
               hop, the hop at the seeds first, -1: all (default [10, 10]);
               batch_size (default 1024), kind ('khop'), replace,
               batch_dependency, …; of `training`: seed (default 1), task,
               negatives, exclude_seed_edges, batches_per_step; of `features`:
               store ('disk' for more than memory holds). All of them:
               shared/config/job_fields.md

    A batch has B seeds, U vertices, the seeds first, and E edges. With layout
    'pyg', it is a torch_geometric.data.Data, which needs resample=False, as is
    the default here:
    x            float32 [U, columns]; None: the dataset has no features
    y            of the seeds: int64 [B] of classes, -1 for none, or float32
                 [B, columns] of numbers or sets, NaN for none
    edge_index   int64 [2, E]: source and destination of each edge, in [0, U)
    n_id, e_id   int64 [U] and [E]: vertices, and places in the dataset's list of
                 edges, which kinds khop and khop_weighted alone have
    batch_size, seq, digest   B, the number of the batch in the job, its CRC32C
    num_sampled_nodes, num_sampled_edges   lists: the seeds and what each hop
                 adds; edges that each hop adds
    edge_weight  float32 [E], of kind random_walk
    edge_label_index, edge_label   of task link_prediction: int64 [2, pairs], and
                 float32 [pairs], 1 for an edge and 0 for a negative
    With layouts 'blocks' and 'numpy', it is an fgnn.Batch of NumPy arrays, with
    the edges of each layer as an fgnn.Block.

    The loader has num_nodes, num_features, num_classes, batches_per_epoch,
    epoch, len(): batches of this rank in an epoch, and layers() for inference
    layer by layer: see help(fgnn.Loader).

    The same fields and seed give the same batches for any threads and ranks, and
    the same digests as a job of the service with these fields. What is left of
    an epoch that a loop breaks off is left out: the next loop begins with the
    next epoch. A loader has one loop at a time.

    Errors are of fgnn.Error. InvalidJob names the field that is wrong; NotFound:
    a file, or torch for layout 'pyg'; WrongState: torch is too old, the dataset
    has changed, or another process or loop has the loader.
    """
    requests.one_of('layout', layout, LAYOUTS)
    requests.one_of('drop_last', drop_last, DROPS)
    if layout == 'pyg':
        from fgnn import loader_pyg
        loader_pyg.check()
        loader_pyg.check_device(device)
    elif str(device) != 'cpu':
        raise errors.InvalidJob(
            f"device: arrays of layout '{layout}' are NumPy's, which has none "
            f"on '{device}'; take layout 'pyg'")
    own_rank, ranks = requests.rank_of(rank, world)
    seeds = None if isinstance(split, str) else requests.ids_of('split', split)
    request = {
        **requests.job_of(dataset, job, False if layout == 'pyg' else None,
                          fields),
        'split': split if isinstance(split, str) else 'train',
        'lists_edges': layout == 'pyg',
        'shuffle': bool(shuffle),
        'reads_features': True,
        'state_dir': requests.cache_folder(),
        'threads': requests.whole_number('threads', threads, 1, 1024),
        'ahead': requests.whole_number('ahead', ahead, 1, 1024),
        'rank': own_rank, 'world': ranks,
        'drops_last': drop_last == 'step'}
    made = Loader(request, seeds, layout,
                  None if str(device) == 'cpu' else device)
    if (not isinstance(split, str) and _is_mask(split) and
            len(split) != made.num_nodes):
        raise errors.InvalidJob(
            f'split: a mask of {len(split)} vertices is not one of the '
            f"dataset's {made.num_nodes}")
    return made


def _is_mask(split: Any) -> bool:
    return str(getattr(split, 'dtype', '')) in ('bool', 'torch.bool')

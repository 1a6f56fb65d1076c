"""Batches for a training loop of one's own: fgnn.loader()."""

import dataclasses
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy
import yaml

from fgnn import errors, native, state_dir as state_dirs
from fgnn.native import Array

LAYOUTS = ('pyg', 'blocks', 'numpy')
DROPS = ('step', 'none')
_STATE_VERSION = 1
# Fields of a job that batches depend on, beside those of sampling.
_TRAINING = ('seed', 'task', 'negatives', 'exclude_seed_edges')


@dataclasses.dataclass
class Block:
    """One hop: edges from its sources to its destinations, in compressed sparse
    columns. Destinations are the first of the sources."""

    indptr: Array  # int32 [num_dst + 1]: where each destination's edges begin.
    indices: Array  # int32 [edges]: sources of the edges, as local ids.
    num_src: int
    num_dst: int
    weights: Array | None = None  # float32 [edges], of random walks.


@dataclasses.dataclass
class Batch:
    """A mini-batch as NumPy arrays. Local ids are places in n_id."""

    seq: int  # Number in the job: epoch * batches per epoch + batch.
    digest: int  # CRC32C, the same as in the service's batches.crc.
    batch_size: int  # Number of seeds, the first of n_id.
    n_id: Array  # int64 [U]: vertices of the dataset.
    x: Array | None  # float32 [U, columns]: their features.
    # Of the seeds: classes, int64 [B], or targets, float32 [B, columns]; -1 and
    # NaN: a seed has none. None for link prediction.
    y: Array | None
    blocks: list[Block]  # By layer: the first reads x.
    # Link prediction: int64 [2, pairs] of local ids, and float32 [pairs], 1 for
    # an edge and 0 for a negative.
    edge_label_index: Array | None = None
    edge_label: Array | None = None

    @property
    def num_sampled_nodes(self) -> list[int]:
        """The seeds, then the vertices that each hop adds."""
        sizes = [self.batch_size, *(block.num_src
                                    for block in reversed(self.blocks))]
        return [sizes[0], *(after - before
                            for before, after in zip(sizes, sizes[1:]))]


def _sections_of(fields: dict[str, Any]) -> dict[str, Any]:
    """A job of the fields that the caller gave by name."""
    job: dict[str, Any] = {'training': {}, 'features': {}}
    for name in _TRAINING:
        if name in fields:
            job['training'][name] = fields.pop(name)
    if 'store' in fields:
        job['features']['store'] = fields.pop('store')
    job['sampling'] = fields
    return job


def _as_ids(split: Any) -> Array:
    """An array of ids or a mask, of NumPy, torch or a list."""
    if hasattr(split, 'detach'):
        split = split.detach().cpu().numpy()
    ids = numpy.asarray(split)
    if ids.dtype == numpy.bool_ and ids.ndim == 1:
        ids = numpy.flatnonzero(ids)
    if ids.ndim != 1 or ids.dtype.kind not in 'iu':
        raise errors.InvalidJob(
            f'split: ids of vertices are integers [n] or a mask, and this has '
            f'shape {list(ids.shape)} of {ids.dtype}')
    if len(ids) == 0:
        raise errors.InvalidJob('split: there is no vertex in it')
    return numpy.ascontiguousarray(ids, dtype=numpy.int64)


def _rank_of(rank: int | None, world: int | None) -> tuple[int, int]:
    """Those of torchrun where the caller names none."""
    if (rank is None) != (world is None):
        raise errors.InvalidJob('rank and world: give both, or none')
    if rank is not None and world is not None:
        return rank, world
    try:
        return (int(os.environ.get('RANK', 0)),
                int(os.environ.get('WORLD_SIZE', 1)))
    except ValueError:
        raise errors.InvalidJob(
            'RANK and WORLD_SIZE of the environment are no numbers; give rank '
            'and world') from None


def _whole_number(name: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise errors.InvalidJob(f'{name}: {value!r} is not a whole number')
    if not least <= value <= most:
        raise errors.InvalidJob(f'{name}: {value} is not in [{least}, {most}]')
    return value


def _one_of(name: str, value: str, words: Sequence[str]) -> str:
    if value in words:
        return value
    from fgnn.spec import nearest_word
    near = nearest_word(str(value), words)
    raise errors.InvalidJob(
        f"{name}: there is no '{value}'" +
        (f"; did you mean '{near}'?" if near else
         f'; it is {", ".join(words[:-1])} or {words[-1]}'))


class Loader:
    """Batches of a dataset, epoch after epoch: see fgnn.loader()."""

    def __init__(self, request: dict[str, Any], seeds: Array | None,
                 layout: str, device: Any = None) -> None:
        self._samplers = native.Samplers(request, seeds)
        self._request = request
        self._layout = layout
        self._device = device  # None: batches stay in memory.
        self._facts = self._samplers.facts()
        self._world = request['world']
        spec = yaml.safe_load(self._facts['spec'])
        sampling = {f'sampling.{name}': value
                    for name, value in spec['sampling'].items()
                    if name != 'threads'}
        training = {f'training.{name}': spec['training'][name]
                    for name in _TRAINING if name in spec['training']}
        seeds_of = {} if seeds is None else {
            'split': f'{len(seeds)} vertices, CRC {_checksum(seeds)}'}
        self._job = {'split': request['split'], 'shuffle': request['shuffle'],
                     **seeds_of, **sampling, **training}
        if layout == 'pyg' and self._job.get('sampling.resample', False):
            raise errors.InvalidJob(
                "sampling.resample: true has other edges in each hop, and "
                "layout 'pyg' has one edge_index; leave it out, or take layout "
                "'blocks'")
        self._next = 0  # Number of the next batch of all ranks.
        # Whether an iteration begins at _next in the middle of an epoch.
        self._continues = False
        self._iterating = threading.Lock()

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
        return self._next // self.batches_per_epoch

    def __iter__(self) -> Iterator[Any]:
        self._samplers.check_process()
        batches = self.batches_per_epoch
        if not self._continues:
            # What is left of an epoch that the caller broke off is left out.
            self._next = -(-self._next // batches) * batches
        self._continues = False
        return self._iterate(self._next, self._samplers.seek(self._next))

    def _iterate(self, begin: int, turns: int) -> Iterator[Any]:
        end = (begin // self.batches_per_epoch + 1) * self.batches_per_epoch
        batches: Iterator[Any] = (self._take() for _ in range(turns))
        if self._device is not None:
            from fgnn import loader_pyg
            batches = loader_pyg.on_device(batches, self._device)
        for turn, batch in enumerate(batches):
            self._next = min(begin + (turn + 1) * self._world, end)
            yield batch
        self._next = end

    def _take(self) -> Any:
        self._samplers.check_process()
        if not self._iterating.acquire(blocking=False):
            raise errors.WrongState(
                'two threads take batches of one loader; make a loader for '
                'each thread')
        try:
            memory, view = self._samplers.next()
        finally:
            self._iterating.release()
        if self._layout == 'pyg':
            from fgnn import loader_pyg
            return loader_pyg.data_of(self._facts, memory, view)
        return _batch_of(self._facts, memory, view)

    def layers(self, batch_size: int | None = None) -> Iterator['Loader']:
        """For inference layer by layer: as many passes as the job has hops, each
        over the whole neighbourhoods of all vertices in order.

        h = x                                     # Of all vertices.
        for conv, batches in zip(model.convs, loader.layers()):
            h = torch.cat([conv((h[b.n_id], h[b.n_id[:b.batch_size]]),
                                b.edge_index) for b in batches])

        Batches have no features. batch_size: vertices of a batch; default: that
        of the job.
        """
        spec = yaml.safe_load(self._facts['spec'])
        hops = len(spec['sampling']['fanouts'])
        size = batch_size or spec['sampling']['batch_size']
        request = {
            **self._request, 'shuffle': False, 'reads_features': False,
            'drops_last': False, 'rank': 0, 'world': 1, 'job': json.dumps({
                'dataset': spec['dataset'], 'model': {'layers': 1},
                'sampling': {'fanouts': [-1], 'resample': False,
                             'batch_size': size}})}
        request.pop('job_file', None)
        passes = Loader(request,
                        numpy.arange(self.num_nodes, dtype=numpy.int64),
                        self._layout, self._device)
        for _ in range(hops):
            yield passes

    def state_dict(self) -> dict[str, Any]:
        """Where the loop is: after the batch that it took last. Saved together
        with the weights, each batch is trained once."""
        return {'version': _STATE_VERSION, 'batch': self._next,
                'epoch': self.epoch, 'dataset': self._facts['dataset'],
                'job': json.dumps(self._job, sort_keys=True)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where state_dict() was called, with any number of threads and
        ranks. InvalidJob names the field in which job or dataset differ."""
        if state.get('version') != _STATE_VERSION:
            raise errors.InvalidJob(
                f"state: version {state.get('version')!r} is not "
                f'{_STATE_VERSION}; it is not of this release')
        theirs = json.loads(state['job'])
        ours = json.loads(json.dumps(self._job))
        for name in sorted(theirs.keys() | ours.keys()):
            if theirs.get(name) != ours.get(name):
                raise errors.InvalidJob(
                    f'{name}: the state is of a job with {theirs.get(name)!r}, '
                    f'and this loader has {ours.get(name)!r}')
        if state['dataset'] != self._facts['dataset']:
            raise errors.InvalidJob(
                f"dataset: the state is of contents {state['dataset']}, and "
                f"this loader reads {self._facts['dataset']}")
        self._next = _whole_number('state: batch', state['batch'], 0, 2**63)
        self._continues = True


def _checksum(ids: Array) -> int:
    import zlib
    return zlib.crc32(ids.tobytes())


def _block_of(memory: native.BatchMemory, hop: native.Hop) -> Block:
    weights = None if hop.weights is None else memory.array(
        hop.weights, (hop.num_edges,), 'float32')
    # Local ids are below 2^31: NumPy and torch have no kernels for uint32.
    return Block(memory.array(hop.indptr, (hop.num_destinations + 1,), 'int32'),
                 memory.array(hop.indices, (hop.num_edges,), 'int32'),
                 hop.num_sources, hop.num_destinations, weights)


def answers_of(facts: Mapping[str, Any], memory: native.BatchMemory,
               view: native.BatchView) -> Array | None:
    """y of a batch."""
    if view.labels is not None:
        return memory.array(view.labels, (view.num_seeds,), 'int64')
    if view.targets is not None:
        return memory.array(view.targets, (view.num_seeds, facts['targets']),
                            'float32')
    return None


def pairs_of(memory: native.BatchMemory,
             view: native.BatchView) -> tuple[Array, Array]:
    """edge_label_index and edge_label of a batch of link prediction."""
    pairs = memory.array(view.pairs, (view.num_pairs, 2), 'int32')
    label = numpy.zeros(view.num_pairs, numpy.float32)
    label[:view.num_positives] = 1
    return numpy.ascontiguousarray(pairs.T.astype(numpy.int64)), label


def features_of(facts: Mapping[str, Any], memory: native.BatchMemory,
                view: native.BatchView) -> Array | None:
    """x of a batch."""
    if view.features is None:
        return None
    return memory.array(view.features, (view.num_nodes, facts['columns']),
                        'float32')


def _batch_of(facts: Mapping[str, Any], memory: native.BatchMemory,
              view: native.BatchView) -> Batch:
    batch = Batch(
        seq=view.seq, digest=view.digest, batch_size=view.num_seeds,
        n_id=memory.array(view.nodes, (view.num_nodes,), 'int64'),
        x=features_of(facts, memory, view),
        y=answers_of(facts, memory, view),
        blocks=[_block_of(memory, view.hops[h])
                for h in reversed(range(view.num_hops))])
    if view.pairs is not None:
        batch.edge_label_index, batch.edge_label = pairs_of(memory, view)
    return batch


def _request_of(dataset: str | os.PathLike[str] | None,
                job: str | os.PathLike[str] | None,
                layout: str, fields: dict[str, Any]) -> dict[str, Any]:
    """What the job is, for fgnn_loader_open()."""
    if job is not None:
        overrides = [f'{section}.{name}={json.dumps(value)}'
                     for section, values in _sections_of(fields).items()
                     for name, value in values.items()]
        if dataset is not None:
            overrides.append(f'dataset={json.dumps(os.path.abspath(dataset))}')
        return {'job_file': os.path.abspath(job), 'overrides': overrides}
    if dataset is None:
        raise errors.InvalidJob(
            "dataset: give the folder of a dataset, or job='job.yaml'")
    spec = _sections_of(fields)
    spec['dataset'] = os.path.abspath(dataset)
    sampling = spec['sampling']
    if layout == 'pyg':
        sampling.setdefault('resample', False)
    if isinstance(sampling.get('fanouts'), Sequence):
        # A job has as many layers as hops; the model is the caller's here.
        spec['model'] = {'layers': len(sampling['fanouts'])}
    return {'job': json.dumps(spec, default=_plain)}


def _plain(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    if hasattr(value, 'tolist'):
        return value.tolist()
    raise TypeError(f'{type(value).__name__} is no value of a field')


def loader(dataset: str | os.PathLike[str] | None = None, *,
           job: str | os.PathLike[str] | None = None,
           split: Any = 'train', layout: str = 'pyg', threads: int = 2,
           ahead: int = 4, rank: int | None = None, world: int | None = None,
           drop_last: str = 'step', shuffle: bool = True, device: Any = 'cpu',
           **fields: Any) -> Loader:
    """Sampled batches of a dataset, for a training loop of one's own.

    for epoch in range(10):
        for batch in loader:      # An iteration is an epoch.
            ...

    dataset    folder of a dataset (`fgnn dataset import`, fgnn.from_pyg)
    job        a job file in its place, whose batches come as from the service
    split      seeds: 'train', 'valid', 'test', ids of vertices or a mask
    layout     'pyg': torch_geometric.data.Data with x, edge_index, y, n_id,
               batch_size, num_sampled_nodes, num_sampled_edges, seq, digest;
               'blocks', 'numpy': fgnn.Batch, with an edge list a hop
    threads    threads that sample and read features
    ahead      batches that are made before they are needed
    rank, world  this rank has the batches t * world + rank; default: those of
               torchrun, else one rank
    drop_last  'step': leaves out the batches behind an epoch's last whole step,
               so that all ranks have as many; 'none': leaves out none
    shuffle    whether each epoch has the seeds in another order; False: in that
               of `split`
    device     'cuda', 'cuda:1', …: copies batches of layout 'pyg' there, each from
               pinned memory while the loop has the one before
    fields     fanouts, batch_size, kind, replace, batch_dependency, … of
               `sampling`; seed, task, negatives, exclude_seed_edges of
               `training`; store of `features`. docs: shared/config/job_fields.md

    The same fields and seed give the same batches for any threads and ranks, and
    the same digests as the service. What is left of an epoch that a loop breaks
    off is not trained: the next loop begins with the next epoch.

    InvalidJob names the field that is wrong; NotFound, PermissionDenied: files.
    """
    _one_of('layout', layout, LAYOUTS)
    _one_of('drop_last', drop_last, DROPS)
    if layout == 'pyg':
        from fgnn import loader_pyg
        loader_pyg.check()
        loader_pyg.check_device(device)
    elif str(device) != 'cpu':
        raise errors.InvalidJob(
            f"device: arrays of layout '{layout}' are NumPy's, which has none "
            f"on '{device}'; take layout 'pyg'")
    own_rank, ranks = _rank_of(rank, world)
    seeds = None if isinstance(split, str) else _as_ids(split)
    request = {
        **_request_of(dataset, job, layout, fields),
        'split': split if isinstance(split, str) else 'train',
        'lists_edges': layout == 'pyg',
        'shuffle': bool(shuffle),
        'reads_features': True,
        'state_dir': _cache_folder(),
        'threads': _whole_number('threads', threads, 1, 1024),
        'ahead': _whole_number('ahead', ahead, 1, 1024),
        'rank': _whole_number('rank', own_rank, 0, 2**32 - 1),
        'world': _whole_number('world', ranks, 1, 2**32 - 1),
        'drops_last': drop_last == 'step'}
    return Loader(request, seeds, layout,
                  None if str(device) == 'cpu' else device)


def _cache_folder() -> str:
    """Where it is noted which datasets are sound; '': nowhere."""
    try:
        folder = state_dirs.cache_folder()
        folder.mkdir(parents=True, exist_ok=True)
    except (errors.WrongState, OSError):
        return ''
    return str(folder)

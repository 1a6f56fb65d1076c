"""fgnn.NeighborLoader: PyTorch Geometric's name and arguments."""

import hashlib
import os
import pathlib
import shutil
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from fgnn import batches, errors, loader_pyg, state_dir as state_dirs
from fgnn import loader_request as requests
from fgnn.native import Array

if TYPE_CHECKING:
    from torch_geometric.data import Data

# Arguments of theirs that would change the batches, with what they may be.
_ONLY = {'input_time': None, 'disjoint': False, 'temporal_strategy': 'uniform',
         'time_attr': None, 'transform_sampler_output': None,
         'subgraph_type': 'directional', 'neighbor_sampler': None,
         'directed': True, 'drop_last': False, 'pin_memory': False,
         'sampler': None, 'batch_sampler': None, 'worker_init_fn': None,
         'collate_fn': None, 'generator': None}
# Arguments that change no batch, and have no meaning for threads.
_WITHOUT_MEANING = ('is_sorted', 'filter_per_worker', 'persistent_workers',
                    'prefetch_factor', 'timeout', 'multiprocessing_context')
# Names that a batch has from the sampler, whatever `data` has.
_OF_SAMPLER = ('n_id', 'e_id', 'input_id', 'batch_size', 'num_sampled_nodes',
               'num_sampled_edges', 'seq', 'digest', 'edge_index', 'num_nodes')
# Number of what is written into the cache. A change of it raises the number.
_CACHE_VERSION = 1


class NeighborLoader:
    """torch_geometric.loader.NeighborLoader by our samplers:

    loader = fgnn.NeighborLoader(data, num_neighbors=[10, 10], batch_size=1024,
                                 input_nodes=data.train_mask, shuffle=True)

    data           a torch_geometric.data.Data; its graph, and x of float32, are
                   written once into a folder of $XDG_CACHE_HOME/fgnn, whose
                   name is a checksum of its contents
    num_neighbors  edges per vertex and hop, first hop first; -1: all
    input_nodes    seeds: ids, each once, or a mask; None: all vertices
    weight_attr    'edge_weight': draws by these weights
    transform      a function of each batch
    seed           seed of all draws; PyG has torch's global one
    threads        threads that sample; default: num_workers, or 2
    rank, world    this rank's share of the batches of each step
    batch_size, shuffle, replace   as there

    A batch has what PyG's has: x, edge_index, n_id, e_id, input_id, batch_size,
    num_sampled_nodes, num_sampled_edges, and the rows of all other attributes of
    vertices and edges. InvalidJob names an argument that is not there.
    """

    def __init__(self, data: 'Data', num_neighbors: Sequence[int],
                 input_nodes: Any = None, *, batch_size: int = 1,
                 shuffle: bool = False, replace: bool = False,
                 weight_attr: str | None = None, transform: Any = None,
                 num_workers: int = 0, threads: int | None = None,
                 seed: int = 1, rank: int = 0, world: int = 1,
                 program: str = 'fgnn', **others: Any) -> None:
        _check_arguments(others, weight_attr)
        loader_pyg.check()
        import torch
        from fgnn import pyg_data
        pyg_data.check_kind(data)
        self._data = data
        self._transform = transform
        nodes = int(data.num_nodes or 0)
        seeds = requests.ids_of(
            'input_nodes',
            torch.arange(nodes) if input_nodes is None else input_nodes)
        _check_seeds(seeds, nodes)
        writes_x = _is_plain(data.x)
        self._loader = batches.loader(
            _written(data, weight_attr, writes_x, program), split=seeds,
            layout='pyg', fanouts=num_neighbors, batch_size=batch_size,
            shuffle=shuffle, replace=replace, seed=seed, drop_last='none',
            kind='khop' if weight_attr is None else 'khop_weighted',
            threads=threads or num_workers or 2, rank=rank, world=world)
        self._place_of = torch.full((nodes,), -1, dtype=torch.int64)
        self._place_of[torch.from_numpy(seeds)] = torch.arange(len(seeds))
        ours = (*_OF_SAMPLER, *(['x'] if writes_x else []))
        names = [key for key in data.keys() if key not in ours]
        self._of_nodes = [key for key in names if data.is_node_attr(key)]
        self._of_edges = [key for key in names if data.is_edge_attr(key)]
        self._others = [key for key in names
                        if key not in (*self._of_nodes, *self._of_edges)]
        # The dataset has the edges by destination, then by source, and equal
        # ones as they were.
        sources, destinations = data.edge_index
        by_source = torch.argsort(sources, stable=True)
        self._edge_of = by_source[torch.argsort(destinations[by_source],
                                                stable=True)]

    def __len__(self) -> int:
        """Batches of an epoch that this rank has."""
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        return map(self._complete, self._loader)

    def _complete(self, batch: Any) -> Any:
        del batch.y
        batch.e_id = self._edge_of[batch.e_id]
        for names, ids in ((self._of_nodes, batch.n_id),
                           (self._of_edges, batch.e_id)):
            for key in names:
                batch[key] = self._data[key].index_select(
                    self._data.__cat_dim__(key, self._data[key]), ids)
        for key in self._others:
            batch[key] = self._data[key]
        batch.input_id = self._place_of[batch.n_id[:batch.batch_size]]
        return batch if self._transform is None else self._transform(batch)

    def state_dict(self) -> dict[str, Any]:
        """See fgnn.Loader.state_dict()."""
        return self._loader.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See fgnn.Loader.load_state_dict()."""
        self._loader.load_state_dict(state)


def _check_arguments(others: dict[str, Any], weight_attr: str | None) -> None:
    for name, value in others.items():
        if name in _WITHOUT_MEANING:
            continue
        if name not in _ONLY:
            raise errors.InvalidJob(f'{name}: NeighborLoader has no such '
                                    'argument')
        if value != _ONLY[name]:
            raise errors.InvalidJob(
                f'{name}: {value!r} is not there; it is {_ONLY[name]!r} here')
    if weight_attr not in (None, 'edge_weight'):
        raise errors.InvalidJob(
            f"weight_attr: '{weight_attr}' is not there; name the weights "
            'edge_weight')


def _check_seeds(seeds: Array, nodes: int) -> None:
    ids, counts = numpy.unique(seeds, return_counts=True)
    if ids[0] < 0 or ids[-1] >= nodes:
        raise errors.InvalidJob(
            f'input_nodes: {ids[0] if ids[0] < 0 else ids[-1]} is not a vertex '
            f'of data, which has {nodes}')
    if len(ids) < len(seeds):
        raise errors.InvalidJob(
            f'input_nodes: vertex {ids[counts > 1][0]} is there twice, and a '
            'batch cannot have a seed twice; give input_nodes.unique()')


def _is_plain(x: Any) -> bool:
    """Whether a dataset gives x back as it is: float32 [vertices, columns]."""
    import torch
    return (isinstance(x, torch.Tensor) and x.layout is torch.strided and
            x.dtype == torch.float32 and x.dim() == 2 and x.size(1) > 0 and
            bool(torch.isfinite(x).all()))


def _written(data: 'Data', weight_attr: str | None, writes_x: bool,
             program: str) -> pathlib.Path:
    """The dataset of the Data's graph and features."""
    import torch
    from torch_geometric.data import Data

    from fgnn.pyg import from_pyg
    nodes = int(data.num_nodes or 0)
    part = Data(edge_index=data.edge_index, num_nodes=data.num_nodes)
    if writes_x:
        part.x = data.x
    if weight_attr is not None:
        part.edge_weight = data.edge_weight
    # A dataset has a train split; the loader has seeds of its own.
    part.train_mask = torch.ones(nodes, dtype=torch.bool)
    part.y = torch.zeros(nodes, dtype=torch.int64)
    checksum = hashlib.blake2b(str(_CACHE_VERSION).encode(), digest_size=16)
    for key in sorted(part.keys()):
        value = part[key]
        checksum.update(f'{key} {getattr(value, "shape", value)} '
                        f'{getattr(value, "dtype", "")}'.encode())
        if isinstance(value, torch.Tensor):
            checksum.update(value.detach().cpu().contiguous().numpy().data)
    folder = state_dirs.cache_folder() / checksum.hexdigest()
    if folder.exists():
        return folder
    partial = folder.with_name(f'{folder.name}.{os.getpid()}')
    try:
        partial.mkdir(parents=True)
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            from_pyg(part, partial, labels_are='classes', program=program)
        partial.replace(folder)
    except OSError as error:
        # Another process may have written it meanwhile.
        if not folder.exists():
            raise errors.OutOfResources(f'{partial}: {error.strerror}; name '
                                        'another folder by XDG_CACHE_HOME'
                                        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder

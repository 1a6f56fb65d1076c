"""fgnn.NeighborLoader: PyTorch Geometric's name and arguments."""

import hashlib
import pathlib
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fgnn import batches, errors, state_dir as state_dirs

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
# What is written into the dataset; all else is read from `data`.
_WRITTEN = ('edge_index', 'x', 'edge_weight')


class NeighborLoader:
    """torch_geometric.loader.NeighborLoader by our samplers:

    loader = fgnn.NeighborLoader(data, num_neighbors=[10, 10], batch_size=1024,
                                 input_nodes=data.train_mask, shuffle=True)

    data           a torch_geometric.data.Data; written once into a folder of
                   $XDG_CACHE_HOME/fgnn, whose name is a checksum of its contents
    num_neighbors  edges per vertex and hop, first hop first; -1: all
    input_nodes    seeds: ids or a mask; None: all vertices
    weight_attr    'edge_weight': draws by these weights
    transform      a function of each batch
    seed           seed of all draws; PyG has torch's global one
    threads        threads that sample; default: num_workers, or 2
    batch_size, shuffle, replace   as there

    A batch has what PyG's has but for e_id: x, edge_index, n_id, input_id,
    batch_size, num_sampled_nodes, num_sampled_edges, and the rows of all other
    attributes of vertices. InvalidJob names an argument that is not there.
    """

    def __init__(self, data: 'Data', num_neighbors: Sequence[int],
                 input_nodes: Any = None, *, batch_size: int = 1,
                 shuffle: bool = False, replace: bool = False,
                 weight_attr: str | None = None, transform: Any = None,
                 num_workers: int = 0, threads: int | None = None,
                 seed: int = 1, program: str = 'fgnn', **others: Any) -> None:
        _check(others, weight_attr)
        import torch
        self._data = data
        self._transform = transform
        nodes = int(data.num_nodes or 0)
        if input_nodes is None:
            input_nodes = torch.arange(nodes)
        seeds = batches._as_ids(input_nodes)
        self._loader = batches.loader(
            _written(data, weight_attr, program), split=seeds, layout='pyg',
            fanouts=[int(number) for number in num_neighbors],
            batch_size=batch_size, shuffle=shuffle, replace=replace, seed=seed,
            kind='khop' if weight_attr is None else 'khop_weighted',
            threads=threads or num_workers or 2, drop_last='none')
        self._place_of = torch.full((nodes,), -1, dtype=torch.int64)
        self._place_of[torch.from_numpy(seeds)] = torch.arange(len(seeds))
        self._of_nodes = [key for key in data.keys()
                          if key not in _WRITTEN and data.is_node_attr(key)]

    def __len__(self) -> int:
        """Batches of an epoch, of all ranks."""
        return self._loader.batches_per_epoch

    def __iter__(self) -> Iterator[Any]:
        for batch in self._loader:
            del batch.y
            for key in self._of_nodes:
                batch[key] = self._data[key][batch.n_id]
            batch.input_id = self._place_of[batch.n_id[:batch.batch_size]]
            yield batch if self._transform is None else self._transform(batch)

    def state_dict(self) -> dict[str, Any]:
        """See fgnn.Loader.state_dict()."""
        return self._loader.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See fgnn.Loader.load_state_dict()."""
        self._loader.load_state_dict(state)


def _check(others: dict[str, Any], weight_attr: str | None) -> None:
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


def _written(data: 'Data', weight_attr: str | None,
             program: str) -> pathlib.Path:
    """The dataset of the Data's graph and features."""
    import torch
    from torch_geometric.data import Data

    from fgnn.pyg import from_pyg
    lost = [key for key in data.keys() if key not in _WRITTEN and
            data.is_edge_attr(key)]
    if lost:
        raise errors.InvalidJob(
            f"{lost[0]}: batches have no edges' attributes yet; leave it out by "
            f"'del data.{lost[0]}'")
    part = Data(edge_index=data.edge_index, num_nodes=data.num_nodes)
    if data.x is not None:
        part.x = data.x
    if weight_attr is not None:
        part.edge_weight = data.edge_weight
    # A dataset has a train split; the loader has seeds of its own.
    part.train_mask = torch.ones(int(data.num_nodes or 0), dtype=torch.bool)
    part.y = torch.zeros(int(data.num_nodes or 0), dtype=torch.int64)
    checksum = hashlib.blake2b(digest_size=16)
    for key in sorted(part.keys()):
        value = part[key]
        checksum.update(f'{key} {getattr(value, "shape", value)} '
                        f'{getattr(value, "dtype", "")}'.encode())
        if isinstance(value, torch.Tensor):
            checksum.update(value.detach().cpu().contiguous().numpy().data)
    folder = state_dirs.cache_folder() / checksum.hexdigest()
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = pathlib.Path(tempfile.mkdtemp(dir=folder.parent))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                from_pyg(part, partial, labels_are='classes', program=program)
            partial.chmod(0o755)
            partial.replace(folder)
        except OSError:
            # Another process has written it meanwhile.
            if not folder.exists():
                raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return folder


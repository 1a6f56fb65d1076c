"""Batches as torch_geometric.data.Data, for fgnn.loader(layout='pyg')."""

import importlib
import importlib.util
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy

from fgnn import errors, native

# The oldest releases that the loader takes.
_LEAST = {'torch': (2, 2), 'torch_geometric': (2, 5)}


def check() -> None:
    """NotFound: torch or torch_geometric is not installed. WrongState: one is too
    old, or cannot be imported, or does not fit NumPy."""
    for name, (major, minor) in _LEAST.items():
        if importlib.util.find_spec(name) is None:
            raise errors.NotFound(
                f"layout 'pyg' needs {name}: pip install torch "
                "torch_geometric; layouts 'blocks' and 'numpy' need NumPy alone")
        try:
            version: str = importlib.import_module(name).__version__
        except (ImportError, OSError) as error:
            raise errors.WrongState(
                f'{name} cannot be imported: {str(error).splitlines()[0]}; pip '
                'install --upgrade torch torch_geometric') from None
        found = [int(part) for part in re.findall(r'\d+', version)[:2]]
        if found < [major, minor]:
            raise errors.WrongState(
                f"layout 'pyg' needs {name} {major}.{minor} or newer, and "
                f'{version} is installed; pip install --upgrade {name}')
    import torch
    try:
        torch.from_numpy(numpy.zeros(1))
    except RuntimeError:  # The torch is of the time before NumPy 2.
        raise errors.WrongState(
            f'torch {torch.__version__} does not work with NumPy '
            f"{numpy.__version__}; pip install 'numpy<2', or a newer torch"
        ) from None


def check_device(device: Any) -> None:
    """InvalidJob: batches cannot be copied there."""
    import torch
    try:
        kind = torch.device(device).type
    except (RuntimeError, TypeError) as error:
        raise errors.InvalidJob(
            f'device: {device!r} is none: {str(error).splitlines()[0]}'
        ) from None
    if kind not in ('cpu', 'cuda'):
        raise errors.InvalidJob(
            f"device: {device!r} is not there; it is 'cpu' or a GPU such as "
            "'cuda:0'")
    if kind == 'cuda' and not torch.cuda.is_available():
        raise errors.InvalidJob(
            f'device: {device!r} is not there, as torch finds no GPU; leave '
            'device out')


def on_device(batches: Iterator[Any], device: Any) -> Iterator[Any]:
    """The batches on a GPU. Each is copied from pinned memory on a stream of its
    own while the caller has the one before."""
    import torch
    stream = torch.cuda.Stream(device)

    def begin(batch: Any) -> tuple[Any, Any]:
        copied = torch.cuda.Event()
        with torch.cuda.stream(stream):
            batch = batch.pin_memory().to(device, non_blocking=True)
            copied.record(stream)
        return batch, copied

    def end(batch: Any, copied: Any) -> Any:
        current = torch.cuda.current_stream(device)
        current.wait_event(copied)  # Not for the batch behind it.
        # Its memory is of `stream`, and may not be used again before `current`
        # is done with it.
        return batch.record_stream(current)

    coming: tuple[Any, Any] | None = None
    error: errors.Error | None = None
    while error is None:
        begun = None
        try:
            batch = next(batches, None)
            if batch is not None:
                begun = begin(batch)
        except errors.Error as failed:
            error = failed  # It is of the batch behind the one that is there.
        if coming is not None:
            yield end(*coming)
        coming = begun
        if begun is None:
            break
    if error is not None:
        raise error


def data_of(facts: Mapping[str, Any], memory: native.BatchMemory,
            view: native.BatchView) -> Any:
    """The Data of a batch, whose tensors lie in the batch's memory."""
    import torch
    from torch_geometric.data import Data

    from fgnn import batch_arrays

    def tensor(array: native.Array | None) -> Any:
        return None if array is None else torch.from_numpy(array)

    data = Data(x=tensor(batch_arrays.features_of(facts, memory, view)),
                edge_index=tensor(memory.array(view.edges, (2, view.num_edges),
                                               'int64')),
                y=tensor(batch_arrays.answers_of(facts, memory, view)))
    data.n_id = tensor(memory.array(view.nodes, (view.num_nodes,), 'int64'))
    data.num_nodes = view.num_nodes
    data.batch_size = view.num_seeds
    hops = [view.hops[h] for h in range(view.num_hops)]
    nodes = [view.num_seeds, *(hop.num_sources for hop in hops)]
    edges = [0, *(hop.num_edges for hop in hops)]
    # Each hop has the edges of the one before, and those of new vertices.
    data.num_sampled_nodes = [nodes[0], *batch_arrays.differences(nodes)]
    data.num_sampled_edges = batch_arrays.differences(edges)
    if view.edge_places is not None:
        data.e_id = tensor(memory.array(view.edge_places, (view.num_edges,),
                                        'int64'))
    data.seq = view.seq
    data.digest = view.digest
    if hops[-1].weights is not None:
        data.edge_weight = tensor(memory.array(
            hops[-1].weights, (view.num_edges,), 'float32'))
    if view.pairs is not None:
        pairs, label = batch_arrays.pairs_of(memory, view)
        data.edge_label_index, data.edge_label = tensor(pairs), tensor(label)
    return data


"""Batches as torch_geometric.data.Data, for fgnn.loader(layout='pyg')."""

import importlib.util
from collections.abc import Iterator, Mapping
from typing import Any

from fgnn import errors, native


def check() -> None:
    """NotFound: torch or torch_geometric is not installed."""
    for name in ('torch', 'torch_geometric'):
        if importlib.util.find_spec(name) is None:
            raise errors.NotFound(
                f"layout 'pyg' needs {name}: pip install torch "
                "torch_geometric; layouts 'blocks' and 'numpy' need NumPy alone")


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

    def begin(batch: Any) -> Any:
        with torch.cuda.stream(stream):
            return batch.pin_memory().to(device, non_blocking=True)

    def end(batch: Any) -> Any:
        current = torch.cuda.current_stream(device)
        current.wait_stream(stream)
        # Its memory is of `stream`, and may not be used again before `current`
        # is done with it.
        return batch.record_stream(current)

    coming = None
    for batch in batches:
        begun = begin(batch)
        if coming is not None:
            yield end(coming)
        coming = begun
    if coming is not None:
        yield end(coming)


def data_of(facts: Mapping[str, Any], memory: native.BatchMemory,
            view: native.BatchView) -> Any:
    """The Data of a batch, whose tensors lie in the batch's memory."""
    import torch
    from torch_geometric.data import Data

    from fgnn import batches

    def tensor(array: native.Array | None) -> Any:
        return None if array is None else torch.from_numpy(array)

    data = Data(x=tensor(batches.features_of(facts, memory, view)),
                edge_index=tensor(memory.array(view.edges, (2, view.num_edges),
                                               'int64')),
                y=tensor(batches.answers_of(facts, memory, view)))
    data.n_id = tensor(memory.array(view.nodes, (view.num_nodes,), 'int64'))
    data.num_nodes = view.num_nodes
    data.batch_size = view.num_seeds
    hops = [view.hops[h] for h in range(view.num_hops)]
    nodes = [view.num_seeds, *(hop.num_sources for hop in hops)]
    edges = [0, *(hop.num_edges for hop in hops)]
    # Each hop has the edges of the one before, and those of new vertices.
    data.num_sampled_nodes = [nodes[0], *_differences(nodes)]
    data.num_sampled_edges = _differences(edges)
    data.seq = view.seq
    data.digest = view.digest
    if hops[-1].weights is not None:
        data.edge_weight = tensor(memory.array(
            hops[-1].weights, (view.num_edges,), 'float32'))
    if view.pairs is not None:
        pairs, label = batches.pairs_of(memory, view)
        data.edge_label_index, data.edge_label = tensor(pairs), tensor(label)
    return data


def _differences(sizes: list[int]) -> list[int]:
    return [after - before for before, after in zip(sizes, sizes[1:])]

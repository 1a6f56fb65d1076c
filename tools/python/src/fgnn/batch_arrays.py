"""A batch as NumPy arrays: what fgnn.loader() gives with layouts 'blocks' and
'numpy', and what loader_pyg makes tensors of."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy

from fgnn import errors, native
from fgnn.native import Array

_MOST_EDGES = 2**31  # NumPy and torch have no kernels for uint32.


@dataclasses.dataclass
class Block:
    """One hop: edges from its sources to its destinations, in compressed sparse
    columns. Destinations are the first of the sources."""

    indptr: Array  # int32 [num_dst + 1]: where each destination's edges begin.
    indices: Array  # int32 [edges]: sources of the edges, as local ids.
    num_src: int
    num_dst: int
    weights: Array | None = None  # float32 [edges], of random walks.

    @property
    def edge_index(self) -> Any:
        """The edges as a torch.Tensor, int64 [2, edges], source above
        destination, as layers of PyTorch Geometric take them. Made anew by each
        access."""
        import torch
        destinations = numpy.repeat(numpy.arange(self.num_dst),
                                    numpy.diff(self.indptr))
        return torch.from_numpy(numpy.stack([self.indices, destinations]))


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
        return [sizes[0], *differences(sizes)]


def differences(sizes: list[int]) -> list[int]:
    return [after - before for before, after in zip(sizes, sizes[1:])]


def _block_of(memory: native.BatchMemory, hop: native.Hop) -> Block:
    if hop.num_edges >= _MOST_EDGES:
        raise errors.OutOfResources(
            f'a hop has {hop.num_edges} edges, and blocks have fewer than '
            f'{_MOST_EDGES}; take a smaller batch_size')
    weights = None if hop.weights is None else memory.array(
        hop.weights, (hop.num_edges,), 'float32')
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


def batch_of(facts: Mapping[str, Any], memory: native.BatchMemory,
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

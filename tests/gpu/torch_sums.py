#!/usr/bin/env python3
"""Times torch's sparse products on blocks like those of fgnn_gpu_aggregate.

  tests/gpu/torch_sums.py

Needs a GPU, and ends with 77 without. It fails without NumPy and a PyTorch that
finds the GPU. The blocks follow the same laws as those of aggregate.cc, from
another generator. Prints the median of 15 rounds, forwards (the block times the
sources' rows) and backwards (its transpose times the destinations' rows), and a
gather with index_add, which PyTorch Geometric uses without a sparse matrix.
"""

import shutil
import sys

try:
    import numpy as np
    import torch
except ImportError as error:
    sys.exit(f'{error}; python3 needs torch with CUDA, and numpy')

BLOCKS = (('38k x 5', 38000, 87000, 5), ('38k x 10', 38000, 87000, 10),
          ('304k x 5', 304000, 696000, 5))
TURNS = 4  # Inputs that take turns, against L2.


def make_block(rng, destinations, sources, fanout):
    sizes = np.where(
        rng.integers(0, 5, destinations) == 0,
        rng.integers(0, fanout + 1, destinations), fanout)
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    ranks = (rng.random(indptr[-1])**2 * sources).astype(np.uint64)
    indices = ranks * np.uint64(2654435761) % np.uint64(sources)
    return indptr, indices.astype(np.int64)


def microseconds(call):
    for turn in range(2 * TURNS):
        call(turn % TURNS)
    rounds = []
    for _ in range(15):
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        begin.record()
        for turn in range(TURNS):
            call(turn)
        end.record()
        torch.cuda.synchronize()
        rounds.append(begin.elapsed_time(end) / TURNS * 1e3)
    return float(np.median(rounds))


def time_block(rng, name, destinations, sources, fanout):
    indptr, indices = make_block(rng, destinations, sources, fanout)
    ones = torch.ones(len(indices))
    rows = torch.repeat_interleave(
        torch.arange(destinations), torch.tensor(np.diff(indptr)))
    columns = torch.tensor(indices)
    block = torch.sparse_csr_tensor(
        torch.tensor(indptr).int(),
        columns.int(),
        ones,
        size=(destinations, sources)).cuda()
    transpose = torch.sparse_coo_tensor(
        torch.stack([columns, rows]), ones,
        (sources, destinations)).coalesce().to_sparse_csr().cuda()
    rows, columns = rows.cuda(), columns.cuda()
    for width in (100, 256, 602):
        x = [torch.randn(sources, width, device='cuda') for _ in range(TURNS)]
        g = [
            torch.randn(destinations, width, device='cuda')
            for _ in range(TURNS)
        ]
        forward = microseconds(lambda t: torch.sparse.mm(block, x[t]))
        backward = microseconds(lambda t: torch.sparse.mm(transpose, g[t]))
        added = microseconds(lambda t: torch.zeros(
            destinations, width, device='cuda').index_add_(
                0, rows, x[t][columns]))
        print(
            f'{name}, {width} columns: forward {forward:.1f} us, backward '
            f'{backward:.1f} us, gather and index_add {added:.1f} us',
            flush=True)


def main():
    if not torch.cuda.is_available():
        if shutil.which('nvidia-smi'):
            sys.exit(f'torch {torch.__version__} finds no GPU; it needs CUDA')
        print('skipped: no GPU')
        return 77
    print(f'torch {torch.__version__}, {torch.cuda.get_device_name()}')
    rng = np.random.default_rng(1)
    for name, destinations, sources, fanout in BLOCKS:
        time_block(rng, name, destinations, sources, fanout)
    return 0


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
"""Trains GATv2 on several processes (DDP), which share out the batches of each
step. Weights are averaged by torch, as in any program of DDP.

    torchrun --nproc-per-node 2 ddp_gatv2.py DATASET [EPOCHS]
"""

# %% Processes, batches and model.
import sys

import torch
import torch.distributed
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch_geometric.nn import GATv2Conv

import fgnn

if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
epochs = int(sys.argv[2]) if len(sys.argv) == 3 else 10
torch.distributed.init_process_group('gloo')
torch.manual_seed(1)

# The rank and the number of ranks are those of torchrun.
loader = fgnn.loader(sys.argv[1], fanouts=[10, 10], batch_size=512, seed=1)


class Gat(torch.nn.Module):

    def __init__(self, columns: int, classes: int) -> None:
        super().__init__()
        self.first = GATv2Conv(columns, 16, heads=4)
        self.last = GATv2Conv(64, classes, heads=1)

    def forward(self, x, edge_index):
        return self.last(F.elu(self.first(x, edge_index)), edge_index)


model = DistributedDataParallel(Gat(loader.num_features, loader.num_classes))
optimizer = torch.optim.Adam(model.parameters(), lr=.005)

# %% Train. All ranks have as many batches of an epoch (drop_last='step').
for epoch in range(epochs):
    losses = []
    for batch in loader:
        logits = model(batch.x, batch.edge_index)[:batch.batch_size]
        loss = F.cross_entropy(logits, batch.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    mean = torch.stack(losses).mean()
    torch.distributed.all_reduce(mean)
    if torch.distributed.get_rank() == 0:
        mean /= torch.distributed.get_world_size()
        print(f'epoch {epoch + 1}: loss {mean:.4f}')
torch.distributed.destroy_process_group()

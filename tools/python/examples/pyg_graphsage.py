#!/usr/bin/env python3
"""Trains PyTorch Geometric's GraphSAGE on batches of fgnn.loader, and tests it
layer by layer. Goes on from its checkpoint, also in the middle of an epoch.

    pyg_graphsage.py DATASET [EPOCHS]
"""

# %% Batches and model.
import pathlib
import sys

import numpy
import torch
import torch.nn.functional as F
from torch_geometric.nn import GraphSAGE

import fgnn

if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
dataset = pathlib.Path(sys.argv[1])
epochs = int(sys.argv[2]) if len(sys.argv) == 3 else 10
checkpoint = pathlib.Path('last.pt')

loader = fgnn.loader(dataset, fanouts=[10, 10], batch_size=1024, seed=1)
model = GraphSAGE(loader.num_features, 256, 2, loader.num_classes, dropout=.5)
optimizer = torch.optim.Adam(model.parameters(), lr=.003)
if checkpoint.exists():
    saved = torch.load(checkpoint)
    model.load_state_dict(saved['model'])
    optimizer.load_state_dict(saved['optimizer'])
    loader.load_state_dict(saved['loader'])

# %% Train.
while loader.epoch < epochs:
    epoch, losses = loader.epoch, []
    for batch in loader:
        logits = model(batch.x, batch.edge_index)[:batch.batch_size]
        loss = F.cross_entropy(logits, batch.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    torch.save({'model': model.state_dict(), 'loader': loader.state_dict(),
                'optimizer': optimizer.state_dict()}, checkpoint)
    print(f'epoch {epoch + 1}: loss {sum(losses) / len(losses):.4f}')

# %% Test: each layer of all vertices, then the next one.
model.eval()
with torch.no_grad():
    h = torch.from_numpy(numpy.load(dataset / 'features.npy'))
    for depth, (conv, batches) in enumerate(zip(model.convs, loader.layers())):
        h = torch.cat([conv((h[batch.n_id], h[batch.n_id[:batch.batch_size]]),
                            batch.edge_index) for batch in batches])
        if depth + 1 < len(model.convs):
            h = F.relu(h)
test = torch.from_numpy(numpy.load(dataset / 'test.npy'))
labels = torch.from_numpy(numpy.load(dataset / 'labels.npy'))
right = (h[test].argmax(1) == labels[test]).double().mean()
print(f'test accuracy {right:.4f}')

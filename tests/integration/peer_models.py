#!/usr/bin/env python3
"""Probabilities of checkpoints by the modules of PyTorch Geometric and DGL.

  peer_models.py --dataset DIR --model KIND CHECKPOINT PROBABILITIES …

Prints how far, at most, the logarithms of the PROBABILITIES that `fgnn predict`
wrote are from theirs: {"KIND": {"pyg": …, "dgl": …}, …}. Runs in the
environment of tests/bench/peers, which has torch and both of them.
"""

import argparse
import json
import os
import pathlib

import harness
import numpy as np
import torch

# Else DGL writes into the home folder.
os.environ['DGLBACKEND'] = 'pytorch'

# Of a layer's tensors: what DGL calls them.
DGL_NAMES = {
    'graphsage': {'lin_l.weight': 'fc_neigh.weight',
                  'lin_r.weight': 'fc_self.weight',
                  'lin_l.bias': 'fc_self.bias'},
    'gcn': {'lin.weight': 'weight', 'bias': 'bias'},
    'gcn-right': {'lin.weight': 'fc_neigh.weight', 'bias': 'bias'},
    'gin': {'eps': 'eps', 'nn.0.weight': 'apply_func.0.weight',
            'nn.0.bias': 'apply_func.0.bias',
            'nn.2.weight': 'apply_func.2.weight',
            'nn.2.bias': 'apply_func.2.bias'},
}


def perceptron(columns, out):
    return torch.nn.Sequential(torch.nn.Linear(columns, out), torch.nn.ReLU(),
                               torch.nn.Linear(out, out))


def pyg_layer(kind, columns, out):
    from torch_geometric.nn import GCNConv, GINConv, SAGEConv
    if kind == 'graphsage':
        return SAGEConv(columns, out)
    if kind == 'gcn':
        return GCNConv(columns, out)
    if kind == 'gcn-right':  # The edges' weights make the mean.
        return GCNConv(columns, out, normalize=False, add_self_loops=False)
    return GINConv(perceptron(columns, out), train_eps=True)


def dgl_layer(kind, columns, out):
    from dgl.nn import GINConv, GraphConv, SAGEConv
    if kind == 'gin':
        return GINConv(perceptron(columns, out), 'sum', learn_eps=True)
    if kind == 'gcn':
        return GraphConv(columns, out, 'both')
    return SAGEConv(columns, out, 'mean' if kind == 'graphsage' else 'gcn')


def weights_of(checkpoint):
    """{name: tensor} of the model, without the optimizer's."""
    return {
        name: torch.from_numpy(
            np.frombuffer(data, dtype='<f4').reshape(shape).copy())
        for name, (_, shape, data) in harness.tensors(checkpoint).items()
        if not name.startswith('optimizer.')
    }


def widths_of(kind, weights):
    """Of the input and of every layer's output."""
    name = {'graphsage': 'lin_l', 'gcn': 'lin', 'gcn-right': 'lin',
            'gin': 'nn.0'}[kind]
    shapes = [weights[f'convs.{i}.{name}.weight'].shape
              for i in range(len(weights))
              if f'convs.{i}.{name}.weight' in weights]
    return [shapes[0][1], *(shape[0] for shape in shapes)]


def log_probabilities(layers, x):
    with torch.no_grad():
        for i, layer in enumerate(layers):
            x = layer(x if i == 0 else torch.relu(x))
    return torch.log_softmax(x, 1).numpy()


def by_pyg(kind, widths, weights, edges, x):
    sources, destinations = edges
    convs = torch.nn.ModuleList(
        pyg_layer(kind, a, b) for a, b in zip(widths, widths[1:]))
    torch.nn.ModuleDict({'convs': convs}).load_state_dict(weights)
    if kind != 'gcn-right':
        index = torch.stack((sources, destinations))
        return log_probabilities(
            [lambda h, conv=conv: conv(h, index) for conv in convs], x)
    own = torch.arange(len(x))
    index = torch.stack((torch.cat((sources, own)),
                         torch.cat((destinations, own))))
    share = 1 / torch.bincount(index[1]).float()
    return log_probabilities(
        [lambda h, conv=conv: conv(h, index, share[index[1]])
         for conv in convs], x)


def by_dgl(kind, widths, weights, edges, x):
    import dgl
    graph = dgl.graph(edges, num_nodes=len(x))
    if kind == 'gcn':
        graph = dgl.add_self_loop(graph)
    convs = torch.nn.ModuleList(
        dgl_layer(kind, a, b) for a, b in zip(widths, widths[1:]))
    renamed = {}
    for name, tensor in weights.items():
        prefix, layer, rest = name.split('.', 2)
        # GraphConv multiplies by its weight from the right.
        renamed[f'{prefix}.{layer}.{DGL_NAMES[kind][rest]}'] = (
            tensor.T if kind == 'gcn' and rest == 'lin.weight' else tensor)
    torch.nn.ModuleDict({'convs': convs}).load_state_dict(renamed)
    return log_probabilities(
        [lambda h, conv=conv: conv(graph, h) for conv in convs], x)


def graph_of(dataset):
    """The edges, sources and destinations, and the features."""
    indptr = np.load(dataset / 'csc_indptr.npy')
    sources = np.load(dataset / 'indices.npy').astype(np.int64)
    destinations = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    features = np.load(dataset / 'features.npy').astype(np.float32)
    return ((torch.from_numpy(sources), torch.from_numpy(destinations)),
            torch.from_numpy(features))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--dataset', type=pathlib.Path, required=True)
    parser.add_argument('--model', nargs=3, action='append', required=True)
    options = parser.parse_args()
    edges, x = graph_of(options.dataset)
    differences = {}
    for kind, checkpoint, probabilities in options.model:
        weights = weights_of(checkpoint)
        widths = widths_of(kind, weights)
        ours = np.log(np.load(probabilities).astype(np.float64))
        differences[kind] = {
            name: float(np.abs(
                ours - infer(kind, widths, weights, edges, x)).max())
            for name, infer in (('pyg', by_pyg), ('dgl', by_dgl))}
    print(json.dumps(differences))


if __name__ == '__main__':
    main()

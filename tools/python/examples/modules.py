"""Modules for jobs with `model.kind: python`, by layers of PyTorch Geometric:

    fgnn run job.yaml --set model.kind=python --set model.file=modules.py \\
        --set model.class_name=GraphSage
"""

import functools

import torch
import torch.nn.functional as F
from torch_geometric.nn import GATv2Conv, SAGEConv


class Layered(torch.nn.Module):
    """Layers, one for each block. With layers() FGNN evaluates layer by layer."""

    dropout = 0.0

    def __init__(self, convs):
        super().__init__()
        self.convs = torch.nn.ModuleList(convs)

    def layer(self, depth, x, block):
        x = self.convs[depth]((x, x[:block.num_dst]), block.edge_index)
        if depth + 1 == len(self.convs):
            return x
        return F.dropout(F.elu(x), self.dropout, self.training)

    def layers(self):
        return [functools.partial(self.layer, depth)
                for depth in range(len(self.convs))]

    def forward(self, x, blocks):
        for layer, block in zip(self.layers(), blocks):
            x = layer(x, block)
        return x


class GraphSage(Layered):

    def __init__(self, in_channels, hidden_channels, out_channels, num_layers,
                 dropout):
        widths = [in_channels] + [hidden_channels] * (num_layers - 1)
        super().__init__(map(SAGEConv, widths, widths[1:] + [out_channels]))
        self.dropout = dropout


class GatV2(Layered):
    """Four heads share the columns of each hidden layer."""

    def __init__(self, in_channels, hidden_channels, out_channels, num_layers,
                 dropout):
        columns, convs = in_channels, []
        for _ in range(num_layers - 1):
            convs.append(GATv2Conv(columns, hidden_channels // 4, heads=4,
                                   add_self_loops=False))
            columns = hidden_channels
        super().__init__([*convs, GATv2Conv(columns, out_channels, heads=1,
                                            add_self_loops=False)])
        self.dropout = dropout

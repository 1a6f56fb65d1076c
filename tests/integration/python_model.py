"""A module of PyTorch alone, for jobs with `model.kind: python`."""

SAGE = '''
import functools
import torch

class Sage(torch.nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels, num_layers,
                 dropout):
        super().__init__()
        widths = [in_channels] + [hidden_channels] * (num_layers - 1)
        self.convs = torch.nn.ModuleList(
            torch.nn.Linear(2 * width, out)
            for width, out in zip(widths, widths[1:] + [out_channels]))
        self.dropout = torch.nn.Dropout(dropout)

    def layer(self, depth, x, block):
        source, destination = block.edge_index
        means = torch.zeros(block.num_dst, x.shape[1]).index_reduce(
            0, destination, x[source], 'mean', include_self=False)
        x = self.convs[depth](torch.cat([x[:block.num_dst], means], 1))
        return x if depth + 1 == len(self.convs) else self.dropout(x.relu())

    def layers(self):
        return [functools.partial(self.layer, depth)
                for depth in range(len(self.convs))]

    def forward(self, x, blocks):
        for layer, block in zip(self.layers(), blocks):
            x = layer(x, block)
        return x
'''

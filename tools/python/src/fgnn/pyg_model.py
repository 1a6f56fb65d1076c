"""Trained models as modules of torch_geometric. Needs torch and
torch_geometric; fgnn.to_pyg() imports it."""

import torch
from torch.nn import functional
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv
from torch_geometric.utils import add_self_loops

from fgnn import errors
from fgnn.checkpoint import Checkpoint, ModelOptions

KINDS = ('graphsage', 'gcn', 'gin', 'gat', 'pinsage')


class PygModel(torch.nn.Module):
    """A trained model, made of layers of torch_geometric:

        graphsage  SAGEConv, with project=True and aggr='max' for
                   aggregator: pool
        gcn        GCNConv; for degree_norm: right without its normalisation,
                   and with aggr='mean'
        gin        GINConv of Linear, ReLU, Linear
        gat        GATConv
        pinsage    SAGEConv with project=True; rows of hidden layers are
                   scaled to length 1

    Between layers are the normalisation, residual, ReLU and dropout that the
    model was trained with. GCNConv and GATConv replace an edge from a vertex to
    itself by the one that they add. FGNN counts both, so this module adds one
    edge for each vertex itself, and its layers have add_self_loops=False.

    options, class_names, feature_names, target_names: what the checkpoint says
    of the model.
    Parameters have the names of the checkpoint's tensors.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__()
        self.options = checkpoint.model
        self.class_names = checkpoint.class_names
        self.feature_names = checkpoint.feature_names
        self.target_names = checkpoint.target_names
        layers = range(self.options.layers)
        self.convs = torch.nn.ModuleList(
            _layer(self.options, layer) for layer in layers)
        self.norms = torch.nn.ModuleList()
        if self.options.normalization != 'none':
            self.norms.extend(_norm(self.options) for _ in layers[:-1])

    def forward(self, x: torch.Tensor,
                edge_index: torch.Tensor) -> torch.Tensor:
        """By the task that the model was trained for:

        node_classification         logits [vertices, classes]
        node_regression             numbers [vertices, columns]
        multi_label_classification  logits [vertices, classes]; a class is
                                    predicted if its logit is above 0
        link_prediction             embeddings [vertices, hidden], whose dot
                                    products score pairs

        x           features, f32 [vertices, columns]
        edge_index  i64 [2, edges], sources first, as Data has it
        """
        if not (isinstance(edge_index, torch.Tensor) and
                edge_index.layout is torch.strided):
            raise TypeError('edge_index is a sparse matrix; give the tensor '
                            '[2, edges] of sources and destinations')
        options = self.options
        if options.kind in ('gcn', 'gat'):
            edge_index, _ = add_self_loops(edge_index, num_nodes=x.size(0))
        x = functional.dropout(x, options.input_dropout, self.training)
        for layer, conv in enumerate(self.convs[:-1]):
            h = conv(x, edge_index)
            if self.norms:
                h = self.norms[layer](h)
            if options.residual and layer > 0:
                h = h + x
            h = functional.relu(h)
            if options.kind == 'pinsage':
                h = functional.normalize(h)
            x = functional.dropout(h, options.dropout, self.training)
        return self.convs[-1](x, edge_index)


def load(checkpoint: Checkpoint) -> PygModel:
    """In eval mode, on the CPU. InvalidJob: torch_geometric has no layers of
    this kind. DataLoss: tensors are not those of the model."""
    kind = checkpoint.model.kind
    if kind not in KINDS:
        raise errors.InvalidJob(
            f"checkpoint {checkpoint.path} is of a model of kind '{kind}', "
            'which torch_geometric has no layers for; there are some for '
            f'{", ".join(KINDS)}')
    model = PygModel(checkpoint)
    try:
        model.load_state_dict({name: torch.from_numpy(weights) for
                               name, weights in checkpoint.weights.items()})
    except RuntimeError as error:
        raise errors.DataLoss(
            f'checkpoint {checkpoint.path}: its tensors are not those of its '
            f'model: {" ".join(str(error).split())}') from None
    return model.eval()


def _layer(options: ModelOptions, layer: int) -> torch.nn.Module:
    last = layer + 1 == options.layers
    columns = options.hidden if layer else options.input_columns
    links = options.task == 'link_prediction'
    out = options.num_classes if last and not links else options.hidden
    if options.kind == 'gcn':
        if options.degree_norm == 'both':
            return GCNConv(columns, out, add_self_loops=False)
        return GCNConv(columns, out, normalize=False, aggr='mean')
    if options.kind == 'gin':
        return GINConv(torch.nn.Sequential(
            torch.nn.Linear(columns, out), torch.nn.ReLU(),
            torch.nn.Linear(out, out)), train_eps=True)
    if options.kind == 'gat':
        heads = 1 if last else options.heads
        return GATConv(columns, out // heads, heads, add_self_loops=False,
                       dropout=options.attention_dropout)
    pools = options.kind == 'graphsage' and options.aggregator == 'pool'
    return SAGEConv(columns, out, aggr='max' if pools else 'mean',
                    project=pools or options.kind == 'pinsage')


def _norm(options: ModelOptions) -> torch.nn.Module:
    if options.normalization == 'batch':
        return torch.nn.BatchNorm1d(options.hidden)
    return torch.nn.LayerNorm(options.hidden)

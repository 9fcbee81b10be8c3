"""Both networks of SAGAN in float64 NumPy, written from the papers.

Weights are read from the models by the names of their layers.
"""

import numpy as np


def normalised(layer, name="kernel"):
    """W / σ(W), where σ is what u says, as outside of training."""
    weight = np.float64(getattr(layer.layer, name))
    matrix = weight.reshape(-1, weight.shape[-1])
    u = np.float64(layer.u)
    return weight / np.linalg.norm(matrix @ (u / np.linalg.norm(u)))


def convolved(x, layer):
    """A convolution with zeros around the grid, and its bias."""
    kernel = normalised(layer)
    size = len(kernel)
    border = [(0, 0), (size // 2, size // 2), (size // 2, size // 2), (0, 0)]
    padded = np.pad(x, border)
    rows, columns = x.shape[1:3]
    total = sum(
        padded[:, i : i + rows, j : j + columns] @ kernel[i, j]
        for i in range(size)
        for j in range(size)
    )
    return total + np.float64(layer.layer.bias)


def normed(x, layer, classes):
    """Batch normalisation by the moving averages, of a class or of none."""
    inner = layer if classes is None else layer.normalization
    mean = np.float64(inner.moving_mean)
    x = (x - mean) / np.sqrt(np.float64(inner.moving_variance) + 1e-5)
    if classes is None:
        return x * np.float64(layer.gamma) + np.float64(layer.beta)
    scale, offset = (
        np.float64(table.embeddings)[classes][:, None, None]
        for table in (layer.scale, layer.offset)
    )
    return x * scale + offset


def relu(x):
    return np.maximum(x, 0)


def doubled(x):
    return x.repeat(2, axis=1).repeat(2, axis=2)


def blocks(x):
    """(batch, rows, 2, columns, 2, channels)."""
    batch, rows, columns, channels = x.shape
    return x.reshape(batch, rows // 2, 2, columns // 2, 2, channels)


def attended(x, layer):
    f, g, h = (
        x @ normalised(each)
        for each in (layer.query_dense, layer.key_dense, layer.value_dense)
    )
    g, h = (blocks(y).max(axis=(2, 4)) for y in (g, h))
    scores = np.einsum("bijd,bkld->bijkl", f, g)
    weights = np.exp(scores - scores.max(axis=(3, 4), keepdims=True))
    weights /= weights.sum(axis=(3, 4), keepdims=True)
    seen = np.einsum("bijkl,bkld->bijd", weights, h)
    return x + np.float64(layer.gamma) * (seen @ normalised(layer.output_dense))


def generated(model, noise, classes, size, grids, value_range):
    """Images of noise."""
    layers = {layer.name: layer for layer in model.layers}
    start = layers["start"]
    x = np.float64(noise) @ normalised(start) + np.float64(start.layer.bias)
    x = x.reshape(len(noise), 4, 4, -1)
    while x.shape[1] < size:
        name = f"block_{2 * x.shape[1]}"
        y = relu(normed(x, layers[f"{name}_norm_1"], classes))
        y = convolved(doubled(y), layers[f"{name}_1"])
        y = relu(normed(y, layers[f"{name}_norm_2"], classes))
        y = convolved(y, layers[f"{name}_2"])
        x = convolved(doubled(x), layers[f"{name}_shortcut"]) + y
        if x.shape[1] in grids:
            x = attended(x, layers[f"attention_{x.shape[1]}"])
    x = relu(normed(x, layers["last_norm"], None))
    x = np.tanh(convolved(x, layers["pixels"]))
    low, high = value_range
    return low + (high - low) * (x + 1) / 2


def scored(model, images, classes, grids, value_range):
    """(batch,) scores of images."""
    layers = {layer.name: layer for layer in model.layers}
    low, high = value_range
    x = 2 * (np.float64(images) - low) / (high - low) - 1
    first = True
    while x.shape[1] > 4:
        name = f"block_{x.shape[1] // 2}"
        y = convolved(x if first else relu(x), layers[f"{name}_1"])
        y = convolved(relu(y), layers[f"{name}_2"])
        x = blocks(convolved(x, layers[f"{name}_shortcut"])).mean(axis=(2, 4))
        x = x + blocks(y).mean(axis=(2, 4))
        first = False
        if x.shape[1] in grids:
            x = attended(x, layers[f"attention_{x.shape[1]}"])
    y = convolved(relu(x), layers["last_1"])
    x = relu(x + convolved(relu(y), layers["last_2"])).sum(axis=(1, 2))
    score = x @ normalised(layers["score"]) + layers["score"].layer.bias.numpy()
    score = score[:, 0]
    if classes is not None:
        table = normalised(layers["class_vector"], "embeddings")
        score = score + np.sum(x * table[classes], axis=-1)
    return score

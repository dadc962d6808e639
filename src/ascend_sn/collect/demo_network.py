"""A multi-layer perceptron in numpy, its operators marked for the recorder."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ascend_sn.collect.profiler import Profiler

__all__ = ["Network"]

Matrix = npt.NDArray[np.float32]

SIZES: Final = (784, 512, 256, 10)
LEARNING_RATE: Final = np.float32(0.05)


class Network:
    """Layers of weights and biases; every rank starts from the same numbers."""

    def __init__(self, profiler: Profiler) -> None:
        random = np.random.default_rng(seed=1)
        self._profiler = profiler
        self._inputs: list[Matrix] = []
        self.weights: list[Matrix] = [
            (random.standard_normal((wide, narrow)) * np.sqrt(2 / wide)).astype(np.float32)
            for wide, narrow in pairwise(SIZES)
        ]
        self.biases: list[Matrix] = [np.zeros(narrow, np.float32) for narrow in SIZES[1:]]

    def forward(self, images: Matrix) -> Matrix:
        """Return the probability of each class for each image."""
        self._inputs = [images]
        for layer, (weights, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            with self._profiler.op("matmul"):
                values = self._inputs[-1] @ weights
            if layer < len(self.weights) - 1:
                with self._profiler.op("bias_relu", kind="compute"):
                    values = np.maximum(values + bias, np.float32(0))
                self._inputs.append(values)
        with self._profiler.op("softmax"):
            shifted = np.exp(values + bias - (values + bias).max(axis=1, keepdims=True))
            probabilities: Matrix = shifted / shifted.sum(axis=1, keepdims=True)
        return probabilities

    def backward(self, probabilities: Matrix, labels: npt.NDArray[Any]) -> list[Matrix]:
        """Return the gradient of each layer, last layer first: weights, and the bias as one more row."""
        error = probabilities.copy()
        error[np.arange(len(labels)), labels] -= 1
        error /= np.float32(len(labels))
        gradients = []
        for layer in range(len(self.weights) - 1, -1, -1):
            with self._profiler.op("matmul_gradient", kind="compute"):
                weights_gradient = self._inputs[layer].T @ error
                gradients.append(np.vstack([weights_gradient, error.sum(axis=0, keepdims=True)]))
            if layer:
                with self._profiler.op("relu_gradient", kind="compute"):
                    error = (error @ self.weights[layer].T) * (self._inputs[layer] > 0)
        return gradients

    def update(self, gradients: list[Matrix]) -> None:
        """Take a step down the gradients, given last layer first."""
        for layer, gradient in enumerate(reversed(gradients)):
            self.weights[layer] -= LEARNING_RATE * gradient[:-1]
            self.biases[layer] -= LEARNING_RATE * gradient[-1]

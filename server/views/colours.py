"""Colours for pictures of sound: equal steps in loudness are equal steps to the eye."""

from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Look = Literal["light", "dark"]
# Lightness, strength of colour and hue (degrees) in OKLab, at the quietest and at the loudest.
_WAYS: dict[Look, tuple[tuple[float, float], tuple[float, float], tuple[float, float]]] = {
    "light": ((0.985, 0.24), (0.005, 0.13), (60.0, -75.0)),
    "dark": ((0.19, 0.95), (0.03, 0.11), (280.0, 445.0)),
}
_TO_CONES = np.array(
    [[1, 0.3963377774, 0.2158037573], [1, -0.1055613458, -0.0638541728],
     [1, -0.0894841775, -1.2914855480]]
)  # fmt: skip
_TO_RGB = np.array(
    [[4.0767416621, -3.3077115913, 0.2309699292], [-1.2684380046, 2.6097574011, -0.3413193965],
     [-0.0041960863, -0.7034186147, 1.7076147010]]
)  # fmt: skip


@cache
def palette(look: Look) -> NDArray[np.uint8]:
    """256 colours [256, 3] from quiet to loud, even in lightness."""
    lightness, strength, hue = (np.linspace(*way, 256) for way in _WAYS[look])
    # Strongest in the middle: at both ends the eye sees, and a screen shows, little colour.
    strength = strength + 0.09 * np.sin(np.pi * np.linspace(0, 1, 256))
    angle = np.radians(hue)
    lab = np.stack([lightness, strength * np.cos(angle), strength * np.sin(angle)])
    linear = np.clip(_TO_RGB @ (_TO_CONES @ lab) ** 3, 0, 1)
    shown = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.round(shown.T * 255).astype(np.uint8)

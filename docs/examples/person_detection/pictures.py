"""Drawn pictures of a camera, 160x120 in grey: rooms and gardens with a person, or without. None is a photograph.

A person is ellipses and capsules in a random pose, with random clothes, wholly in the picture or cut off below. Both
kinds of picture have other things: furniture, trees, lamps, vases, and parts of a person in no order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

WIDTH, HEIGHT = 160, 120
#: Columns that the model sees: the middle.
SEEN = (20, 140)

Floats = npt.NDArray[np.floating[Any]]
Point = tuple[float, float]

_X, _Y = np.meshgrid(np.arange(WIDTH, dtype=np.float32), np.arange(HEIGHT, dtype=np.float32))


class Canvas:
    """A picture that shapes are drawn on, with softened edges."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.pixels = _background(rng)

    def shape(self, distance: Floats, grey: float) -> None:
        """Fills where a distance is negative, with a shade from side to side."""
        cover = np.clip(0.5 - distance, 0, 1)
        shade = grey + self.rng.uniform(-0.15, 0.15) * (_X - WIDTH / 2)
        self.pixels += cover * (shade.astype(np.float32) - self.pixels)

    def capsule(self, start: Point, end: Point, radius: float, grey: float, taper: float = 1.0) -> None:
        """Draws a limb; its radius changes to `taper` times that at its end."""
        (x, y), (dx, dy) = start, (end[0] - start[0], end[1] - start[1])
        part = np.clip(((_X - x) * dx + (_Y - y) * dy) / max(dx * dx + dy * dy, 1e-6), 0, 1)
        self.shape(np.hypot(_X - x - part * dx, _Y - y - part * dy) - radius * (1 + (taper - 1) * part), grey)

    def ellipse(self, centre: Point, across: float, down: float, grey: float) -> None:
        """Draws an ellipse with the given half axes."""
        r = np.hypot((_X - centre[0]) / across, (_Y - centre[1]) / down)
        self.shape((r - 1) * min(across, down), grey)

    def rectangle(self, left: float, top: float, width: float, height: float, grey: float) -> None:
        """Draws a rectangle."""
        across = np.abs(_X - left - width / 2) - width / 2
        self.shape(np.maximum(across, np.abs(_Y - top - height / 2) - height / 2), grey)


def _background(rng: np.random.Generator) -> Floats:
    """Returns a wall and a floor with a slow change of light and a texture."""
    horizon = rng.uniform(50, 110)
    wall, floor = rng.uniform(30, 225, 2)
    light = rng.uniform(-0.4, 0.4) * (_X - WIDTH / 2) + rng.uniform(-0.4, 0.4) * (_Y - HEIGHT / 2)
    coarse = rng.standard_normal((9, 12)) * rng.uniform(0, 14)
    texture = np.kron(coarse, np.ones((14, 14)))[:HEIGHT, :WIDTH]
    found: Floats = (np.where(horizon < _Y, floor, wall) + light + texture).astype(np.float32)
    return found


def _limb(rng: np.random.Generator, start: Point, length: float, angle: float) -> Point:
    turned = angle + rng.uniform(-0.12, 0.12)
    return start[0] + length * float(np.sin(turned)), start[1] + length * float(np.cos(turned))


def person(canvas: Canvas, centre: float, top: float, size: float) -> None:
    """Draws a person: `size` pixels from head to feet, the head at `top`."""
    rng = canvas.rng
    skin, shirt, trousers, hair = rng.uniform(60, 220), *rng.uniform(15, 240, 3)
    # Clothes can be seen: they differ from what is behind them.
    behind = float(canvas.pixels[int(np.clip(top + 0.35 * size, 0, HEIGHT - 1)), int(np.clip(centre, 0, WIDTH - 1))])
    if abs(shirt - behind) < 45:
        shirt = behind + (60 if behind < 128 else -60)
    broad = rng.uniform(0.75, 1.1)
    lean = rng.uniform(-0.1, 0.1)
    neck = (centre, top + 0.16 * size)
    hip = (centre + lean * 0.35 * size, top + 0.5 * size)
    shoulder, pelvis = 0.105 * size * broad, 0.06 * size * broad
    for side in (-1, 1):
        foot_angle = side * rng.uniform(0.0, 0.3)
        start = (hip[0] + side * pelvis, hip[1])
        knee = _limb(rng, start, 0.24 * size, foot_angle)
        canvas.capsule(start, knee, 0.06 * size, trousers, 0.8)
        canvas.capsule(knee, _limb(rng, knee, 0.24 * size, foot_angle * 0.3), 0.048 * size, trousers, 0.75)
    canvas.capsule((centre, top + 0.26 * size), hip, 0.1 * size * broad, shirt, 0.85)
    canvas.capsule((neck[0] - shoulder, neck[1] + 0.05 * size), (neck[0] + shoulder, neck[1] + 0.05 * size),
                   0.045 * size, shirt)  # fmt: skip
    for side in (-1, 1):
        raised = rng.random() < 0.15
        angle = side * (rng.uniform(2, 2.8) if raised else rng.uniform(0.1, 0.8))
        start = (neck[0] + side * (shoulder + 0.01 * size), neck[1] + 0.06 * size)
        elbow = _limb(rng, start, 0.17 * size, angle)
        canvas.capsule(start, elbow, 0.035 * size, shirt * 0.93, 0.9)
        hand = _limb(rng, elbow, 0.17 * size, angle + side * rng.uniform(-0.8, 0.3))
        canvas.capsule(elbow, hand, 0.03 * size, shirt * 0.93 if rng.random() < 0.5 else skin, 0.8)
    canvas.capsule((centre, top + 0.1 * size), neck, 0.03 * size, skin)
    head = (centre + rng.uniform(-0.01, 0.01) * size, top + 0.07 * size)
    canvas.ellipse((head[0], head[1] - 0.015 * size), 0.058 * size, 0.066 * size, hair)
    canvas.ellipse((head[0], head[1] + 0.012 * size), 0.05 * size, 0.06 * size, skin)


def thing(canvas: Canvas) -> None:
    """Draws something that is no person."""
    rng = canvas.rng
    x, y, size, grey = rng.uniform(0, WIDTH), rng.uniform(20, 115), rng.uniform(20, 90), rng.uniform(15, 240)
    kind = int(rng.integers(7))
    if kind == 0:
        canvas.rectangle(x - size / 2, y - size * 0.5, size * rng.uniform(0.3, 1.2), size, grey)
    elif kind == 1:  # A tree.
        canvas.capsule((x, y), (x, y - size * 0.6), size * 0.06, grey)
        for _ in range(4):
            place = x + rng.uniform(-0.25, 0.25) * size, y - size * rng.uniform(0.6, 0.95)
            canvas.ellipse(place, size * 0.24, size * 0.2, 255 - grey)
    elif kind == 2:  # A lamp.
        canvas.capsule((x, y), (x, y - size), size * 0.03, grey)
        canvas.ellipse((x, y - size), size * rng.uniform(0.08, 0.2), size * 0.1, 255 - grey)
    elif kind == 3:  # A chair or a table.
        for leg in (-0.35, 0.35):
            canvas.capsule((x + leg * size, y), (x + leg * size, y - size * 0.4), size * 0.04, grey)
        canvas.rectangle(x - 0.4 * size, y - 0.45 * size, 0.8 * size, 0.1 * size, grey)
        if rng.random() < 0.5:
            canvas.rectangle(x - 0.4 * size, y - size, 0.1 * size, 0.6 * size, grey)
    elif kind == 4:  # A vase or a bottle.
        canvas.ellipse((x, y - size * 0.2), size * 0.16, size * 0.24, grey)
        canvas.capsule((x, y - size * 0.3), (x, y - size * 0.55), size * 0.06, grey)
    elif kind == 5:  # A ball.
        canvas.ellipse((x, y), size * 0.2, size * 0.2, grey)
    else:  # Limbs in no order.
        for _ in range(int(rng.integers(2, 6))):
            start = x + rng.uniform(-0.4, 0.4) * size, y + rng.uniform(-0.4, 0.4) * size
            end = _limb(rng, start, size * rng.uniform(0.1, 0.35), rng.uniform(0, 2 * np.pi))
            canvas.capsule(start, end, size * rng.uniform(0.03, 0.1), rng.uniform(15, 240))


def scene(rng: np.random.Generator, *, has_person: bool, pictures: int) -> npt.NDArray[np.uint8]:
    """Returns pictures of one scene [pictures, HEIGHT, WIDTH], from a camera that trembles and has noise."""
    canvas = Canvas(rng)
    for _ in range(int(rng.integers(1, 5))):
        thing(canvas)
    if has_person:
        size = float(np.exp(rng.uniform(np.log(70), np.log(190))))
        top = rng.uniform(2, max(HEIGHT - size, 3)) if size < HEIGHT else rng.uniform(2, 25)
        person(canvas, rng.uniform(SEEN[0] + 20, SEEN[1] - 20), top, size)
        if rng.random() < 0.3:
            # Something stands before the lower part.
            left = rng.uniform(SEEN[0], SEEN[1] - 40)
            canvas.rectangle(left, top + 0.6 * size, rng.uniform(20, 60), size, rng.uniform(15, 240))
    else:
        thing(canvas)
    noise, gain = rng.uniform(1, 7), rng.uniform(0.7, 1.1)
    return np.stack([_exposed(rng, canvas.pixels * gain, noise) for _ in range(pictures)])


def _exposed(rng: np.random.Generator, pixels: Floats, noise: float) -> npt.NDArray[np.uint8]:
    moved = np.roll(pixels, tuple(rng.integers(-1, 2, 2)), axis=(0, 1))
    if rng.random() < 0.4:
        moved = (2 * moved + np.roll(moved, 1, 0) + np.roll(moved, 1, 1)) / 4
    found: npt.NDArray[np.uint8] = (moved + rng.standard_normal(moved.shape) * noise).clip(0, 255).astype(np.uint8)
    return found


def scenes(rng: np.random.Generator, count: int, pictures: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Returns scenes [count, pictures, HEIGHT, WIDTH] in random order, and 1 for each half that has a person."""
    labels = rng.permutation(np.arange(count) % 2)
    drawn: Sequence[npt.NDArray[np.uint8]] = [scene(rng, has_person=bool(each), pictures=pictures) for each in labels]
    return np.stack(drawn), labels.astype(np.int64)

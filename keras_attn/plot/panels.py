"""Panels side by side, and the scale that they share."""

from keras_attn.plot.canvas import new_figure

PANEL_WIDTH = 1.5  # inches, as all of these
GAP = 0.15
TITLE_HEIGHT = 0.3
SCALE_WIDTH = 0.12
PANELS_PER_ROW = 6


def new_panels(count: int, width: float, height: float):
    """Return a figure with empty panels: `width` by `height` inches each.

    They stand in rows of `PANELS_PER_ROW`, each with room for a title.
    """
    figure = new_figure(1, 1)  # so that places are inches
    panels = []
    for number in range(count):
        row, column = divmod(number, PANELS_PER_ROW)
        left = column * (width + GAP)
        bottom = -row * (height + GAP + TITLE_HEIGHT)
        panels.append(figure.add_axes((left, bottom, width, height)))
    return figure, panels


def add_scale(figure, panels, drawn, label: str) -> None:
    """Draw what the colours of `drawn` stand for, beside the first row."""
    box = panels[:PANELS_PER_ROW][-1].get_position()
    place = (box.x1 + GAP, box.y0, SCALE_WIDTH, box.height)
    scale = figure.colorbar(drawn, cax=figure.add_axes(place), label=label)
    scale.outline.set_visible(False)

"""A figure to draw on, or a sentence that says what to install."""

# Scripts that matplotlib's own font lacks, in fonts that systems ship.
FALLBACK_FONTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans Devanagari",
    "Noto Sans",
    "PingFang SC",
    "Hiragino Sans",
    "Microsoft YaHei",
    "Nirmala UI",
    "Arial Unicode MS",
)

MARGIN = 0.1  # inches


def new_figure(width: float, height: float):
    """Return an empty matplotlib `Figure`, `width` by `height` inches.

    It belongs to the caller alone: pyplot does not keep it alive, and saving
    it needs no display.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "Drawing needs matplotlib, which is not installed. "
            'Install it with: pip install "keras_attn[plot]"'
        ) from error
    return Figure(figsize=(width, height))


def fit_to_drawing(figure) -> None:
    """Make a figure as large as what is drawn on it, and a margin.

    Its axes keep their size in inches. (Matplotlib's own layouts go the other
    way: they shrink axes into a figure, and leave the label of an axis out of
    account where it is longer than the axis.)
    """
    drawn = figure.get_tightbbox().padded(MARGIN)  # in inches
    width, height = figure.get_size_inches()
    figure.set_size_inches(drawn.width, drawn.height)
    for axes in figure.axes:
        box = axes.get_position()
        axes.set_position(
            (
                (box.x0 * width - drawn.x0) / drawn.width,
                (box.y0 * height - drawn.y0) / drawn.height,
                box.width * width / drawn.width,
                box.height * height / drawn.height,
            )
        )


def font_families() -> list[str]:
    """Return matplotlib's default fonts, then installed ones for the rest."""
    import matplotlib
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    fallbacks = [name for name in FALLBACK_FONTS if name in installed]
    return [*matplotlib.rcParams["font.family"], *fallbacks]


def light_to_dark():
    """Return a colour map from white to a blue that black text survives."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("light", ["#ffffff", "#2b7bba"])

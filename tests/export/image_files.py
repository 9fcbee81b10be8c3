"""Images as files, whole and damaged."""

import io
import struct
import zlib

import numpy as np
from PIL import Image


def pixels(height, width):
    """(height, width, 4) uint8, without large steps, which JPEG blurs."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (height, width, 4), dtype="uint8")


def encode(kind, mode="RGB", size=(9, 7)):
    """The bytes of a file of any kind that Pillow writes."""
    image = Image.fromarray(pixels(*size)).convert(mode)
    file = io.BytesIO()
    image.save(file, kind)
    return file.getvalue()


GOOD = {
    "jpeg": encode("JPEG"),
    "grey_jpeg": encode("JPEG", "L"),
    "png": encode("PNG"),
    "png_with_alpha": encode("PNG", "RGBA"),
    "grey_png_with_alpha": encode("PNG", "LA"),
    "one_pixel": encode("PNG", size=(1, 1)),
    "wide": encode("PNG", size=(3, 40)),
    "gif": encode("GIF", "P"),
    "bmp": encode("BMP"),
    "grey_bmp": encode("BMP", "L"),
}


def from_top_to_bottom(bmp):
    """A BMP whose rows are the other way round, as a negative height says."""
    (height,) = struct.unpack("<i", bmp[22:26])
    return bmp[:22] + struct.pack("<i", -height) + bmp[26:]


GOOD["bmp_from_top_to_bottom"] = from_top_to_bottom(GOOD["bmp"])


def bomb(side):
    """A small PNG that says it is a large, empty image."""

    def chunk(kind, data):
        checksum = zlib.crc32(kind + data)
        return (
            struct.pack(">I", len(data))
            + kind
            + data
            + struct.pack(">I", checksum)
        )

    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    rows = zlib.compress(bytes((side + 1) * side), 9)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", rows)
        + chunk(b"IEND", b"")
    )


def gif(*frames, size=(99, 99), extension=b""):
    """A GIF of grey frames, each (left, top, pixels), pixels below 128.

    Args:
        size: Width and height of the screen, if they are not to be believed.
        extension: What comes before each frame.
    """
    shades = bytes(shade for shade in range(128) for _ in range(3))
    file = b"GIF89a" + struct.pack("<HHBBB", *size, 0xF6, 0, 0) + shades
    for left, top, levels in frames:
        height, width = levels.shape
        place = struct.pack("<HHHHB", left, top, width, height, 0)
        # Codes of 8 bits, as long as their table is emptied (128) before it
        # is full; 129 is the end.
        codes = b"".join(
            b"\x80" + levels.tobytes()[start : start + 100]
            for start in range(0, levels.size, 100)
        )
        codes += b"\x81"
        blocks = [codes[n : n + 255] for n in range(0, len(codes), 255)]
        data = b"".join(bytes([len(block)]) + block for block in blocks)
        file += extension + b"," + place + b"\x07" + data + b"\0"
    return file + b";"


def of_size(kind, side):
    """A small file that says it has `side` by `side` pixels."""
    file = GOOD[kind]
    if kind == "png":
        at, form = 16, ">II"
    elif kind == "jpeg":
        at, form = file.index(b"\xff\xc0") + 5, ">HH"
    elif kind == "bmp":
        at, form = 18, "<ii"
    else:
        # What its frame says; the screen may say anything.
        file = gif((0, 0, np.zeros((2, 2), "uint8")), size=(2, 2))
        at, form = 13 + 3 * 128 + 5, "<HH"
    sides = struct.pack(form, side, side)
    return file[:at] + sides + file[at + len(sides) :]


BAD = {
    "nothing": b"",
    "half_a_jpeg": GOOD["jpeg"][: len(GOOD["jpeg"]) // 2],
    "almost_a_jpeg": GOOD["jpeg"][:-2],
    "half_a_png": GOOD["png"][: len(GOOD["png"]) // 2],
    "head_of_a_png": GOOD["png"][:18],
    "head_of_a_jpeg": GOOD["jpeg"][:3],
    "head_of_a_gif": GOOD["gif"][:7],
    "head_of_a_bmp": GOOD["bmp"][:20],
    "half_a_gif": GOOD["gif"][: len(GOOD["gif"]) // 2],
    "almost_a_gif": GOOD["gif"][:-2],
    "half_a_bmp": GOOD["bmp"][: len(GOOD["bmp"]) // 2],
    **{f"huge_{kind}": of_size(kind, 20_000) for kind in ("jpeg", "png")},
    **{f"huge_{kind}": of_size(kind, 20_000) for kind in ("gif", "bmp")},
    "bmp_with_palette": encode("BMP", "P"),
    "another_kind": encode("WEBP"),
    "no_image": bytes(range(200)),
    "text": b"BM is not always a bitmap, nor GIF8 a picture.",
    "bomb": bomb(300),
}
MAX_PIXELS = 200 * 200

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


BAD = {
    "nothing": b"",
    "half_a_jpeg": GOOD["jpeg"][: len(GOOD["jpeg"]) // 2],
    "almost_a_jpeg": GOOD["jpeg"][:-2],
    "half_a_png": GOOD["png"][: len(GOOD["png"]) // 2],
    "head_of_a_png": GOOD["png"][:18],
    "head_of_a_jpeg": GOOD["jpeg"][:3],
    "head_of_a_gif": GOOD["gif"][:7],
    "head_of_a_bmp": GOOD["bmp"][:20],
    "another_kind": encode("WEBP"),
    "no_image": bytes(range(200)),
    "text": b"BM is not always a bitmap, nor GIF8 a picture.",
    "bomb": bomb(300),
}
MAX_PIXELS = 200 * 200
